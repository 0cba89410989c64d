//! Supervises Conversations: finds or wakes one by id (one actor an id, ever), owns its FrameLog, restarts it when it
//! fails with its watchers still attached, and lets idle ones sleep.

mod feed;
mod roll;
mod seat;
mod seats;
mod totals;
mod view;
mod windows;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use ractor::{Actor, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tokio::{sync::oneshot, time::Instant};

pub use feed::{ActorChanges, ActorFeed, Feed, Mark};
pub use roll::Roll;
use seat::Intensity;
pub use seat::{Handle, Intervention};
pub use seats::Seats;
pub use totals::Totals;
pub use view::{
    ActorView, Card, HistoryView, MailboxView, RestartsView, SpeakerView, SummaryView, TurnView, WatchersView,
};
pub use windows::{Recent, WindowCache};

use crate::{
    conversation::{
        actor::{ConversationActor, Ports, Waking},
        frame_log::FrameLog,
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

impl Actor for Village {
    type Msg = VillageMsg;
    type State = Seats;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, (): ()) -> Result<Seats, ActorProcessingErr> {
        // The timer ends with its actor.
        drop(myself.send_interval(self.upkeep.sweep_every, || VillageMsg::Sweep));
        Ok(Seats::new(Arc::clone(&self.feed)))
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        village: &mut Seats,
    ) -> Result<(), ActorProcessingErr> {
        survived(self.take(&myself, message, village)).await;
        Ok(())
    }

    /// The default would stop the Village with any child.
    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Self::Msg>,
        event: SupervisionEvent,
        village: &mut Seats,
    ) -> Result<(), ActorProcessingErr> {
        survived(self.child_ended(&myself, event, village)).await;
        Ok(())
    }
}

/// Nobody stands above the Village: without it nothing would be answered any more. Whoever asked sees that he gets no
/// answer, and what was to be done is done by the next look.
async fn survived(work: impl Future<Output = ()>) {
    if AssertUnwindSafe(work).catch_unwind().await.is_err() {
        tracing::error!("the village panicked, and goes on");
    }
}

impl Village {
    async fn take(&self, myself: &ActorRef<VillageMsg>, message: VillageMsg, village: &mut Seats) {
        match message {
            // The Engine knows that Hamlet is being stopped, and says so to whoever is not answered.
            VillageMsg::Find { .. } | VillageMsg::Intervene { .. } if village.stopping => {}
            VillageMsg::Find { conversation, answer } if village.seat(conversation).is_quarantined() => {
                reply(answer, Err(Quarantined));
            }
            VillageMsg::Find { conversation, answer } => {
                match Box::pin(self.find(myself, village, conversation)).await {
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
                village.close();
                reply(answer, ());
            }
            VillageMsg::Renamed { conversation, title } => {
                village.tell(conversation, ConversationMsg::Renamed { title })
            }
            VillageMsg::Ended { conversation, result } => village.seat(conversation).end(result),
            VillageMsg::Census { of, answer } => reply(answer, village.census(&of)),
            VillageMsg::Intervene { conversation, wish, answer } => {
                let came_of_it = Box::pin(self.intervene(myself, village, conversation, wish)).await;
                reply(answer, came_of_it);
            }
            VillageMsg::Sweep => {
                village.sweep(self.upkeep.retire_after);
                for (conversation, cause) in village.unended() {
                    self.end_without_actor(myself, conversation, cause);
                }
            }
        }
    }

    async fn child_ended(&self, myself: &ActorRef<VillageMsg>, event: SupervisionEvent, village: &mut Seats) {
        match event {
            SupervisionEvent::ActorFailed(actor, error) => {
                if let Some(conversation) = village.vacate(&actor) {
                    tracing::error!(%conversation, %error, "a conversation failed");
                    Box::pin(self.restart(myself, village, conversation, &error)).await;
                }
            }
            SupervisionEvent::ActorTerminated(actor, _, _) => drop(village.vacate(&actor)),
            SupervisionEvent::ActorStarted(_) | SupervisionEvent::ProcessGroupChanged(_) => {}
        }
    }

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
        let (log, told, debts) = (Arc::clone(&seat.log), Arc::clone(&vitals), Arc::clone(&seat.debts));
        let waking = Waking { conversation, log, vitals: told, debts, cause: Leftover::Failed };
        let actor = ConversationActor { ports: Arc::clone(&self.ports) };
        let (actor, _joined) = Actor::spawn_linked(None, actor, waking, myself.get_cell()).await?;
        Ok(village.seat_of(&actor, conversation).sit(actor, vitals, mailbox))
    }

