//! Supervises Conversations: finds or wakes one by id (one actor an id, ever), owns its FrameLog, restarts it when it
//! fails with its watchers still attached, and lets idle ones sleep.

mod seat;
mod windows;

use std::{collections::HashMap, sync::Arc, time::Duration};

use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, SpawnErr, SupervisionEvent};
use tokio::{sync::oneshot, time::Instant};

pub use seat::Handle;
use seat::Seat;
pub use windows::WindowCache;

use crate::{
    conversation::{
        actor::{ConversationActor, Ports, Waking},
        frame_log::{Closing, FrameLog},
        mailbox::ConversationMsg,
    },
    ports::journal::{Claimed, JournalError, Leftover},
    reply::reply,
    vocabulary::ConversationId,
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

/// Restarts within [`RESTART_WINDOW`] after which a failing actor is left asleep until somebody asks for it again; the Village
/// itself then ends what it left running.
const RESTART_LIMIT: usize = 3;
const RESTART_WINDOW: Duration = Duration::from_secs(60);

pub enum VillageMsg {
    /// From the Engine: the Conversation's actor, woken if need be.
    Find { conversation: ConversationId, answer: oneshot::Sender<Handle> },
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
    /// From the Engine: ends all readers.
    CloseLogs,
    /// From the Village's own clock.
    Sweep,
}

pub struct Village {
    pub ports: Arc<Ports>,
    pub upkeep: Upkeep,
}

#[derive(Default)]
pub struct Seats {
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
        Ok(Seats::default())
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        village: &mut Seats,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            // The Engine knows that Hamlet is being stopped, and says so to whoever is not answered.
            VillageMsg::Find { .. } if village.stopping => {}
            VillageMsg::Find { conversation, answer } => {
                match Box::pin(self.find(&myself, village, conversation)).await {
                    Ok(handle) => reply(answer, handle),
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
            VillageMsg::CloseLogs => {
                village.closed = true;
                village.seats.values().for_each(|seat| seat.log.close(Closing::Stopping));
            }
            VillageMsg::Renamed { conversation, title } => {
                village.tell(conversation, ConversationMsg::Renamed { title })
            }
            VillageMsg::Ended { conversation, result } => village.seat(conversation).end(result),
            VillageMsg::Sweep => {
                village.sweep(self.upkeep.retire_after);
                for conversation in village.unended() {
                    self.end_without_actor(&myself, conversation);
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
                    let seat = village.seat(conversation);
                    if !seat.may_restart(Instant::now(), RESTART_LIMIT, RESTART_WINDOW) {
                        seat.unended = true;
                        self.end_without_actor(&myself, conversation);
                    } else if let Err(error) = Box::pin(self.find(&myself, village, conversation)).await {
                        tracing::error!(%conversation, %error, "a conversation could not be restarted");
                    }
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
        let waking = Waking { conversation, log: Arc::clone(&seat.log), cause: Leftover::Failed };
        let actor = ConversationActor { ports: Arc::clone(&self.ports) };
        let (actor, _joined) = Actor::spawn_linked(None, actor, waking, myself.get_cell()).await?;
        village.by_actor.insert(actor.get_id(), conversation);
        Ok(village.seat(conversation).sit(actor, mailbox))
    }
}

impl Village {
    /// Ends in the Journal what a Conversation left running that is not restarted any more, and shows its end.
    fn end_without_actor(&self, myself: &ActorRef<VillageMsg>, conversation: ConversationId) {
        let village = myself.clone();
        let done = move |result| drop(village.cast(VillageMsg::Ended { conversation, result }));
        self.ports.journal.claim(conversation, Leftover::Failed, Box::new(done));
    }
}

impl Seats {
    fn seat(&mut self, conversation: ConversationId) -> &mut Seat {
        let closed = self.closed;
        self.seats.entry(conversation).or_insert_with(|| {
            let seat = Seat::default();
            if closed {
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
            seat.log.close(Closing::Deleted);
            seat.tell(ConversationMsg::Delete);
        }
    }

    fn tell(&self, conversation: ConversationId, message: ConversationMsg) {
        if let Some(seat) = self.seats.get(&conversation) {
            seat.tell(message);
        }
    }

    /// Whose end is still to be stored.
    fn unended(&self) -> Vec<ConversationId> {
        self.seats.iter().filter(|(_, seat)| seat.unended).map(|(id, _)| *id).collect()
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
                seat.retire();
            }
            seat.is_needed()
        });
    }
}
