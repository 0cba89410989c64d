use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::{
    policy::said::hand_over_output,
    vocabulary::{Author, AuthorKind, Body, CallState, Executor, MessageId, Part, ToolCall, ToolResult},
};

const ADA: NpcId = NpcId(Uuid::from_u128(1));
const BO: NpcId = NpcId(Uuid::from_u128(2));
const HERE: ProviderId = ProviderId(Uuid::from_u128(7));
const ELSEWHERE: ProviderId = ProviderId(Uuid::from_u128(8));

fn author(kind: AuthorKind, id: String, name: &str) -> Author {
    Author { kind, id, name: name.into() }
}

fn player(text: &str) -> Arc<Said> {
    let author = author(AuthorKind::Player, "p".into(), "Pia");
    Arc::new(Said::new(MessageId(Uuid::nil()), 0, Role::Player, author, text))
}

fn body_of(parts: Vec<Part>) -> Body {
    Body { parts, ..Body::default() }
}

fn reply(id: NpcId, name: &str, body: &Body) -> Arc<Said> {
    Arc::new(Said::of(MessageId(Uuid::nil()), 0, Role::Npc, author(AuthorKind::Npc, id.to_string(), name), body))
}

fn npc(id: NpcId, name: &str, text: &str) -> Arc<Said> {
    reply(id, name, &body_of(vec![Part::text(text)]))
}

fn call(id: &str, name: &str, input: Value) -> Part {
    Part::ToolCall(ToolCall {
        tool_call_id: id.into(),
        name: name.into(),
        input,
        state: CallState::Done,
        executor: Executor::Server,
        plugin: None,
        parent_tool_call_id: None,
        lease: None,
    })
}

fn result(id: &str, output: Value) -> Part {
    Part::ToolResult(ToolResult {
        tool_call_id: id.into(),
        name: String::new(),
        output,
        is_error: false,
        elapsed_ms: 1,
        truncated: false,
        parent_tool_call_id: None,
    })
}

fn asked(in_party: bool) -> Asked<'static> {
    Asked { speaker: ADA, in_party, provider: HERE, model: "m" }
}

fn lines(items: &[RequestItem]) -> Vec<String> {
    let line = |item: &RequestItem| match item {
        RequestItem::User { text } => format!("user {text:?}"),
        RequestItem::Assistant { text, reasoning, calls } => {
            let mut line = format!("assistant {text:?}");
            if let Some(reasoning) = reasoning {
                line.push_str(&format!(" thinking {:?}", reasoning.text));
            }
            for call in calls {
                line.push_str(&format!(" {}={}({})", call.id, call.name, call.arguments));
            }
            line
        }
        RequestItem::ToolResult { id, output, is_error, .. } => {
            format!("tool {id}{} {output:?}", if *is_error { " error" } else { "" })
        }
    };
    items.iter().map(line).collect()
}

fn check(history: &[Arc<Said>], in_party: bool, expected: &[&str]) {
    assert_eq!(lines(&request_items(history, None, None, asked(in_party))), expected);
}

