//! One answer of the model: its context is gathered while what comes before it is being stored, the Provider is asked once
//! it is, and what is decoded is reported piece by piece.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt, StreamExt};
use tokio::sync::oneshot;
use tracing::Instrument;

use super::{
    answer::Answer,
    buffer::Buffer,
    context::{self, Keeping},
    gather::{Gathered, gather},
    passing::passed,
    stopwatch::{Place, Stopwatch},
    task::{Over, Reports, Task, Watching},
};
use crate::{
    policy::{
        echo::Echo,
        outcome::{Ending, REPLY_LIMIT},
        speaker::next_in_turn,
    },
    ports::{
        End, Handoff, PromptRecord, ProviderEvent, ProviderEvents,
        journal::JournalError,
        observer::{CallOutcome, ProviderCall},
    },
    vocabulary::ErrorCode,
};

/// Decoded bytes that wait for the Journal at most; beyond it the Provider's socket is not read.
const BUFFER_LIMIT: usize = 256 * 1024;

/// One answer, ready to be spawned.
pub struct StepTask {
    pub task: Task,
    pub before_position: i64,
    /// By an earlier step of the same part.
    pub gathered: Option<Arc<Gathered>>,
    /// Resolves when what comes before it is stored; dropped when that was refused.
    pub released: oneshot::Receiver<()>,
    pub watching: Watching,
}

impl StepTask {
    /// Runs the step to its end and reports it, whatever that end is.
    pub async fn run(self) {
        let Self { task, before_position, mut gathered, released, mut watching } = self;
        let span = tracing::info_span!(
            "turn",
            conversation = %task.site.conversation,
            turn = %task.turn,
            npc = %task.site.plan.npc.slug,
            model = %task.site.plan.model,
            step = task.site.progress.step,
        );
        let (mut buffer, mut watch) = (Buffer::default(), Stopwatch::default());
        let step = Step { task: &task, buffer: &mut buffer, watch: &mut watch, gathered: &mut gathered };
        let answering = AssertUnwindSafe(step.take(before_position, released, &mut watching));
        let ending = answering.catch_unwind().instrument(span.clone()).await;
        let ending = ending.unwrap_or(Ending::Panicked);
        span.in_scope(|| tell(&ending));
        if let Some((took, first_delta)) = watch.read() {
            let (provider, model) = (task.site.plan.provider.name(), task.site.plan.model.as_str());
            let (usage, outcome) = (buffer.usage(), outcome_of(&ending));
            task.site.ports.world.observer.provider_answered(&ProviderCall {
                provider,
                model,
                took,
                first_delta,
                usage,
                outcome,
            });
        }
        let over = follow(&task, ending, &mut watching).await;
        task.report(buffer, over, gathered);
    }
}

/// Where everybody is to speak once, the next one goes on behind an answer that ended well.
async fn follow(task: &Task, ending: Ending, watching: &mut Watching) -> Over {
    let whole = matches!(ending, Ending::Provider(End::Complete(_)));
    let next = next_in_turn(&task.site.plan.party, task.site.plan.policy, &task.site.progress.trail).filter(|_| whole);
    let Some(next) = next else { return Over { ending, pass: None } };
    let handoff = Handoff { to: next.id, message: String::new() };
    tokio::select! {
        biased;
        cut = watching.ended() => Over { ending: cut, pass: None },
        pass = passed(task, None, handoff) => Over { ending, pass: Some(pass) },
    }
}

fn tell(ending: &Ending) {
    match ending {
        Ending::Panicked => tracing::error!("the turn panicked"),
        Ending::Provider(End::Failed(failure)) => {
            tracing::warn!(code = %failure.code, status = failure.status, "the provider failed");
        }
        ending => tracing::info!(ending = ending.name(), "the step ended"),
    }
}

/// A step while it is taken. What it leaves behind lies outside of it: it may be cut, or panic (promise 4).
struct Step<'a> {
    task: &'a Task,
    buffer: &'a mut Buffer,
    watch: &'a mut Stopwatch,
    gathered: &'a mut Option<Arc<Gathered>>,
}

