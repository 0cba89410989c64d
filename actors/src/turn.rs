//! One turn as an owned task: gathers its context while the admission is being stored, asks the Provider once it is, and
//! reports what it decodes piece by piece. It is never awaited inside the actor, and it catches its own panic.

mod buffer;
mod cancel;
mod context;
mod gate;
mod planner;
mod stopwatch;
mod unwatched;

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt, StreamExt};
use tokio::sync::oneshot;
use tracing::Instrument;

pub use cancel::{Cancel, Cancelled, cancellation};
pub use gate::Gate;
pub use planner::{Planned, Planner, Unanswered, plan};
pub use unwatched::WhenUnwatched;

use crate::{
    conversation::{frame_log::FrameLog, mailbox::ConversationMsg},
    policy::outcome::{Ending, REPLY_LIMIT},
    ports::{
        End, Observer, Provider, ProviderEvent, ProviderEvents,
        journal::Journal,
        observer::{CallOutcome, ProviderCall},
    },
    village::WindowCache,
    vocabulary::{ConversationId, ErrorCode, Npc, TurnId},
};
use buffer::Buffer;
use stopwatch::{Place, Stopwatch};

/// Decoded bytes that wait for the Journal at most; beyond it the Provider's socket is not read.
const BUFFER_LIMIT: usize = 256 * 1024;

/// Everything that a turn needs of the world outside its Conversation, resolved by the gates.
#[derive(Debug, Clone)]
pub struct TurnPlan {
    pub npc: Npc,
    /// Whether more NPCs than this one are present.
    pub in_party: bool,
    pub model: String,
    pub provider: Arc<dyn Provider>,
    /// Budget of the history, in estimated tokens.
    pub window_tokens: usize,
    /// What the Player just said; None when an earlier Message is answered anew.
    pub question: Option<Arc<str>>,
    pub when_unwatched: WhenUnwatched,
}

/// One turn, ready to be spawned.
pub struct TurnTask {
    pub conversation: ConversationId,
    pub turn: TurnId,
    pub before_position: i64,
    pub plan: Arc<TurnPlan>,
    pub journal: Arc<dyn Journal>,
    pub windows: Arc<WindowCache>,
    pub observer: Arc<dyn Observer>,
    pub log: Arc<FrameLog>,
    pub actor: ractor::ActorRef<ConversationMsg>,
    /// Resolves when the admission is stored; dropped when it was refused.
    pub released: oneshot::Receiver<()>,
    pub cancelled: Cancelled,
    /// Opened by the actor when the report that is on its way is durable.
    pub gate: Arc<Gate>,
}

impl TurnTask {
    /// Runs the turn to its end and reports it, whatever that end is.
    pub async fn run(self) {
        let span = tracing::info_span!(
            "turn",
            conversation = %self.conversation,
            turn = %self.turn,
            npc = %self.plan.npc.slug,
            model = %self.plan.model,
        );
        let (turn, actor, observer) = (self.turn, self.actor.clone(), Arc::clone(&self.observer));
        let (provider, model) = (Arc::clone(&self.plan.provider), self.plan.model.clone());
        let (mut buffer, mut watch) = (Buffer::default(), Stopwatch::default());
        let answering = AssertUnwindSafe(self.answer(&mut buffer, &mut watch));
        let ending = answering.catch_unwind().instrument(span.clone()).await;
        let ending = ending.unwrap_or(Ending::Panicked);
        span.in_scope(|| match &ending {
            Ending::Panicked => tracing::error!("the turn panicked"),
            Ending::Provider(End::Failed(failure)) => {
                tracing::warn!(code = %failure.code, status = failure.status, "the provider failed")
            }
            Ending::Provider(_)
            | Ending::TooLong
            | Ending::Aborted
            | Ending::ShutDown
            | Ending::Unreadable
            | Ending::StoreUnavailable => {
                tracing::info!(ending = ending.name(), "the turn's task ended");
            }
        });
        let (tail, usage) = buffer.into_tail();
        if let Some((took, first_delta)) = watch.read() {
            let (provider, model) = (provider.name(), model.as_str());
            let outcome = outcome_of(&ending);
            observer.provider_answered(&ProviderCall { provider, model, took, first_delta, usage, outcome });
        }
        // Without its actor the turn has nobody to report to: the claim of the next instance ends its Message.
        drop(actor.cast(ConversationMsg::TurnEnded { turn, tail, usage, ending }));
    }