#[test]
fn promise_15_a_solo_history_is_byte_identical_to_what_was_said() {
    let history = [player(" hi\n"), npc(ADA, "Ada", "[Bo]: odd"), player("so?")];
    check(&history, false, &[r#"user " hi\n""#, r#"assistant "[Bo]: odd""#, r#"user "so?""#]);
}

#[test]
fn in_a_party_a_colleague_is_named_and_the_speaker_is_not() {
    let history = [player("hi"), npc(ADA, "Ada", "mine"), npc(BO, "Bo", "theirs"), player("so?")];
    check(&history, true, &[r#"user "hi""#, r#"assistant "mine""#, r#"user "[Bo]: theirs\n\nso?""#]);
}

#[test]
fn a_hand_over_is_rebuilt_from_what_was_stored_and_ends_the_request() {
    let passed = |id: NpcId, name: &str, to: (NpcId, &str)| {
        let output = hand_over_output(&to.0.to_string(), to.1, "weigh it");
        reply(
            id,
            name,
            &body_of(vec![
                Part::text("Over to you."),
                call("c", "message_npc", json!({"npc": to.1})),
                result("c", output),
            ]),
        )
    };
    let history = [player("hi"), passed(BO, "Bo", (ADA, "Ada"))];
    check(&history, true, &[r#"user "hi\n\n[Bo]: Over to you.\n\n[Bo to Ada]: weigh it""#]);
    let own = [player("hi"), passed(ADA, "Ada", (BO, "Bo")), npc(BO, "Bo", "Done.")];
    let seen = lines(&request_items(&own, None, None, asked(true)));
    assert_eq!(seen[1], r#"assistant "Over to you." c=message_npc({"npc":"Bo"})"#);
    assert_eq!(seen[3], r#"user "[Bo]: Done.""#);
}

#[test]
fn a_colleagues_calls_are_its_own_affair() {
    let looked = body_of(vec![
        Part::text("I looked. "),
        call("c", "look", json!({})),
        result("c", "secret".into()),
        Part::text("It is blue."),
    ]);
    check(&[player("hi"), reply(BO, "Bo", &looked)], true, &[r#"user "hi\n\n[Bo]: I looked. \n\nIt is blue.""#]);
}

#[test]
fn promise_10_a_blank_reply_is_left_out_and_neighbours_become_one() {
    let history = [player("one"), npc(ADA, "Ada", " \n"), player("two")];
    check(&history, false, &[r#"user "one\n\ntwo""#]);
    let thought = reply(ADA, "Ada", &body_of(vec![Part::reasoning("hm")]));
    check(&[player("one"), thought, player("two")], false, &[r#"user "one\n\ntwo""#]);
}

#[test]
fn a_request_never_ends_on_a_reply_and_never_is_empty() {
    check(&[player("one"), npc(ADA, "Ada", "done")], false, &[r#"user "one""#]);
    check(&[], false, &[r#"user "(no words)""#]);
    check(&[npc(ADA, "Ada", "welcome")], false, &[r#"user "(no words)""#]);
}

#[test]
fn a_request_begins_with_somebodys_words() {
    check(
        &[npc(ADA, "Ada", "welcome"), player("hi")],
        false,
        &[r#"user "(no words)""#, r#"assistant "welcome""#, r#"user "hi""#],
    );
}

#[test]
fn promise_10_each_call_has_one_result_in_the_order_of_the_calls() {
    let parts = vec![
        Part::text("Both."),
        call("a", "x", json!({"n": 1})),
        call("b", "y", json!({})),
        result("b", "second".into()),
        result("gone", "of no call".into()),
        result("b", "again".into()),
        result("a", "".into()),
        Part::text("And?"),
        call("c", "z", json!({})),
    ];
    let expected = [
        r#"user "go""#,
        r#"assistant "Both." a=x({"n":1}) b=y({})"#,
        r#"tool a "(no output)""#,
        r#"tool b "second""#,
        r#"assistant "And?" c=z({})"#,
        r#"tool c error "(no result was kept)""#,
        r#"user "on""#,
    ];
    check(&[player("go"), reply(ADA, "Ada", &body_of(parts)), player("on")], false, &expected);
}

#[test]
fn promise_10_arguments_that_were_cut_are_sent_as_an_empty_object() {
    for (input, sent) in [
        (json!("{\"c\":\"rm"), "{}"),
        (json!(""), "{}"),
        (Value::Null, "{}"),
        (json!([1]), "{}"),
        (json!("{\"a\": 1}"), "{\"a\": 1}"),
    ] {
        let cut = body_of(vec![call("a", "x", input), result("a", "no".into())]);
        check(
            &[player("go"), reply(ADA, "Ada", &cut)],
            false,
            &[r#"user "go""#, &format!(r#"assistant "" a=x({sent})"#), r#"tool a "no""#],
        );
    }
}

#[test]
fn ids_are_used_once_and_are_such_that_every_server_takes_them() {
    let odd = |id: &str| reply(ADA, "Ada", &body_of(vec![call(id, "x", json!({})), result(id, "ok".into())]));
    let long = "i".repeat(60);
    let history = [player("go"), odd("a"), player("on"), odd("a"), player("on"), odd("é !"), player("on"), odd(&long)];
    let items = request_items(&history, None, None, asked(false));
    let ids: Vec<&str> = items
        .iter()
        .filter_map(|item| match item {
            RequestItem::ToolResult { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["a", "a_1", "call_1", "call_2"]);
}

#[test]
fn thoughts_go_back_to_the_provider_and_model_that_had_them_only() {
    let thought = |provider, model: &str| {
        let mut body =
            body_of(vec![Part::reasoning("hm"), Part::text("so"), call("a", "x", json!({})), result("a", "ok".into())]);
        let opaque = Opaque {
            provider_id: Some(provider),
            model: Some(model.into()),
            signature: Some("s".into()),
            ..Opaque::default()
        };
        body.opaque.insert(0, opaque);
        lines(&request_items(&[player("go"), reply(ADA, "Ada", &body)], None, None, asked(false)))[1].clone()
    };
    assert_eq!(thought(HERE, "m"), r#"assistant "so" thinking "hm" a=x({})"#);
    assert_eq!(thought(HERE, "other"), r#"assistant "so" a=x({})"#);
    assert_eq!(thought(ELSEWHERE, "m"), r#"assistant "so" a=x({})"#);
}

#[test]
fn what_the_speaker_has_done_in_this_turn_follows_the_question() {
    let so_far = reply(
        ADA,
        "Ada",
        &body_of(vec![Part::text("Let me see."), call("a", "x", json!({})), result("a", "42".into())]),
    );
    let question: Arc<str> = "what is it?".into();
    let items = request_items(&[player("hi"), npc(ADA, "Ada", "hello")], Some(&question), Some(&so_far), asked(false));
    let expected = [
        r#"user "hi""#,
        r#"assistant "hello""#,
        r#"user "what is it?""#,
        r#"assistant "Let me see." a=x({})"#,
        r#"tool a "42""#,
    ];
    assert_eq!(lines(&items), expected);
}

/// What every wire format demands of a history.
fn valid(items: &[RequestItem]) -> Result<(), TestCaseError> {
    let mut ids = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    prop_assert!(matches!(items.first(), Some(RequestItem::User { .. })), "begins with words: {items:?}");
    prop_assert!(!matches!(items.last(), Some(RequestItem::Assistant { .. })), "never ends on an answer: {items:?}");
    for (at, item) in items.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &items[at]);
        match item {
            RequestItem::User { text } => {
                prop_assert!(open.is_empty() && !text.trim().is_empty());
                prop_assert!(!matches!(before, Some(RequestItem::User { .. })), "two of the Player in a row");
            }
            RequestItem::Assistant { text, calls, .. } => {
                prop_assert!(open.is_empty());
                prop_assert!(!text.trim().is_empty() || !calls.is_empty());
                if let Some(RequestItem::Assistant { .. }) = before {
                    prop_assert!(false, "two answers in a row: {items:?}");
                }
                for call in calls {
                    prop_assert!(ids.insert(call.id.clone()), "an id twice: {items:?}");
                    prop_assert!(call.id.len() <= ID_LIMIT && !call.id.is_empty() && !call.name.is_empty());
                    prop_assert!(serde_json::from_str::<serde_json::Map<String, Value>>(&call.arguments).is_ok());
                    open.push(call.id.clone());
                }
            }
            RequestItem::ToolResult { id, output, .. } => {
                prop_assert_eq!(open.first(), Some(id), "in the order of the calls");
                open.remove(0);
                prop_assert!(!output.trim().is_empty());
            }
        }
    }
    prop_assert!(open.is_empty());
    Ok(())
}

fn any_part() -> impl Strategy<Value = Part> {
    let id = prop_oneof![Just(String::new()), "[ab]", Just("é".repeat(50)), "[a-z]{45}"];
    let input = prop_oneof![
        Just(json!({})),
        Just(json!({"a": [1, null]})),
        Just(Value::Null),
        "[ {}\\[\\]a:\"1]{0,6}".prop_map(Value::String),
    ];
    let output = prop_oneof![
        Just(Value::Null),
        Just(json!("")),
        Just(json!(" \n")),
        Just(json!("ok")),
        Just(json!({"a": 1})),
        Just(hand_over_output("x", "Bo", "go on")),
    ];
    prop_oneof![
        prop_oneof![Just(""), Just(" "), Just("words")].prop_map(Part::text),
        Just(Part::reasoning("hm")),
        (id.clone(), prop_oneof![Just(""), Just("look")], input).prop_map(|(id, name, input)| call(&id, name, input)),
        (id, output).prop_map(|(id, output)| result(&id, output)),
        Just(Part::Notice { code: "X".into(), text: "x".into() }),
        Just(Part::Unknown(serde_json::Map::new())),
    ]
}

fn any_said() -> impl Strategy<Value = Arc<Said>> {
    let opaque = proptest::collection::btree_map(0_u32..6, prop_oneof![Just(HERE), Just(ELSEWHERE)], 0..3);
    let said =
        (proptest::collection::vec(any_part(), 0..8), opaque, any::<bool>()).prop_map(|(parts, opaque, mine)| {
            let state = |provider| Opaque {
                provider_id: Some(provider),
                model: Some("m".into()),
                arguments: Some("{\"cut".into()),
                ..Opaque::default()
            };
            let opaque = opaque.into_iter().map(|(index, provider)| (index, state(provider))).collect();
            let body = Body { parts, opaque };
            if mine { reply(ADA, "Ada", &body) } else { reply(BO, "Bo", &body) }
        });
    prop_oneof![2 => prop_oneof![Just(""), Just(" "), Just("hi")].prop_map(player), 3 => said]
}

proptest! {
    #[test]
    fn promise_10_whatever_is_stored_the_request_is_one_that_every_server_takes(
        history in proptest::collection::vec(any_said(), 0..8),
        question in proptest::option::of(prop_oneof![Just(" "), Just("well?")]),
        so_far in proptest::option::of(any_said()),
        in_party in any::<bool>(),
    ) {
        let question: Option<Arc<str>> = question.map(Arc::from);
        let so_far = so_far.filter(|said| said.role == Role::Npc);
        let items = request_items(&history, question.as_ref(), so_far.as_deref(), asked(in_party));
        valid(&items)?;
        prop_assert_eq!(&items, &request_items(&history, question.as_ref(), so_far.as_deref(), asked(in_party)));
    }
}
