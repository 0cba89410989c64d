//! Who is to be told of a batch once it is stored. An instance that fails in between leaves that to its successor: whoever
//! asks that one again, under the same ticket, is answered instead of asking for the same twice.

use super::{
    super::{
        effect::{Aborted, Answer, Effect},
        event::{Event, Ticket},
        turn_state::{InFlight, Then},
    },
    Conversation,
};
use crate::vocabulary::MessageStatus;

impl Conversation {
    pub(super) fn submit(&self, flight: &InFlight) -> Effect {
        Effect::Submit { batch: flight.batch.clone(), owed: self.owed_for(&flight.then) }
    }

    fn owed_for(&self, then: &Then) -> Vec<(Ticket, Answer)> {
        let all = |tickets: &[Ticket], answer: Answer| tickets.iter().map(|ticket| (*ticket, answer.clone())).collect();
        match (then, self.turn.as_deref()) {
            (Then::Admitted { .. }, Some(turn)) => all(&turn.begin_waiters, Answer::Begun(Ok(turn.begun()))),
            (Then::Ended { finish, .. }, Some(turn)) => {
                let aborted = finish.status == MessageStatus::Aborted;
                all(&turn.abort_waiters, Answer::Aborted(Ok(Aborted { aborted, turn: Some(turn.id) })))
            }
            (Then::Changed { staged, asked }, _) => all(asked.ticket.as_slice(), staged.answer.clone()),
            (Then::Appended { decided, .. }, _) => {
                let tickets: Vec<Ticket> = decided.iter().map(|decided| decided.ticket).collect();
                all(&tickets, Answer::Changed(Ok(())))
            }
            (Then::Selected { ticket }, _) => all(&[*ticket], Answer::Changed(Ok(()))),
            (
                Then::Admitted { .. }
                | Then::Ended { .. }
                | Then::Calling { .. }
                | Then::Stepped
                | Then::Passed(_)
                | Then::Split(_),
                _,
            ) => Vec::new(),
        }
    }

    /// What came of it when it was asked for the first time, if that is stored.
    pub(super) fn pay(&mut self, event: &Event) -> Option<Effect> {
        let ticket = event.ticket()?;
        let at = self.owed.iter().position(|(owed, _)| *owed == ticket)?;
        let (ticket, answer) = self.owed.swap_remove(at);
        Some(Effect::Answer(ticket, answer))
    }
}
