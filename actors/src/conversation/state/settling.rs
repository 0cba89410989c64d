//! What follows when the batch in flight is stored, or is not.

use std::{sync::Arc, time::Duration};

use crate::{
    policy::{
        outcome::{self, Ending},
        window::Said,
    },
    ports::journal::{JournalError, NewMessage, Queued},
    vocabulary::{Finish, MessageError, MessageStatus, Timestamp},
};

use super::{
    super::{
        effect::{AbortRefusal, Aborted, Answer, BeginRefusal, CancelReason, Effect, Question},
        event::Ticket,
        queue::Staged,
        turn_state::{Decided, NextStep, Then},
    },
    Conversation, Trouble,
    asking::begun,
};

/// The place of the first reply of a Conversation.
const FIRST_REPLY: i64 = 1;

/// A Provider is cancelled when the store has had a batch for so long.
pub(super) const STORE_PATIENCE_MS: i64 = 10_000;

impl Conversation {
    pub(super) fn on_committed(&mut self, now: Timestamp) -> Vec<Effect> {
        let Some(flight) = self.in_flight.take() else { return Vec::new() };
        self.trouble = None;
        self.last_seq = flight.batch.last_seq;
        let mut effects = Vec::with_capacity(4);
        let publish = flight.publish.into_iter().map(Effect::Publish);
        match flight.then {
            Then::Admitted { player, title } => {
                self.title = title.or(self.title.take());
                effects.extend(self.admitted(player, publish));
            }
            Then::Appended { taken, decided } => {
                effects.extend(publish);
                effects.extend(self.decided(decided));
                effects.extend(self.turn.as_ref().filter(|_| taken).map(|turn| Effect::Taken(turn.id)));
            }
            Then::Calling { calls } => {
                effects.extend(publish);
                effects.extend(self.calling(calls));
            }
            Then::Stepped => {
                effects.extend(publish);
                // Stop, or a text that steers, may have come meanwhile.
                if let Some(turn) = self.turn.as_mut() {
                    turn.ending = Some(Ending::Called);
                }
            }
            Then::Passed(part) => {
                effects.extend(publish);
                effects.extend(self.passed(*part, now));
            }
            Then::Split(step) => {
                effects.extend(publish);
                effects.extend(self.split(*step, now));
            }
            Then::Ended { finish, error } => {
                effects.extend(publish);
                effects.extend(self.ended(*finish, error));
            }
            Then::Changed { staged, asked } => {
                effects.extend(publish);
                effects.extend(self.changed(*staged, asked.ticket));
            }
            Then::Selected { ticket } => {
                effects.extend(publish);
                effects.push(Effect::ForgetWindow);
                effects.push(Effect::Answer(ticket, Answer::Changed(Ok(()))));
            }
        }
        effects.extend(self.flush(now));
        effects
    }

    fn admitted(&mut self, player: Option<Arc<NewMessage>>, publish: impl Iterator<Item = Effect>) -> Vec<Effect> {
        let Some(turn) = self.turn.as_mut() else { return Vec::new() };
        self.next_position = turn.position + 1;
        self.queue.retain(|item| item.turn != turn.id);
        let mut effects = vec![Effect::OpenLog { after: turn.cursor, turn: turn.id }];
        effects.extend(publish);
        effects.push(match player.filter(|_| !turn.branched) {
            Some(player) => Effect::Recall(said(&player)),
            None => Effect::ForgetWindow,
        });
        effects.push(Effect::Release(turn.id));
        let begun = turn.begun();
        let waiters = std::mem::take(&mut turn.begin_waiters);
        effects.extend(waiters.into_iter().map(|ticket| Effect::Answer(ticket, Answer::Begun(Ok(begun)))));
        // Asked for while it was not stored yet.
        effects.extend(turn.stopped.map(|reason| Effect::Cancel(turn.id, reason)));
        effects
    }

    /// The turn goes on with its next Message.
    fn split(&mut self, step: NextStep, now: Timestamp) -> Vec<Effect> {
        let Some(turn) = self.turn.as_mut() else { return Vec::new() };
        let NextStep { said: text, reply } = step;
        let earlier = Arc::new(turn.said());
        self.queue.retain(|item| item.message != text.id);
        turn.begin_step(&reply, now);
        self.next_position = turn.position + 1;
        let mut effects = Vec::with_capacity(5);
        effects.push(if turn.branched { Effect::ForgetWindow } else { Effect::Recall(earlier) });
        let question = text.body.text().into();
        turn.before_position = text.position;
        let (before_position, progress) = (text.position, turn.progress());
        effects.push(Effect::Prepare { turn: turn.id, before_position, question: Question::Said(question), progress });
        effects.push(Effect::Recall(said(&text)));
        effects.push(Effect::Release(turn.id));
        effects.extend(turn.stopped.map(|reason| Effect::Cancel(turn.id, reason)));
        effects
    }

