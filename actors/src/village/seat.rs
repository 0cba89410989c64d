//! A Conversation's place in the Village: its log, and its actor while that is awake.

use std::{sync::Arc, time::Duration};

use ractor::{ActorId, ActorRef, ActorStatus};
use tokio::{sync::Semaphore, time::Instant};

use crate::{
    conversation::{frame_log::FrameLog, mailbox::ConversationMsg},
    ports::journal::{Claimed, JournalError},
};

/// How the Engine reaches a Conversation.
#[derive(Clone)]
pub struct Handle {
    pub actor: ActorRef<ConversationMsg>,
    /// Permits of the bounded mailbox; none left is MAILBOX_FULL.
    pub mailbox: Arc<Semaphore>,
    pub log: Arc<FrameLog>,
}

pub struct Seat {
    pub log: Arc<FrameLog>,
    pub last_asked: Instant,
    sitting: Option<(ActorRef<ConversationMsg>, Arc<Semaphore>)>,
    /// The actor keeps failing, and what it left running has no end in the store yet.
    pub unended: bool,
    /// Instants of recent restarts.
    restarts: Vec<Instant>,
}

impl Default for Seat {
    fn default() -> Self {
        Self { log: Arc::default(), last_asked: Instant::now(), sitting: None, unended: false, restarts: Vec::new() }
    }
}

impl Seat {
    /// The actor that sits here, unless it is on its way out.
    pub fn handle(&self) -> Option<Handle> {
        let (actor, mailbox) = self.sitting.as_ref()?;
        let here = actor.get_status() < ActorStatus::Draining;
        here.then(|| Handle { actor: actor.clone(), mailbox: Arc::clone(mailbox), log: Arc::clone(&self.log) })
    }

    pub fn sit(&mut self, actor: ActorRef<ConversationMsg>, mailbox: usize) -> Handle {
        let mailbox = Arc::new(Semaphore::new(mailbox));
        self.sitting = Some((actor.clone(), Arc::clone(&mailbox)));
        // Its own claim ends what was left running; one of the Village's would fence it off.
        self.unended = false;
        Handle { actor, mailbox, log: Arc::clone(&self.log) }
    }

    /// Whether it was this actor that sat here.
    pub fn leave(&mut self, actor: ActorId) -> bool {
        let was_here = self.sitting.as_ref().is_some_and(|(sitting, _)| sitting.get_id() == actor);
        if was_here {
            self.sitting = None;
            self.log.sleep();
        }
        was_here
    }

    /// Sends the actor to sleep. The seat is free at once: whoever asks next wakes a new instance, whose claim fences the
    /// old one off, and what the old one still gets is handled before it goes.
    pub fn retire(&mut self) {
        if let Some((actor, _)) = self.sitting.take() {
            self.log.sleep();
            drop(actor.cast(ConversationMsg::Retire));
        }
    }

    /// The claim that the Village made: readers find the end in the store.
    pub fn end(&mut self, result: Result<Claimed, JournalError>) {
        match result {
            Ok(claimed) => {
                self.unended = false;
                if self.sitting.is_none() {
                    self.log.wake(claimed.last_seq);
                }
            }
            Err(JournalError::Gone) => self.unended = false,
            Err(error) => tracing::warn!(%error, "a turn's end could not be stored yet"),
        }
    }

    pub fn tell(&self, message: ConversationMsg) {
        if let Some((actor, _)) = &self.sitting {
            // An actor that is gone needs no telling.
            drop(actor.cast(message));
        }
    }

    pub fn is_needed(&self) -> bool {
        self.unended || self.sitting.is_some() || self.log.watchers() > 0 || Arc::strong_count(&self.log) > 1
    }

    pub fn may_restart(&mut self, now: Instant, limit: usize, window: Duration) -> bool {
        self.restarts.retain(|at| now.duration_since(*at) < window);
        self.restarts.push(now);
        self.restarts.len() <= limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ractor::{Actor, ActorProcessingErr};

    struct Idle;

    impl Actor for Idle {
        type Msg = ConversationMsg;
        type State = ();
        type Arguments = ();

        async fn pre_start(&self, _myself: ActorRef<Self::Msg>, (): ()) -> Result<(), ActorProcessingErr> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_seat_that_is_taken_again_is_not_ended_by_the_village() {
        let (actor, joined) = Actor::spawn(None, Idle, ()).await.unwrap();
        let mut seat = Seat { unended: true, ..Seat::default() };
        seat.sit(actor.clone(), 1);
        assert!(!seat.unended, "the actor's own claim ends what was left; another one would fence it off");
        actor.stop(None);
        joined.await.unwrap();
    }
}
