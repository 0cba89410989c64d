//! The Village's actors and readers, as they are when somebody asks.

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

#[derive(Debug, Default)]
pub struct VillageMetrics {
    actors: Family<State, Gauge>,
    watchers: Gauge,
    worst_lag: Gauge,
    queued: Gauge,
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
        registry.register("mailbox_depth", "Requests that wait in actors' mailboxes", self.waiting.clone());
        registry.register_with_unit(
            "frames_held",
            "Frames of running turns in memory",
            Unit::Bytes,
            self.frames.clone(),
        );
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
