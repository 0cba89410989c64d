//! The calls of one answer, run at the same time, each under its own limit. Results are reported as they come, and nothing
//! else happens before all of them are durable. A call that waits for somebody's yes waits here.

use std::{collections::HashMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, stream::FuturesUnordered};
use serde_json::{Map, Value};
use tokio::{sync::oneshot, time::Instant};

use super::{
    Task,
    buffer::Buffer,
    gather::Gathered,
    passing::passed,
    task::{Over, Watching},
};
use crate::{
    conversation::event::Decision,
    policy::{
        outcome::{Ending, closed_call},
        output,
        said::looks_like_hand_over,
    },
    ports::{Handoff, Invocation, ToolAnswer, ToolOutcome, observer::ToolRan},
    vocabulary::{CallState, Delta, Part, ToolCall, ToolResult},
};

/// What is needed to run the calls of one answer.
pub struct CallsTask {
    pub task: Task,
    pub watching: Watching,
    pub gathered: Arc<Gathered>,
    /// In their order.
    pub calls: Vec<ToolCall>,
    /// For each call that waits: what somebody says to it, once that is durable.
    pub decisions: HashMap<String, oneshot::Receiver<Decision>>,
}

/// What came of one call, with its place among the calls.
enum Came {
    Answer([Delta; 2]),
    HandOver(usize, ToolCall, Handoff),
    /// It was denied; that is stored already.
    Denied,
}

impl CallsTask {
    /// Runs the calls to their end and reports it, whatever that end is.
    pub async fn run(self) {
        let Self { task, watching, gathered, calls, decisions } = self;
        let mut buffer = Buffer::default();
        let running = AssertUnwindSafe(run_all(&task, &gathered, calls, decisions, watching, &mut buffer));
        let over = running.catch_unwind().await.unwrap_or(Over { ending: Ending::Panicked, pass: None });
        task.report(buffer, over, None);
    }
}

async fn run_all(
    task: &Task,
    gathered: &Gathered,
    calls: Vec<ToolCall>,
    mut decisions: HashMap<String, oneshot::Receiver<Decision>>,
    mut watching: Watching,
    buffer: &mut Buffer,
) -> Over {
    let mut running = FuturesUnordered::new();
    for (place, call) in calls.into_iter().enumerate() {
        let decision = decisions.remove(&call.tool_call_id);
        running.push(answered(task, gathered, place, call, decision));
    }
    let reports = task.reports();
    let mut passing: Vec<(usize, ToolCall, Handoff)> = Vec::new();
    loop {
        if !buffer.is_empty() && reports.gate.pass() && !reports.send(buffer.take()) {
            return Over { ending: Ending::Aborted, pass: None };
        }
        tokio::select! {
            biased;
            ending = watching.ended() => return Over { ending, pass: None },
            () = reports.gate.opened(), if !buffer.is_empty() => {}
            came = running.next() => match came {
                Some(Came::Answer(deltas)) => buffer.extend(deltas),
                Some(Came::HandOver(place, call, handoff)) => passing.push((place, call, handoff)),
                Some(Came::Denied) => {}
                None => break,
            }
        }
    }
    passing.sort_by_key(|(place, ..)| *place);
    let mut passing = passing.into_iter();
    let first = passing.next();
    for (_, call, _) in passing {
        buffer.extend(closed_call(call, "not handed over: another hand-over of the same step went first"));
    }
    let Some((_, call, handoff)) = first else { return Over { ending: Ending::Called, pass: None } };
    tokio::select! {
        biased;
        ending = watching.ended() => Over { ending, pass: None },
        pass = passed(task, Some(call.tool_call_id), handoff) => Over { ending: Ending::Called, pass: Some(pass) },
    }
}

async fn answered(
    task: &Task,
    gathered: &Gathered,
    place: usize,
    mut call: ToolCall,
    decision: Option<oneshot::Receiver<Decision>>,
) -> Came {
    if call.state == CallState::AwaitingApproval {
        match decided(decision, task.site.plan.call_limits.approval).await {
            Some(Decision::Approve { input }) => {
                call.state = CallState::Running;
                if let Some(input) = input {
                    call.input = Value::Object(input);
                }
            }
            Some(Decision::Deny) => return Came::Denied,
            None => return Came::Answer(closed_call(call, "not run: nobody said yes in time")),
        }
    }
    let began = Instant::now();
    let (how, outcome) = run(task, gathered, &call).await;
    let elapsed = began.elapsed();
    task.site.ports.world.observer.tool_ran(how, elapsed);
    match outcome {
        ToolOutcome::HandOver(handoff) => Came::HandOver(place, call, handoff),
        ToolOutcome::Answer(answer) => Came::Answer(result(call, answer, elapsed)),
    }
}

async fn decided(decision: Option<oneshot::Receiver<Decision>>, patience: Duration) -> Option<Decision> {
    tokio::time::timeout(patience, decision?).await.ok()?.ok()
}

async fn run(task: &Task, gathered: &Gathered, call: &ToolCall) -> (ToolRan, ToolOutcome) {
    let Some(tool) = gathered.toolbox.find(&call.name) else {
        return (ToolRan::Failed, ToolOutcome::error("not run: the tool is not there any more"));
    };
    let arguments: Map<String, Value> = call.input.as_object().cloned().unwrap_or_default();
    let invocation = Invocation {
        scene: Arc::clone(&gathered.scene),
        turn: task.turn,
        message: task.site.progress.message,
        call_id: call.tool_call_id.clone(),
        arguments,
    };
    let running = AssertUnwindSafe(async { tool.call(invocation).await }).catch_unwind();
    let limit = task.site.plan.call_limits.run;
    match tokio::time::timeout(limit, running).await {
        Ok(Ok(outcome)) => (how(&outcome), outcome),
        Ok(Err(_panic)) => {
            tracing::error!(tool = tool.key(), "a tool panicked");
            let why = "the tool failed inside Hamlet; whether it took effect is not known";
            (ToolRan::Failed, ToolOutcome::error(why))
        }
        Err(_late) => {
            let why =
                format!("the tool did not answer within {} s; whether it took effect is not known", limit.as_secs());
            (ToolRan::Late, ToolOutcome::error(why))
        }
    }
}

fn how(outcome: &ToolOutcome) -> ToolRan {
    match outcome {
        ToolOutcome::HandOver(_) => ToolRan::HandedOver,
        ToolOutcome::Answer(answer) if answer.is_error => ToolRan::Failed,
        ToolOutcome::Answer(_) => ToolRan::Answered,
    }
}

fn result(call: ToolCall, answer: ToolAnswer, elapsed: Duration) -> [Delta; 2] {
    let ToolAnswer { output, is_error, truncated } = answer;
    // A foreign tool does not speak in an NPC's name.
    let output = if looks_like_hand_over(&output) { Value::String(output.to_string()) } else { output };
    let (output, cut) = output::bounded(output);
    let result = ToolResult {
        tool_call_id: call.tool_call_id.clone(),
        name: call.name.clone(),
        output,
        is_error,
        elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
        truncated: truncated || cut,
        parent_tool_call_id: call.parent_tool_call_id.clone(),
    };
    [Delta::Part(Part::ToolCall(ToolCall { state: CallState::Done, ..call })), Delta::Part(Part::ToolResult(result))]
}