    fn ended(&mut self, finish: Finish, error: Option<MessageError>) -> Vec<Effect> {
        let Some(turn) = self.turn.take() else { return Vec::new() };
        let status = finish.status;
        let first = (turn.position == FIRST_REPLY && status == MessageStatus::Complete && turn.hop.count == 0)
            .then(|| Arc::new(turn.shown(self.id, finish, error)));
        let mut effects = Vec::with_capacity(2);
        effects.push(if turn.branched { Effect::ForgetWindow } else { Effect::Recall(Arc::new(turn.said())) });
        effects.push(Effect::Reflect { turn: turn.id, status, reply: turn.body.text().into(), first });
        let aborted = status == MessageStatus::Aborted;
        let answer = Aborted { aborted, turn: Some(turn.id) };
        effects
            .extend(turn.abort_waiters.into_iter().map(|ticket| Effect::Answer(ticket, Answer::Aborted(Ok(answer)))));
        // What was to steer this turn comes next, as a turn of its own.
        for item in &mut self.queue {
            item.steers = None;
        }
        // After Stop, also one that came too late for the reply, or a failure, the queue waits until somebody says that it
        // may go on.
        let goes_on = status == MessageStatus::Complete && turn.stopped.is_none() && self.next.is_none();
        if goes_on && !self.queue.is_empty() {
            effects.extend(self.take_up(Vec::new()));
        }
        effects
    }

    /// What somebody said to calls is stored: they hear it.
    fn decided(&mut self, decided: Vec<Decided>) -> Vec<Effect> {
        let Some(turn) = self.turn.as_ref() else { return Vec::new() };
        let heard = |Decided { call, decision, ticket }| {
            [Effect::Answer(ticket, Answer::Changed(Ok(()))), Effect::Decide { turn: turn.id, call, decision }]
        };
        decided.into_iter().flat_map(heard).collect()
    }

    fn changed(&mut self, staged: Staged, ticket: Option<Ticket>) -> Vec<Effect> {
        self.queue = staged.queue;
        self.title = staged.title.or(self.title.take());
        let mut effects: Vec<Effect> =
            ticket.into_iter().map(|ticket| Effect::Answer(ticket, staged.answer.clone())).collect();
        // The text that is being taken up may read otherwise now, or be gone.
        if let Some(taking_up) = self.taking_up.take_if(|taking_up| self.queue.front() != Some(&taking_up.item)) {
            effects.extend(self.take_up(taking_up.waiters));
        }
        effects
    }

    /// Nothing of the batch is stored. What somebody waits for is refused at once; everything else waits for the store.
    pub(super) fn on_refused(&mut self, error: JournalError, now: Timestamp) -> Vec<Effect> {
        if error == JournalError::Fenced {
            // Another instance is in this one's place, and nothing of this is stored: whoever waits is not answered, and asks
            // that one.
            return vec![Effect::Quit(error)];
        }
        let Some(flight) = self.in_flight.take() else { return Vec::new() };
        match &flight.then {
            Then::Admitted { .. } => {
                let mut effects = self.refuse_admission(error);
                effects.extend(self.flush(now));
                return effects;
            }
            Then::Changed { .. } | Then::Selected { .. } => {
                let mut effects = flight.then.refusals(&error);
                effects.extend(if may_go_on(&error) { self.flush(now) } else { self.give_up(error) });
                return effects;
            }
            Then::Appended { .. }
            | Then::Calling { .. }
            | Then::Stepped
            | Then::Passed(_)
            | Then::Split(_)
            | Then::Ended { .. } => self.in_flight = Some(flight),
        }
        match error {
            error if error.may_be_tried_again() => self.in_trouble(now),
            error => self.give_up(error),
        }
    }

    fn give_up(&mut self, error: JournalError) -> Vec<Effect> {
        if error == JournalError::Gone { self.on_gone() } else { vec![Effect::Quit(error)] }
    }