    async fn answer(self, buffer: &mut Buffer, watch: &mut Stopwatch) -> Ending {
        let Self {
            conversation,
            turn,
            before_position,
            plan,
            journal,
            windows,
            observer: _,
            log,
            actor,
            released,
            mut cancelled,
            gate,
        } = self;
        let leaving = unwatched::left(log, plan.when_unwatched);
        tokio::pin!(leaving);
        let gathered = async {
            let asked = plan.question.as_ref().map_or(0, |text| text.chars().count());
            let window = context::window(conversation, before_position, plan.window_tokens, asked, &*journal, &windows);
            // The request is written while the commit is on its way, and sent once it is through.
            let asking = async { window.await.map(|window| plan.provider.ask(context::request(&plan, window.said()))) };
            let (events, released) = tokio::join!(asking, released);
            (events, released.is_ok())
        };
        let (events, released) = tokio::select! {
            biased;
            ending = cancelled.asked() => return ending,
            gathered = gathered => gathered,
        };
        if !released {
            return Ending::Aborted;
        }
        let events = match events {
            Ok(events) => events,
            Err(error) => {
                tracing::error!(%error, "the history could not be read");
                return Ending::Unreadable;
            }
        };
        let reports = Reports { turn, actor, gate };
        tokio::select! {
            biased;
            ending = cancelled.asked() => ending,
            () = &mut leaving => Ending::Aborted,
            ending = stream(events, reports, buffer, watch) => ending,
        }
    }
}

/// Reads the Provider's stream to its end. At most one report is on its way; what arrives meanwhile becomes the next.
async fn stream(mut events: ProviderEvents, reports: Reports, buffer: &mut Buffer, watch: &mut Stopwatch) -> Ending {
    let mut bytes = 0;
    watch.ask();
    loop {
        if !buffer.is_empty() && reports.gate.pass() && !reports.send(buffer, watch) {
            // The actor is gone, with its Conversation or before a successor that has ended this Message: nobody asks how.
            return Ending::Aborted;
        }
        tokio::select! {
            biased;
            () = reports.gate.opened(), if !buffer.is_empty() => {}
            read = events.next(), if buffer.bytes() < BUFFER_LIMIT => {
                let Some(read) = read else { return Ending::Provider(End::Truncated) };
                for event in read {
                    match event {
                        ProviderEvent::Delta(delta) => {
                            watch.delta(if buffer.is_empty() { Place::BeginsReport } else { Place::InReport });
                            bytes += buffer.push(delta);
                        }
                        ProviderEvent::Usage(usage) => buffer.report_usage(usage),
                        ProviderEvent::End(end) => return Ending::Provider(end),
                    }
                }
                if bytes > REPLY_LIMIT {
                    return Ending::TooLong;
                }
            }
        }
    }
}

struct Reports {
    turn: TurnId,
    actor: ractor::ActorRef<ConversationMsg>,
    gate: Arc<Gate>,
}

impl Reports {
    /// False when nobody is there to be told.
    fn send(&self, buffer: &mut Buffer, watch: &mut Stopwatch) -> bool {
        if let Some(decoded) = watch.take_decoded() {
            self.gate.time(decoded);
        }
        self.actor.cast(ConversationMsg::Deltas { turn: self.turn, deltas: buffer.take() }).is_ok()
    }
}

fn outcome_of(ending: &Ending) -> CallOutcome {
    match ending {
        Ending::Provider(End::Complete(_)) => CallOutcome::Complete,
        Ending::Provider(End::Truncated) => CallOutcome::Failed(ErrorCode::ReplyTruncated),
        Ending::Provider(End::Failed(failure)) => CallOutcome::Failed(failure.code),
        Ending::TooLong => CallOutcome::Failed(ErrorCode::ReplyTooLong),
        Ending::Panicked => CallOutcome::Failed(ErrorCode::Internal),
        Ending::Aborted | Ending::ShutDown | Ending::Unreadable | Ending::StoreUnavailable => CallOutcome::Cancelled,
    }
}
