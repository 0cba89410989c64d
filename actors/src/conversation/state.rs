//! The rules of a Conversation as one pure function: no runtime, no clock, no random ids. One turn at a time, one batch
//! in flight, nothing shown before it is stored (promise 2), exactly one terminal frame a turn (promise 8).

mod asking;
mod ending;
mod flights;
mod owing;
mod settling;
mod standing;
mod stepping;

use std::collections::VecDeque;

use crate::{
    ports::journal::{Batch, Claimed, JournalError, Leftover, Queued, Write},
    vocabulary::{ConversationId, Delta, Timestamp, TurnId, merge},
};

use super::{
    admission::Place,
    effect::{AbortRefusal, Answer, BeginRefusal, CancelReason, ChangeRefusal, Effect},
    event::{Event, Ticket},
    queue::Asked,
    turn_state::{InFlight, Next, TakingUp, Then, Turn},
};

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
    /// Answers to what an earlier instance had stored; whoever waits for one asks again.
    owed: Vec<(Ticket, Answer)>,
    turn: Option<Box<Turn>>,
    /// Asked for with leave to stop what runs: it begins when that has ended.
    next: Option<Box<Next>>,
    /// What waits, as it is stored. While nothing runs, nothing is taken up before somebody says so.
    queue: VecDeque<Queued>,
    /// Changes of the queue that are not stored yet.
    changes: VecDeque<Asked>,
    taking_up: Option<Box<TakingUp>>,
    attempts: u64,
    in_flight: Option<Box<InFlight>>,
    /// Set while the store does not take the batch in flight.
    trouble: Option<Trouble>,
    /// A look at the batch in flight is due some time.
    looking: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    /// It was refused, and is tried again.
    Refused,
    /// That has been so for long, or nothing was heard of it: the turn is stopped, and nobody is kept waiting.
    OutOfPatience,
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
            owed: Vec::new(),
            turn: None,
            next: None,
            queue: VecDeque::new(),
            changes: VecDeque::new(),
            taking_up: None,
            attempts: 0,
            in_flight: None,
            trouble: None,
            looking: false,
        };
        (state, vec![Effect::Claim(cause)])
    }

    /// Whether nothing runs, is on its way, or is about to.
    pub fn is_idle(&self) -> bool {
        self.busy_with().is_none() && self.in_flight.is_none() && self.early.is_empty() && self.changes.is_empty()
    }

    pub fn running_turn(&self) -> Option<TurnId> {
        self.turn.as_ref().map(|turn| turn.id)
    }

    /// Texts that wait.
    pub fn queue_length(&self) -> usize {
        self.queue.len()
    }

    /// The turn that runs, or the one that begins next by itself.
    fn busy_with(&self) -> Option<TurnId> {
        self.running_turn()
            .or_else(|| self.next.as_ref().map(|next| next.begin.turn))
            .or_else(|| self.taking_up.as_ref().map(|taking| taking.item.turn))
    }

    /// Takes a fact in and answers what is to be done about it, in order.
    pub fn apply(&mut self, event: Event) -> Vec<Effect> {
        if let Some(answer) = self.claimed.then(|| self.pay(&event)).flatten() {
            return vec![answer];
        }
        match event {
            Event::Owed(owed) => {
                self.owed = owed;
                Vec::new()
            }
            Event::Claimed(Ok(claimed)) => self.on_claimed(claimed),
            Event::Claimed(Err(error)) => self.on_unclaimed(error),
            early @ (Event::BeginAsked { .. }
            | Event::AbortAsked { .. }
            | Event::ChangeAsked { .. }
            | Event::ResumeAsked { .. }
            | Event::DecisionAsked { .. }
            | Event::SelectAsked { .. })
                if !self.claimed =>
            {
                self.early.push(early);
                Vec::new()
            }
            Event::BeginAsked { begin, ticket } => self.on_begin(begin, ticket),
            Event::DeltasArrived { turn, deltas, now } => self.on_deltas(turn, deltas, now),
            Event::TurnEnded { turn, tail, usage, ending, pass, now } => {
                let Some(running) = self.turn.as_mut().filter(|running| running.id == turn && running.ending.is_none())
                else {
                    return Vec::new();
                };
                running.absorb(tail);
                running.usage = match (running.usage, usage) {
                    (Some(earlier), Some(usage)) => Some(earlier.and(usage)),
                    (earlier, usage) => earlier.or(usage),
                };
                running.ending = Some(ending);
                running.pass = pass;
                self.flush(now)
            }
            Event::AbortAsked { turn, ticket, now } => self.on_abort(turn, ticket, now),
            Event::ChangeAsked { change, ticket, now } => self.on_change(change, ticket, now),
            Event::ResumeAsked { ticket } => self.on_resume(ticket),
            Event::DecisionAsked { call, decision, ticket, now } => self.on_decision(call, decision, ticket, now),
            Event::Retitled { shown, title, now } => self.on_retitled(shown, title, now),
            Event::Planned { attempt, outcome, now } => self.on_planned(attempt, outcome, now),
            Event::SelectAsked { select, ticket, now } => self.on_select(*select, ticket, now),
            Event::Settled { outcome: Ok(()), now } => self.on_committed(now),
            Event::Settled { outcome: Err(error), now } => self.on_refused(error, now),
            Event::RetryDue => self.on_retry(),
            Event::LookDue { now } => self.on_look(now),
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
        // The turns that any of these were to steer have ended.
        self.queue = claimed.queue.into_iter().map(|item| Queued { steers: None, ..item }).collect();
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
            error if error.may_be_tried_again() => Effect::RetryLater,
            error => Effect::Quit(error),
        });
        effects
    }

    fn on_gone(&mut self) -> Vec<Effect> {
        let mut effects: Vec<Effect> = Vec::new();
        effects.extend(self.turn.as_ref().map(|turn| Effect::Cancel(turn.id, CancelReason::Abort)));
        if let Some(flight) = self.in_flight.take() {
            effects.extend(flight.then.refusals(&JournalError::Gone));
        }
        effects.extend(self.refuse_everybody(&JournalError::Gone));
        effects.push(Effect::Quit(JournalError::Gone));
        effects
    }

    /// Answers all who wait that nothing of what they asked could be stored.
    fn refuse_everybody(&mut self, error: &JournalError) -> Vec<Effect> {
        let mut answers: Vec<(Ticket, Answer)> = Vec::new();
        let begun = || Answer::Begun(Err(BeginRefusal::Store(error.clone())));
        let aborted = || Answer::Aborted(Err(AbortRefusal::Store(error.clone())));
        let changed = || Answer::Changed(Err(ChangeRefusal::Store(error.clone())));
        for early in std::mem::take(&mut self.early) {
            match early {
                Event::BeginAsked { ticket, .. } | Event::ResumeAsked { ticket } => answers.push((ticket, begun())),
                Event::AbortAsked { ticket, .. } => answers.push((ticket, aborted())),
                Event::ChangeAsked { ticket, .. }
                | Event::DecisionAsked { ticket, .. }
                | Event::SelectAsked { ticket, .. } => {
                    answers.push((ticket, changed()));
                }
                _ => {}
            }
        }
        if let Some(turn) = self.turn.as_mut() {
            answers.extend(turn.begin_waiters.drain(..).map(|ticket| (ticket, begun())));
            answers.extend(turn.abort_waiters.drain(..).map(|ticket| (ticket, aborted())));
            answers.extend(turn.decided.drain(..).map(|decided| (decided.ticket, changed())));
        }
        let next = self.next.take().map(|next| next.waiters).unwrap_or_default();
        let taking_up = self.taking_up.take().map(|taking| taking.waiters).unwrap_or_default();
        answers.extend(next.into_iter().chain(taking_up).map(|ticket| (ticket, begun())));
        let changes = std::mem::take(&mut self.changes);
        let answers = answers.into_iter().map(|(ticket, answer)| Effect::Answer(ticket, answer));
        answers.chain(changes.iter().filter_map(|asked| asked.refusal(error))).collect()
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

    fn place(&self) -> Place<'_> {
        Place {
            conversation: self.id,
            cursor: self.last_seq,
            next_position: self.next_position,
            title: self.title.as_deref(),
        }
    }

    fn batch(&self, last_seq: u64, writes: Vec<Write>) -> Batch {
        Batch { conversation: self.id, epoch: self.epoch, last_seq, writes }
    }
}

#[cfg(test)]
mod tests;
