//! What NPCs remember of Players. Each memory is one NPC's of one Player: nothing here reaches from one pair to another.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::{
    policy::recall::RecallLimits,
    vocabulary::{ConversationId, MemoryId, NpcId, PlayerId, Recollection, Timestamp},
};

/// Characters of one memory at most.
pub const TEXT_LIMIT: usize = 2_000;
/// Memories of one NPC of one Player at most; one more is refused until something is forgotten.
pub const MEMORIES_LIMIT: usize = 5_000;

/// Where memories are kept and found again. However many indexes one has, they are merged by
/// [`ranked`](crate::policy::recall::ranked).
pub trait Memory: Send + Sync + 'static {
    /// What fits the question, the best first. Any text is a question; one that says nothing finds nothing.
    fn recall(
        &self,
        whose: Whose,
        question: Arc<str>,
        limits: RecallLimits,
        now: Timestamp,
    ) -> BoxFuture<'static, Result<Vec<Recollection>, MemoryError>>;

    /// Durable when it answers. What is remembered already is kept once, as of now.
    fn remember(&self, memory: NewMemory) -> BoxFuture<'static, Result<Remembered, MemoryError>>;

    /// Forgets one memory, or none when it is not clear which.
    fn forget(&self, whose: Whose, which: Which, now: Timestamp) -> BoxFuture<'static, Result<Forgotten, MemoryError>>;
}

/// One NPC's memory of one Player.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Whose {
    pub player: PlayerId,
    pub npc: NpcId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMemory {
    pub id: MemoryId,
    pub whose: Whose,
    /// One to [`TEXT_LIMIT`] characters.
    pub text: String,
    pub writer: Writer,
    pub conversation: Option<ConversationId>,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    Npc,
    Player,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remembered {
    New(Recollection),
    /// It was there already, in these words.
    Again(Recollection),
}

/// How a memory is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The last hexadecimal digits of its id, however many tell it apart.
    Ending(String),
    /// What it is about.
    About(Arc<str>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forgotten {
    One(Recollection),
    /// These fit, and nothing was forgotten.
    Several(Vec<Recollection>),
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    #[error("{MEMORIES_LIMIT} memories are kept already, and no more fit")]
    Full,
    #[error("memories can't be reached now: {0}")]
    Unavailable(String),
}
