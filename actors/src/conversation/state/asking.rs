//! What is asked of a Conversation from outside: a turn, Stop, a change of the queue, an earlier variant.

use std::sync::Arc;

use crate::{
    ports::journal::JournalError,
    vocabulary::{MessageError, Timestamp, TurnId},
};

use super::{
    super::{
        effect::{AbortRefusal, Aborted, Answer, BeginRefusal, CancelReason, ChangeRefusal, Effect},
        event::{Begin, Cast, Intent, OnBusy, QueueChange, Select, Shown, Ticket},
        queue::{Asked, Change, QUEUE_LIMIT, Withdrawn},
        turn_state::{InFlight, Next, TakingUp, Then},
    },
    Conversation,
};

impl Conversation {
    pub(super) fn on_begin(&mut self, begin: Box<Begin>, ticket: Ticket) -> Vec<Effect> {
        let now = begin.now;
        if let Some(effects) = self.join(&begin, ticket) {
            return effects;
        }
        if self.trouble.is_some() {
            let why = JournalError::Unavailable("the running turn's end is not stored yet".to_owned());
            return begun(ticket, BeginRefusal::Store(why));
        }
        let Some(running) = self.busy_with() else {
            // A batch that is on its way may move the cursor: then what this was read from holds no more, and `admit` says so.
            self.next = Some(Box::new(Next { begin, waiters: vec![ticket] }));
            return self.flush(now);
        };
        match begin.on_busy {
            OnBusy::Reject => begun(ticket, BeginRefusal::Busy { running }),
            // What is not stored yet counts too: a slow store must not gather texts without end.
            _ if self.queue.len() + self.changes.len() >= QUEUE_LIMIT => begun(ticket, BeginRefusal::QueueFull),
            // One that interrupts is about to begin: this one comes behind it.
            OnBusy::Interrupt if self.next.is_none() => self.interrupt(begin, ticket),
            OnBusy::Steer => {
                let steers = self.running_turn();
                self.change(Change::Enqueue { begin, steers }, Some(ticket), now)
            }
            OnBusy::Enqueue | OnBusy::Interrupt => {
                self.change(Change::Enqueue { begin, steers: None }, Some(ticket), now)
            }
        }
    }

    /// A repeat of what runs, or is on its way, waits for the same answer; another request under its key is refused.
    fn join(&mut self, begin: &Begin, ticket: Ticket) -> Option<Vec<Effect>> {
        let asked = begin.idempotency.as_ref()?;
        let theirs = self.turn.as_ref().and_then(|turn| turn.idempotency.as_ref());
        let next = self.next.as_ref().and_then(|next| next.begin.idempotency.as_ref());
        if theirs.into_iter().chain(next).any(|other| other.is_of_another_request(asked)) {
            return Some(vec![Effect::Answer(ticket, Answer::Begun(Err(BeginRefusal::KeyTaken)))]);
        }
        if let Some(running) = self.turn.as_mut().filter(|running| running.idempotency == begin.idempotency) {
            if matches!(self.in_flight.as_deref(), Some(InFlight { then: Then::Admitted { .. }, .. })) {
                running.begin_waiters.push(ticket);
                return Some(Vec::new());
            }
            return Some(vec![Effect::Answer(ticket, Answer::Begun(Ok(running.begun())))]);
        }
        let next = self.next.as_mut().filter(|next| next.begin.idempotency == begin.idempotency)?;
        next.waiters.push(ticket);
        Some(Vec::new())
    }

    /// What runs is stopped, with what it has; then this begins. What was about to be taken up waits on.
    fn interrupt(&mut self, begin: Box<Begin>, ticket: Ticket) -> Vec<Effect> {
        let now = begin.now;
        let mut effects = self.stop_taking_up();
        if let Some(turn) = self.turn.as_mut() {
            turn.stopped.get_or_insert(CancelReason::Abort);
            effects.push(Effect::Cancel(turn.id, CancelReason::Abort));
        }
        self.next = Some(Box::new(Next { begin, waiters: vec![ticket] }));
        effects.extend(self.flush(now));
        effects
    }

