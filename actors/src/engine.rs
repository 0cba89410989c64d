//! The handle that the server holds. It hides the actors: callers begin and stop turns and watch frames.

mod error;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ractor::{Actor, ActorRef};
use tokio::sync::{TryAcquireError, oneshot};
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use crate::{
    capability::Capability,
    conversation::{
        Aborted, Begin, Begun, Decision, Progress, QueueChange, Select, Ticket, actor::Ports, frame_log::FrameLog,
        mailbox::ConversationMsg, reflection::Afterthoughts,
    },
    ports::{
        Clock, Observer, Prompts, Summaries,
        journal::{Journal, JournalError},
    },
    turn::{Planner, Preview, Site, TurnPlan, preview},
    village::{
        ActorFeed, ActorView, Census, Feed, Handle, Intervention, Quarantined, Roll, Upkeep, Village, VillageMsg,
        WindowCache, Wish,
    },
    vocabulary::{ConversationId, TurnId},
};

pub use error::EngineError;

/// Bytes of recent history kept in memory, for all Conversations together.
const WINDOW_CACHE_BYTES: u64 = 128 << 20;
/// How long the Engine waits for an answer before it says that something is wrong.
const PATIENCE: Duration = Duration::from_secs(30);
/// For the ends of turns that were cut to be stored.
const LAST_COMMITS: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Engine {
    village: ActorRef<VillageMsg>,
    feed: Arc<Feed>,
    tickets: Arc<AtomicU64>,
    ports: Arc<Ports>,
}

/// What the engine needs of the world.
#[derive(Clone)]
pub struct World {
    pub journal: Arc<dyn Journal>,
    pub summaries: Arc<dyn Summaries>,
    pub prompts: Arc<dyn Prompts>,
    pub planner: Arc<dyn Planner>,
    pub clock: Arc<dyn Clock>,
    pub observer: Arc<dyn Observer>,
    /// In the order in which sections of one place stand.
    pub capabilities: Arc<[Arc<dyn Capability>]>,
}

/// The Village's actor could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the village could not be started: {0}")]
pub struct NotStarted(String);

impl Engine {
    /// Starts an empty Village; Conversations wake when they are asked for.
    ///
    /// # Errors
    /// When the Village's actor can't be started.
    pub async fn start(world: World, upkeep: Upkeep) -> Result<Self, NotStarted> {
        let feed = Arc::new(Feed::default());
        let ports = Arc::new(Ports {
            world,
            windows: Arc::new(WindowCache::new(WINDOW_CACHE_BYTES)),
            afterthoughts: Afterthoughts::default(),
            turns: TaskTracker::new(),
        });
        let village = Village { ports: Arc::clone(&ports), upkeep, feed: Arc::clone(&feed) };
        let (village, _joined) =
            Actor::spawn(None, village, ()).await.map_err(|error| NotStarted(error.to_string()))?;
        Ok(Self { village, feed, tickets: Arc::default(), ports })
    }

    /// Begins a turn. Answers once its admission is durable; until then nothing of it is visible.
    ///
    /// # Errors
    /// Refused by the Conversation (busy, stale, store), mailbox full, no answer, shutting down.
    pub async fn begin(
        &self,
        conversation: ConversationId,
        begin: Begin,
        plan: TurnPlan,
    ) -> Result<Begun, EngineError> {
        let _admitting = self.admitting()?;
        self.ask(conversation, |ticket, answer, permit| ConversationMsg::Begin {
            ticket,
            begin: Box::new(begin.clone()),
            plan: Box::new(plan.clone()),
            answer,
            permit,
        })
        .await?
        .map_err(EngineError::from)
    }

    /// Stops a turn (without an id: whichever runs). Answers once its terminal frame is durable.
    ///
    /// # Errors
    /// Another turn runs, mailbox full, no answer, shutting down.
    pub async fn abort(&self, conversation: ConversationId, turn: Option<TurnId>) -> Result<Aborted, EngineError> {
        self.ask(conversation, |ticket, answer, permit| ConversationMsg::Abort { ticket, turn, answer, permit })
            .await?
            .map_err(EngineError::from)
    }

    /// Changes a text that waits. Answers once that is durable.
    ///
    /// # Errors
    /// It does not wait any more; mailbox full, no answer, shutting down.
    pub async fn change(&self, conversation: ConversationId, change: QueueChange) -> Result<(), EngineError> {
        self.ask(conversation, |ticket, answer, permit| ConversationMsg::Change {
            ticket,
            change: change.clone(),
            answer,
            permit,
        })
        .await?
        .map_err(EngineError::from)
    }

