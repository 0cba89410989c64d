//! Supervises Conversations: finds or wakes one by id (one actor an id, ever), owns its FrameLog, restarts it when it
//! fails with its watchers still attached, and lets idle ones sleep.

mod feed;
mod seat;
mod totals;
mod view;
mod windows;

use std::{collections::HashMap, sync::Arc, time::Duration};

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tokio::{sync::oneshot, time::Instant};

pub use feed::{ActorChanges, ActorFeed, Feed, Mark};
pub use seat::{Handle, Intervention};
use seat::{Intensity, Seat};
pub use totals::Totals;
pub use view::{
    ActorView, Card, HistoryView, MailboxView, RestartsView, SpeakerView, SummaryView, TurnView, WatchersView,
};
pub use windows::WindowCache;

use crate::{
    conversation::{
        actor::{ConversationActor, Ports, Waking},
        frame_log::{Closing, FrameLog},
        mailbox::ConversationMsg,
        vitals::{LastError, Vitals},
    },
    ports::journal::{Claimed, JournalError, Leftover},
    reply::reply,
    vocabulary::{ConversationId, ErrorCode},
};

/// How a Village keeps house.
#[derive(Debug, Clone, Copy)]
pub struct Upkeep {
    /// An actor that had nothing to do for so long sleeps.
    pub retire_after: Duration,
    /// How often the Village looks.
    pub sweep_every: Duration,
    /// Requests that may wait in one Conversation's mailbox.
    pub mailbox: usize,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self { retire_after: Duration::from_secs(300), sweep_every: Duration::from_secs(2), mailbox: 64 }
    }
}

/// An actor that fails more often is quarantined: nobody wakes it until it is released, and the Village itself ends what
/// it left running.
const INTENSITY: Intensity = Intensity { limit: 3, window: Duration::from_secs(60) };

/// The Conversation's actor failed too often, and is not woken before an operator releases it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quarantined;

/// Which seats a census is of.
#[derive(Debug, Clone)]
pub enum Census {
    All,
    One(ConversationId),
    /// Those that changed behind this number of the feed, and these.
    Since(u64, Vec<ConversationId>),
}

/// What an operator may ask of an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// End it, whatever it is at, and wake the next one.
    Restart,
    /// Let it sleep, if it is idle.
    Retire,
    /// Let it be woken again.
    Release,
}

pub enum VillageMsg {
    /// From the Engine: the Conversation's actor, woken if need be.
    Find { conversation: ConversationId, answer: oneshot::Sender<Result<Handle, Quarantined>> },
    /// From the Engine: the log alone; nobody is woken.
    Log { conversation: ConversationId, answer: oneshot::Sender<Arc<FrameLog>> },
    /// From the Engine: the Conversation has been deleted; ends its turn and its watchers.
    Delete { conversation: ConversationId },
    /// From the Engine: end every running turn, and wake nobody any more.
    ShutDown { answer: oneshot::Sender<()> },
    /// From the Engine: the Player gave another title.
    Renamed { conversation: ConversationId, title: Option<String> },
    /// From the Journal: a claim that the Village made for a Conversation whose actor keeps failing.
    Ended { conversation: ConversationId, result: Result<Claimed, JournalError> },
    /// From the Engine: what is published about seats. No actor is asked, and nobody is woken.
    Census { of: Census, answer: oneshot::Sender<Vec<Card>> },
    /// From the Engine, for an operator.
    Intervene { conversation: ConversationId, wish: Wish, answer: oneshot::Sender<Intervention> },
    /// From the Engine: ends all readers.
    CloseLogs { answer: oneshot::Sender<()> },
    /// From the Village's own clock.
    Sweep,
}

pub struct Village {
    pub ports: Arc<Ports>,
    pub upkeep: Upkeep,
    pub feed: Arc<Feed>,
}

pub struct Seats {
    feed: Arc<Feed>,
    seats: HashMap<ConversationId, Seat>,
    by_actor: HashMap<ractor::ActorId, ConversationId>,
    stopping: bool,
    closed: bool,
}