impl Step<'_> {
    async fn take(self, before_position: i64, released: oneshot::Receiver<()>, watching: &mut Watching) -> Ending {
        let Self { task, buffer, watch, gathered } = self;
        let ready = async {
            // The request is written while the commit is on its way, and sent once it is through.
            let (events, released) = tokio::join!(asked(task, before_position, gathered), released);
            (events, released.is_ok())
        };
        let (events, released) = tokio::select! {
            biased;
            ending = watching.cancelled() => return ending,
            ready = ready => ready,
        };
        if !released {
            return Ending::Aborted;
        }
        let events = match events {
            Ok((events, record)) => {
                task.site.ports.world.prompts.keep(record);
                events
            }
            Err(error) => {
                tracing::error!(%error, "the history could not be read, or its summary not be kept");
                return Ending::Unreadable;
            }
        };
        let gathered = gathered.as_deref();
        tokio::select! {
            biased;
            ending = watching.ended() => ending,
            ending = stream(task, events, gathered, buffer, watch) => ending,
        }
    }
}

/// Gathers the context and writes the request; nothing is sent before the stream is polled.
async fn asked(
    task: &Task,
    before_position: i64,
    gathered: &mut Option<Arc<Gathered>>,
) -> Result<(ProviderEvents, PromptRecord), JournalError> {
    let gathering = async {
        match gathered.take() {
            Some(earlier) => earlier,
            None => {
                let scene = Arc::new(task.site.plan.scene(task.site.conversation, &task.site.progress));
                Arc::new(gather(&task.site.ports.world.capabilities, scene).await)
            }
        }
    };
    let (recent, brought) = tokio::join!(context::recent(&task.site, before_position, Keeping::Stored), gathering);
    *gathered = Some(Arc::clone(&brought));
    let written = context::write(&task.site, &*recent?, &brought);
    let record = written.record(&task.site);
    Ok((task.site.plan.provider.ask(written.request), record))
}

/// Reads the Provider's stream to its end. At most one report is on its way; what arrives meanwhile becomes the next.
async fn stream(
    task: &Task,
    mut events: ProviderEvents,
    gathered: Option<&Gathered>,
    buffer: &mut Buffer,
    watch: &mut Stopwatch,
) -> Ending {
    let reports: Reports = task.reports();
    let echo = if task.site.plan.in_party() { Echo::of(&task.site.plan.npc.name) } else { Echo::none() };
    let mut answer = Answer::after(&task.site.progress, echo);
    let mut bytes = task.site.progress.said.as_ref().map_or(0, |said| said.chars);
    watch.ask();
    loop {
        if !buffer.is_empty() && reports.gate.pass() && !reports.send_timed(buffer.take(), watch) {
            // The actor is gone, with its Conversation or before a successor that has ended this Message: nobody asks how.
            return Ending::Aborted;
        }
        tokio::select! {
            biased;
            () = reports.gate.opened(), if !buffer.is_empty() => {}
            read = events.next(), if buffer.bytes() < BUFFER_LIMIT => {
                let Some(read) = read else {
                    buffer.extend(answer.rest());
                    return Ending::Provider(End::Truncated);
                };
                for event in read {
                    match event {
                        ProviderEvent::Delta(delta) => {
                            for delta in answer.pass(delta) {
                                watch.delta(if buffer.is_empty() { Place::BeginsReport } else { Place::InReport });
                                bytes += buffer.push(delta);
                            }
                        }
                        ProviderEvent::Usage(usage) => buffer.report_usage(usage),
                        ProviderEvent::End(end) => {
                            buffer.extend(answer.rest());
                            let misfits = &task.site.progress.misfits;
                            let offered = gathered.map(|gathered| gathered.toolbox.rules(misfits)).unwrap_or_default();
                            return answer.ending(end, &offered, &task.site.progress);
                        }
                    }
                }
                if bytes > REPLY_LIMIT {
                    return Ending::TooLong;
                }
            }
        }
    }
}

fn outcome_of(ending: &Ending) -> CallOutcome {
    match ending {
        Ending::Provider(End::Complete(_)) | Ending::Calls(..) => CallOutcome::Complete,
        Ending::Provider(End::Truncated) => CallOutcome::Failed(ErrorCode::ReplyTruncated),
        Ending::Provider(End::Failed(failure)) => CallOutcome::Failed(failure.code),
        Ending::TooLong => CallOutcome::Failed(ErrorCode::ReplyTooLong),
        Ending::Panicked => CallOutcome::Failed(ErrorCode::Internal),
        Ending::Aborted
        | Ending::ShutDown
        | Ending::Unreadable
        | Ending::StoreUnavailable
        | Ending::Called
        | Ending::StepLimit(_) => CallOutcome::Cancelled,
    }
}
