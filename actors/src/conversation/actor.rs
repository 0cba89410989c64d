//! The thin actor around a Conversation's state: message to event, `apply`, effects performed. It awaits nothing: the
//! turn is a task of its own, and the Journal answers by message.

use std::{collections::HashMap, sync::Arc, time::Duration};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::task::JoinHandle;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::{
    Conversation, Effect, Event, Published,
    debts::Debts,
    effect::CancelReason,
    frame_log::FrameLog,
    mailbox::ConversationMsg,
    reflection::{self, Afterthoughts},
    running::{Bench, Running},
    vitals::{Pulse, Vitals},
    waiters::{Waiter, Waiters},
};
use crate::{
    engine::World,
    policy::outcome::Ending,
    ports::{
        journal::{JournalError, Leftover, Queued},
        observer::EndedTurn,
    },
    turn::{TurnPlan, Unanswered, plan},
    village::WindowCache,
    vocabulary::{ConversationId, Frame, TurnId},
};

/// How long a batch that the store refused waits before it is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// What every Conversation of a Village shares.
#[derive(Clone)]
pub struct Ports {
    pub world: World,
    pub windows: Arc<WindowCache>,
    /// What is thought about turns that have ended.
    pub afterthoughts: Afterthoughts,
    /// Turns that are admitted or run, in all Conversations.
    pub turns: TaskTracker,
}

pub struct ConversationActor {
    pub ports: Arc<Ports>,
}

/// What an actor is started with.
pub struct Waking {
    pub conversation: ConversationId,
    pub log: Arc<FrameLog>,
    pub vitals: Arc<Vitals>,
    /// What earlier instances owe, and this one will.
    pub debts: Arc<Debts>,
    pub cause: Leftover,
}

/// The actor's own state: the Conversation, and who waits for what.
pub struct Awake {
    id: ConversationId,
    conversation: Conversation,
    log: Arc<FrameLog>,
    pulse: Pulse,
    waiters: Waiters,
    /// Plans of turns that were asked for; gone with their answer.
    plans: HashMap<TurnId, Box<TurnPlan>>,
    /// The search for who answers what is being taken up, and what it found.
    planning: Option<AbortOnDropHandle<()>>,
    planned: Option<Box<TurnPlan>>,
    running: Option<Running>,
    /// The summary that is made ahead of need.
    summarising: Option<JoinHandle<()>>,
    shutting_down: bool,
}

impl Actor for ConversationActor {
    type Msg = ConversationMsg;
    type State = Awake;
    type Arguments = Waking;

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, waking: Waking) -> Result<Awake, ActorProcessingErr> {
        let (conversation, effects) = Conversation::waking(waking.conversation, waking.cause);
        let mut awake = Awake {
            id: waking.conversation,
            conversation,
            log: waking.log,
            pulse: Pulse::new(waking.vitals),
            waiters: Waiters::new(waking.debts),
            plans: HashMap::new(),
            planning: None,
            planned: None,
            running: None,
            summarising: None,
            shutting_down: false,
        };
        self.perform(&myself, &mut awake, effects)?;
        Ok(awake)
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        awake: &mut Awake,
    ) -> Result<(), ActorProcessingErr> {
        self.take(&myself, awake, message)
    }
}

