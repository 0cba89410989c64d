//! The running turn within a Conversation's state, and the batch that is on its way to the Journal.

use std::sync::Arc;

use crate::{
    policy::{outcome::Ending, said::Said},
    ports::journal::{Batch, JournalError, NewMessage, Queued},
    vocabulary::{
        Author, Body, ConversationId, Delta, Finish, Hop, MessageError, MessageId, MessageStatus, NpcId, Piece,
        ProviderId, Role, Start, StartedMessage, Timestamp, ToolCall, TurnId, Usage, merge,
    },
};

use super::{
    admission::{Place, before_position},
    effect::{Answer, Begun, CancelReason, ChangeRefusal, Effect, Progress, Published},
    event::{Begin, Cast, Decision, Idempotency, Intent, Pass, Shown, Ticket},
    queue::{Asked, Staged},
};

/// A turn from its admission to its terminal frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub id: TurnId,
    pub message: MessageId,
    pub speaker: Author,
    pub provider_name: String,
    pub model: (ProviderId, String),
    /// The reply's place in the transcript.
    pub position: i64,
    pub created_at: Timestamp,
    pub hop: Hop,
    /// Which of its answers the speaker is at, from 1.
    pub step: u32,
    pub step_limit: u32,
    /// Set while calls run, or wait for somebody's yes.
    pub calling: bool,
    /// The tools whose arguments did not fit, once for each time.
    pub misfits: Vec<String>,
    /// Who has spoken in this turn, in order, the speaker last.
    pub trail: Vec<NpcId>,
    /// The history that its first step was told of lies before this place.
    pub before_position: i64,
    /// The wish to go on with another NPC, once this task has ended.
    pub pass: Option<Box<Pass>>,
    /// What was said to calls that waited, and is not stored yet.
    pub decided: Vec<Decided>,
    /// The fold of everything that was handed to the Journal, the batch in flight included.
    pub body: Body,
    /// Arrived while a batch was in flight.
    pub pending: Vec<Delta>,
    /// Whether the task waits for its report to be durable.
    pub reporting: bool,
    pub usage: Option<Usage>,
    /// Set when the task is over and the finish is still to be stored.
    pub ending: Option<Ending>,
    /// Set once somebody, or the store, has stopped it: it takes no further step, and nothing follows it by itself.
    pub stopped: Option<CancelReason>,
    pub abort_waiters: Vec<Ticket>,
    /// Under which key it was asked for: a repeat joins it.
    pub idempotency: Option<Idempotency>,
    /// Who waits for the admission: the one that asked, and repeats of it.
    pub begin_waiters: Vec<Ticket>,
    /// The Conversation's cursor before the turn's first frame.
    pub cursor: u64,
    /// What leaves the transcript with the reply's first Part.
    pub supersedes: Vec<MessageId>,
    /// Something left the transcript for it: a window that was cached does not hold any more.
    pub branched: bool,
    /// When the fold was last stored apart from the Journal's pieces.
    pub folded_at: Timestamp,
    pub fold_due: bool,
}

impl Turn {
    pub fn absorb(&mut self, deltas: Vec<Delta>) {
        merge(&mut self.pending, deltas);
    }

    /// The turn as its admission begins it.
    pub fn admitted(place: Place<'_>, begin: Begin, reply: &NewMessage, begin_waiters: Vec<Ticket>) -> Self {
        let before_position = before_position(place, &begin.intent);
        let trail = begin.speaker.id.parse().into_iter().collect();
        let branched = matches!(begin.intent, Intent::Regenerate { .. } | Intent::Edit { .. });
        Self {
            id: begin.turn,
            message: begin.reply,
            speaker: begin.speaker,
            provider_name: begin.provider_name,
            model: begin.model,
            position: reply.position,
            created_at: reply.created_at,
            hop: reply.hop,
            step: 1,
            step_limit: begin.step_limit,
            calling: false,
            misfits: Vec::new(),
            trail,
            before_position,
            pass: None,
            decided: Vec::new(),
            body: Body::default(),
            pending: Vec::new(),
            reporting: false,
            usage: None,
            ending: None,
            stopped: None,
            abort_waiters: Vec::new(),
            idempotency: begin.idempotency,
            begin_waiters,
            cursor: place.cursor,
            supersedes: reply.supersedes.clone(),
            branched,
            folded_at: begin.now,
            fold_due: false,
        }
    }

    /// The same turn goes on with another Message.
    pub fn begin_step(&mut self, reply: &NewMessage, now: Timestamp) {
        self.message = reply.id;
        self.position = reply.position;
        self.created_at = reply.created_at;
        self.step += 1;
        self.calling = false;
        self.body = Body::default();
        self.pending.clear();
        self.reporting = false;
        self.usage = None;
        self.ending = None;
        self.supersedes.clear();
        self.folded_at = now;
        self.fold_due = false;
    }

    /// The same turn goes on with another speaker.
    pub fn begin_part(&mut self, reply: &NewMessage, cast: Cast, now: Timestamp) {
        self.begin_step(reply, now);
        self.step = 1;
        self.misfits.clear();
        self.trail.extend(cast.speaker.id.parse::<NpcId>());
        self.speaker = cast.speaker;
        self.provider_name = cast.provider_name;
        self.model = cast.model;
        self.step_limit = cast.step_limit;
        self.hop = reply.hop;
    }

