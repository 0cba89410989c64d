use serde_json::json;
use uuid::Uuid;

use super::*;
use crate::vocabulary::{Author, AuthorKind, Body, Executor, MessageId, Part, Role, ToolResult};

fn call(id: &str, name: &str, input: Value) -> ToolCall {
    ToolCall {
        tool_call_id: id.into(),
        name: name.into(),
        input,
        state: CallState::Ready,
        executor: Executor::Server,
        plugin: None,
        parent_tool_call_id: None,
        lease: None,
    }
}

fn done(calls: &[(Value, bool)]) -> Said {
    let mut body = Body::default();
    for (nth, (input, is_error)) in calls.iter().enumerate() {
        let made = call(&format!("c{nth}"), "look", input.clone());
        let result = ToolResult {
            tool_call_id: made.tool_call_id.clone(),
            name: "look".into(),
            output: "x".into(),
            is_error: *is_error,
            elapsed_ms: 0,
            truncated: false,
            parent_tool_call_id: None,
        };
        body.parts.extend([Part::ToolCall(made), Part::ToolResult(result)]);
    }
    let author = Author { kind: AuthorKind::Npc, id: "a".into(), name: "Ada".into() };
    Said::of(MessageId(Uuid::nil()), 0, Role::Npc, author, &body)
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"], "additionalProperties": false})
}

fn ruled(calls: &[ToolCall], so_far: Option<&Said>, misfits: &[&str]) -> Vec<Ruling> {
    let schema = schema();
    let offered = [
        Offered { name: "look", parameters: &schema, approval: Approval::Never },
        Offered { name: "buy", parameters: &schema, approval: Approval::Always },
    ];
    let misfits: Vec<String> = misfits.iter().map(|&name| name.to_owned()).collect();
    judge(calls, &offered, so_far, &misfits).into_iter().map(|judged| judged.ruling).collect()
}

fn one(call: ToolCall, so_far: Option<&Said>, misfits: &[&str]) -> String {
    match ruled(&[call], so_far, misfits).remove(0) {
        Ruling::Run => "run".into(),
        Ruling::Ask => "ask".into(),
        Ruling::Refuse(why) | Ruling::Misfit(why) => why,
    }
}

#[test]
fn a_whole_call_that_fits_runs_and_one_that_needs_a_yes_is_asked_about() {
    assert_eq!(one(call("a", "look", json!({"at": "sky"})), None, &[]), "run");
    assert_eq!(one(call("a", "buy", json!({"at": "inn"})), None, &[]), "ask");
}

#[test]
fn promise_12_what_nobody_granted_is_refused_with_what_there_is() {
    assert_eq!(one(call("a", "rm", json!({})), None, &[]), r#"not run: you have no tool "rm"; yours are look, buy"#);
    let nothing = judge(&[call("a", "rm", json!({}))], &[], None, &[]);
    let why = r#"not run: you have no tool "rm", and no other; answer in words"#;
    assert_eq!(nothing[0].ruling, Ruling::Refuse(why.into()));
}

#[test]
fn promise_13_what_is_no_whole_object_never_runs_and_may_be_tried_once_more() {
    let cut = call("a", "look", json!("{\"at\": \"sk"));
    assert_eq!(
        one(cut.clone(), None, &[]),
        "not run: the arguments are not one whole JSON object; correct them and call it again"
    );
    assert_eq!(
        one(cut, None, &["look"]),
        "not run: the arguments are not one whole JSON object; it is not offered any more in this reply: go on without it"
    );
    let open = ToolCall { state: CallState::Streaming, ..call("a", "look", json!({"at": "sky"})) };
    assert!(matches!(ruled(&[open], None, &[])[0], Ruling::Misfit(_)));
}

#[test]
fn arguments_that_do_not_fit_are_told_what_is_wrong() {
    let told = one(call("a", "look", json!({"at": 1, "by": "me"})), None, &[]);
    assert!(
        told.starts_with("not run: the arguments do not fit: ") && told.contains("/at: 1 is not of type \"string\""),
        "{told}"
    );
    assert!(told.contains("'by' was unexpected") && told.ends_with("correct them and call it again"), "{told}");
    let told = one(call("a", "look", json!({})), None, &[]);
    assert!(told.contains(r#""at" is a required property"#), "{told}");
}

#[test]
fn a_schema_that_cannot_be_read_leaves_it_to_the_tool() {
    let broken = json!({"type": 7});
    let offered = [Offered { name: "look", parameters: &broken, approval: Approval::Never }];
    assert_eq!(judge(&[call("a", "look", json!({}))], &offered, None, &[])[0].ruling, Ruling::Run);
}

#[test]
fn the_same_call_after_an_error_is_refused_and_another_one_is_not() {
    let failed = done(&[(json!({"at": "sky"}), true)]);
    assert!(one(call("b", "look", json!({"at": "sky"})), Some(&failed), &[]).contains("it failed"));
    assert_eq!(one(call("b", "look", json!({"at": "sea"})), Some(&failed), &[]), "run");
    let old = done(&(0..21).map(|n| (json!({"at": n.to_string()}), n == 0)).collect::<Vec<_>>());
    assert_eq!(one(call("b", "look", json!({"at": "0"})), Some(&old), &[]), "run", "forgotten after twenty calls");
}

#[test]
fn the_same_call_that_succeeds_is_served_three_times() {
    let sky = || (json!({"at": "sky"}), false);
    assert_eq!(one(call("b", "look", json!({"at": "sky"})), Some(&done(&[sky(), sky()])), &[]), "run");
    let told = one(call("b", "look", json!({"at": "sky"})), Some(&done(&[sky(), sky(), sky()])), &[]);
    assert_eq!(told, "not run: you made this very call 3 times already; its answer is above");
}

#[test]
fn calls_beyond_the_limit_of_one_answer_wait_for_the_next_step() {
    let many: Vec<ToolCall> =
        (0..CALLS_AT_ONCE + 1).map(|n| call(&format!("c{n}"), "look", json!({"at": n.to_string()}))).collect();
    let rulings = ruled(&many, None, &[]);
    assert_eq!(rulings.iter().filter(|ruling| **ruling == Ruling::Run).count(), CALLS_AT_ONCE);
    assert!(matches!(rulings.last(), Some(Ruling::Refuse(_))));
}