impl ConversationActor {
    fn take(
        &self,
        myself: &ActorRef<ConversationMsg>,
        awake: &mut Awake,
        message: ConversationMsg,
    ) -> Result<(), ActorProcessingErr> {
        let now = self.ports.world.clock.now();
        let event = match message {
            ConversationMsg::Begin { ticket, mut begin, plan, answer, permit } => {
                begin.now = now;
                awake.plans.insert(begin.turn, plan);
                let ticket = awake.waiters.add(ticket, Waiter::Begin(begin.turn, answer), permit);
                Event::BeginAsked { begin, ticket }
            }
            ConversationMsg::Abort { ticket, turn, answer, permit } => {
                let ticket = awake.waiters.add(ticket, Waiter::Abort(answer), permit);
                Event::AbortAsked { turn, ticket, now }
            }
            ConversationMsg::Change { ticket, change, answer, permit } => {
                let ticket = awake.waiters.add(ticket, Waiter::Change(answer), permit);
                Event::ChangeAsked { change, ticket, now }
            }
            ConversationMsg::Resume { ticket, answer, permit } => {
                let ticket = awake.waiters.add(ticket, Waiter::Resume(answer), permit);
                Event::ResumeAsked { ticket }
            }
            ConversationMsg::Select { ticket, select, answer, permit } => {
                let ticket = awake.waiters.add(ticket, Waiter::Change(answer), permit);
                Event::SelectAsked { select, ticket, now }
            }
            ConversationMsg::Planned { attempt, outcome } => {
                let outcome = outcome.map(|planned| {
                    awake.planned = Some(Box::new(planned.plan));
                    planned.cast
                });
                Event::Planned { attempt, outcome, now }
            }
            ConversationMsg::Deltas { turn, deltas } => Event::DeltasArrived { turn, deltas, now },
            ConversationMsg::TurnEnded { turn, tail, usage, ending, pass, next_plan, gathered } => {
                if let Some(running) = awake.running.as_mut().filter(|running| running.turn == turn) {
                    running.next_plan = next_plan;
                    running.gathered = gathered.or(running.gathered.take());
                }
                Event::TurnEnded { turn, tail, usage, ending, pass, now }
            }
            ConversationMsg::Decide { ticket, call, decision, answer, permit } => {
                let ticket = awake.waiters.add(ticket, Waiter::Change(answer), permit);
                Event::DecisionAsked { call, decision, ticket, now }
            }
            ConversationMsg::Retitled { shown, title } => Event::Retitled { shown, title, now },
            ConversationMsg::Claimed(result) => {
                // What the earlier instance had on its way is stored or refused by now: the Journal keeps its order.
                let owed = awake.conversation.apply(Event::Owed(awake.waiters.debts.left()));
                self.perform(myself, awake, owed)?;
                Event::Claimed(result)
            }
            ConversationMsg::Settled(outcome) => Event::Settled { outcome, now },
            ConversationMsg::RetryDue => Event::RetryDue,
            ConversationMsg::LookDue => Event::LookDue { now },
            ConversationMsg::Retire => {
                if awake.conversation.is_idle() {
                    myself.stop(None);
                }
                return Ok(());
            }
            ConversationMsg::ShutDown => {
                awake.shutting_down = true;
                awake.cancel(Ending::ShutDown);
                return Ok(());
            }
            ConversationMsg::Renamed { title } => Event::Renamed { title },
            ConversationMsg::Delete => Event::Deleted,
        };
        let effects = awake.conversation.apply(event);
        // Before anybody is answered: who asks an operator's question next sees what he was told.
        awake.pulse.beat(&awake.conversation, &effects, now);
        self.perform(myself, awake, effects)
    }

    fn perform(
        &self,
        myself: &ActorRef<ConversationMsg>,
        awake: &mut Awake,
        effects: Vec<Effect>,
    ) -> Result<(), ActorProcessingErr> {
        for effect in effects {
            match effect {
                Effect::Claim(cause) => self.claim(myself, awake.id, cause),
                Effect::Submit { batch, owed } => {
                    let (actor, debts) = (myself.clone(), Arc::clone(&awake.waiters.debts));
                    let done = move |outcome: Result<(), JournalError>| {
                        if outcome.is_ok() {
                            debts.owe(owed);
                        }
                        drop(actor.cast(ConversationMsg::Settled(outcome)));
                    };
                    self.ports.world.journal.submit(batch, Box::new(done));
                }
                Effect::Prepare { turn, before_position, question, progress } => {
                    let plan = awake.plan_of(turn);
                    let running = awake.running.take();
                    let step = self.bench(myself, awake).step(running, plan, turn, before_position, question, progress);
                    awake.running = Some(step.ok_or("a turn without a plan was admitted")?);
                    awake.end_if_shutting_down();
                }
                Effect::RunCalls { turn, calls, progress } => {
                    let running = awake.running.take();
                    let calls = self.bench(myself, awake).calls(running, turn, calls, progress);
                    awake.running = Some(calls.ok_or("calls of a turn that nobody knows were admitted")?);
                    awake.end_if_shutting_down();
                }
                Effect::Decide { turn, call, decision } => {
                    if let Some(running) = awake.of_turn(turn) {
                        running.decide(&call, decision);
                    }
                }
                Effect::Reflect { turn, status, reply, first } => {
                    let past = reflection::Past { turn, status, reply, first };
                    if let Some(site) = self.bench(myself, awake).site(awake.running.as_ref(), turn) {
                        let earlier = awake.summarising.take();
                        awake.summarising = reflection::begin(&site, myself, past, earlier);
                    }
                }
                Effect::Plan { attempt, item } => self.plan(myself, awake, attempt, *item),
                Effect::Release(turn) => {
                    if let Some(running) = awake.of_turn(turn) {
                        running.release();
                    }
                }
                Effect::Cancel(turn, reason) => {
                    let ending = match reason {
                        CancelReason::Abort => Ending::Aborted,
                        CancelReason::StoreUnavailable => Ending::StoreUnavailable,
                    };
                    if let Some(running) = awake.of_turn(turn) {
                        running.cancel(ending);
                    }
                }
                Effect::OpenLog { after, turn } => {
                    self.ports.world.observer.turn_admitted();
                    awake.log.open(after, turn);
                }
                Effect::Publish(published) => self.publish(awake, &published),
                Effect::Tell { turn, message, error } => {
                    awake.log.tell(&Frame::Error { turn_id: Some(turn), message_id: Some(message), error });
                }
                Effect::Recall(said) => self.ports.windows.recall(awake.id, said),
                Effect::ForgetWindow => self.ports.windows.forget(awake.id),
                Effect::Taken(turn) => {
                    if let Some(added) = awake.of_turn(turn).and_then(|running| running.open_gate()) {
                        self.ports.world.observer.shown(added);
                    }
                }
                Effect::Answer(ticket, answer) => {
                    if let Some(turn) = awake.waiters.answer(ticket, answer) {
                        awake.plans.remove(&turn);
                    }
                }
                Effect::Wake { last_seq } => awake.log.wake(last_seq),
                Effect::RetryLater => drop(myself.send_after(RETRY_AFTER, || ConversationMsg::RetryDue)),
                Effect::LookLater(after) => drop(myself.send_after(after, || ConversationMsg::LookDue)),
                Effect::Quit(JournalError::Gone) => myself.stop(Some("the conversation is gone".to_owned())),
                Effect::Quit(error) => return Err(error.into()),
            }
        }
        if awake.conversation.running_turn().is_none() {
            awake.running = None;
        }
        Ok(())
    }

