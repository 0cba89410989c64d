//! Duties that a Conversation returns to its actor.

use std::{sync::Arc, time::Duration};

use crate::{
    policy::window::Said,
    ports::journal::{Batch, JournalError, Leftover, Queued},
    vocabulary::{Frame, Hop, MessageError, MessageId, MessageStatus, NpcId, Piece, ToolCall, TurnId},
};

use super::event::{Decision, Shown, Ticket};

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Claim the Conversation in the Journal.
    Claim(Leftover),
    /// Queue the batch; its outcome comes back as `Settled`. From its commit on these answers are owed, whatever becomes of
    /// this instance.
    Submit {
        batch: Batch,
        owed: Vec<(Ticket, Answer)>,
    },
    /// Spawn a step of the turn: it gathers its context now and asks the Provider once it is released.
    Prepare {
        turn: TurnId,
        /// The history that the model is told of lies before this place.
        before_position: i64,
        question: Question,
        progress: Arc<Progress>,
    },
    /// The calls are durable: run them.
    RunCalls {
        turn: TurnId,
        /// In their order, those that wait for somebody's yes included.
        calls: Vec<ToolCall>,
        progress: Arc<Progress>,
    },
    /// What was said to a call that waits is durable.
    Decide {
        turn: TurnId,
        call: String,
        decision: Decision,
    },
    /// The turn's end is durable: whoever wants to may think about it.
    Reflect {
        turn: TurnId,
        status: MessageStatus,
        reply: Arc<str>,
        /// Set when it was the Conversation's first exchange, and ended well.
        first: Option<Arc<Shown>>,
    },
    /// Find out who answers this text; the answer comes back as `Planned`.
    Plan {
        attempt: u64,
        item: Box<Queued>,
    },
    /// The admission is durable: the request may be sent.
    Release(TurnId),
    /// Stop the turn's task; it reports its tail.
    Cancel(TurnId, CancelReason),
    /// These frames are durable: show them.
    Publish(Published),
    /// Tell watchers something that is no transcript, without an id.
    Tell {
        turn: TurnId,
        message: MessageId,
        error: MessageError,
    },
    /// A turn is about to be shown: the log begins behind this seq.
    OpenLog {
        after: u64,
        turn: TurnId,
    },
    /// What the next turn's window gains.
    Recall(Arc<Said>),
    /// The cached window no longer holds; the next turn reads the store.
    ForgetWindow,
    /// What the turn reported is durable: it may report more.
    Taken(TurnId),
    Answer(Ticket, Answer),
    /// The claim is answered: the log begins behind this seq.
    Wake {
        last_seq: u64,
    },
    RetryLater,
    /// Look after so long whether the batch in flight is still on its way: `LookDue`.
    LookLater(Duration),
    /// This instance can't go on; the Village decides what follows.
    Quit(JournalError),
}

/// What a step answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// What the turn was planned with.
    Planned,
    /// What was said to the turn meanwhile.
    Said(Arc<str>),
    /// It is in the history already.
    InHistory,
    /// Likewise, and another NPC answers it, as the last plan says.
    Passed,
}

/// How far a speaker has come in its part of the turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// Nil while no turn runs.
    pub message: MessageId,
    /// From 1.
    pub step: u32,
    /// What it has said and done in this reply; None before the first answer.
    pub said: Option<Arc<Said>>,
    /// How many Parts that is.
    pub parts: usize,
    /// The tools whose arguments did not fit, once for each time.
    pub misfits: Vec<String>,
    pub hop: Hop,
    /// Who has spoken in this turn, in order, this speaker last.
    pub trail: Vec<NpcId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelReason {
    Abort,
    StoreUnavailable,
}

/// Committed frames, in the order of their seq.
#[derive(Debug, Clone, PartialEq)]
pub enum Published {
    Frames(Vec<(u64, Frame)>),
    Pieces { message: MessageId, pieces: Arc<[(u64, Piece)]> },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Begun(Result<Begun, BeginRefusal>),
    Aborted(Result<Aborted, AbortRefusal>),
    /// The queue, or the transcript, was changed.
    Changed(Result<(), ChangeRefusal>),
}

/// The turn is admitted and stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Begun {
    pub turn: TurnId,
    /// The NPC's Message.
    pub message: MessageId,
    /// A watch from here on sees the turn from its first frame.
    pub cursor: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BeginRefusal {
    #[error("a turn is in progress")]
    Busy { running: TurnId },
    /// What the request was read from has changed: read again.
    #[error("the conversation has moved on")]
    Stale,
    /// Another request with the same idempotency key is under way.
    #[error("the idempotency key is of another request")]
    KeyTaken,
    #[error("the turn could not be stored")]
    Store(#[source] JournalError),
    #[error("too many texts are waiting in this conversation")]
    QueueFull,
    /// The text that waits could not be taken up; it waits on.
    #[error("the text that waits cannot be answered: {}", .0.message)]
    Unplanned(MessageError),
    /// Nothing waits for leave to go on.
    #[error("nothing is waiting")]
    NothingWaits { running: Option<TurnId> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aborted {
    /// True when the turn was stopped by this; false when nothing ran or the turn came to its own end first.
    pub aborted: bool,
    pub turn: Option<TurnId>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AbortRefusal {
    #[error("another turn is running")]
    Mismatch { running: TurnId },
    /// The turn is asked to stop; that it has stopped can't be stored now.
    #[error("the turn's end could not be stored")]
    Store(#[source] JournalError),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefusal {
    /// The text was taken up, or withdrawn, before this came.
    #[error("the message is not waiting any more")]
    NotQueued,
    #[error("a turn is in progress")]
    Busy { running: TurnId },
    /// The call does not wait for anybody's yes, or not any more.
    #[error("the call is not waiting for an approval")]
    NotAwaiting,
    /// What the request was read from has changed: read again.
    #[error("the conversation has moved on")]
    Stale,
    #[error("the change could not be stored")]
    Store(#[source] JournalError),
}
