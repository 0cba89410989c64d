//! One instance of the Conversation's actor, played: the pure state inside, and around it what the thin actor keeps. What
//! `hamlet_actors::conversation::actor` awaits from outside (the Journal, the turn's task, the search for who answers, its
//! timers) is here what the next happening may bring.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
};

use hamlet_actors::{
    conversation::{Begin, Conversation, Effect, Question, QueueChange, Select, Ticket},
    policy::outcome::Ending,
    ports::journal::{Batch, Claimed, JournalError, Leftover, Queued},
    vocabulary::{ConversationId, Delta, ToolCall, TurnId, merge},
};

/// Something asked of the Conversation, so that it can be asked again of its next instance.
#[derive(Debug, Clone)]
pub enum Wish {
    Begin { begin: Box<Begin>, question: Option<Arc<str>> },
    Abort { turn: Option<TurnId>, running: Option<TurnId> },
    Change(QueueChange),
    Resume,
    Select(Box<Select>),
}

#[derive(Debug, Clone)]
pub struct Ask {
    pub wish: Wish,
    pub ticket: Ticket,
    /// How often it was asked before: the Engine gives up after the third time.
    pub tries: u8,
}

/// What the Journal answered, on its way to the actor.
#[derive(Debug)]
pub enum Report {
    Settled(Result<(), JournalError>),
    Claimed(Result<Claimed, JournalError>),
}

/// The turn's task.
#[derive(Debug)]
pub struct Task {
    pub turn: TurnId,
    pub question: Option<Arc<str>>,
    /// What the turn was begun with, or steered by last.
    pub planned: Option<Arc<str>>,
    pub before_position: i64,
    pub released: bool,
    pub cancelled: Option<Ending>,
    /// Closed from a report to its being durable.
    pub gate_open: bool,
    pub buffer: Vec<Delta>,
    /// It has said its last word.
    pub over: bool,
    /// Of a task that runs calls: those that have no result yet.
    pub calls: Option<Vec<ToolCall>>,
}

pub struct Actor {
    pub state: Conversation,
    pub task: Option<Task>,
    pub mailbox: VecDeque<Report>,
    pub asks: BTreeMap<Ticket, Ask>,
    /// What a turn is asked with, until it is answered for.
    pub plans: HashMap<TurnId, Option<Arc<str>>>,
    pub planned: Option<Arc<str>>,
    /// The search that is under way.
    pub planning: Option<(u64, Queued)>,
    /// Timers that have not run out.
    pub retries: usize,
    /// When it wants to look at what the store has.
    pub looks: Vec<i64>,
    /// Batches that were submitted, and not heard of.
    pub in_flight: usize,
    /// The batch that was submitted last.
    pub submitted: Option<Batch>,
    pub shutting_down: bool,
}

impl Actor {
    /// A new instance, and its first duties.
    pub fn waking(id: ConversationId) -> (Self, Vec<Effect>) {
        let (state, effects) = Conversation::waking(id, Leftover::Failed);
        let actor = Self {
            state,
            task: None,
            mailbox: VecDeque::new(),
            asks: BTreeMap::new(),
            plans: HashMap::new(),
            planned: None,
            planning: None,
            retries: 0,
            looks: Vec::new(),
            in_flight: 0,
            submitted: None,
            shutting_down: false,
        };
        (actor, effects)
    }

    /// A further step is asked as the one before, with another question; None: it is in the history.
    pub fn plan_of(&mut self, turn: TurnId, question: Question) -> Option<Option<Arc<str>>> {
        if let Some(task) = self.task.as_ref().filter(|task| task.turn == turn) {
            return Some(match question {
                Question::Planned => task.planned.clone(),
                Question::Said(text) => Some(text),
                Question::InHistory | Question::Passed => None,
            });
        }
        self.plans.remove(&turn).or_else(|| self.planned.take().map(Some))
    }

    /// The first who asks decides how the Message ends.
    pub fn cancel(&mut self, ending: Ending) {
        if let Some(task) = &mut self.task {
            task.cancelled.get_or_insert(ending);
        }
    }
}

impl Task {
    pub fn new(turn: TurnId, question: Option<Arc<str>>, before_position: i64) -> Self {
        Self {
            turn,
            planned: question.clone(),
            question,
            before_position,
            released: false,
            cancelled: None,
            gate_open: true,
            buffer: Vec::new(),
            over: false,
            calls: None,
        }
    }

    /// One that runs these.
    pub fn running(turn: TurnId, calls: Vec<ToolCall>) -> Self {
        Self { released: true, calls: Some(calls), ..Self::new(turn, None, 0) }
    }

    pub fn decode(&mut self, delta: Delta) {
        merge(&mut self.buffer, [delta]);
    }
}
