//! Facts given to a Conversation. Ids and times come in with them.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::effect::Answer;
use crate::{
    policy::outcome::Ending,
    ports::journal::{Claimed, JournalError, Queued},
    vocabulary::{
        Author, Delta, Finish, Frame, Hop, MessageError, MessageId, NpcId, Part, PlayerId, ProviderId, Start,
        Timestamp, TurnId, Usage,
    },
};

/// Stands for someone who waits for an answer, and for what he asks: whoever asks again, because an actor failed before it
/// answered, does so under the same ticket. Given by the asker, and never twice in a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Answers to what an earlier instance had stored, and did not live to tell. Comes right before its own claim's.
    Owed(Vec<(Ticket, Answer)>),
    /// The claim was answered. Until then everything else waits.
    Claimed(Result<Claimed, JournalError>),
    /// A turn is asked for; refused while one runs.
    BeginAsked { begin: Box<Begin>, ticket: Ticket },
    /// The turn decoded these. Comes from the turn's task, one at a time: the next waits for `Effect::Taken`.
    DeltasArrived { turn: TurnId, deltas: Vec<Delta>, now: Timestamp },
    /// A task of the turn is over, an answer of the model or the calls that it made; `tail` is what it had not yet reported.
    /// Too late: the turn has ended already.
    TurnEnded {
        turn: TurnId,
        tail: Vec<Delta>,
        usage: Option<Usage>,
        ending: Ending,
        /// Set when another NPC is to go on.
        pass: Option<Box<Pass>>,
        now: Timestamp,
    },
    /// Somebody says whether a call may run.
    DecisionAsked { call: String, decision: Decision, ticket: Ticket, now: Timestamp },
    /// Somebody thought of a better title. Too late: it has another one than `was` by now.
    Retitled { shown: Arc<Shown>, title: String, now: Timestamp },
    /// Stop. Without a turn's id: whichever runs.
    AbortAsked { turn: Option<TurnId>, ticket: Ticket, now: Timestamp },
    /// The batch in flight was committed, or not.
    Settled { outcome: Result<(), JournalError>, now: Timestamp },
    /// A text that waits is to change.
    ChangeAsked { change: QueueChange, ticket: Ticket, now: Timestamp },
    /// What waits may go on, after a Stop, a failure or a restart.
    ResumeAsked { ticket: Ticket },
    /// Who answers the text that is being taken up, or why nobody can. Too late: another attempt, or none, is under way.
    Planned { attempt: u64, outcome: Result<Cast, MessageError>, now: Timestamp },
    /// An earlier variant is to come back in its place.
    SelectAsked { select: Box<Select>, ticket: Ticket, now: Timestamp },
    /// Time to try the claim, or the batch in flight, again.
    RetryDue,
    /// Time to look whether the batch in flight is still on its way.
    LookDue { now: Timestamp },
    /// The Player gave another title, or took it away.
    Renamed { title: Option<String> },
    /// The Conversation was deleted.
    Deleted,
}

impl Event {
    /// Under which ticket somebody asks for it.
    pub fn ticket(&self) -> Option<Ticket> {
        match self {
            Self::BeginAsked { ticket, .. }
            | Self::AbortAsked { ticket, .. }
            | Self::ChangeAsked { ticket, .. }
            | Self::ResumeAsked { ticket }
            | Self::DecisionAsked { ticket, .. }
            | Self::SelectAsked { ticket, .. } => Some(*ticket),
            Self::Owed(_)
            | Self::Claimed(_)
            | Self::DeltasArrived { .. }
            | Self::TurnEnded { .. }
            | Self::Settled { .. }
            | Self::Planned { .. }
            | Self::Retitled { .. }
            | Self::RetryDue
            | Self::LookDue { .. }
            | Self::Renamed { .. }
            | Self::Deleted => None,
        }
    }
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
    pub step_limit: u32,
    pub on_busy: OnBusy,
    pub idempotency: Option<Idempotency>,
    pub now: Timestamp,
}

/// What becomes of a text while another turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnBusy {
    #[default]
    Reject,
    /// It waits, stored and seen, until its turn comes.
    Enqueue,
    /// The running turn is stopped, with what it has; then this one begins.
    Interrupt,
    /// It joins the running turn at its next step.
    Steer,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Intent {
    Send {
        message: MessageId,
        author: Author,
        text: String,
        client_id: Option<String>,
        /// Whom it addresses.
        to: Option<NpcId>,
    },
    /// A text that waited is said.
    TakeUp(Box<Queued>),
    /// Another text in place of one that was said: that one and all behind it leave, and are kept as a variant.
    Edit {
        /// The Conversation's cursor when `supersedes` was read: refused as stale when it has moved.
        as_of: u64,
        message: MessageId,
        author: Author,
        text: String,
        client_id: Option<String>,
        /// The edited Message first.
        supersedes: Vec<MessageId>,
        variant_of: MessageId,
        /// The place of the edited Message: the model is told what was said before it.
        first_position: i64,
    },
    /// Goes on behind what was said last, without another word of the Player.
    Continue {
        /// The Conversation's cursor when this was read: refused as stale when it has moved.
        as_of: u64,
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

impl Idempotency {
    /// The key is taken, and by something else.
    pub fn is_of_another_request(&self, other: &Self) -> bool {
        self.player == other.player && self.key == other.key && self.body_hash != other.body_hash
    }
}

/// How a text that waits is to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueChange {
    Edit { message: MessageId, text: Arc<str>, idempotency: Option<Idempotency> },
    Withdraw { message: MessageId },
}

/// Who answers, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cast {
    pub speaker: Author,
    pub provider_name: String,
    pub model: (ProviderId, String),
    pub hop: Hop,
    /// Answers of the model that one speaker may take.
    pub step_limit: u32,
}

/// The turn's wish to go on with another NPC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    /// The call that hands over; None: it is the next one's turn by the Conversation's own rule.
    pub call: Option<String>,
    pub to: NpcId,
    pub to_name: String,
    /// What that one is told; blank without a call.
    pub message: String,
    /// The id of that one's Message.
    pub reply: MessageId,
    /// Who answers then, and with what; or why that one can't.
    pub cast: Result<Cast, MessageError>,
}

/// A Message that has ended, as readers have seen it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    pub start: Start,
    pub parts: Vec<Part>,
    pub error: Option<MessageError>,
    /// It names the title that the Conversation had then.
    pub finish: Finish,
}

/// What somebody says to a call that waits for it.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    Approve {
        /// Other arguments than the model's.
        input: Option<Map<String, Value>>,
    },
    Deny,
}

/// A variant that is to come back, and what leaves for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// The Conversation's cursor when this was read: refused as stale when it has moved.
    pub as_of: u64,
    /// What stands in its place and behind it now, in order, each with the frame that tells of its leaving.
    pub leaving: Vec<(MessageId, Frame)>,
    /// What left together with it, itself first, each with the frames that show it.
    pub back: Vec<(MessageId, Vec<Frame>)>,
}