    /// An actor has failed: another one takes its seat, unless that has been so too often.
    async fn restart(
        &self,
        myself: &ActorRef<VillageMsg>,
        village: &mut Seats,
        conversation: ConversationId,
        error: &ActorProcessingErr,
    ) {
        let seat = village.seat(conversation);
        seat.failed(self.last_error(error));
        // What the store could not say is no fault of the actor's.
        let blameless = matches!(error.downcast_ref(), Some(JournalError::Unknown(_)));
        if !blameless && !seat.may_restart(Instant::now(), INTENSITY) {
            tracing::error!(%conversation, "it failed too often and is quarantined");
            self.ports.world.observer.actor_quarantined();
            seat.tell_of_quarantine();
            self.end_without_actor(myself, conversation, Leftover::Quarantined);
            return;
        }
        self.ports.world.observer.actor_restarted();
        self.take_the_place(myself, village, conversation).await;
    }

    async fn take_the_place(&self, myself: &ActorRef<VillageMsg>, village: &mut Seats, conversation: ConversationId) {
        village.seat(conversation).restarting();
        if let Err(error) = self.find(myself, village, conversation).await {
            tracing::error!(%conversation, %error, "a conversation could not be restarted; what it left running is ended");
        }
    }

    async fn intervene(
        &self,
        myself: &ActorRef<VillageMsg>,
        village: &mut Seats,
        conversation: ConversationId,
        wish: Wish,
    ) -> Intervention {
        let Some(seat) = village.taken(conversation) else {
            return if wish == Wish::Release { Intervention::NotQuarantined } else { Intervention::NotAwake };
        };
        match wish {
            Wish::Release => seat.release(),
            Wish::Retire => seat.retire(),
            Wish::Restart => {
                let stopped = seat.stop();
                if stopped == Intervention::Done {
                    self.take_the_place(myself, village, conversation).await;
                }
                stopped
            }
        }
    }

    /// Words of our own only: what a panic says may quote what it was at.
    fn last_error(&self, error: &ActorProcessingErr) -> LastError {
        let (code, message) = match error.downcast_ref::<JournalError>() {
            Some(JournalError::Unavailable(_) | JournalError::Unsettled(_)) => {
                (ErrorCode::StoreUnavailable, "The store could not commit.")
            }
            Some(JournalError::Unknown(_)) => {
                (ErrorCode::StoreUnavailable, "The store could not say whether a batch was stored.")
            }
            Some(JournalError::Fenced) => (ErrorCode::Internal, "Another instance had taken over."),
            Some(JournalError::Gone) => (ErrorCode::NotFound, "The Conversation was gone."),
            Some(JournalError::Refused(_)) => (ErrorCode::Internal, "The store refused what the actor wrote."),
            None => (ErrorCode::Internal, "The actor panicked."),
        };
        LastError { code, message: message.to_owned(), at: self.ports.world.clock.now() }
    }

    /// Ends in the Journal what a Conversation left running that is not restarted any more, and shows its end.
    fn end_without_actor(&self, myself: &ActorRef<VillageMsg>, conversation: ConversationId, cause: Leftover) {
        let village = myself.clone();
        let done = move |result| drop(village.cast(VillageMsg::Ended { conversation, result }));
        self.ports.world.journal.claim(conversation, cause, Box::new(done));
    }
}
