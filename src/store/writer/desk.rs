//! The writer's thread: group after group, on one connection. When it panics, wherever that is, its group gets a true
//! answer and the work goes on with a fresh connection that knows only what is in the file.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crossbeam_channel::Receiver;
use rusqlite::Connection;

use super::{
    Job,
    group::{Commit, Group, Stuck, commit},
};
use crate::metrics::store::StoreMetrics;
use crate::store::{StoreError, housekeeping, journal::Claims, panics::contained, presence::Presence, reconnect};

/// Between two lines about a store that can't commit.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);
/// A writer that fails so often within [`FAILURES_COUNT_FOR`] rests until the first of them is so long ago.
const FAILURES: usize = 5;
const FAILURES_COUNT_FOR: Duration = Duration::from_secs(60);

/// What others read of the writer, or tell it.
#[derive(Default)]
pub struct Beside {
    pub commits: Arc<AtomicU64>,
    /// Set by the housekeeper: the write-ahead log has grown and may begin anew.
    pub restart_log: Arc<AtomicBool>,
    pub metrics: StoreMetrics,
}

pub struct Desk {
    path: PathBuf,
    presence: Presence,
    /// None after a failure: the next group opens a new one.
    conn: Option<Connection>,
    claims: Claims,
    group: Group,
    commit: Commit,
    beside: Beside,
    failures: VecDeque<Instant>,
    complaints: Complaints,
}

impl Desk {
    pub fn new(conn: Connection, path: &Path, presence: Presence, beside: Beside) -> Result<Self, StoreError> {
        prepare(&conn)?;
        Ok(Self {
            path: path.to_owned(),
            presence,
            conn: Some(conn),
            claims: Claims::default(),
            group: Group::default(),
            commit,
            beside,
            failures: VecDeque::new(),
            complaints: Complaints::default(),
        })
    }

    /// Until the last sender is gone.
    pub fn write_all(mut self, queue: &Receiver<Box<dyn Job>>) {
        while contained(|| self.work(queue)).is_none() {
            // Nothing may end this thread, its own complaint least of all.
            contained(|| tracing::error!("the store's writer failed; it goes on with a fresh connection"));
            self.failures.push_back(Instant::now());
            // Each try gets further: what panicked before is gone.
            while contained(|| self.begin_anew()).is_none() {}
        }
    }

    fn work(&mut self, queue: &Receiver<Box<dyn Job>>) {
        while let Ok(first) = queue.recv() {
            self.group = Group::of(first, queue);
            if let Err(error) = self.write() {
                self.group.refuse(&error);
            }
            match unavailable(&self.group.outcomes) {
                Some(reason) => {
                    self.beside.metrics.failed();
                    self.complaints.hear(reason);
                }
                // Where nothing was committed there is nothing to keep house for, and to complain about once more.
                None => {
                    self.beside.commits.fetch_add(1, Ordering::Relaxed);
                }
            }
            self.group.answer();
        }
    }

    /// An error: nothing of the group was begun.
    fn write(&mut self) -> Result<(), StoreError> {
        if self.rests() {
            return Err(StoreError::Unavailable("the writer failed again and again".to_owned()));
        }
        self.presence.check()?;
        let conn = match self.conn.take() {
            Some(conn) => conn,
            None => self.reopen()?,
        };
        let conn = self.conn.insert(conn);
        if self.beside.restart_log.swap(false, Ordering::AcqRel) {
            housekeeping::begin_log_anew(conn);
        }
        let (started, rows) = (Instant::now(), conn.total_changes());
        let committed = self.group.commit(conn, &mut self.claims, self.commit);
        self.beside.metrics.committed(started.elapsed(), self.group.outcomes.len(), conn.total_changes() - rows);
        if committed == Err(Stuck) {
            tracing::error!("a transaction could neither be committed nor rolled back: its connection is given up");
            self.conn = None;
        }
        Ok(())
    }

    fn reopen(&mut self) -> Result<Connection, StoreError> {
        let conn = reconnect(&self.path)?;
        // It must be the file that the readers have, too.
        self.presence.look()?;
        prepare(&conn)?;
        self.claims = Claims::read(&conn)?;
        Ok(conn)
    }

    fn begin_anew(&mut self) {
        if let Some(conn) = self.conn.take() {
            // A connection that still has statements open does not close, and would keep its lock.
            if !conn.is_autocommit()
                && let Err(error) = conn.execute_batch("ROLLBACK")
            {
                tracing::warn!(%error, "a transaction is ended by closing its connection");
            }
        }
        self.group.lose();
        self.group.answer();
    }

    fn rests(&mut self) -> bool {
        self.failures.retain(|at| at.elapsed() < FAILURES_COUNT_FOR);
        self.failures.len() >= FAILURES
    }
}

/// The housekeeper moves pages out of the log in the background; a commit never waits for that.
fn prepare(conn: &Connection) -> Result<(), StoreError> {
    Ok(conn.pragma_update(None, "wal_autocheckpoint", 0)?)
}

/// Why the store could not be used, when that is what became of a job.
fn unavailable(outcomes: &VecDeque<Result<(), StoreError>>) -> Option<&str> {
    outcomes.iter().find_map(|outcome| match outcome {
        Err(StoreError::Unavailable(reason) | StoreError::Unsettled(reason)) => Some(reason.as_str()),
        _ => None,
    })
}

/// Tells of trouble once and again at intervals, not with each try: the log may be on the same full disk.
#[derive(Default)]
struct Complaints {
    told: Option<Instant>,
    untold: u64,
}

impl Complaints {
    fn hear(&mut self, reason: &str) {
        if self.told.is_some_and(|told| told.elapsed() < COMPLAIN_EVERY) {
            self.untold += 1;
            return;
        }
        tracing::error!(reason, before = self.untold, "a group of changes could not be committed");
        (self.told, self.untold) = (Some(Instant::now()), 0);
    }
}

#[cfg(test)]
mod tests;