    /// Says whether a call that waits for it may run. Answered once that is durable.
    ///
    /// # Errors
    /// The call does not wait (any more); mailbox full, no answer, shutting down.
    pub async fn decide(
        &self,
        conversation: ConversationId,
        call: &str,
        decision: Decision,
    ) -> Result<(), EngineError> {
        self.ask(conversation, |ticket, answer, permit| ConversationMsg::Decide {
            ticket,
            call: call.to_owned(),
            decision: decision.clone(),
            answer,
            permit,
        })
        .await?
        .map_err(EngineError::from)
    }

    /// Takes up what waits, after a Stop, a failure or a restart. Answers once its admission is durable.
    ///
    /// # Errors
    /// Nothing waits, or nobody can answer it; mailbox full, no answer, shutting down.
    pub async fn resume(&self, conversation: ConversationId) -> Result<Begun, EngineError> {
        let _admitting = self.admitting()?;
        self.ask(conversation, |ticket, answer, permit| ConversationMsg::Resume { ticket, answer, permit })
            .await?
            .map_err(EngineError::from)
    }

    /// Brings an earlier variant back in its place. Answers once that is durable.
    ///
    /// # Errors
    /// A turn runs; what it was read from has changed; mailbox full, no answer, shutting down.
    pub async fn select(&self, conversation: ConversationId, select: Select) -> Result<(), EngineError> {
        self.ask(conversation, |ticket, answer, permit| ConversationMsg::Select {
            ticket,
            select: Box::new(select.clone()),
            answer,
            permit,
        })
        .await?
        .map_err(EngineError::from)
    }

    /// What an NPC would be told now, if it were asked: as a turn gathers it, but nothing is stored and nobody woken.
    ///
    /// # Errors
    /// The history can't be read.
    pub async fn preview(&self, conversation: ConversationId, plan: TurnPlan) -> Result<Preview, JournalError> {
        let progress = Arc::new(Progress { step: 1, ..Progress::default() });
        let site = Site { conversation, plan: Arc::new(plan), progress, ports: Arc::clone(&self.ports) };
        preview(&site).await
    }

    /// The store has another summary, or was changed otherwise in what a model is told: the next turn reads it.
    pub fn forget(&self, conversation: ConversationId) {
        self.ports.windows.forget(conversation);
    }

    /// The Conversation's log; nobody is woken.
    ///
    /// # Errors
    /// Shutting down.
    pub async fn log(&self, conversation: ConversationId) -> Result<Arc<FrameLog>, EngineError> {
        self.ask_village(|answer| VillageMsg::Log { conversation, answer }).await
    }

    /// The store has another title for a Conversation: its frames tell it from now on.
    pub fn renamed(&self, conversation: ConversationId, title: Option<String>) {
        // A Village that is gone tells nothing any more.
        drop(self.village.cast(VillageMsg::Renamed { conversation, title }));
    }

    /// Ends the turn and the watchers of a Conversation that the store has deleted.
    pub fn delete(&self, conversation: ConversationId) {
        // A Village that is gone has nothing to delete.
        drop(self.village.cast(VillageMsg::Delete { conversation }));
    }

    /// What every awake actor, and every Conversation that somebody watches, has published of itself, in the order of
    /// their ids. Waits for no actor.
    ///
    /// # Errors
    /// Shutting down.
    pub async fn actors(&self) -> Result<Vec<ActorView>, EngineError> {
        self.roll(|roll| roll.views()).await
    }

    /// Likewise of one; None when nobody is awake or watching there.
    ///
    /// # Errors
    /// Shutting down.
    pub async fn actor(&self, conversation: ConversationId) -> Result<Option<ActorView>, EngineError> {
        Ok(self.census(Census::One(conversation)).await?.pop())
    }

