//! The rules of a Conversation as one pure function: no runtime, no clock, no random ids. One turn at a time, one batch
//! in flight, nothing shown before it is stored (promise 2), exactly one terminal frame a turn (promise 8).

use std::sync::Arc;

use crate::{
    policy::{outcome, outcome::Ending, window::Said},
    ports::journal::{Batch, Claimed, FinishedMessage, JournalError, Leftover, NewMessage, Write},
    vocabulary::{
        ConversationId, ConversationStamp, Delta, Finish, Frame, MessageStatus, Piece, Role, Timestamp, TurnId,
        TurnStamp, TurnState, merge,
    },
};

use super::{
    admission::{Place, admit},
    effect::{AbortRefusal, Aborted, Answer, BeginRefusal, CancelReason, Effect, Published},
    event::{Begin, Event, Intent, Ticket},
    frames,
    turn_state::{InFlight, Then, Turn},
};

/// A Provider is cancelled when the store has not committed for so long.
const STORE_PATIENCE_MS: i64 = 10_000;
/// The fold of a Message that runs longer is stored apart, so that it keeps no old rows in the Journal.
const FOLD_AFTER_MS: i64 = 30_000;

/// All that a Conversation keeps while its actor is awake. It holds no history.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    id: ConversationId,
    epoch: u64,
    last_seq: u64,
    next_position: i64,
    title: Option<String>,
    claimed: bool,
    /// Why an earlier instance may have left something running.
    cause: Leftover,
    /// Asked before the claim was answered.
    early: Vec<Event>,
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
            cause,
            early: Vec::new(),
            turn: None,
            in_flight: None,
            trouble: None,
        };
        (state, vec![Effect::Claim(cause)])
    }

    /// Whether nothing runs, is on its way, or waits.
    pub fn is_idle(&self) -> bool {
        self.turn.is_none() && self.in_flight.is_none() && self.early.is_empty()
    }

    pub fn running_turn(&self) -> Option<TurnId> {
        self.turn.as_ref().map(|turn| turn.id)
    }

    /// Takes a fact in and answers what is to be done about it, in order.
    pub fn apply(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Claimed(Ok(claimed)) => self.on_claimed(claimed),
            Event::Claimed(Err(error)) => self.on_unclaimed(error),
            early @ (Event::BeginAsked { .. } | Event::AbortAsked { .. }) if !self.claimed => {
                self.early.push(early);
                Vec::new()
            }
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
            Event::Renamed { title } => {
                self.title = title;
                Vec::new()
            }
            Event::Deleted => self.on_gone(),
        }
    }

    fn on_claimed(&mut self, claimed: Claimed) -> Vec<Effect> {
        self.epoch = claimed.epoch;
        self.last_seq = claimed.last_seq;
        self.next_position = claimed.next_position;
        self.title = claimed.title;
        self.claimed = true;
        let mut effects = vec![Effect::Wake { last_seq: self.last_seq }];
        for early in std::mem::take(&mut self.early) {
            effects.extend(self.apply(early));
        }
        effects
    }

    /// Whoever waits is told at once; the claim of a store that can't commit is tried again, so that what an earlier
    /// instance left running ends as soon as it can.
    fn on_unclaimed(&mut self, error: JournalError) -> Vec<Effect> {
        let mut effects = self.refuse_everybody(&error);
        effects.push(match error {
            JournalError::Unavailable(_) => Effect::RetryLater,
            error => Effect::Quit(error),
        });
        effects
    }

    fn on_gone(&mut self) -> Vec<Effect> {
        let mut effects: Vec<Effect> = Vec::new();
        effects.extend(self.turn.as_ref().map(|turn| Effect::Cancel(turn.id, CancelReason::Abort)));
        effects.extend(self.refuse_everybody(&JournalError::Gone));
        effects.push(Effect::Quit(JournalError::Gone));
        effects
    }

    /// Answers all who wait that nothing of what they asked could be stored.
    fn refuse_everybody(&mut self, error: &JournalError) -> Vec<Effect> {
        let (mut begins, mut aborts) = (Vec::new(), Vec::new());
        for early in std::mem::take(&mut self.early) {
            match early {
                Event::BeginAsked { ticket, .. } => begins.push(ticket),
                Event::AbortAsked { ticket, .. } => aborts.push(ticket),
                _ => {}
            }
        }
        if let Some(turn) = self.turn.as_mut() {
            begins.append(&mut turn.begin_waiters);
            aborts.append(&mut turn.abort_waiters);
        }
        let begun = Answer::Begun(Err(BeginRefusal::Store(error.clone())));
        let aborted = Answer::Aborted(Err(AbortRefusal::Store(error.clone())));
        let begins = begins.into_iter().map(|ticket| Effect::Answer(ticket, begun.clone()));
        begins.chain(aborts.into_iter().map(|ticket| Effect::Answer(ticket, aborted.clone()))).collect()
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
        let place = Place {
            conversation: self.id,
            cursor: self.last_seq,
            next_position: self.next_position,
            title: self.title.as_deref(),
        };
        let admitted = admit(place, begin, ticket);
        let batch = self.batch(admitted.last_seq, admitted.writes);
        self.turn = Some(Box::new(admitted.turn));
        self.in_flight = Some(Box::new(InFlight {
            batch: batch.clone(),
            publish: vec![Published::Frames(admitted.frames)],
            then: Then::Admitted { player: admitted.player },
        }));
        vec![Effect::Prepare { turn, before_position }, Effect::Submit(batch)]
    }

    fn on_deltas(&mut self, turn: TurnId, deltas: Vec<Delta>, now: Timestamp) -> Vec<Effect> {
        let Some(running) = self.turn.as_mut().filter(|running| running.id == turn && running.ending.is_none()) else {
            return Vec::new();
        };
        merge(&mut running.pending, deltas);
        running.reporting = true;
        running.fold_due = now.as_millis() - running.folded_at.as_millis() > FOLD_AFTER_MS;
        self.flush(now)
    }

    fn on_abort(&mut self, turn: Option<TurnId>, ticket: Ticket) -> Vec<Effect> {
        match (self.turn.as_mut(), turn) {
            (Some(running), asked) if asked.is_none_or(|asked| asked == running.id) => {
                let mut effects = vec![Effect::Cancel(running.id, CancelReason::Abort)];
                if self.trouble.is_some() {
                    // It stops now; when its end is stored nobody knows.
                    let why = JournalError::Unavailable("the turn's end is not stored yet".to_owned());
                    effects.push(Effect::Answer(ticket, Answer::Aborted(Err(AbortRefusal::Store(why)))));
                } else {
                    running.abort_waiters.push(ticket);
                }
                effects
            }
            (Some(running), _) => {
                let mismatch = AbortRefusal::Mismatch { running: running.id };
                vec![Effect::Answer(ticket, Answer::Aborted(Err(mismatch)))]
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
        if std::mem::take(&mut turn.fold_due) {
            turn.folded_at = now;
            writes.push(Write::Fold { message: turn.message, body: Arc::new(turn.body.clone()), through: seq });
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
        self.in_flight = Some(flight);
        match error {
            JournalError::Unavailable(_) => self.in_trouble(now),
            JournalError::Gone => self.on_gone(),
            error => vec![Effect::Quit(error)],
        }
    }

    fn refuse_admission(&mut self, error: JournalError) -> Vec<Effect> {
        let mut effects = self.refuse_everybody(&error);
        if let Some(turn) = self.turn.take() {
            effects.push(Effect::Cancel(turn.id, CancelReason::StoreUnavailable));
        }
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
        if !self.claimed {
            return vec![Effect::Claim(self.cause)];
        }
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
        let left = leaving.into_iter().map(|id| (id, frames::next(seq))).collect();
        writes.push(Write::Supersede { left });
    }
    let pieces: Arc<[(u64, Piece)]> = placed.into_iter().map(|piece| (frames::next(seq), piece)).collect();
    writes.push(Write::Pieces { message: turn.message, pieces: Arc::clone(&pieces) });
    (writes, vec![Published::Pieces { message: turn.message, pieces }])
}

fn said(message: &NewMessage) -> Arc<Said> {
    Arc::new(Said::new(message.id, message.position, message.role, message.author.clone(), &message.body.text()))
}

mod standing;
#[cfg(test)]
mod tests;
