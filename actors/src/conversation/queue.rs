//! Texts that wait while a turn runs. They are Messages of their own from the start, stored and seen by every tab, and can
//! be edited and withdrawn until they are taken up. Changes are staged as one batch; nothing of it counts before its commit.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    ports::journal::{IdempotentTurn, JournalError, NewMessage, Queued, Write},
    vocabulary::{
        Body, ConversationId, ConversationStamp, Finish, Frame, Hop, MessageError, MessageId, MessageStatus, Part,
        Role, Timestamp, TurnId, TurnStamp, TurnState,
    },
};

use super::{
    effect::{AbortRefusal, Aborted, Answer, BeginRefusal, Begun, ChangeRefusal, Effect},
    event::{Begin, Idempotency, Intent, Shown, Ticket},
    frames,
};

/// Texts that may wait in one Conversation.
pub const QUEUE_LIMIT: usize = 20;
/// A Message that waits stands behind everything that was said; its place is given when it is taken up.
pub const WAITING_POSITION: i64 = 1 << 40;
/// What steers, or was to, comes before what waits otherwise.
pub const STEERING_POSITION: i64 = 1 << 39;

/// The notice that tells a late title.
const TITLE_CHANGED: &str = "TITLE_CHANGED";

/// What is to become of the queue.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Enqueue {
        begin: Box<Begin>,
        /// Set when the text is to join this turn.
        steers: Option<TurnId>,
    },
    Edit {
        message: MessageId,
        text: Arc<str>,
        idempotency: Option<Idempotency>,
    },
    Withdraw(Withdrawn),
    /// A better title than the one that the Conversation had when this was shown, unless it has another one by now.
    Retitle {
        shown: Arc<Shown>,
        title: String,
    },
    /// The text could not be taken up: it waits on, and says why.
    Explain {
        message: MessageId,
        error: MessageError,
    },
}

/// Who names a text that is to be withdrawn, by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawn {
    Message(MessageId),
    /// By the turn that it would begin: Stop.
    Turn(TurnId),
}

/// A change, who waits for it, and when it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub change: Change,
    pub ticket: Option<Ticket>,
    pub now: Timestamp,
}

impl Asked {
    /// What whoever waits hears when nothing of it can be stored.
    pub fn refusal(&self, error: &JournalError) -> Option<Effect> {
        let error = error.clone();
        let answer = match self.change {
            Change::Enqueue { .. } => Answer::Begun(Err(BeginRefusal::Store(error))),
            Change::Withdraw(Withdrawn::Turn(_)) => Answer::Aborted(Err(AbortRefusal::Store(error))),
            Change::Edit { .. }
            | Change::Withdraw(Withdrawn::Message(_))
            | Change::Retitle { .. }
            | Change::Explain { .. } => Answer::Changed(Err(ChangeRefusal::Store(error))),
        };
        self.ticket.map(|ticket| Effect::Answer(ticket, answer))
    }
}

impl Queued {
    fn of(begin: &Begin, steers: Option<TurnId>, first_seq: u64) -> Option<Self> {
        let Intent::Send { message, author, text, client_id, to } = &begin.intent else { return None };
        let behind = if steers.is_some() { STEERING_POSITION } else { WAITING_POSITION };
        Some(Self {
            message: *message,
            turn: begin.turn,
            reply: begin.reply,
            author: author.clone(),
            text: text.as_str().into(),
            client_id: client_id.clone(),
            to: *to,
            steers,
            position: behind + i64::try_from(first_seq).unwrap_or(0),
            hop_limit: begin.hop.limit,
            created_at: begin.now,
        })
    }

    /// The row as it is stored while it waits: one that steers belongs to the turn that it joins, as every tab sees.
    fn waiting(&self, first_seq: u64) -> NewMessage {
        self.row(self.steers.unwrap_or(self.turn), MessageStatus::Queued, self.position, first_seq)
    }

    /// The row as it is stored once it is said, in its place.
    pub fn said(&self, turn: TurnId, position: i64, first_seq: u64) -> NewMessage {
        self.row(turn, MessageStatus::Complete, position, first_seq)
    }