    fn refuse_admission(&mut self, error: JournalError) -> Vec<Effect> {
        let mut effects = Vec::new();
        if let Some(turn) = self.turn.take() {
            let refusal = || BeginRefusal::Store(error.clone());
            effects.extend(turn.begin_waiters.iter().flat_map(|ticket| begun(*ticket, refusal())));
            let aborted = Answer::Aborted(match &error {
                // It will never begin: most often a request under the same key was stored before it.
                JournalError::Refused(_) => Ok(Aborted { aborted: false, turn: Some(turn.id) }),
                error => Err(AbortRefusal::Store(error.clone())),
            });
            effects.extend(turn.abort_waiters.iter().map(|ticket| Effect::Answer(*ticket, aborted.clone())));
            effects.push(Effect::Cancel(turn.id, CancelReason::StoreUnavailable));
            // It cannot be stored with the text, which waits on.
            let waits = self.queue.iter().find(|item| item.turn == turn.id);
            let told =
                |item: &Queued| Effect::Tell { turn: item.turn, message: item.message, error: outcome::not_taken_up() };
            effects.extend(waits.map(told));
        }
        if !may_go_on(&error) {
            effects.extend(self.refuse_everybody(&error));
            effects.push(Effect::Quit(error));
        }
        effects
    }

    fn in_trouble(&mut self, now: Timestamp) -> Vec<Effect> {
        self.trouble.get_or_insert(Trouble::Refused);
        let mut effects = self.lose_patience(now);
        effects.push(Effect::RetryLater);
        effects
    }

    /// A store may also say nothing at all.
    pub(super) fn on_look(&mut self, now: Timestamp) -> Vec<Effect> {
        self.looking = false;
        let mut effects = self.lose_patience(now);
        effects.extend(self.look_later(now));
        effects
    }

    /// While a turn waits for the store somebody looks how long that takes; one look at a time, however many batches.
    pub(super) fn look_later(&mut self, now: Timestamp) -> Option<Effect> {
        let left = STORE_PATIENCE_MS - self.turn_waits_for(now)?;
        if self.looking || self.trouble == Some(Trouble::OutOfPatience) {
            return None;
        }
        self.looking = true;
        Some(Effect::LookLater(Duration::from_millis(u64::try_from(left).unwrap_or_default())))
    }

    /// For how long the store has had the batch that the running turn waits for. An admission is its asker's affair: its
    /// Provider is not asked before.
    fn turn_waits_for(&self, now: Timestamp) -> Option<i64> {
        let flight = self.in_flight.as_ref().filter(|_| self.turn.is_some())?;
        let waits = !matches!(flight.then, Then::Admitted { .. });
        waits.then(|| now.as_millis() - flight.since.as_millis())
    }

    /// The turn stops when the store has had its batch for too long. What is stored of it stays, and it ends when the store is
    /// back.
    fn lose_patience(&mut self, now: Timestamp) -> Vec<Effect> {
        let over = self.turn_waits_for(now).is_some_and(|waited| waited >= STORE_PATIENCE_MS);
        let mut effects = Vec::new();
        if let Some(turn) = self.turn.as_mut().filter(|_| over && self.trouble != Some(Trouble::OutOfPatience)) {
            self.trouble = Some(Trouble::OutOfPatience);
            turn.stopped.get_or_insert(CancelReason::StoreUnavailable);
            effects.push(Effect::Cancel(turn.id, CancelReason::StoreUnavailable));
            effects.push(Effect::Tell { turn: turn.id, message: turn.message, error: outcome::store_unavailable() });
            effects.extend(self.refuse_waiting());
        }
        effects
    }

    /// Those who wait for a store that does not come back are told.
    fn refuse_waiting(&mut self) -> Vec<Effect> {
        let why = || JournalError::Unavailable("the running turn's end is not stored yet".to_owned());
        let next = self.next.take().map(|next| next.waiters).unwrap_or_default();
        let mut effects: Vec<Effect> =
            next.into_iter().flat_map(|ticket| begun(ticket, BeginRefusal::Store(why()))).collect();
        let changes = std::mem::take(&mut self.changes);
        effects.extend(changes.iter().filter_map(|asked| asked.refusal(&why())));
        let stops = self.turn.as_mut().map(|turn| std::mem::take(&mut turn.abort_waiters)).unwrap_or_default();
        let stopped = Answer::Aborted(Err(AbortRefusal::Store(why())));
        effects.extend(stops.into_iter().map(|ticket| Effect::Answer(ticket, stopped.clone())));
        effects
    }

    pub(super) fn on_retry(&mut self) -> Vec<Effect> {
        if !self.claimed {
            return vec![Effect::Claim(self.cause)];
        }
        self.in_flight.as_deref().map(|flight| self.submit(flight)).into_iter().collect()
    }
}

/// Whether the next batch may still be stored by this instance.
fn may_go_on(error: &JournalError) -> bool {
    error.may_be_tried_again() || matches!(error, JournalError::Refused(_))
}

fn said(message: &NewMessage) -> Arc<Said> {
    Arc::new(Said::new(message.id, message.position, message.role, message.author.clone(), &message.body.text()))
}
