//! The Village in numbers, for whoever counts. Added up from what is published, like a view, and without making any.

use std::collections::BTreeMap;

use super::view::Card;
use crate::conversation::vitals::ActorState;

/// All seats together, at about one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// States that nobody is in are not there.
    pub states: BTreeMap<ActorState, usize>,
    pub watchers: usize,
    /// Frames that the slowest reader is behind.
    pub worst_lag: u64,
    /// Messages that wait for their turn where somebody is awake.
    pub queued: usize,
    /// Requests in mailboxes.
    pub waiting: usize,
    /// Bytes of frames held.
    pub frame_bytes: usize,
}

impl Totals {
    pub fn of(cards: &[Card]) -> Self {
        let mut totals = Self::default();
        for card in cards {
            totals.add(card);
        }
        totals
    }

    fn add(&mut self, card: &Card) {
        let standing = card.awake.as_ref().map(|(vitals, _)| vitals.read().standing);
        let state = standing.map_or_else(|| card.state_without_actor(), |standing| standing.state);
        *self.states.entry(state).or_default() += 1;
        self.queued += standing.map_or(0, |standing| standing.queue);
        if card.log.watchers() > 0 {
            let lags = card.log.lags();
            self.watchers += lags.len();
            self.worst_lag = self.worst_lag.max(lags.first().copied().unwrap_or(0));
        }
        self.waiting += card.awake.as_ref().map_or(0, |(_, mailbox)| card.depth(mailbox));
        self.frame_bytes += card.log.weight();
    }
}
