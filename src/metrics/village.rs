//! The Village's actors and readers, as they are when somebody asks.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use hamlet_actors::{conversation::vitals::ActorState, village::Totals};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct State {
    state: &'static str,
}

/// A scrape may come as often as it likes; a count is not made more often than this.
const COUNT_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
struct Pacing(Mutex<Option<Instant>>);

impl Pacing {
    fn is_due(&self, now: Instant) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|last| now.duration_since(last) >= COUNT_EVERY);
        if due {
            *last = Some(now);
        }
        due
    }
}

#[derive(Debug, Default)]
pub struct VillageMetrics {
    actors: Family<State, Gauge>,
    watchers: Gauge,
    worst_lag: Gauge,
    queued: Gauge,
    /// Set by who reads the store.
    pub stored: Gauge,
    counting: Pacing,
    waiting: Gauge,
    frames: Gauge,
}

impl VillageMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("actors", "Actors by state; asleep are those that somebody watches", self.actors.clone());
        registry.register("watchers", "Readers of frames", self.watchers.clone());
        registry.register(
            "watcher_lag_frames",
            "Frames that the slowest reader of all is behind",
            self.worst_lag.clone(),
        );
        registry.register(
            "queue_length",
            "Messages that wait for their turn where somebody is awake",
            self.queued.clone(),
        );
        registry.register(
            "texts_waiting",
            "Messages that wait for their turn in the store, whoever is awake; counted every ten seconds at most",
            self.stored.clone(),
        );
        registry.register(
            "mailbox_depth",
            "Requests that wait for their Conversation, in mailboxes or for an answer",
            self.waiting.clone(),
        );
        registry.register_with_unit(
            "frames_held",
            "Frames of running turns in memory",
            Unit::Bytes,
            self.frames.clone(),
        );
    }

    /// Whether the store is to be asked again how many wait in it.
    pub fn is_count_due(&self) -> bool {
        self.counting.is_due(Instant::now())
    }

    pub fn set(&self, totals: &Totals) {
        for state in ActorState::ALL {
            let count = totals.states.get(&state).copied().unwrap_or(0);
            self.actors.get_or_create(&State { state: state.as_str() }).set(number(count));
        }
        self.watchers.set(number(totals.watchers));
        self.worst_lag.set(i64::try_from(totals.worst_lag).unwrap_or(i64::MAX));
        self.queued.set(number(totals.queued));
        self.waiting.set(number(totals.waiting));
        self.frames.set(number(totals.frame_bytes));
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
