//! The rules of a Conversation as one pure function: no runtime, no clock, no random ids. One turn at a time, one batch
//! in flight, nothing shown before it is stored (promise 2), exactly one terminal frame a turn (promise 8).

use std::sync::Arc;

use crate::{
    policy::{outcome, outcome::Ending, window::Said},
    ports::journal::{Batch, Claimed, FinishedMessage, IdempotentTurn, JournalError, Leftover, NewMessage, Write},
    vocabulary::{
        Body, ConversationId, ConversationStamp, Delta, Finish, Frame, Hop, MessageStatus, Part, Piece, Role, Start,
        StartedMessage, Timestamp, TurnId, TurnStamp, TurnState, merge, title_of,
    },
};

use super::{
    effect::{Aborted, Answer, BeginRefusal, CancelReason, Effect, Published, TurnMismatch},
    event::{Begin, Event, Intent, Ticket},
    turn_state::{InFlight, Then, Turn},
};

/// A Provider is cancelled when the store has not committed for so long.
const STORE_PATIENCE_MS: i64 = 10_000;
/// The fold of a Message that runs longer is stored apart, so that it keeps no old rows in the Journal.
const CHECKPOINT_AFTER_MS: i64 = 30_000;

/// All that a Conversation keeps while its actor is awake. It holds no history.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    id: ConversationId,
    epoch: u64,
    last_seq: u64,
    next_position: i64,
    title: Option<String>,
    claimed: bool,
    turn: Option<Box<Turn>>,
    in_flight: Option<Box<InFlight>>,
    /// Since when the batch in flight has been refused by the store.
    trouble: Option<Trouble>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trouble {
    since: Timestamp,
    cancelled: bool,
}

impl Conversation {
    /// A Conversation that knows nothing yet, and its first duty: to claim itself in the Journal.
    pub fn waking(id: ConversationId, cause: Leftover) -> (Self, Vec<Effect>) {
        let state = Self {
            id,
            epoch: 0,
            last_seq: 0,
            next_position: 0,
            title: None,
            claimed: false,
            turn: None,
            in_flight: None,
            trouble: None,
        };
        (state, vec![Effect::Claim(cause)])
    }

    pub fn is_claimed(&self) -> bool {
        self.claimed
    }

    pub fn is_idle(&self) -> bool {
        self.claimed && self.turn.is_none() && self.in_flight.is_none()
    }

    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    pub fn running_turn(&self) -> Option<TurnId> {
        self.turn.as_ref().map(|turn| turn.id)
    }