impl Actor for Village {
    type Msg = VillageMsg;
    type State = Seats;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, (): ()) -> Result<Seats, ActorProcessingErr> {
        // The timer ends with its actor.
        drop(myself.send_interval(self.upkeep.sweep_every, || VillageMsg::Sweep));
        Ok(Seats {
            feed: Arc::clone(&self.feed),
            seats: HashMap::new(),
            by_actor: HashMap::new(),
            stopping: false,
            closed: false,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        village: &mut Seats,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            // The Engine knows that Hamlet is being stopped, and says so to whoever is not answered.
            VillageMsg::Find { .. } | VillageMsg::Intervene { .. } if village.stopping => {}
            VillageMsg::Find { conversation, answer } if village.seat(conversation).is_quarantined() => {
                reply(answer, Err(Quarantined));
            }
            VillageMsg::Find { conversation, answer } => {
                match Box::pin(self.find(&myself, village, conversation)).await {
                    Ok(handle) => reply(answer, Ok(handle)),
                    Err(error) => tracing::error!(%conversation, %error, "a conversation could not be woken"),
                }
            }
            VillageMsg::Log { conversation, answer } => reply(answer, Arc::clone(&village.seat(conversation).log)),
            VillageMsg::Delete { conversation } => village.delete(conversation),
            VillageMsg::ShutDown { answer } => {
                village.stopping = true;
                village.tell_all(|| ConversationMsg::ShutDown);
                reply(answer, ());
            }
            VillageMsg::CloseLogs { answer } => {
                village.closed = true;
                village.seats.values().for_each(|seat| seat.log.close(Closing::Stopping));
                reply(answer, ());
            }
            VillageMsg::Renamed { conversation, title } => {
                village.tell(conversation, ConversationMsg::Renamed { title })
            }
            VillageMsg::Ended { conversation, result } => village.seat(conversation).end(result),
            VillageMsg::Census { of, answer } => reply(answer, village.census(&of)),
            VillageMsg::Intervene { conversation, wish, answer } => {
                let came_of_it = Box::pin(self.intervene(&myself, village, conversation, wish)).await;
                reply(answer, came_of_it);
            }
            VillageMsg::Sweep => {
                village.sweep(self.upkeep.retire_after);
                for (conversation, cause) in village.unended() {
                    self.end_without_actor(&myself, conversation, cause);
                }
            }
        }
        Ok(())
    }

    /// The default would stop the Village with any child.
    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        village: &mut Seats,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(actor, error) => {
                if let Some(conversation) = village.vacate(&actor) {
                    tracing::error!(%conversation, %error, "a conversation failed");
                    let error = self.last_error(&error);
                    Box::pin(self.restart(&myself, village, conversation, error)).await;
                }
            }
            SupervisionEvent::ActorTerminated(actor, _, _) => drop(village.vacate(&actor)),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
        Ok(())
    }
}

impl Village {
    async fn find(
        &self,
        myself: &ActorRef<VillageMsg>,
        village: &mut Seats,
        conversation: ConversationId,
    ) -> Result<Handle, SpawnErr> {
        let mailbox = self.upkeep.mailbox;
        let seat = village.seat(conversation);
        seat.last_asked = Instant::now();
        if let Some(handle) = seat.handle() {
            return Ok(handle);
        }
        let vitals = Arc::new(Vitals::new(Arc::clone(&seat.mark)));
        let (log, told) = (Arc::clone(&seat.log), Arc::clone(&vitals));
        let waking = Waking { conversation, log, vitals: told, cause: Leftover::Failed };
        let actor = ConversationActor { ports: Arc::clone(&self.ports) };
        let (actor, _joined) = Actor::spawn_linked(None, actor, waking, myself.get_cell()).await?;
        village.by_actor.insert(actor.get_id(), conversation);
        Ok(village.seat(conversation).sit(actor, vitals, mailbox))
    }

    /// An actor has failed: another one takes its seat, unless that has been so too often.
    async fn restart(
        &self,
        myself: &ActorRef<VillageMsg>,
        village: &mut Seats,
        conversation: ConversationId,
        error: LastError,
    ) {
        let seat = village.seat(conversation);
        if !seat.may_restart(error, Instant::now(), INTENSITY) {
            tracing::error!(%conversation, "it failed too often and is quarantined");
            self.ports.observer.actor_quarantined();
            seat.unended = true;
            self.end_without_actor(myself, conversation, Leftover::Quarantined);
            return;
        }
        self.ports.observer.actor_restarted();
        if let Err(error) = self.find(myself, village, conversation).await {
            tracing::error!(%conversation, %error, "a conversation could not be restarted");
            // The next look tries to end what it left running.
            village.seat(conversation).unended = true;
        }
    }