    pub(super) fn on_abort(&mut self, turn: Option<TurnId>, ticket: Ticket, now: Timestamp) -> Vec<Effect> {
        let answer = |answer| vec![Effect::Answer(ticket, Answer::Aborted(answer))];
        // While its admission is being stored a text is in the queue still, and its turn runs.
        if let Some(waiting) = turn.filter(|turn| self.running_turn() != Some(*turn) && self.waits(*turn)) {
            return self.change(Change::Withdraw(Withdrawn::Turn(waiting)), Some(ticket), now);
        }
        match (self.turn.as_mut(), turn) {
            (Some(running), asked) if asked.is_none_or(|asked| asked == running.id) => {
                running.stopped.get_or_insert(CancelReason::Abort);
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
            (Some(running), _) => answer(Err(AbortRefusal::Mismatch { running: running.id })),
            (None, None) if self.taking_up.is_some() => {
                let mut effects = self.stop_taking_up();
                effects.extend(answer(Ok(Aborted { aborted: true, turn: None })));
                effects
            }
            (None, asked) => answer(Ok(Aborted { aborted: false, turn: asked })),
        }
    }

    /// Whether this turn is one that a text waits to begin, or is about to wait for.
    fn waits(&self, turn: TurnId) -> bool {
        let asked = |asked: &Asked| matches!(&asked.change, Change::Enqueue { begin, .. } if begin.turn == turn);
        let on_its_way = match self.in_flight.as_deref() {
            Some(InFlight { then: Then::Changed { asked: change, .. }, .. }) => asked(change),
            _ => false,
        };
        self.queue.iter().any(|item| item.turn == turn) || on_its_way || self.changes.iter().any(asked)
    }

    pub(super) fn on_change(&mut self, change: QueueChange, ticket: Ticket, now: Timestamp) -> Vec<Effect> {
        let change = match change {
            QueueChange::Edit { message, text, idempotency } => Change::Edit { message, text, idempotency },
            QueueChange::Withdraw { message } => Change::Withdraw(Withdrawn::Message(message)),
        };
        self.change(change, Some(ticket), now)
    }

    pub(super) fn on_retitled(&mut self, shown: Arc<Shown>, title: String, now: Timestamp) -> Vec<Effect> {
        self.change(Change::Retitle { shown, title }, None, now)
    }

    pub(super) fn on_resume(&mut self, ticket: Ticket) -> Vec<Effect> {
        if let Some(taking_up) = self.taking_up.as_mut() {
            taking_up.waiters.push(ticket);
            return Vec::new();
        }
        match self.busy_with() {
            None if !self.queue.is_empty() => self.take_up(vec![ticket]),
            running => begun(ticket, BeginRefusal::NothingWaits { running }),
        }
    }

    fn change(&mut self, change: Change, ticket: Option<Ticket>, now: Timestamp) -> Vec<Effect> {
        let asked = Asked { change, ticket, now };
        if self.trouble.is_some() {
            let why = JournalError::Unavailable("the running turn's end is not stored yet".to_owned());
            return asked.refusal(&why).into_iter().collect();
        }
        self.changes.push_back(asked);
        self.flush(now)
    }

    /// Looks for someone who answers the first text that waits.
    pub(super) fn take_up(&mut self, waiters: Vec<Ticket>) -> Vec<Effect> {
        let Some(item) = self.queue.front().cloned() else {
            let refused =
                waiters.into_iter().flat_map(|ticket| begun(ticket, BeginRefusal::NothingWaits { running: None }));
            return refused.collect();
        };
        self.attempts += 1;
        let attempt = self.attempts;
        self.taking_up = Some(Box::new(TakingUp { attempt, item: item.clone(), cast: None, waiters }));
        vec![Effect::Plan { attempt, item: Box::new(item) }]
    }

    /// The text waits on. Whoever asked for it to be taken up is told that nothing was.
    fn stop_taking_up(&mut self) -> Vec<Effect> {
        let waiters = self.taking_up.take().map(|taking_up| taking_up.waiters).unwrap_or_default();
        waiters.into_iter().flat_map(|ticket| begun(ticket, BeginRefusal::NothingWaits { running: None })).collect()
    }

    pub(super) fn on_planned(
        &mut self,
        attempt: u64,
        outcome: Result<Cast, MessageError>,
        now: Timestamp,
    ) -> Vec<Effect> {
        let Some(taking_up) = self.taking_up.as_mut().filter(|taking_up| taking_up.attempt == attempt) else {
            return Vec::new();
        };
        match outcome {
            Ok(cast) => {
                taking_up.cast = Some((cast, now));
                self.flush(now)
            }
            Err(error) => {
                let message = taking_up.item.message;
                let waiters = std::mem::take(&mut taking_up.waiters);
                self.taking_up = None;
                let mut effects: Vec<Effect> = waiters
                    .into_iter()
                    .flat_map(|ticket| begun(ticket, BeginRefusal::Unplanned(error.clone())))
                    .collect();
                effects.extend(self.change(Change::Explain { message, error }, None, now));
                effects
            }
        }
    }

    pub(super) fn on_select(&mut self, select: Select, ticket: Ticket, now: Timestamp) -> Vec<Effect> {
        let refuse = |refusal| vec![Effect::Answer(ticket, Answer::Changed(Err(refusal)))];
        if let Some(running) = self.busy_with() {
            return refuse(ChangeRefusal::Busy { running });
        }
        if self.in_flight.is_some() || select.as_of != self.last_seq {
            return refuse(ChangeRefusal::Stale);
        }
        self.select(select, ticket, now)
    }
}

/// What a turn is read from must not have moved before it is admitted.
pub fn is_stale(intent: &Intent, cursor: u64) -> bool {
    match intent {
        Intent::Regenerate { as_of, .. } | Intent::Edit { as_of, .. } | Intent::Continue { as_of } => *as_of != cursor,
        Intent::Send { .. } | Intent::TakeUp(_) => false,
    }
}

pub fn begun(ticket: Ticket, refusal: BeginRefusal) -> Vec<Effect> {
    vec![Effect::Answer(ticket, Answer::Begun(Err(refusal)))]
}