    /// Reads the roll of all seats. There may be many, so that reading is done beside the runtime's threads: no token waits
    /// behind it.
    ///
    /// # Errors
    /// Shutting down.
    pub async fn roll<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Roll) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        let cards = self.ask_village(|answer| VillageMsg::Census { of: Census::All, answer }).await?;
        let windows = Arc::clone(&self.ports.windows);
        let reading = tokio::task::spawn_blocking(move || read(&Roll::new(cards, windows)));
        reading.await.map_err(|_| EngineError::NoAnswer)
    }

    /// Views as they change.
    pub fn watch_actors(&self) -> ActorFeed {
        self.feed.subscribe(self.clone())
    }

    /// Ends the actor, whatever it is at, and wakes the next one: what ran ends as failed, with everything kept, and
    /// watchers stay.
    ///
    /// # Errors
    /// Shutting down.
    pub async fn restart(&self, conversation: ConversationId) -> Result<Intervention, EngineError> {
        self.intervene(conversation, Wish::Restart).await
    }

    /// Lets an idle actor sleep.
    ///
    /// # Errors
    /// Shutting down.
    pub async fn retire(&self, conversation: ConversationId) -> Result<Intervention, EngineError> {
        self.intervene(conversation, Wish::Retire).await
    }

    /// Lets a quarantined Conversation be woken again; the next request does.
    ///
    /// # Errors
    /// Shutting down.
    pub async fn release(&self, conversation: ConversationId) -> Result<Intervention, EngineError> {
        self.intervene(conversation, Wish::Release).await
    }

    async fn intervene(&self, conversation: ConversationId, wish: Wish) -> Result<Intervention, EngineError> {
        self.ask_village(|answer| VillageMsg::Intervene { conversation, wish, answer }).await
    }

    /// The Village hands out what is published; the views are put together here, so that it is not kept from its work.
    pub(crate) async fn census(&self, of: Census) -> Result<Vec<ActorView>, EngineError> {
        let cards = self.ask_village(|answer| VillageMsg::Census { of, answer }).await?;
        let mut views: Vec<ActorView> = cards.iter().map(|card| card.view(&self.ports.windows)).collect();
        views.sort_unstable_by_key(|view| view.conversation_id);
        Ok(views)
    }

    /// Lets turns that are admitted or run come to their end until the deadline, then ends them with everything stored, wakes
    /// nobody any more, closes all readers and stops the Conversations' actors. Nothing is admitted from its beginning on;
    /// whoever asks for a log is answered until [`Engine::stop`].
    pub async fn shut_down(&self, deadline: Duration) {
        self.ports.turns.close();
        if tokio::time::timeout(deadline, self.ports.turns.wait()).await.is_err() {
            tracing::info!(turns = self.ports.turns.len(), "turns that have not ended are ended now");
        }
        self.ports.afterthoughts.end().await;
        if self.ask_village(|answer| VillageMsg::ShutDown { answer }).await.is_err() {
            tracing::error!("the village has gone before it was told to");
        }
        // Ending takes one commit; a store that can't commit must not keep the process.
        if tokio::time::timeout(LAST_COMMITS, self.ports.turns.wait()).await.is_err() {
            tracing::error!(
                turns = self.ports.turns.len(),
                "turns whose end could not be stored are left to the next start"
            );
        }
        // Waited for: being stopped would overtake it, and readers would find their log gone instead of closed.
        if self.ask_village(|answer| VillageMsg::CloseLogs { answer }).await.is_err() {
            tracing::error!("the village has gone before it could close its logs");
        }
        self.village.drain_children_and_wait(Some(Duration::from_secs(2))).await;
    }

    /// The very end, when nobody asks any more.
    pub fn stop(&self) {
        self.village.stop(None);
    }

    /// Taken before the look whether Hamlet stops: what is admitted is waited for from here on, also while its Conversation
    /// is only waking up.
    fn admitting(&self) -> Result<TaskTrackerToken, EngineError> {
        let token = self.ports.turns.token();
        if self.ports.turns.is_closed() { Err(EngineError::ShuttingDown) } else { Ok(token) }
    }

    /// Asks the Conversation's actor. One that went to sleep or failed before it answered is woken and asked again, under the
    /// same ticket: what was stored the first time is answered then, and does not happen twice.
    async fn ask<T>(
        &self,
        conversation: ConversationId,
        question: impl Fn(Ticket, oneshot::Sender<T>, tokio::sync::OwnedSemaphorePermit) -> ConversationMsg,
    ) -> Result<T, EngineError> {
        // An answer that is on its way is waited for: whoever is told that Hamlet stops may ask again.
        let _asked = self.ports.turns.token();
        let ticket = Ticket(self.tickets.fetch_add(1, Ordering::Relaxed));
        for _ in 0..3 {
            let found = self.ask_village(|answer| VillageMsg::Find { conversation, answer }).await?;
            let handle: Handle = found.map_err(|Quarantined| EngineError::Quarantined)?;
            let permit = match handle.mailbox.try_acquire_owned() {
                Ok(permit) => permit,
                Err(TryAcquireError::NoPermits) => {
                    self.ports.world.observer.mailbox_full();
                    return Err(EngineError::MailboxFull);
                }
                // It went to sleep in between.
                Err(TryAcquireError::Closed) => continue,
            };
            let (answer, answered) = oneshot::channel();
            if handle.actor.cast(question(ticket, answer, permit)).is_err() {
                tokio::task::yield_now().await;
                continue;
            }
            match tokio::time::timeout(PATIENCE, answered).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(_gone)) => tokio::task::yield_now().await,
                Err(_late) => return Err(EngineError::Late),
            }
        }
        Err(EngineError::NoAnswer)
    }

    async fn ask_village<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> VillageMsg) -> Result<T, EngineError> {
        let (answer, answered) = oneshot::channel();
        self.village.cast(question(answer)).map_err(|_| EngineError::ShuttingDown)?;
        // A Village that is stopping wakes nobody any more, and leaves such questions unanswered.
        answered
            .await
            .map_err(|_| if self.ports.turns.is_closed() { EngineError::ShuttingDown } else { EngineError::NoAnswer })
    }
}
