//! What the store's writer counts: groups, how long their commits take, what is in them. Cheap to clone.

use std::time::Duration;

use hamlet_actors::{
    ports::journal::Leftover,
    vocabulary::{ErrorCode, MessageStatus},
};
use prometheus_client::{
    metrics::{
        counter::Counter,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};

use super::{short_seconds, turns::Turns};

#[derive(Debug, Clone)]
pub struct StoreMetrics {
    turns: Turns,
    commit: Histogram,
    jobs: Histogram,
    rows: Histogram,
    failures: Counter,
    /// Bytes of the file and of its log.
    pub file: Gauge,
    pub log: Gauge,
}

impl Default for StoreMetrics {
    fn default() -> Self {
        Self::new(Turns::default())
    }
}

impl StoreMetrics {
    pub(super) fn new(turns: Turns) -> Self {
        Self {
            turns,
            commit: Histogram::new(short_seconds()),
            jobs: Histogram::new(exponential_buckets(1.0, 2.0, 13)),
            rows: Histogram::new(exponential_buckets(1.0, 4.0, 9)),
            failures: Counter::default(),
            file: Gauge::default(),
            log: Gauge::default(),
        }
    }

    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "commit_duration",
            "A group commit, from its first job to the disk",
            Unit::Seconds,
            self.commit.clone(),
        );
        registry.register("commit_jobs", "Jobs in one group commit", self.jobs.clone());
        registry.register("commit_rows", "Rows that one group commit changed", self.rows.clone());
        registry.register("commit_failures", "Group commits that failed as a whole", self.failures.clone());
        registry.register_with_unit("store_size", "The store's file", Unit::Bytes, self.file.clone());
        registry.register_with_unit("wal_size", "The store's write-ahead log", Unit::Bytes, self.log.clone());
    }

    pub fn committed(&self, took: Duration, jobs: usize, rows: u64) {
        self.commit.observe(took.as_secs_f64());
        self.jobs.observe(jobs as f64);
        self.rows.observe(rows as f64);
    }

    pub fn failed(&self) {
        self.failures.inc();
    }

    /// So many turns were ended by recovery.
    pub fn recovered(&self, cause: Leftover, turns: u64) {
        let (outcome, code) = match cause {
            Leftover::Interrupted => (MessageStatus::Interrupted, ErrorCode::Interrupted),
            Leftover::Failed => (MessageStatus::Failed, ErrorCode::Internal),
            Leftover::Quarantined => (MessageStatus::Failed, ErrorCode::Quarantined),
        };
        if turns > 0 {
            self.turns.ended(outcome, Some(code), turns);
        }
    }
}
