//! What recent turns were told of their Conversations, in one cache bounded by bytes: an idle actor holds no history, and a busy one need not read
//! it again.

use std::sync::Arc;

use quick_cache::{Weighter, sync::Cache};

use crate::{
    policy::window::{Said, Window},
    vocabulary::{ConversationId, Summary},
};

/// What the model is told of what was said: the summary, and word by word what comes behind it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recent {
    pub summary: Option<Arc<Summary>>,
    pub window: Window,
}

impl Recent {
    /// Whether this holds all that was said just before `position`: a gap means that it must be read anew.
    pub fn reaches(&self, position: i64) -> bool {
        let newest = self.window.said().last().map(|said| said.position);
        newest.or(self.summary.as_ref().map(|summary| summary.through_position)).unwrap_or(-1) + 1 == position
    }
}

pub struct WindowCache {
    cache: Cache<ConversationId, Arc<Recent>, ByWeight>,
}

#[derive(Clone)]
struct ByWeight;

impl Weighter<ConversationId, Arc<Recent>> for ByWeight {
    fn weight(&self, _id: &ConversationId, recent: &Arc<Recent>) -> u64 {
        let summary = recent.summary.as_ref().map_or(0, |summary| summary.text.len() + 64);
        (recent.window.weight() + summary) as u64 + 64
    }
}

impl WindowCache {
    /// A cache of at most so many bytes of text.
    pub fn new(bytes: u64) -> Self {
        // The estimate only sizes the table.
        Self { cache: Cache::with_weighter(1024, bytes, ByWeight) }
    }

    pub fn get(&self, conversation: ConversationId) -> Option<Arc<Recent>> {
        self.cache.get(&conversation)
    }

    /// For whoever only looks: leaves the order in which windows are forgotten as it is.
    pub fn peek(&self, conversation: ConversationId) -> Option<Arc<Recent>> {
        self.cache.peek(&conversation)
    }

    pub fn put(&self, conversation: ConversationId, recent: Arc<Recent>) {
        self.cache.insert(conversation, recent);
    }

    /// Adds what was just stored, if the window reaches up to it; else the next turn reads the store.
    pub fn recall(&self, conversation: ConversationId, said: Arc<Said>) {
        match self.get(conversation).filter(|recent| recent.reaches(said.position)) {
            Some(recent) => {
                let mut recent = (*recent).clone();
                recent.window.push(said);
                self.put(conversation, Arc::new(recent));
            }
            None => self.forget(conversation),
        }
    }

    pub fn forget(&self, conversation: ConversationId) {
        self.cache.remove(&conversation);
    }
}
