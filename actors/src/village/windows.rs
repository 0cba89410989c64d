//! Windows of recent turns, in one cache bounded by bytes: an idle actor holds no history, and a busy one need not read
//! it again.

use std::sync::Arc;

use quick_cache::{Weighter, sync::Cache};

use crate::{
    policy::window::{Said, Window},
    vocabulary::ConversationId,
};

pub struct WindowCache {
    cache: Cache<ConversationId, Arc<Window>, ByWeight>,
}

#[derive(Clone)]
struct ByWeight;

impl Weighter<ConversationId, Arc<Window>> for ByWeight {
    fn weight(&self, _id: &ConversationId, window: &Arc<Window>) -> u64 {
        window.weight() as u64 + 64
    }
}

impl WindowCache {
    /// A cache of at most so many bytes of text.
    pub fn new(bytes: u64) -> Self {
        // The estimate only sizes the table.
        Self { cache: Cache::with_weighter(1024, bytes, ByWeight) }
    }

    pub fn get(&self, conversation: ConversationId) -> Option<Arc<Window>> {
        self.cache.get(&conversation)
    }

    /// For whoever only looks: leaves the order in which windows are forgotten as it is.
    pub fn peek(&self, conversation: ConversationId) -> Option<Arc<Window>> {
        self.cache.peek(&conversation)
    }

    pub fn put(&self, conversation: ConversationId, window: Arc<Window>) {
        self.cache.insert(conversation, window);
    }

    /// Adds what was just stored, if the window reaches up to it; else the next turn reads the store.
    pub fn recall(&self, conversation: ConversationId, said: Arc<Said>) {
        match self.get(conversation).filter(|window| window.reaches(said.position)) {
            Some(window) => {
                let mut window = (*window).clone();
                window.push(said);
                self.put(conversation, Arc::new(window));
            }
            None => self.forget(conversation),
        }
    }

    pub fn forget(&self, conversation: ConversationId) {
        self.cache.remove(&conversation);
    }
}
