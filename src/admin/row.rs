//! An actor as an operator sees it: what it published, and whose Conversation it is.

use std::collections::BTreeMap;

use hamlet_actors::{
    conversation::vitals::ActorState,
    village::{ActorView, HistoryView, RestartsView, WatchersView},
    vocabulary::{ConversationId, Hop},
};
use serde::Serialize;

use crate::store::oversight::{Overseen, Owner};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    #[serde(flatten)]
    pub actor: ActorView,
    /// None when the Conversation has just been deleted.
    pub player: Option<Owner>,
}

/// How many actors there are in each state; states without any have 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counts {
    total: usize,
    states: BTreeMap<&'static str, usize>,
}

impl Default for Counts {
    fn default() -> Self {
        Self { total: 0, states: ActorState::ALL.into_iter().map(|state| (state.as_str(), 0)).collect() }
    }
}

impl Counts {
    pub fn of(states: impl Iterator<Item = ActorState>) -> Self {
        let mut counts = Self::default();
        states.for_each(|state| counts.moved(None, Some(state)));
        counts
    }

    /// An actor came, went, or is in another state now.
    pub fn moved(&mut self, from: Option<ActorState>, to: Option<ActorState>) {
        if from == to {
            return;
        }
        if let Some(from) = from {
            self.total = self.total.saturating_sub(1);
            self.states.entry(from.as_str()).and_modify(|count| *count = count.saturating_sub(1));
        }
        if let Some(to) = to {
            self.total += 1;
            *self.states.entry(to.as_str()).or_default() += 1;
        }
    }
}

/// The view of a Conversation where nobody is awake and nobody watches: what the store knows.
pub fn asleep(id: ConversationId, stored: &Overseen) -> ActorView {
    ActorView {
        conversation_id: id,
        state: ActorState::Asleep,
        phase: None,
        turn: None,
        speaker: None,
        step: 0,
        hop: Hop::default(),
        queue: stored.queued,
        mailbox: None,
        watchers: WatchersView::default(),
        cursor: Some(stored.last_seq),
        epoch: Some(stored.epoch),
        history: HistoryView::default(),
        summary: None,
        restarts: RestartsView::default(),
        last_error: None,
        memory_bytes: 0,
        last_activity: Some(stored.updated_at),
    }
}