    pub fn progress(&self) -> Arc<Progress> {
        let said = (!self.body.parts.is_empty()).then(|| Arc::new(self.said()));
        Arc::new(Progress {
            message: self.message,
            step: self.step,
            said,
            parts: self.body.parts.len(),
            misfits: self.misfits.clone(),
            hop: self.hop,
            trail: self.trail.clone(),
        })
    }

    /// What later requests are told of the reply.
    pub fn said(&self) -> Said {
        Said::of(self.message, self.position, Role::Npc, self.speaker.clone(), &self.body)
    }

    /// The reply as readers have seen it.
    pub fn shown(&self, conversation: ConversationId, finish: Finish, error: Option<MessageError>) -> Shown {
        let message = StartedMessage {
            id: self.message,
            role: Role::Npc,
            author: self.speaker.clone(),
            position: self.position,
            created_at: self.created_at,
            status: MessageStatus::Running,
            client_id: None,
        };
        let start =
            Start { conversation_id: conversation, turn_id: self.id, message, hop: self.hop, supersedes: Vec::new() };
        Shown { start, parts: self.body.parts.clone(), error, finish }
    }

    pub fn begun(&self) -> Begun {
        Begun { turn: self.id, message: self.message, cursor: self.cursor }
    }

    /// Gives what is pending its places.
    pub fn place_pending(&mut self) -> Vec<Piece> {
        let deltas = std::mem::take(&mut self.pending);
        let mut pieces = Vec::with_capacity(deltas.len());
        for delta in deltas {
            for piece in self.body.place(delta) {
                pieces.push(self.attributed(piece));
            }
        }
        pieces
    }

    /// Opaque state belongs to the Provider and model that made it, and carries their names.
    fn attributed(&mut self, piece: Piece) -> Piece {
        match piece {
            Piece::Opaque { index, mut opaque } => {
                opaque.provider_id = Some(self.model.0);
                opaque.model = Some(self.model.1.clone());
                self.body.opaque.entry(index).or_default().absorb(opaque.clone());
                Piece::Opaque { index, opaque }
            }
            piece @ Piece::Part { .. } => piece,
        }
    }
}

/// The one batch that is on its way to the Journal, and what follows from its commit.
#[derive(Debug, Clone, PartialEq)]
pub struct InFlight {
    pub batch: Batch,
    /// When the Journal was asked for the first time.
    pub since: Timestamp,
    pub publish: Vec<Published>,
    pub then: Then,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Then {
    /// The turn was admitted.
    Admitted { player: Option<Arc<NewMessage>>, title: Option<String> },
    /// Pieces were stored; the task may go on, if they are its last report, and calls that somebody has decided about.
    Appended { taken: bool, decided: Vec<Decided> },
    /// The calls of an answer are marked as they will run, or were refused.
    Calling { calls: Vec<ToolCall> },
    /// All calls of a step have their results.
    Stepped,
    /// The speaker's part ended, and another NPC goes on.
    Passed(Box<NextPart>),
    /// A step ended and what steers the turn was said: the turn goes on with another Message.
    Split(Box<NextStep>),
    /// The terminal frame was stored.
    Ended { finish: Box<Finish>, error: Option<MessageError> },
    /// The queue was changed.
    Changed { staged: Box<Staged>, asked: Box<Asked> },
    /// Something came back into the transcript.
    Selected { ticket: Ticket },
}

impl Then {
    /// Answers those who wait for this batch alone that nothing of it is stored.
    pub fn refusals(self, error: &JournalError) -> Vec<Effect> {
        match self {
            Self::Changed { asked, .. } => asked.refusal(error).into_iter().collect(),
            Self::Selected { ticket } => {
                vec![Effect::Answer(ticket, Answer::Changed(Err(ChangeRefusal::Store(error.clone()))))]
            }
            Self::Appended { decided, .. } => decided
                .into_iter()
                .map(|decided| {
                    Effect::Answer(decided.ticket, Answer::Changed(Err(ChangeRefusal::Store(error.clone()))))
                })
                .collect(),
            Self::Admitted { .. }
            | Self::Calling { .. }
            | Self::Stepped
            | Self::Passed(_)
            | Self::Split(_)
            | Self::Ended { .. } => Vec::new(),
        }
    }
}

/// How a turn goes on behind a step that steering split off.
#[derive(Debug, Clone, PartialEq)]
pub struct NextStep {
    pub said: Arc<NewMessage>,
    pub reply: Arc<NewMessage>,
}

/// How a turn goes on with another speaker.
#[derive(Debug, Clone, PartialEq)]
pub struct NextPart {
    pub reply: Arc<NewMessage>,
    pub cast: Cast,
}

/// What somebody said to a call that waited.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    pub call: String,
    pub decision: Decision,
    pub ticket: Ticket,
}

/// A turn that is to be admitted as soon as nothing else is on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Next {
    pub begin: Box<Begin>,
    pub waiters: Vec<Ticket>,
}

/// The first text of the queue is being taken up: someone who answers it is looked for.
#[derive(Debug, Clone, PartialEq)]
pub struct TakingUp {
    /// Tells answers to this search from those of an earlier one.
    pub attempt: u64,
    pub item: Queued,
    pub cast: Option<(Cast, Timestamp)>,
    /// Who asked the queue to go on.
    pub waiters: Vec<Ticket>,
}