    /// Counted before it is shown: whoever has seen a turn's end finds it counted. A queued text that is withdrawn never
    /// was a turn that ran.
    fn publish(&self, awake: &mut Awake, published: &Published) {
        match published {
            Published::Frames(frames) => {
                if let (Some(ended), Some(running)) = (EndedTurn::among(frames), &awake.running)
                    && ended.turn == running.turn
                {
                    self.ports.world.observer.turn_ended(ended, running.timing.begun.elapsed());
                }
                awake.log.publish_frames(frames);
            }
            Published::Pieces { message, pieces } => {
                if let Some(running) = awake.running.as_mut().filter(|running| !running.timing.seen) {
                    running.timing.seen = true;
                    self.ports.world.observer.first_shown(running.timing.begun.elapsed());
                }
                awake.log.publish_pieces(*message, pieces);
            }
        }
    }

    fn claim(&self, myself: &ActorRef<ConversationMsg>, id: ConversationId, cause: Leftover) {
        let actor = myself.clone();
        let done = move |result| drop(actor.cast(ConversationMsg::Claimed(result)));
        self.ports.world.journal.claim(id, cause, Box::new(done));
    }

    /// Looks for who answers a text. While Hamlet is being stopped nothing is taken up: it waits for the next start.
    fn plan(&self, myself: &ActorRef<ConversationMsg>, awake: &mut Awake, attempt: u64, item: Queued) {
        if self.ports.turns.is_closed() {
            return;
        }
        let Queued { author, text, to, .. } = item;
        let asked = Unanswered { conversation: awake.id, author, text, to };
        let (planner, actor) = (Arc::clone(&self.ports.world.planner), myself.clone());
        let search = async move {
            let outcome = plan(planner, asked).await.map(Box::new);
            // An actor that is gone takes nothing up.
            drop(actor.cast(ConversationMsg::Planned { attempt, outcome }));
        };
        awake.planning = Some(AbortOnDropHandle::new(tokio::spawn(search)));
    }

    fn bench<'a>(&'a self, myself: &'a ActorRef<ConversationMsg>, awake: &'a Awake) -> Bench<'a> {
        Bench { conversation: awake.id, ports: &self.ports, log: &awake.log, actor: myself }
    }
}

impl Awake {
    /// How a turn that begins is asked: as the gates, or the search for who answers, left it.
    /// None for one that runs: what is planned then is another's.
    fn plan_of(&mut self, turn: TurnId) -> Option<Box<TurnPlan>> {
        if self.of_turn(turn).is_some() {
            return None;
        }
        self.plans.remove(&turn).or_else(|| self.planned.take())
    }

    fn of_turn(&mut self, turn: TurnId) -> Option<&mut Running> {
        self.running.as_mut().filter(|running| running.turn == turn)
    }

    fn cancel(&mut self, ending: Ending) {
        if let Some(running) = &mut self.running {
            running.cancel(ending);
        }
    }

    fn end_if_shutting_down(&mut self) {
        if self.shutting_down {
            self.cancel(Ending::ShutDown);
        }
    }
}
