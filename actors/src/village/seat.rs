//! A Conversation's place in the Village: its log, its actor while that is awake, and what became of earlier ones.

use std::{sync::Arc, time::Duration};

use ractor::{ActorId, ActorRef, ActorStatus};
use tokio::{sync::Semaphore, time::Instant};

use super::{
    feed::{Feed, Mark},
    view::{Card, RestartsView},
};
use crate::{
    conversation::{
        debts::Debts,
        frame_log::FrameLog,
        mailbox::ConversationMsg,
        vitals::{ActorState, LastError, Vitals},
    },
    policy::outcome::quarantined,
    ports::journal::{Claimed, JournalError},
    vocabulary::{ConversationId, Frame, Timestamp, TurnId},
};

/// How the Engine reaches a Conversation.
#[derive(Clone)]
pub struct Handle {
    pub actor: ActorRef<ConversationMsg>,
    /// Permits of the bounded mailbox; none left is MAILBOX_FULL, closed is an actor that is going.
    pub mailbox: Arc<Semaphore>,
    pub log: Arc<FrameLog>,
}

/// Restarts within `window` after which a failing actor is quarantined.
#[derive(Debug, Clone, Copy)]
pub struct Intensity {
    pub limit: usize,
    pub window: Duration,
}

/// What came of an operator's wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intervention {
    Done,
    /// Nobody is awake there.
    NotAwake,
    /// A turn runs, or somebody is being answered: stop it first.
    Busy {
        running: Option<TurnId>,
    },
    /// It failed too often: release it first.
    Quarantined,
    NotQuarantined,
}

pub struct Seat {
    pub log: Arc<FrameLog>,
    pub last_asked: Instant,
    sitting: Option<Sitting>,
    /// The actor failed, and what it left running may have no end in the store yet.
    pub unended: bool,
    /// The actor failed too often; nobody sits here until the seat is released.
    quarantined: bool,
    /// Instants of recent restarts.
    restarts: Vec<Instant>,
    restarted: u64,
    last_error: Option<LastError>,
    last_activity: Option<Timestamp>,
    pub mark: Arc<Mark>,
    /// Answers that failed actors have left owing.
    pub debts: Arc<Debts>,
}

struct Sitting {
    actor: ActorRef<ConversationMsg>,
    mailbox: Arc<Semaphore>,
    capacity: usize,
    vitals: Arc<Vitals>,
}

impl Seat {
    pub fn new(feed: &Arc<Feed>) -> Self {
        let mark = Arc::new(Mark::new(Arc::clone(feed)));
        Self {
            log: Arc::new(FrameLog::marking(Arc::clone(&mark))),
            last_asked: Instant::now(),
            sitting: None,
            unended: false,
            quarantined: false,
            restarts: Vec::new(),
            restarted: 0,
            last_error: None,
            last_activity: None,
            mark,
            debts: Arc::default(),
        }
    }

    /// The actor that sits here, unless it is on its way out.
    pub fn handle(&self) -> Option<Handle> {
        let Sitting { actor, mailbox, .. } = self.sitting.as_ref()?;
        let here = actor.get_status() < ActorStatus::Draining;
        here.then(|| Handle { actor: actor.clone(), mailbox: Arc::clone(mailbox), log: Arc::clone(&self.log) })
    }

    pub fn sit(&mut self, actor: ActorRef<ConversationMsg>, vitals: Arc<Vitals>, capacity: usize) -> Handle {
        let mailbox = Arc::new(Semaphore::new(capacity));
        self.sitting = Some(Sitting { actor: actor.clone(), mailbox: Arc::clone(&mailbox), capacity, vitals });
        // Its own claim ends what was left running; one of the Village's would fence it off.
        self.unended = false;
        self.mark.touch();
        Handle { actor, mailbox, log: Arc::clone(&self.log) }
    }

    /// Whether it was this actor that sat here.
    pub fn leave(&mut self, actor: ActorId) -> bool {
        let was_here = self.sitting.as_ref().is_some_and(|sitting| sitting.actor.get_id() == actor);
        if was_here {
            drop(self.stand_up());
        }
        was_here
    }