    /// Takes a fact in and answers what is to be done about it, in order.
    pub fn apply(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Claimed { result: Ok(claimed), now: _ } => self.on_claimed(claimed),
            Event::Claimed { result: Err(error), now: _ } => vec![Effect::Quit(error)],
            Event::BeginAsked { begin, ticket } => self.on_begin(*begin, ticket),
            Event::DeltasArrived { turn, deltas, now } => self.on_deltas(turn, deltas, now),
            Event::TurnEnded { turn, tail, usage, ending, now } => {
                let Some(running) = self.turn.as_mut().filter(|running| running.id == turn && running.ending.is_none())
                else {
                    return Vec::new();
                };
                running.absorb(tail);
                running.usage = usage;
                running.ending = Some(ending);
                self.flush(now)
            }
            Event::AbortAsked { turn, ticket } => self.on_abort(turn, ticket),
            Event::Settled { outcome: Ok(()), now } => self.on_committed(now),
            Event::Settled { outcome: Err(error), now } => self.on_refused(error, now),
            Event::RetryDue => self.on_retry(),
        }
    }

    fn on_claimed(&mut self, claimed: Claimed) -> Vec<Effect> {
        self.epoch = claimed.epoch;
        self.last_seq = claimed.last_seq;
        self.next_position = claimed.next_position;
        self.title = claimed.title;
        self.claimed = true;
        vec![Effect::Replay]
    }

    fn on_begin(&mut self, begin: Begin, ticket: Ticket) -> Vec<Effect> {
        let refuse = |refusal| vec![Effect::Answer(ticket, Answer::Begun(Err(refusal)))];
        if let Some(running) = self
            .turn
            .as_mut()
            .filter(|running| running.idempotency.is_some() && running.idempotency == begin.idempotency)
        {
            if matches!(self.in_flight.as_deref(), Some(InFlight { then: Then::Admitted { .. }, .. })) {
                running.begin_waiters.push(ticket);
                return Vec::new();
            }
            return vec![Effect::Answer(ticket, Answer::Begun(Ok(running.begun())))];
        }
        if self.trouble.is_some() {
            let why = JournalError::Unavailable("the running turn's end is not stored yet".to_owned());
            return refuse(BeginRefusal::Store(why));
        }
        if let Some(running) = self.running_turn() {
            return refuse(BeginRefusal::Busy { running });
        }
        if let Intent::Regenerate { as_of, .. } = &begin.intent
            && *as_of != self.last_seq
        {
            return refuse(BeginRefusal::Stale);
        }
        let turn = begin.turn;
        let before_position = match begin.intent {
            Intent::Send { .. } => self.next_position,
            Intent::Regenerate { first_position, .. } => first_position,
        };
        self.admit(begin, ticket);
        let mut effects = vec![Effect::Prepare { turn, before_position }];
        effects.extend(self.in_flight.as_ref().map(|flight| Effect::Submit(flight.batch.clone())));
        effects
    }

    /// Makes the one transaction of an admission: the Player's Message, the title, the time of activity, the NPC's
    /// Message, the idempotency key.
    fn admit(&mut self, begin: Begin, ticket: Ticket) {
        let cursor = self.last_seq;
        let mut seq = cursor;
        let mut writes = Vec::new();
        let mut frames = Vec::new();
        let mut title = None;
        let mut player = None;
        let (supersedes, variant_of) = match begin.intent {
            Intent::Send { message, author, text, client_id } => {
                if self.title.is_none() {
                    title = Some(title_of(&text)).filter(|title| !title.is_empty());
                }
                let stamp =
                    ConversationStamp { title: title.clone().or_else(|| self.title.clone()), updated_at: begin.now };
                let body = Body { parts: vec![Part::text(text)], ..Body::default() };
                let stored = Arc::new(NewMessage {
                    id: message,
                    turn_id: begin.turn,
                    role: Role::Player,
                    author,
                    position: self.next_position,
                    status: MessageStatus::Complete,
                    body,
                    hop: Hop { count: 0, limit: begin.hop.limit },
                    supersedes: Vec::new(),
                    variant_of: None,
                    model: None,
                    client_id,
                    first_seq: seq + 1,
                    last_seq: seq + 3,
                    created_at: begin.now,
                });
                frames.extend(whole_frames(self.id, &stored, stamp, &mut seq));
                writes.push(Write::Insert(Arc::clone(&stored)));
                player = Some(stored);
                (Vec::new(), None)
            }
            Intent::Regenerate { supersedes, variant_of, .. } => (supersedes, variant_of),
        };
        let position = self.next_position + i64::from(player.is_some());
        seq += 1;
        let reply = Arc::new(NewMessage {
            id: begin.reply,
            turn_id: begin.turn,
            role: Role::Npc,
            author: begin.speaker.clone(),
            position,
            status: MessageStatus::Running,
            body: Body::default(),
            hop: begin.hop,
            supersedes: supersedes.clone(),
            variant_of,
            model: Some(begin.model.clone()),
            client_id: None,
            first_seq: seq,
            last_seq: seq,
            created_at: begin.now,
        });
        frames.push((seq, start_frame(self.id, &reply, MessageStatus::Running)));
        writes.push(Write::Insert(reply));
        writes.push(Write::Touch { updated_at: begin.now, title });
        if let Some(key) = begin.idempotency.clone() {
            writes.push(Write::Remember(IdempotentTurn {
                player: key.player,
                key: key.key,
                body_hash: key.body_hash,
                turn: begin.turn,
                message: begin.reply,
                first_seq: cursor + 1,
                at: begin.now,
            }));
        }
        self.turn = Some(Box::new(Turn {
            id: begin.turn,
            message: begin.reply,
            speaker: begin.speaker,
            provider_name: begin.provider_name,
            model: begin.model,
            hop: begin.hop,
            position,
            body: Body::default(),
            pending: Vec::new(),
            reporting: false,
            usage: None,
            ending: None,
            abort_waiters: Vec::new(),
            idempotency: begin.idempotency,
            begin_waiters: vec![ticket],
            cursor,
            supersedes,
            regenerated: player.is_none(),
            checkpointed: begin.now,
            checkpoint_due: false,
        }));
        self.in_flight = Some(Box::new(InFlight {
            batch: self.batch(seq, writes),
            publish: vec![Published::Frames(frames)],
            then: Then::Admitted { player },
        }));
    }

    fn on_deltas(&mut self, turn: TurnId, deltas: Vec<Delta>, now: Timestamp) -> Vec<Effect> {
        let Some(running) = self.turn.as_mut().filter(|running| running.id == turn && running.ending.is_none()) else {
            return Vec::new();
        };
        merge(&mut running.pending, deltas);
        running.reporting = true;
        running.checkpoint_due = now.as_millis() - running.checkpointed.as_millis() > CHECKPOINT_AFTER_MS;
        self.flush(now)
    }

    fn on_abort(&mut self, turn: Option<TurnId>, ticket: Ticket) -> Vec<Effect> {
        match (self.turn.as_mut(), turn) {
            (Some(running), asked) if asked.is_none_or(|asked| asked == running.id) => {
                running.abort_waiters.push(ticket);
                vec![Effect::Cancel(running.id, CancelReason::Abort)]
            }
            (Some(running), _) => {
                vec![Effect::Answer(ticket, Answer::Aborted(Err(TurnMismatch { running: running.id })))]
            }
            (None, asked) => vec![Effect::Answer(ticket, Answer::Aborted(Ok(Aborted { aborted: false, turn: asked })))],
        }
    }

    /// Sends on what is pending, unless a batch is in flight.
    fn flush(&mut self, now: Timestamp) -> Vec<Effect> {
        if self.in_flight.is_some() {
            return Vec::new();
        }
        let Some(turn) = self.turn.as_mut() else { return Vec::new() };
        let flight = match turn.ending.clone() {
            Some(ending) => self.ending_flight(&ending, now),
            None if turn.pending.is_empty() => return Vec::new(),
            None => self.append_flight(now),
        };
        let Some(flight) = flight else { return Vec::new() };
        let submit = Effect::Submit(flight.batch.clone());
        self.in_flight = Some(Box::new(flight));
        vec![submit]
    }

    fn append_flight(&mut self, now: Timestamp) -> Option<InFlight> {
        let mut seq = self.last_seq;
        let turn = self.turn.as_mut()?;
        let (mut writes, publish) = pending_writes(turn, &mut seq);
        if turn.checkpoint_due {
            turn.checkpoint_due = false;
            turn.checkpointed = now;
            writes.push(Write::Checkpoint { message: turn.message, body: Arc::new(turn.body.clone()), through: seq });
        }
        let taken = std::mem::take(&mut turn.reporting);
        Some(InFlight { batch: self.batch(seq, writes), publish, then: Then::Appended { taken } })
    }

    /// The last pieces, what closes open calls, and the finish: one transaction.
    fn ending_flight(&mut self, ending: &Ending, now: Timestamp) -> Option<InFlight> {
        let mut seq = self.last_seq;
        let turn = self.turn.as_mut()?;
        let (mut writes, mut publish) = pending_writes(turn, &mut seq);
        let verdict = outcome::verdict(&turn.body, ending, &turn.provider_name);
        turn.pending = verdict.closing;
        let (closing, shown) = pending_writes(turn, &mut seq);
        writes.extend(closing);
        publish.extend(shown);
        let mut frames = Vec::new();
        if let Some(error) = verdict.error.clone() {
            seq += 1;
            frames.push((seq, Frame::Error { turn_id: turn.id, message_id: turn.message, error }));
        }
        seq += 1;
        frames.push((
            seq,
            Frame::Finish(Finish {
                message_id: turn.message,
                status: verdict.status,
                finish_reason: verdict.finish_reason,
                usage: turn.usage,
                turn: TurnStamp { id: turn.id, state: TurnState::Ended },
                conversation: ConversationStamp { title: self.title.clone(), updated_at: now },
            }),
        ));
        publish.push(Published::Frames(frames));
        writes.push(Write::Finish(Arc::new(FinishedMessage {
            id: turn.message,
            status: verdict.status,
            body: turn.body.clone(),
            finish_reason: verdict.finish_reason,
            usage: turn.usage,
            error: verdict.error,
            terminal: true,
            last_seq: seq,
            finished_at: now,
        })));
        writes.push(Write::Touch { updated_at: now, title: None });
        let aborted = verdict.status == MessageStatus::Aborted;
        Some(InFlight { batch: self.batch(seq, writes), publish, then: Then::Ended { aborted } })
    }

    fn on_committed(&mut self, now: Timestamp) -> Vec<Effect> {
        let Some(flight) = self.in_flight.take() else { return Vec::new() };
        self.trouble = None;
        self.last_seq = flight.batch.last_seq;
        let mut effects = Vec::with_capacity(4);
        match flight.then {
            Then::Admitted { player } => {
                let Some(turn) = self.turn.as_mut() else { return Vec::new() };
                self.next_position = turn.position + 1;
                for write in &flight.batch.writes {
                    if let Write::Touch { title: Some(title), .. } = write {
                        self.title = Some(title.clone());
                    }
                }
                effects.push(Effect::OpenLog { after: turn.cursor, turn: turn.id });
                effects.extend(flight.publish.into_iter().map(Effect::Publish));
                effects.push(match player {
                    Some(player) => Effect::Recall(said(&player)),
                    None => Effect::ForgetWindow,
                });
                effects.push(Effect::Release(turn.id));
                let begun = turn.begun();
                let waiters = std::mem::take(&mut turn.begin_waiters);
                effects.extend(waiters.into_iter().map(|ticket| Effect::Answer(ticket, Answer::Begun(Ok(begun)))));
                if !turn.abort_waiters.is_empty() {
                    effects.push(Effect::Cancel(turn.id, CancelReason::Abort));
                }
            }
            Then::Appended { taken } => {
                effects.extend(flight.publish.into_iter().map(Effect::Publish));
                effects.extend(self.turn.as_ref().filter(|_| taken).map(|turn| Effect::Taken(turn.id)));
            }
            Then::Ended { aborted } => {
                effects.extend(flight.publish.into_iter().map(Effect::Publish));
                if let Some(turn) = self.turn.take() {
                    effects.push(if turn.regenerated {
                        Effect::ForgetWindow
                    } else {
                        let text = turn.body.text();
                        Effect::Recall(Arc::new(Said::new(
                            turn.message,
                            turn.position,
                            Role::Npc,
                            turn.speaker.clone(),
                            &text,
                        )))
                    });
                    let answer = Aborted { aborted, turn: Some(turn.id) };
                    effects.extend(
                        turn.abort_waiters
                            .into_iter()
                            .map(|ticket| Effect::Answer(ticket, Answer::Aborted(Ok(answer)))),
                    );
                }
            }
        }
        effects.extend(self.flush(now));
        effects
    }

    /// Nothing of the batch is stored. An admission is refused at once; everything else waits for the store.
    fn on_refused(&mut self, error: JournalError, now: Timestamp) -> Vec<Effect> {
        let Some(flight) = self.in_flight.take() else { return Vec::new() };
        if let Then::Admitted { .. } = flight.then {
            return self.refuse_admission(error);
        }
        match error {
            JournalError::Unavailable(_) => {
                self.in_flight = Some(flight);
                self.in_trouble(now)
            }
            error => {
                self.in_flight = Some(flight);
                vec![Effect::Quit(error)]
            }
        }
    }

    fn refuse_admission(&mut self, error: JournalError) -> Vec<Effect> {
        let Some(turn) = self.turn.take() else { return Vec::new() };
        let mut effects = vec![Effect::Cancel(turn.id, CancelReason::StoreUnavailable)];
        let stopped = Aborted { aborted: true, turn: Some(turn.id) };
        effects
            .extend(turn.abort_waiters.into_iter().map(|waiter| Effect::Answer(waiter, Answer::Aborted(Ok(stopped)))));
        let refused = Answer::Begun(Err(BeginRefusal::Store(error.clone())));
        effects.extend(turn.begin_waiters.into_iter().map(|waiter| Effect::Answer(waiter, refused.clone())));
        if !matches!(error, JournalError::Unavailable(_) | JournalError::Refused(_)) {
            effects.push(Effect::Quit(error));
        }
        effects
    }

    fn in_trouble(&mut self, now: Timestamp) -> Vec<Effect> {
        let trouble = self.trouble.get_or_insert(Trouble { since: now, cancelled: false });
        let patience_over = now.as_millis() - trouble.since.as_millis() >= STORE_PATIENCE_MS;
        let mut effects = Vec::new();
        if let Some(turn) = self.turn.as_ref().filter(|_| patience_over && !trouble.cancelled) {
            trouble.cancelled = true;
            effects.push(Effect::Cancel(turn.id, CancelReason::StoreUnavailable));
            effects.push(Effect::Tell { turn: turn.id, message: turn.message, error: outcome::store_unavailable() });
        }
        effects.push(Effect::RetryLater);
        effects
    }

    fn on_retry(&mut self) -> Vec<Effect> {
        self.in_flight.as_ref().map(|flight| Effect::Submit(flight.batch.clone())).into_iter().collect()
    }

    fn batch(&self, last_seq: u64, writes: Vec<Write>) -> Batch {
        Batch { conversation: self.id, epoch: self.epoch, last_seq, writes }
    }
}

