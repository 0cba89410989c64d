//! The only durable record of a Conversation. Whatever a Conversation shows has been committed here first (promise 2).

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::{
    policy::window::Said,
    vocabulary::{
        Author, Body, ConversationId, FinishReason, Hop, MessageError, MessageId, MessageStatus, NpcId, Part, Piece,
        PlayerId, Role, Summary, Timestamp, TurnId, Usage,
    },
};

/// Where Conversations are written. One append is in flight a Conversation; jobs are committed in the order of their
/// coming.
pub trait Journal: Send + Sync + 'static {
    /// Queues the batch. `done` is called exactly once, after the commit or its failure, from any thread.
    fn submit(&self, batch: Batch, done: Done<()>);

    /// Takes the Conversation over: raises its epoch, so that everything an earlier instance queued is either inside or
    /// refused, and ends what that one left running, with `cause` as the stored reason.
    fn claim(&self, conversation: ConversationId, cause: Leftover, done: Done<Claimed>);

    /// What was said before a place, from one read: the newest summary in use that ends before it, and word by word the
    /// newest whole exchanges behind that, of at most `max_chars` characters together, the last one whatever its length.
    fn history(
        &self,
        conversation: ConversationId,
        before_position: i64,
        max_chars: usize,
    ) -> BoxFuture<'static, Result<Told, JournalError>>;

    /// The first `limit` Messages that were said between two places, both exclusive, oldest first; of each only so much
    /// text as an extract needs.
    fn sketches(
        &self,
        conversation: ConversationId,
        after_position: i64,
        before_position: i64,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Said>, JournalError>>;
}

/// What a model may be told of what was said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    pub summary: Option<Summary>,
    /// Oldest first.
    pub said: Vec<Arc<Said>>,
    /// Whether something lies between the two.
    pub cut: bool,
}

pub type Done<T> = Box<dyn FnOnce(Result<T, JournalError>) + Send>;

/// Why something is not in the Journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The store cannot commit now. Nothing of the batch is stored; the same batch may be tried again.
    #[error("the store cannot commit: {0}")]
    Unavailable(String),
    /// The commit itself failed. Nothing of the batch is stored now, and the same batch may be tried again; but a process
    /// that ends before the next commit may find it stored. Nobody may be told that nothing of it was kept.
    #[error("a commit failed: {0}")]
    Unsettled(String),
    /// Nobody can say whether the batch is stored. It must not be tried again: the next claim finds out, and whatever comes
    /// of this batch comes before that claim.
    #[error("it is not known whether a batch is stored: {0}")]
    Unknown(String),
    /// A newer instance has claimed the Conversation.
    #[error("a newer instance has taken over")]
    Fenced,
    /// The Conversation is gone.
    #[error("the conversation does not exist")]
    Gone,
    /// The batch itself cannot be stored; trying again is of no use.
    #[error("the batch was refused: {0}")]
    Refused(String),
}

impl JournalError {
    /// Whether the same instance may hand in the same batch again.
    pub fn may_be_tried_again(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Unsettled(_))
    }
}

/// Why a Message that was still running when its Conversation was claimed did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftover {
    /// The process ended.
    Interrupted,
    /// The actor or its turn failed.
    Failed,
    /// The actor failed too often and is not woken any more.
    Quarantined,
}

/// The Conversation as its new instance finds it. Nothing of it is running any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    pub epoch: u64,
    pub last_seq: u64,
    pub next_position: i64,
    pub title: Option<String>,
    /// What waits, in the order of its taking up.
    pub queue: Vec<Queued>,
}

/// A Player's Message that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    pub message: MessageId,
    /// The turn that it begins when it is taken up.
    pub turn: TurnId,
    /// The NPC's Message in that turn.
    pub reply: MessageId,
    pub author: Author,
    pub text: Arc<str>,
    pub client_id: Option<String>,
    /// Whom it addresses.
    pub to: Option<NpcId>,
    /// The turn that it joins at its next step; when that one ends before, it is the next to be taken up.
    pub steers: Option<TurnId>,
    pub position: i64,
    pub hop_limit: u32,
    pub created_at: Timestamp,
}

/// Changes of one Conversation that are stored together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    pub conversation: ConversationId,
    pub epoch: u64,
    /// The Conversation's cursor once this batch is stored.
    pub last_seq: u64,
    pub writes: Vec<Write>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    Insert(Arc<NewMessage>),
    /// Pieces of a running Message, each with its seq.
    Pieces {
        message: MessageId,
        pieces: Arc<[(u64, Piece)]>,
    },
    /// The fold so far, so that a Message that runs long does not keep all its pieces in the Journal.
    Fold {
        message: MessageId,
        body: Arc<Body>,
        through: u64,
    },
    Finish(Arc<FinishedMessage>),
    /// These leave the transcript, and come back together when the first of them is selected; each gets the seq under
    /// which its leaving is replayed.
    Supersede {
        left: Vec<(MessageId, u64)>,
    },
    /// These come back as they were when they left; each gets the seq under which it is replayed.
    Restore {
        back: Vec<(MessageId, u64)>,
    },
    /// A Player's Message that waits for its turn.
    Enqueue {
        message: Arc<NewMessage>,
        /// The turn that it begins, unless it is said in the one that its row names.
        turn: TurnId,
        /// The NPC's Message in that turn.
        reply: MessageId,
        to: Option<NpcId>,
    },
    /// One that waits reads so now.
    Requeue(Arc<NewMessage>),
    /// One that waited is said now, in its place.
    TakeUp(Arc<NewMessage>),
    /// One that waited leaves unsaid.
    Withdraw {
        message: MessageId,
        /// The turn that it would have begun.
        turn: TurnId,
        last_seq: u64,
    },
    /// Why one that waits could not be taken up.
    Explain {
        message: Arc<NewMessage>,
        error: MessageError,
        last_seq: u64,
    },
    /// The Conversation's time of last activity, and its title where it had none.
    Touch {
        updated_at: Timestamp,
        title: Option<String>,
    },
    /// Another title, unless it is not `was` any more, and the notice of it behind a Message that has ended.
    Retitle {
        message: MessageId,
        notice: Part,
        was: Option<String>,
        title: String,
        last_seq: u64,
    },
    /// Joins a repeat of the same request to this turn.
    Remember(IdempotentTurn),
}

#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    pub id: MessageId,
    pub turn_id: TurnId,
    pub role: Role,
    pub author: Author,
    pub position: i64,
    pub status: MessageStatus,
    /// Whole for a Player's Message, empty for a reply that begins.
    pub body: Body,
    pub hop: Hop,
    pub supersedes: Vec<MessageId>,
    pub variant_of: Option<MessageId>,
    pub model: Option<(crate::vocabulary::ProviderId, String)>,
    pub client_id: Option<String>,
    pub first_seq: u64,
    pub last_seq: u64,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FinishedMessage {
    pub id: MessageId,
    pub status: MessageStatus,
    pub body: Body,
    pub finish_reason: Option<FinishReason>,
    pub usage: Option<Usage>,
    pub error: Option<MessageError>,
    /// Whether its finish is its turn's terminal frame.
    pub terminal: bool,
    pub last_seq: u64,
    pub finished_at: Timestamp,
}

/// A turn that was begun under an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotentTurn {
    pub player: PlayerId,
    pub key: String,
    /// SHA-256 of route and body.
    pub body_hash: [u8; 32],
    /// For a text that steers: the one that it begins when it can't join the one that runs.
    pub turn: TurnId,
    /// The reply: it tells in which turn the request is answered.
    pub message: MessageId,
    pub first_seq: u64,
    pub at: Timestamp,
}
