//! All seats as they were published at about one moment, in the order of their ids. Views are put together for those that
//! are asked for only: a Village can have many.

use std::sync::Arc;

use super::{ActorView, Totals, WindowCache, view::Card};
use crate::{conversation::vitals::ActorState, vocabulary::ConversationId};

pub struct Roll {
    cards: Vec<Card>,
    windows: Arc<WindowCache>,
}

impl Roll {
    pub fn new(mut cards: Vec<Card>, windows: Arc<WindowCache>) -> Self {
        cards.sort_unstable_by_key(|card| card.conversation);
        Self { cards, windows }
    }

    pub fn states(&self) -> impl DoubleEndedIterator<Item = (ConversationId, ActorState)> {
        self.cards.iter().map(|card| (card.conversation, card.state()))
    }

    pub fn view(&self, conversation: ConversationId) -> Option<ActorView> {
        let at = self.cards.binary_search_by_key(&conversation, |card| card.conversation).ok()?;
        self.cards.get(at).map(|card| card.view(&self.windows))
    }

    pub fn views(&self) -> Vec<ActorView> {
        self.cards.iter().map(|card| card.view(&self.windows)).collect()
    }

    pub fn totals(&self) -> Totals {
        Totals::of(&self.cards)
    }
}