    async fn intervene(
        &self,
        myself: &ActorRef<VillageMsg>,
        village: &mut Seats,
        conversation: ConversationId,
        wish: Wish,
    ) -> Intervention {
        let Some(seat) = village.seats.get_mut(&conversation) else {
            return if wish == Wish::Release { Intervention::NotQuarantined } else { Intervention::NotAwake };
        };
        match wish {
            Wish::Release => seat.release(),
            Wish::Retire => seat.retire(),
            Wish::Restart => {
                let stopped = seat.stop();
                if stopped == Intervention::Done
                    && let Err(error) = self.find(myself, village, conversation).await
                {
                    tracing::error!(%conversation, %error, "a conversation could not be restarted");
                    village.seat(conversation).unended = true;
                }
                stopped
            }
        }
    }

    /// Words of our own only: what a panic says may quote what it was at.
    fn last_error(&self, error: &ActorProcessingErr) -> LastError {
        let (code, message) = match error.downcast_ref::<JournalError>() {
            Some(JournalError::Unavailable(_)) => (ErrorCode::StoreUnavailable, "The store could not commit."),
            Some(JournalError::Fenced) => (ErrorCode::Internal, "Another instance had taken over."),
            Some(JournalError::Gone) => (ErrorCode::NotFound, "The Conversation was gone."),
            Some(JournalError::Refused(_)) => (ErrorCode::Internal, "The store refused what the actor wrote."),
            None => (ErrorCode::Internal, "The actor panicked."),
        };
        LastError { code, message: message.to_owned(), at: self.ports.clock.now() }
    }

    /// Ends in the Journal what a Conversation left running that is not restarted any more, and shows its end.
    fn end_without_actor(&self, myself: &ActorRef<VillageMsg>, conversation: ConversationId, cause: Leftover) {
        let village = myself.clone();
        let done = move |result| drop(village.cast(VillageMsg::Ended { conversation, result }));
        self.ports.journal.claim(conversation, cause, Box::new(done));
    }
}

impl Seats {
    fn seat(&mut self, conversation: ConversationId) -> &mut Seat {
        self.seats.entry(conversation).or_insert_with(|| {
            let seat = Seat::new(&self.feed);
            if self.closed {
                seat.log.close(Closing::Stopping);
            }
            seat
        })
    }

    /// The actor is gone: its seat is free, its log sleeps unless a newer instance sits there already.
    fn vacate(&mut self, actor: &ActorCell) -> Option<ConversationId> {
        let conversation = self.by_actor.remove(&actor.get_id())?;
        let seat = self.seats.get_mut(&conversation)?;
        seat.leave(actor.get_id()).then_some(conversation)
    }

    fn delete(&mut self, conversation: ConversationId) {
        if let Some(seat) = self.seats.remove(&conversation) {
            self.feed.depart();
            seat.log.close(Closing::Deleted);
            seat.tell(ConversationMsg::Delete);
        }
    }

    fn tell(&self, conversation: ConversationId, message: ConversationMsg) {
        if let Some(seat) = self.seats.get(&conversation) {
            seat.tell(message);
        }
    }

    /// Whose end is still to be stored, and why it did not come by itself.
    fn unended(&self) -> Vec<(ConversationId, Leftover)> {
        let cause = |seat: &Seat| if seat.is_quarantined() { Leftover::Quarantined } else { Leftover::Failed };
        self.seats.iter().filter(|(_, seat)| seat.unended).map(|(id, seat)| (*id, cause(seat))).collect()
    }

    fn census(&self, of: &Census) -> Vec<Card> {
        let card = |(id, seat): (&ConversationId, &Seat)| seat.card(*id, INTENSITY.window);
        match of {
            Census::All => self.seats.iter().map(card).collect(),
            Census::One(id) => self.seats.get_key_value(id).map(card).into_iter().collect(),
            Census::Since(since, and) => {
                let behind = |seat: &Seat| seat.mark.is_behind(*since);
                let changed = self.seats.iter().filter(|(_, seat)| behind(seat));
                let and = and.iter().filter_map(|id| self.seats.get_key_value(id)).filter(|(_, seat)| !behind(seat));
                changed.chain(and).map(card).collect()
            }
        }
    }

    fn tell_all(&self, message: impl Fn() -> ConversationMsg) {
        for seat in self.seats.values() {
            seat.tell(message());
        }
    }

    /// Frees ended turns' frames, lets idle actors sleep, forgets seats that nobody sits in or watches.
    fn sweep(&mut self, retire_after: Duration) {
        let now = Instant::now();
        self.seats.retain(|_, seat| {
            seat.log.free();
            if now.duration_since(seat.last_asked) > retire_after && seat.log.running_turn().is_none() {
                // One that is busy after all is looked at again in a moment.
                seat.retire();
            }
            let needed = seat.is_needed();
            if !needed {
                self.feed.depart();
            }
            needed
        });
    }
}