    fn row(&self, turn_id: TurnId, status: MessageStatus, position: i64, first_seq: u64) -> NewMessage {
        NewMessage {
            id: self.message,
            turn_id,
            role: Role::Player,
            author: self.author.clone(),
            position,
            status,
            body: Body { parts: vec![Part::text(&*self.text)], ..Body::default() },
            hop: Hop { count: 0, limit: self.hop_limit },
            supersedes: Vec::new(),
            variant_of: None,
            model: None,
            client_id: self.client_id.clone(),
            first_seq,
            last_seq: first_seq + frames::WHOLE - 1,
            created_at: self.created_at,
        }
    }
}

/// The queue as it will be, and all that follows from the commit of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Staged {
    pub queue: VecDeque<Queued>,
    pub writes: Vec<Write>,
    pub frames: Vec<(u64, Frame)>,
    pub answer: Answer,
    /// The title that the Conversation gets.
    pub title: Option<String>,
    pub last_seq: u64,
}

/// Where the queue stands when a change of it is staged.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'a> {
    pub conversation: ConversationId,
    pub cursor: u64,
    pub title: Option<&'a str>,
    pub queue: &'a VecDeque<Queued>,
    pub running: Option<TurnId>,
}

/// What the change comes to, or the answer when there is nothing that it could change.
pub fn stage(desk: Desk<'_>, asked: &Asked) -> Result<Staged, Answer> {
    let mut draft = Draft { queue: desk.queue.clone(), writes: Vec::new(), frames: Vec::new(), last_seq: desk.cursor };
    let now = asked.now;
    let answer = match &asked.change {
        Change::Enqueue { begin, steers } => draft.enqueue(desk, begin, *steers, now),
        Change::Edit { message, text, idempotency } => draft.edit(desk, *message, text, idempotency.as_ref(), now),
        Change::Withdraw(which) => draft.withdraw(desk, *which, now),
        Change::Retitle { shown, title } => draft.retitle(desk, shown, title),
        Change::Explain { message, error } => draft.explain(desk, *message, error, now),
    }?;
    let Draft { queue, mut writes, frames, last_seq } = draft;
    let title = match &asked.change {
        Change::Retitle { title, .. } => Some(title.clone()),
        _ => None,
    };
    // A title is no activity: the list keeps its order.
    if title.is_none() {
        writes.push(Write::Touch { updated_at: now, title: None });
    }
    Ok(Staged { queue, writes, frames, answer, title, last_seq })
}

struct Draft {
    queue: VecDeque<Queued>,
    writes: Vec<Write>,
    frames: Vec<(u64, Frame)>,
    last_seq: u64,
}

impl Draft {
    fn enqueue(
        &mut self,
        desk: Desk<'_>,
        begin: &Begin,
        steers: Option<TurnId>,
        now: Timestamp,
    ) -> Result<Answer, Answer> {
        if self.queue.len() >= QUEUE_LIMIT {
            return Err(Answer::Begun(Err(BeginRefusal::QueueFull)));
        }
        // The turn that it was to join may have ended meanwhile.
        let steers = steers.filter(|turn| desk.running == Some(*turn));
        let cursor = self.last_seq;
        let Some(item) = Queued::of(begin, steers, cursor + 1) else {
            return Err(Answer::Begun(Err(BeginRefusal::Stale)));
        };
        let row = Arc::new(item.waiting(cursor + 1));
        self.show(desk, &row, None, now);
        self.writes.push(Write::Enqueue { message: row, turn: item.turn, reply: item.reply, to: item.to });
        self.remember(begin.idempotency.as_ref(), item.turn, item.reply, cursor + 1, now);
        let begun = Begun { turn: steers.unwrap_or(item.turn), message: item.reply, cursor };
        let at = self.queue.partition_point(|other| other.position < item.position);
        self.queue.insert(at, item);
        Ok(Answer::Begun(Ok(begun)))
    }

    fn remember(&mut self, key: Option<&Idempotency>, turn: TurnId, message: MessageId, first_seq: u64, at: Timestamp) {
        let Some(Idempotency { player, key, body_hash }) = key.cloned() else { return };
        self.writes.push(Write::Remember(IdempotentTurn { player, key, body_hash, turn, message, first_seq, at }));
    }

    fn edit(
        &mut self,
        desk: Desk<'_>,
        message: MessageId,
        text: &Arc<str>,
        key: Option<&Idempotency>,
        now: Timestamp,
    ) -> Result<Answer, Answer> {
        let Some(item) = self.queue.iter_mut().find(|item| item.message == message) else { return Err(not_queued()) };
        item.text = Arc::clone(text);
        let (turn, reply, first_seq) = (item.turn, item.reply, self.last_seq + 1);
        let row = Arc::new(item.waiting(self.last_seq + 1));
        self.show(desk, &row, None, now);
        self.writes.push(Write::Requeue(row));
        self.remember(key, turn, reply, first_seq, now);
        Ok(Answer::Changed(Ok(())))
    }

