//! Facts given to a Conversation. Ids and times come in with them.

use crate::{
    policy::outcome::Ending,
    ports::journal::{Claimed, JournalError},
    vocabulary::{Author, Delta, Hop, MessageId, PlayerId, ProviderId, Timestamp, TurnId, Usage},
};

/// Stands for someone who waits for an answer; the actor knows who.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The claim was answered. Until then everything else waits.
    Claimed(Result<Claimed, JournalError>),
    /// A turn is asked for; refused while one runs.
    BeginAsked { begin: Box<Begin>, ticket: Ticket },
    /// The turn decoded these. Comes from the turn's task, one at a time: the next waits for `Effect::Taken`.
    DeltasArrived { turn: TurnId, deltas: Vec<Delta>, now: Timestamp },
    /// The turn's task is over; `tail` is what it had decoded and not yet reported. Too late: the turn has ended already.
    TurnEnded { turn: TurnId, tail: Vec<Delta>, usage: Option<Usage>, ending: Ending, now: Timestamp },
    /// Stop. Without a turn's id: whichever runs.
    AbortAsked { turn: Option<TurnId>, ticket: Ticket },
    /// The batch in flight was committed, or not.
    Settled { outcome: Result<(), JournalError>, now: Timestamp },
    /// Time to try the claim, or the batch in flight, again.
    RetryDue,
    /// The Player gave another title, or took it away.
    Renamed { title: Option<String> },
    /// The Conversation was deleted.
    Deleted,
}

/// A turn that passed every gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Begin {
    pub turn: TurnId,
    /// The id of the NPC's Message.
    pub reply: MessageId,
    pub intent: Intent,
    pub speaker: Author,
    pub provider_name: String,
    pub model: (ProviderId, String),
    pub hop: Hop,
    pub idempotency: Option<Idempotency>,
    pub now: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Intent {
    Send {
        message: MessageId,
        author: Author,
        text: String,
        client_id: Option<String>,
    },
    /// Answers the last Player Message again, without posting it again.
    Regenerate {
        /// The Conversation's cursor when `supersedes` was read: refused as stale when it has moved.
        as_of: u64,
        supersedes: Vec<MessageId>,
        variant_of: Option<MessageId>,
        /// The place of the first of them: the model is told what was said before it.
        first_position: i64,
    },
}

/// Which request a turn answers, so that a repeat of it joins the turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    pub player: PlayerId,
    pub key: String,
    pub body_hash: [u8; 32],
}
