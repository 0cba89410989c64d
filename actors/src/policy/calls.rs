//! Which of the calls that a model made may run. Only what was granted exists (promise 12); only a whole call whose
//! arguments fit runs (promise 13); whoever repeats what failed is told instead of served. A refusal is a result that the
//! model sees, so that it can go on.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde_json::Value;

use super::said::{Said, Utterance};
use crate::vocabulary::{Approval, CallState, ToolCall};

/// Calls of one answer at most; the others are told to come one step later.
pub const CALLS_AT_ONCE: usize = 16;
/// Earlier calls that a repetition is looked for in.
const REMEMBERED: usize = 20;
/// The very same call with the same answer is served so often.
const SAME_CALL: usize = 3;
/// Arguments that did not fit, so often for one tool: after that it is not offered any more in this reply.
pub const MISFITS: usize = 2;

/// A tool as the model was offered it.
#[derive(Debug, Clone, Copy)]
pub struct Offered<'a> {
    pub name: &'a str,
    /// JSON Schema of its arguments.
    pub parameters: &'a Value,
    pub approval: Approval,
}

/// What becomes of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    Run,
    /// Somebody is asked first.
    Ask,
    /// It does not run, and the model is told why.
    Refuse(String),
    /// Its arguments are no object, or don't fit the schema. The model is told what is wrong, and may try once more.
    Misfit(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub call_id: String,
    pub ruling: Ruling,
}

/// Rules on the calls of one answer, in their order. `so_far` is what the speaker has done in this reply before, `misfits`
/// the names of the tools whose arguments did not fit, once for each time.
pub fn judge(calls: &[ToolCall], offered: &[Offered<'_>], so_far: Option<&Said>, misfits: &[String]) -> Vec<Judged> {
    let earlier = earlier_calls(so_far);
    let mut judged: Vec<Judged> = Vec::with_capacity(calls.len());
    for (nth, call) in calls.iter().enumerate() {
        let ruling = if nth >= CALLS_AT_ONCE {
            Ruling::Refuse(format!("not run: more than {CALLS_AT_ONCE} calls at once; make it again in your next step"))
        } else {
            rule(call, offered, &earlier, misfits)
        };
        judged.push(Judged { call_id: call.tool_call_id.clone(), ruling });
    }
    judged
}

fn rule(call: &ToolCall, offered: &[Offered<'_>], earlier: &[Earlier<'_>], misfits: &[String]) -> Ruling {
    let Some(tool) = offered.iter().find(|tool| tool.name == call.name) else {
        return Ruling::Refuse(unknown(call, offered));
    };
    let again = misfits.iter().filter(|name| **name == call.name).count() + 1 >= MISFITS;
    let then = if again {
        "it is not offered any more in this reply: go on without it"
    } else {
        "correct them and call it again"
    };
    if call.state != CallState::Ready || !call.input.is_object() {
        return Ruling::Misfit(format!("not run: the arguments are not one whole JSON object; {then}"));
    }
    if let Some(fault) = misfit(tool.parameters, &call.input) {
        return Ruling::Misfit(format!("not run: the arguments do not fit: {fault}; {then}"));
    }
    if let Some(refusal) = repeated(call, earlier) {
        return Ruling::Refuse(refusal);
    }
    match tool.approval {
        Approval::Never => Ruling::Run,
        Approval::Always => Ruling::Ask,
    }
}

fn unknown(call: &ToolCall, offered: &[Offered<'_>]) -> String {
    let names: Vec<&str> = offered.iter().map(|tool| tool.name).collect();
    match names.as_slice() {
        [] => format!("not run: you have no tool {:?}, and no other; answer in words", call.name),
        names => format!("not run: you have no tool {:?}; yours are {}", call.name, names.join(", ")),
    }
}

/// What is wrong with the arguments, in words for the model; None when they fit, or when the schema itself can't be read:
/// then the tool finds out.
fn misfit(schema: &Value, input: &Value) -> Option<String> {
    let validator = jsonschema::validator_for(schema).ok()?;
    let faults: Vec<String> = validator
        .iter_errors(input)
        .take(3)
        .map(|fault| {
            let place = fault.instance_path().to_string();
            let what: String = fault.to_string().chars().take(300).collect();
            if place.is_empty() { what } else { format!("{place}: {what}") }
        })
        .collect();
    (!faults.is_empty()).then(|| faults.join("; "))
}

struct Earlier<'a> {
    name: &'a str,
    input: Value,
    failed: bool,
}

fn earlier_calls(so_far: Option<&Said>) -> Vec<Earlier<'_>> {
    let Some(said) = so_far else { return Vec::new() };
    let failed: HashMap<&str, bool> = said
        .parts
        .iter()
        .filter_map(|part| match part {
            Utterance::Result { id, is_error, .. } => Some((&**id, *is_error)),
            _ => None,
        })
        .collect();
    let calls = said.parts.iter().rev().filter_map(|part| match part {
        Utterance::Call { id, name, arguments } => Some(Earlier {
            name,
            input: serde_json::from_str(arguments).unwrap_or(Value::Null),
            failed: failed.get(&**id).copied().unwrap_or(true),
        }),
        _ => None,
    });
    calls.take(REMEMBERED).collect()
}

fn repeated(call: &ToolCall, earlier: &[Earlier<'_>]) -> Option<String> {
    let same: Vec<&Earlier<'_>> =
        earlier.iter().filter(|made| made.name == call.name && made.input == call.input).collect();
    if same.iter().any(|made| made.failed) {
        return Some(
            "not run: you made this very call before, and it failed; change it, or go on without it".to_owned(),
        );
    }
    (same.len() >= SAME_CALL)
        .then(|| format!("not run: you made this very call {} times already; its answer is above", same.len()))
}
