//! Who waits for what of an actor.

use std::{collections::HashMap, sync::Arc};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::{
    debts::Debts,
    effect::{AbortRefusal, Aborted, Answer, BeginRefusal, Begun, ChangeRefusal},
    event::Ticket,
};
use crate::{reply::reply, vocabulary::TurnId};

pub enum Waiter {
    Begin(TurnId, oneshot::Sender<Result<Begun, BeginRefusal>>),
    Abort(oneshot::Sender<Result<Aborted, AbortRefusal>>),
    Resume(oneshot::Sender<Result<Begun, BeginRefusal>>),
    Change(oneshot::Sender<Result<(), ChangeRefusal>>),
}

/// Each holds its permit of the bounded mailbox until it is answered: so many ask at a time, wherever they wait.
pub struct Waiters {
    waiting: HashMap<Ticket, (Waiter, OwnedSemaphorePermit)>,
    pub debts: Arc<Debts>,
}

impl Waiters {
    pub fn new(debts: Arc<Debts>) -> Self {
        Self { waiting: HashMap::new(), debts }
    }

    pub fn add(&mut self, ticket: Ticket, waiter: Waiter, permit: OwnedSemaphorePermit) -> Ticket {
        self.waiting.insert(ticket, (waiter, permit));
        ticket
    }

    /// Answers whoever holds the ticket; one who has gone needs no answer. Tells which turn was asked for, if one was.
    pub fn answer(&mut self, ticket: Ticket, answer: Answer) -> Option<TurnId> {
        self.debts.paid(ticket);
        // The permit is given back before the answer: whoever has that may ask again.
        let waiter = self.waiting.remove(&ticket).map(|(waiter, _permit)| waiter);
        match (waiter, answer) {
            (Some(Waiter::Begin(turn, waiter)), Answer::Begun(begun)) => {
                reply(waiter, begun);
                return Some(turn);
            }
            (Some(Waiter::Abort(waiter)), Answer::Aborted(aborted)) => reply(waiter, aborted),
            (Some(Waiter::Resume(waiter)), Answer::Begun(begun)) => reply(waiter, begun),
            (Some(Waiter::Change(waiter)), Answer::Changed(changed)) => reply(waiter, changed),
            (waiter, answer) => {
                tracing::error!(?ticket, ?answer, known = waiter.is_some(), "an answer for nobody");
            }
        }
        None
    }
}