    fn withdraw(&mut self, desk: Desk<'_>, which: Withdrawn, now: Timestamp) -> Result<Answer, Answer> {
        let named = |item: &Queued| match which {
            Withdrawn::Message(message) => item.message == message,
            Withdrawn::Turn(turn) => item.turn == turn,
        };
        let Some(item) = self.queue.iter().position(named).and_then(|at| self.queue.remove(at)) else {
            return Err(match which {
                Withdrawn::Message(_) => not_queued(),
                Withdrawn::Turn(turn) => Answer::Aborted(Ok(Aborted { aborted: false, turn: Some(turn) })),
            });
        };
        let seq = frames::next(&mut self.last_seq);
        let finish = Finish {
            message_id: item.message,
            status: MessageStatus::Withdrawn,
            finish_reason: None,
            usage: None,
            turn: TurnStamp { id: item.turn, state: TurnState::Ended },
            conversation: ConversationStamp { title: desk.title.map(str::to_owned), updated_at: now },
        };
        self.frames.push((seq, Frame::Finish(finish)));
        self.writes.push(Write::Withdraw { message: item.message, turn: item.turn, last_seq: seq });
        Ok(match which {
            Withdrawn::Message(_) => Answer::Changed(Ok(())),
            Withdrawn::Turn(turn) => Answer::Aborted(Ok(Aborted { aborted: true, turn: Some(turn) })),
        })
    }

    /// The last Message is shown once more, with a notice, and tells the title.
    fn retitle(&mut self, desk: Desk<'_>, shown: &Shown, title: &str) -> Result<Answer, Answer> {
        if desk.title != shown.finish.conversation.title.as_deref() {
            return Err(Answer::Changed(Err(ChangeRefusal::Stale)));
        }
        let (message, turn) = (shown.finish.message_id, shown.finish.turn.id);
        let notice = Part::Notice { code: TITLE_CHANGED.to_owned(), text: title.to_owned() };
        self.tell(Frame::Start(shown.start.clone()));
        for (index, part) in (0..).zip(shown.parts.iter().chain([&notice])) {
            self.tell(Frame::Part { message_id: message, index, part: part.clone() });
        }
        if let Some(error) = shown.error.clone() {
            self.tell(Frame::Error { turn_id: Some(turn), message_id: Some(message), error });
        }
        let conversation = ConversationStamp { title: Some(title.to_owned()), ..shown.finish.conversation.clone() };
        self.tell(Frame::Finish(Finish { conversation, ..shown.finish.clone() }));
        self.writes.push(Write::Retitle {
            message,
            notice,
            was: desk.title.map(str::to_owned),
            title: title.to_owned(),
            last_seq: self.last_seq,
        });
        Ok(Answer::Changed(Ok(())))
    }

    fn tell(&mut self, frame: Frame) {
        let seq = frames::next(&mut self.last_seq);
        self.frames.push((seq, frame));
    }

    /// Told from its beginning: the log of a reader that was away may not reach back to where it was enqueued, and the store
    /// has it behind all that the log is read after.
    fn explain(
        &mut self,
        desk: Desk<'_>,
        message: MessageId,
        error: &MessageError,
        now: Timestamp,
    ) -> Result<Answer, Answer> {
        let Some(item) = self.queue.iter().find(|item| item.message == message) else { return Err(not_queued()) };
        let row = Arc::new(item.waiting(self.last_seq + 1));
        self.show(desk, &row, Some(error.clone()), now);
        self.writes.push(Write::Explain { message: row, error: error.clone(), last_seq: self.last_seq });
        Ok(Answer::Changed(Ok(())))
    }

    fn show(&mut self, desk: Desk<'_>, row: &NewMessage, error: Option<MessageError>, now: Timestamp) {
        let stamp = ConversationStamp { title: desk.title.map(str::to_owned), updated_at: now };
        self.frames.extend(frames::whole(desk.conversation, row, error, stamp, &mut self.last_seq));
    }
}

fn not_queued() -> Answer {
    Answer::Changed(Err(ChangeRefusal::NotQueued))
}