    /// Sends the actor to sleep, if it has nothing to do and nobody has asked it anything. The seat is free at once:
    /// whoever asks next wakes a new instance, whose claim fences the old one off.
    pub fn retire(&mut self) -> Intervention {
        let Some(sitting) = &self.sitting else { return self.nobody() };
        let mailbox = Arc::clone(&sitting.mailbox);
        // With all its permits nothing waits for it, and without any nothing can: an actor that is asked behind this
        // would go on with a turn in a seat that is not its own any more.
        let capacity = u32::try_from(sitting.capacity).unwrap_or(u32::MAX);
        let Ok(_permits) = mailbox.try_acquire_many(capacity) else { return self.busy() };
        if sitting.vitals.state() != ActorState::Idle {
            return self.busy();
        }
        mailbox.close();
        // An actor that is gone sleeps already.
        drop(sitting.actor.cast(ConversationMsg::Retire));
        drop(self.stand_up());
        Intervention::Done
    }

    /// Ends the actor at once, whatever it is at; the claim of the next one ends what it left running.
    pub fn stop(&mut self) -> Intervention {
        let Some(sitting) = self.stand_up() else { return self.nobody() };
        sitting.mailbox.close();
        sitting.actor.stop(None);
        Intervention::Done
    }

    fn busy(&self) -> Intervention {
        Intervention::Busy { running: self.log.running_turn() }
    }

    fn nobody(&self) -> Intervention {
        if self.quarantined { Intervention::Quarantined } else { Intervention::NotAwake }
    }

    fn stand_up(&mut self) -> Option<Sitting> {
        let sitting = self.sitting.take()?;
        self.log.sleep();
        self.last_activity = sitting.vitals.last_activity().or(self.last_activity);
        self.last_error = sitting.vitals.read().last_error.or(self.last_error.take());
        self.mark.touch();
        Some(sitting)
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
            // The store has told of its own trouble.
            Err(error) if error.may_be_tried_again() => tracing::debug!(%error, "a turn's end is not stored yet"),
            Err(error) => tracing::warn!(%error, "a turn's end could not be stored"),
        }
    }

    pub fn tell(&self, message: ConversationMsg) {
        if let Some(sitting) = &self.sitting {
            // An actor that is gone needs no telling.
            drop(sitting.actor.cast(message));
        }
    }

    pub fn is_needed(&self) -> bool {
        self.unended
            || self.quarantined
            || self.sitting.is_some()
            || self.log.watchers() > 0
            || Arc::strong_count(&self.log) > 1
    }

    pub fn is_quarantined(&self) -> bool {
        self.quarantined
    }

    /// The actor failed. What it left running is unended until somebody sits here again.
    pub fn failed(&mut self, error: LastError) {
        self.unended = true;
        self.last_error = Some(error);
        self.mark.touch();
    }

    /// Another one is to take the place of one that failed, or was ended.
    pub fn restarting(&mut self) {
        self.unended = true;
        self.restarted += 1;
    }

    /// Whether another one may take its place. False: it failed too often, and the seat is quarantined.
    pub fn may_restart(&mut self, now: Instant, intensity: Intensity) -> bool {
        self.restarts.retain(|at| now.duration_since(*at) < intensity.window);
        self.quarantined = self.restarts.len() >= intensity.limit;
        if !self.quarantined {
            self.restarts.push(now);
        }
        !self.quarantined
    }

    /// Whoever watches is told why nothing goes on here, also where no turn ends with it.
    pub fn tell_of_quarantine(&self) {
        self.log.tell_all(&Frame::Error { turn_id: None, message_id: None, error: quarantined() });
    }

    /// Lets the Conversation be woken again.
    pub fn release(&mut self) -> Intervention {
        if !self.quarantined {
            return Intervention::NotQuarantined;
        }
        self.quarantined = false;
        self.log.take_back();
        self.restarts.clear();
        self.mark.touch();
        Intervention::Done
    }

    pub fn card(&self, conversation: ConversationId, window: Duration) -> Card {
        let now = Instant::now();
        let recent = self.restarts.iter().filter(|at| now.duration_since(**at) < window).count();
        Card {
            conversation,
            log: Arc::clone(&self.log),
            awake: self.sitting.as_ref().map(|sitting| (Arc::clone(&sitting.vitals), Arc::clone(&sitting.mailbox))),
            capacity: self.sitting.as_ref().map_or(0, |sitting| sitting.capacity),
            quarantined: self.quarantined,
            restarts: RestartsView { recent, total: self.restarted },
            last_error: self.last_error.clone(),
            last_activity: self.last_activity,
        }
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
        let mut seat = Seat { unended: true, ..Seat::new(&Arc::default()) };
        let vitals = Arc::new(Vitals::new(Arc::clone(&seat.mark)));
        seat.sit(actor.clone(), vitals, 1);
        assert!(!seat.unended, "the actor's own claim ends what was left; another one would fence it off");
        actor.stop(None);
        joined.await.unwrap();
    }
}