/// Places what is pending, numbers it, and lets what it supersedes leave with the first Part.
fn pending_writes(turn: &mut Turn, seq: &mut u64) -> (Vec<Write>, Vec<Published>) {
    let placed = turn.place_pending();
    if placed.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let mut writes = Vec::with_capacity(2);
    let leaving = std::mem::take(&mut turn.supersedes);
    if !leaving.is_empty() {
        let left = leaving.into_iter().map(|id| (id, next(seq))).collect();
        writes.push(Write::Supersede { left });
    }
    let pieces: Arc<[(u64, Piece)]> = placed.into_iter().map(|piece| (next(seq), piece)).collect();
    writes.push(Write::Pieces { message: turn.message, pieces: Arc::clone(&pieces) });
    (writes, vec![Published::Pieces { message: turn.message, pieces }])
}

fn next(seq: &mut u64) -> u64 {
    *seq += 1;
    *seq
}

fn said(message: &NewMessage) -> Arc<Said> {
    Arc::new(Said::new(message.id, message.position, message.role, message.author.clone(), &message.body.text()))
}

fn start_frame(conversation: ConversationId, message: &NewMessage, status: MessageStatus) -> Frame {
    Frame::Start(Start {
        conversation_id: conversation,
        turn_id: message.turn_id,
        message: StartedMessage {
            id: message.id,
            role: message.role,
            author: message.author.clone(),
            position: message.position,
            created_at: message.created_at,
            status,
            client_id: message.client_id.clone(),
        },
        hop: message.hop,
        supersedes: message.supersedes.clone(),
    })
}

/// Start, Parts and finish of a Player's Message, which is whole from the start.
fn whole_frames(
    conversation: ConversationId,
    message: &NewMessage,
    stamp: ConversationStamp,
    seq: &mut u64,
) -> Vec<(u64, Frame)> {
    let mut frames = vec![(next(seq), start_frame(conversation, message, MessageStatus::Running))];
    for (index, part) in (0..).zip(&message.body.parts) {
        frames.push((next(seq), Frame::Part { message_id: message.id, index, part: part.clone() }));
    }
    frames.push((
        next(seq),
        Frame::Finish(Finish {
            message_id: message.id,
            status: MessageStatus::Complete,
            finish_reason: None,
            usage: None,
            turn: TurnStamp { id: message.turn_id, state: TurnState::Running },
            conversation: stamp,
        }),
    ));
    frames
}

#[cfg(test)]
mod tests;
