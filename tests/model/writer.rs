//! The store's one queue of jobs. The jobs are the real store's; when it takes one, and whether it can, the test says.

use std::sync::mpsc;

use hamlet::store::Store;
use hamlet_actors::{
    conversation::{Answer, Ticket},
    ports::journal::{Batch, Claimed, Journal, JournalError, Leftover},
    vocabulary::ConversationId,
};

use crate::{
    broken::{Checked, must},
    happening::Fate,
};

#[derive(Debug)]
pub struct Job {
    pub from: From,
    pub work: Work,
}

/// Whom the answer goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    Actor(usize),
    /// The Village itself ends what an actor left that keeps failing.
    Village,
}

#[derive(Debug)]
pub enum Work {
    /// And the answers that are owed once it is stored.
    Batch(Batch, Vec<(Ticket, Answer)>),
    Claim(Leftover),
}

impl Fate {
    /// What keeps the store from taking it.
    pub fn trouble(self) -> Option<JournalError> {
        match self {
            Self::Stored => None,
            Self::Unavailable => Some(JournalError::Unavailable("as the test asked".to_owned())),
            Self::Refused => Some(JournalError::Refused("as the test asked".to_owned())),
        }
    }
}

pub fn submit(store: &Store, batch: Batch) -> Checked<Result<(), JournalError>> {
    let (answer, answered) = mpsc::channel();
    store.submit(batch, Box::new(move |outcome| drop(answer.send(outcome))));
    must(answered.recv(), "the store never answered a batch")
}

pub fn claim(store: &Store, id: ConversationId, cause: Leftover) -> Checked<Result<Claimed, JournalError>> {
    let (answer, answered) = mpsc::channel();
    store.claim(id, cause, Box::new(move |outcome| drop(answer.send(outcome))));
    must(answered.recv(), "the store never answered a claim")
}
