//! What recent turns were told of their Conversations, in one cache bounded by bytes: an idle actor holds no history, and a
//! busy one need not read it again.

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

    fn weight(&self) -> usize {
        self.window.weight() + self.summary.as_ref().map_or(0, |summary| summary.text.len() + 64)
    }
}

#[derive(Clone)]
enum Held {
    Whole(Arc<Recent>),
    /// What was said since somebody began to read what came before it: reading takes about as long as a commit.
    Since(Vec<Arc<Said>>),
}

pub struct WindowCache {
    cache: Cache<ConversationId, Held, ByWeight>,
}

#[derive(Clone)]
struct ByWeight;

impl Weighter<ConversationId, Held> for ByWeight {
    fn weight(&self, _id: &ConversationId, held: &Held) -> u64 {
        let bytes = match held {
            Held::Whole(recent) => recent.weight(),
            Held::Since(said) => said.iter().map(|said| said.weight()).sum(),
        };
        bytes as u64 + 64
    }
}

impl WindowCache {
    /// A cache of at most so many bytes of text.
    pub fn new(bytes: u64) -> Self {
        // The estimate only sizes the table.
        Self { cache: Cache::with_weighter(1024, bytes, ByWeight) }
    }

    pub fn get(&self, conversation: ConversationId) -> Option<Arc<Recent>> {
        self.cache.get(&conversation).and_then(whole)
    }

    /// For whoever only looks: leaves the order in which windows are forgotten as it is.
    pub fn peek(&self, conversation: ConversationId) -> Option<Arc<Recent>> {
        self.cache.peek(&conversation).and_then(whole)
    }

    /// What was read, and what was said meanwhile.
    pub fn put(&self, conversation: ConversationId, mut recent: Arc<Recent>) {
        if let Some(Held::Since(said)) = self.cache.get(&conversation) {
            for said in said {
                if recent.reaches(said.position) {
                    Arc::make_mut(&mut recent).window.push(said);
                }
            }
        }
        self.cache.insert(conversation, Held::Whole(recent));
    }

    /// Adds what was just stored behind what is there; what it does not follow is forgotten.
    pub fn recall(&self, conversation: ConversationId, said: Arc<Said>) {
        // Taken out, so that it need not be copied to be added to.
        let held = match self.cache.remove(&conversation).map(|(_, held)| held) {
            Some(Held::Whole(mut recent)) if recent.reaches(said.position) => {
                Arc::make_mut(&mut recent).window.push(said);
                Held::Whole(recent)
            }
            Some(Held::Since(mut since)) if since.last().is_some_and(|last| last.position + 1 == said.position) => {
                since.push(said);
                Held::Since(since)
            }
            _ => Held::Since(vec![said]),
        };
        self.cache.insert(conversation, held);
    }

    pub fn forget(&self, conversation: ConversationId) {
        self.cache.remove(&conversation);
    }
}

fn whole(held: Held) -> Option<Arc<Recent>> {
    match held {
        Held::Whole(recent) => Some(recent),
        Held::Since(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{Author, AuthorKind, MessageId, Role};
    use uuid::Uuid;

    const ID: ConversationId = ConversationId(Uuid::nil());

    fn said(position: i64) -> Arc<Said> {
        let author = Author { kind: AuthorKind::Player, id: "p".into(), name: "Pia".into() };
        Arc::new(Said::new(MessageId(Uuid::nil()), position, Role::Player, author, "words"))
    }

    fn places(cache: &WindowCache) -> Option<Vec<i64>> {
        cache.get(ID).map(|recent| recent.window.said().iter().map(|said| said.position).collect())
    }

    fn read(positions: std::ops::Range<i64>) -> Arc<Recent> {
        Arc::new(Recent { summary: None, window: Window::of(positions.map(said).collect()) })
    }

    #[test]
    fn what_is_said_while_the_rest_is_being_read_follows_it() {
        let cache = WindowCache::new(1 << 20);
        cache.recall(ID, said(4));
        assert_eq!(places(&cache), None, "what came before is not known yet");
        cache.put(ID, read(0..4));
        assert_eq!(places(&cache), Some(vec![0, 1, 2, 3, 4]));
        cache.recall(ID, said(5));
        assert_eq!(places(&cache), Some(vec![0, 1, 2, 3, 4, 5]));
    }

    #[test]
    fn a_gap_forgets_what_came_before_it() {
        let cache = WindowCache::new(1 << 20);
        cache.put(ID, read(0..4));
        cache.recall(ID, said(6));
        assert_eq!(places(&cache), None);
        cache.put(ID, read(0..4));
        assert_eq!(places(&cache), Some(vec![0, 1, 2, 3]), "it does not follow this either");
    }

    #[test]
    fn what_was_forgotten_is_read_again() {
        let cache = WindowCache::new(1 << 20);
        cache.put(ID, read(0..2));
        cache.forget(ID);
        assert_eq!(places(&cache), None);
    }
}
