//! Answers that are owed for what is stored. They outlive the actor that was to give them: who asked it asks its successor
//! again, under the same ticket, and is told what came of the first time instead of asking for it twice.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{effect::Answer, event::Ticket};

/// Those who asked and never came back leave their answers behind: only so many are kept.
const KEPT: usize = 128;

/// Of one Conversation. Written by the Journal when it commits, which must not wait for an actor that may be gone; so this
/// is a lock, held for a few moves.
#[derive(Debug, Default)]
pub struct Debts(Mutex<VecDeque<(Ticket, Answer)>>);

impl Debts {
    /// What these wait for is stored.
    pub fn owe(&self, owed: Vec<(Ticket, Answer)>) {
        if owed.is_empty() {
            return;
        }
        let mut debts = self.lock();
        debts.extend(owed);
        let forgotten = debts.len().saturating_sub(KEPT);
        debts.drain(..forgotten);
    }

    /// It was answered.
    pub fn paid(&self, ticket: Ticket) {
        self.lock().retain(|(owed, _)| *owed != ticket);
    }

    /// What an earlier instance had stored and not answered.
    pub fn left(&self) -> Vec<(Ticket, Answer)> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Ticket, Answer)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_answered_is_owed_no_more_and_what_nobody_asks_for_is_forgotten_in_the_end() {
        let debts = Debts::default();
        let owed = |n| (Ticket(n), Answer::Changed(Ok(())));
        debts.owe(vec![owed(1), owed(2)]);
        debts.paid(Ticket(1));
        assert_eq!(debts.left(), [owed(2)]);
        for n in 0..KEPT as u64 {
            debts.owe(vec![owed(10 + n)]);
        }
        assert_eq!((debts.left().len(), debts.left().first()), (KEPT, Some(&owed(10))));
    }
}
