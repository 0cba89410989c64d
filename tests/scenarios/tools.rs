//! A turn that uses tools: what is stored before what happens, what the model is told, and how it ends in every way.

use std::time::Duration;

use hamlet_actors::{
    conversation::Decision,
    engine::EngineError,
    ports::{ProviderEvent, RequestItem, ToolOutcome},
    turn::CallLimits,
    vocabulary::{Approval, CallDelta, CallState, Delta, ErrorCode, MessageStatus, Part},
};
use hamlet_test_support::{Script, TestVillage};
use serde_json::{Map, json};

/// The answer ends with a call of this tool.
pub fn calls(script: &Script, calls: &[(&str, &str, &str)]) {
    let events = calls.iter().map(|(id, name, arguments)| {
        let call = CallDelta { id: (*id).into(), name: (*name).into(), arguments: (*arguments).into(), closed: true };
        ProviderEvent::Delta(Delta::Call(call))
    });
    script.events(events.collect());
    script.finish();
}

/// A Message's Parts in a word or two.
pub fn words(parts: &[Part]) -> Vec<String> {
    let word = |part: &Part| match part {
        Part::Text { text } => text.clone(),
        Part::ToolCall(call) => format!("{}({}) {:?}", call.name, call.input, call.state),
        Part::ToolResult(result) if result.is_error => format!("error: {}", result.output.as_str().unwrap_or("?")),
        Part::ToolResult(result) => format!("-> {}", result.output.as_str().unwrap_or("?")),
        other => format!("{other:?}"),
    };
    parts.iter().map(word).collect()
}

fn state_of(parts: &[Part]) -> Option<CallState> {
    parts.iter().find_map(|part| match part {
        Part::ToolCall(call) => Some(call.state),
        _ => None,
    })
}

#[tokio::test]
async fn a_tool_is_called_and_its_result_leads_to_the_answer() {
    let village = TestVillage::new().await;
    let tool = village.tool("look", Approval::Never);
    tool.answer("It is blue.");
    let (first, second) = (village.provider.expect(), village.provider.expect());
    let begun = village.say("What colour is the sky?").await;
    let asked = village.provider.asked(0).await;
    assert_eq!(asked.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["look"]);
    first.text("Let me look.");
    first.usage(10, 2);
    calls(&first, &[("c", "look", r#"{"at":"sky"}"#)]);
    let again = village.provider.asked(1).await;
    let tail: Vec<String> = again
        .items
        .iter()
        .map(|item| match item {
            RequestItem::User { text } => format!("user {text}"),
            RequestItem::Assistant { text, calls, .. } => format!("assistant {text} {}", calls[0].arguments),
            RequestItem::ToolResult { output, .. } => format!("tool {output}"),
        })
        .collect();
    assert_eq!(tail, ["user What colour is the sky?", r#"assistant Let me look. {"at":"sky"}"#, "tool It is blue."]);
    second.text("Blue.");
    second.usage(20, 1);
    second.finish();
    let ended = village.ended(begun.message).await.message;
    let expected = ["Let me look.", r#"look({"at":"sky"}) Done"#, "-> It is blue.", "Blue."];
    assert_eq!((ended.status, words(&ended.parts)), (MessageStatus::Complete, expected.map(str::to_owned).to_vec()));
    assert_eq!(ended.usage.and_then(|usage| usage.input_tokens), Some(30));
    let mut tab = village.tab(begun.cursor).await;
    tab.until_ended().await;
    assert_eq!(tab.transcript.entries().last().unwrap().parts, ended.parts, "what was shown is what is stored");
}

#[tokio::test]
async fn the_next_turn_is_told_of_the_calls_of_the_one_before() {
    let village = TestVillage::new().await;
    village.tool("look", Approval::Never).answer("blue");
    let (first, second, third) = (village.provider.expect(), village.provider.expect(), village.provider.expect());
    let begun = village.say("Look").await;
    calls(&first, &[("c", "look", "{}")]);
    second.text("Blue.");
    second.finish();
    village.ended(begun.message).await;
    third.text("Yes.");
    third.finish();
    let later = village.say("Sure?").await;
    village.ended(later.message).await;
    let cached = village.provider.asked(2).await.items;
    assert_eq!(cached.len(), 5, "{cached:?}");
    assert!(matches!(&cached[2], RequestItem::ToolResult { output, .. } if output == "blue"));
    // From the store it is the same.
    let restarted = village.killed_and_restarted().await;
    let script = restarted.provider.expect();
    script.finish();
    restarted.say("Sure?").await;
    let stored = restarted.provider.asked(0).await.items;
    assert_eq!(stored[..4], cached[..4]);
}

#[tokio::test]
async fn promise_12_a_tool_that_nobody_granted_is_not_seen_and_refused_if_it_is_called_all_the_same() {
    let village = TestVillage::new().await;
    let secret = hamlet_test_support::PlayedTool::new("secret");
    village.capability.bring(&secret);
    let (first, second) = (village.provider.expect(), village.provider.expect());
    let begun = village.say("Go").await;
    assert_eq!(village.provider.asked(0).await.tools, []);
    calls(&first, &[("c", "secret", "{}")]);
    village.provider.asked(1).await;
    second.text("I can't.");
    second.finish();
    let ended = village.ended(begun.message).await.message;
    let refusal = r#"error: not run: you have no tool "secret", and no other; answer in words"#;
    assert_eq!(words(&ended.parts), ["secret({}) Done", refusal, "I can't."]);
    assert_eq!(secret.times_called(), 0);
}

#[tokio::test]
async fn calls_of_one_answer_run_at_the_same_time_and_each_is_shown_as_it_ends() {
    let village = TestVillage::new().await;
    let tool = village.tool("look", Approval::Never);
    let (slow, fast) = (tool.expect(), tool.expect());
    let (first, second) = (village.provider.expect(), village.provider.expect());
    let begun = village.say("Both").await;
    calls(&first, &[("a", "look", r#"{"at":"a"}"#), ("b", "look", r#"{"at":"b"}"#)]);
    tool.called(1).await;
    fast.send(ToolOutcome::text("fast")).unwrap();
    let mut tab = village.tab(begun.cursor).await;
    tab.until(|tab| {
        let parts = tab.transcript.entries().last().map(|entry| words(&entry.parts)).unwrap_or_default();
        parts == [r#"look({"at":"a"}) Running"#, r#"look({"at":"b"}) Done"#, "-> fast"]
    })
    .await;
    assert_eq!(village.provider.times_asked(), 1, "no step follows before all have their results");
    slow.send(ToolOutcome::text("slow")).unwrap();
    village.provider.asked(1).await;
    second.text("Done.");
    second.finish();
    village.ended(begun.message).await;
}

#[tokio::test]
async fn stop_cuts_a_call_that_runs_and_closes_it() {
    let village = TestVillage::new().await;
    let tool = village.tool("look", Approval::Never);
    let _never = tool.expect();
    let script = village.provider.expect();
    let begun = village.say("Go").await;
    calls(&script, &[("c", "look", "{}")]);
    tool.called(0).await;
    let aborted = village.engine.abort(village.conversation, Some(begun.turn)).await.unwrap();
    assert!(aborted.aborted);
    tool.cut(1).await;
    let ended = village.newest().await.message;
    let expected = ["look({}) Done", "error: stopped while it ran: whether it took effect is not known"];
    assert_eq!((ended.status, words(&ended.parts)), (MessageStatus::Aborted, expected.map(str::to_owned).to_vec()));
    // And the next turn is one that every server takes.
    let script = village.provider.expect();
    script.text("Fine.");
    script.finish();
    let next = village.say("And now?").await;
    assert_eq!(village.ended(next.message).await.message.status, MessageStatus::Complete);
    assert!(matches!(village.provider.asked(1).await.items[2], RequestItem::ToolResult { is_error: true, .. }));
}

#[tokio::test]
async fn a_call_that_takes_too_long_or_panics_is_a_result_that_the_model_sees() {
    let village = TestVillage::new().await;
    village.planner.limit_calls(CallLimits { run: Duration::from_millis(50), approval: Duration::from_secs(5) });
    let tool = village.tool("look", Approval::Never);
    let _never = tool.expect();
    let (first, second) = (village.provider.expect(), village.provider.expect());
    let begun = village.say("Go").await;
    calls(&first, &[("c", "look", "{}")]);
    village.provider.asked(1).await;
    second.text("It hangs.");
    second.finish();
    let ended = village.ended(begun.message).await.message;
    assert!(words(&ended.parts)[1].contains("did not answer within"), "{:?}", words(&ended.parts));
}

#[tokio::test]
async fn promise_13_arguments_that_do_not_fit_are_told_once_and_then_the_tool_is_gone() {
    let village = TestVillage::new().await;
    let tool = village.tool("look", Approval::Never);
    let scripts = [village.provider.expect(), village.provider.expect(), village.provider.expect()];
    let begun = village.say("Go").await;
    calls(&scripts[0], &[("a", "look", r#"{"at":1}"#)]);
    assert_eq!(village.provider.asked(1).await.tools.len(), 1);
    calls(&scripts[1], &[("a", "look", r#"{"oops":1}"#)]);
    assert_eq!(village.provider.asked(2).await.tools.len(), 0);
    scripts[2].text("I give up.");
    scripts[2].finish();
    let ended = village.ended(begun.message).await.message;
    let seen = words(&ended.parts);
    assert!(seen[1].ends_with("correct them and call it again"), "{seen:?}");
    assert!(seen[3].ends_with("go on without it"), "{seen:?}");
    assert_eq!(tool.times_called(), 0);
    let ids: Vec<&str> = ended
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.tool_call_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids, ["a", "a_2"], "an id that the Provider uses again is another call");
}

#[tokio::test]
async fn promise_14_the_step_limit_speaks() {
    let village = TestVillage::new().await;
    village.planner.limit_steps(2);
    let tool = village.tool("look", Approval::Never);
    tool.answer("once");
    let scripts = [village.provider.expect(), village.provider.expect()];
    let begun = village.say("Go").await;
    calls(&scripts[0], &[("a", "look", r#"{"at":"a"}"#)]);
    calls(&scripts[1], &[("b", "look", r#"{"at":"b"}"#)]);
    let ended = village.ended(begun.message).await.message;
    assert_eq!((ended.status, ended.error.unwrap().code), (MessageStatus::Failed, ErrorCode::StepLimit));
    assert_eq!(tool.times_called(), 1);
}

#[tokio::test]
async fn a_call_that_needs_a_yes_waits_for_it_from_whoever_says_it() {
    let village = TestVillage::new().await;
    let tool = village.tool("buy", Approval::Always);
    tool.answer("bought");
    let (first, second) = (village.provider.expect(), village.provider.expect());
    let begun = village.say("Buy it").await;
    calls(&first, &[("c", "buy", r#"{"at":"inn"}"#)]);
    let mut tab = village.tab(begun.cursor).await;
    let waits = |parts: &[Part]| state_of(parts) == Some(CallState::AwaitingApproval);
    tab.until(|tab| tab.transcript.entries().last().is_some_and(|entry| waits(&entry.parts))).await;
    assert_eq!(tool.times_called(), 0);
    let input = Map::from_iter([("at".to_owned(), json!("market"))]);
    let decision = Decision::Approve { input: Some(input) };
    village.engine.decide(village.conversation, "c", decision.clone()).await.unwrap();
    assert_eq!(tool.called(0).await.arguments, Map::from_iter([("at".to_owned(), json!("market"))]));
    second.text("Bought.");
    second.finish();
    let ended = village.ended(begun.message).await.message;
    assert_eq!(words(&ended.parts), [r#"buy({"at":"market"}) Done"#, "-> bought", "Bought."]);
    let late = village.engine.decide(village.conversation, "c", decision).await.unwrap_err();
    assert_eq!(late.code(), ErrorCode::NotAwaiting);
}

#[tokio::test]
async fn a_call_that_nobody_says_yes_to_expires_and_one_that_is_denied_never_runs() {
    let village = TestVillage::new().await;
    village.planner.limit_calls(CallLimits { run: Duration::from_secs(5), approval: Duration::from_millis(300) });
    let tool = village.tool("buy", Approval::Always);
    let (first, second) = (village.provider.expect(), village.provider.expect());
    let begun = village.say("Buy both").await;
    calls(&first, &[("a", "buy", r#"{"at":"a"}"#), ("b", "buy", r#"{"at":"b"}"#)]);
    let mut tab = village.tab(begun.cursor).await;
    let waiting = |part: &Part| matches!(part, Part::ToolCall(call) if call.state == CallState::AwaitingApproval);
    let both = |parts: &[Part]| parts.iter().filter(|part| waiting(part)).count() == 2;
    tab.until(|tab| tab.transcript.entries().last().is_some_and(|entry| both(&entry.parts))).await;
    village.engine.decide(village.conversation, "a", Decision::Deny).await.unwrap();
    village.provider.asked(1).await;
    second.text("Neither.");
    second.finish();
    let ended = village.ended(begun.message).await.message;
    let expected = [
        r#"buy({"at":"a"}) Done"#,
        r#"buy({"at":"b"}) Done"#,
        "error: not run: the Player said no",
        "error: not run: nobody said yes in time",
        "Neither.",
    ];
    assert_eq!(words(&ended.parts), expected);
    assert_eq!(tool.times_called(), 0);
}

#[tokio::test]
async fn stop_while_a_call_waits_for_a_yes_ends_the_turn_at_once() {
    let village = TestVillage::new().await;
    village.tool("buy", Approval::Always);
    let script = village.provider.expect();
    let begun = village.say("Buy it").await;
    calls(&script, &[("c", "buy", "{}")]);
    let mut tab = village.tab(begun.cursor).await;
    let waits = |parts: &[Part]| state_of(parts) == Some(CallState::AwaitingApproval);
    tab.until(|tab| tab.transcript.entries().last().is_some_and(|entry| waits(&entry.parts))).await;
    village.engine.abort(village.conversation, Some(begun.turn)).await.unwrap();
    let ended = village.newest().await.message;
    assert_eq!(words(&ended.parts), ["buy({}) Done", "error: not run: stopped"]);
}

#[tokio::test]
async fn a_kill_between_the_call_and_its_result_leaves_the_call_marked_and_never_runs_it_again() {
    let village = TestVillage::new().await;
    let tool = village.tool("buy", Approval::Never);
    let _never = tool.expect();
    let script = village.provider.expect();
    let begun = village.say("Buy it").await;
    calls(&script, &[("c", "buy", "{}")]);
    tool.called(0).await;
    let restarted = village.killed_and_restarted().await;
    let again = restarted.tool("buy", Approval::Never);
    let left = restarted.newest().await.message;
    assert_eq!((left.id, left.status), (begun.message, MessageStatus::Interrupted));
    let expected = ["buy({}) Done", "error: interrupted while it ran: whether it took effect is not known"];
    assert_eq!(words(&left.parts), expected);
    let script = restarted.provider.expect();
    script.text("I don't know whether it was bought.");
    script.finish();
    let next = restarted.say("Well?").await;
    restarted.ended(next.message).await;
    assert!(matches!(&restarted.provider.asked(0).await.items[2], RequestItem::ToolResult { is_error: true, .. }));
    assert_eq!(again.times_called(), 0);
}

#[tokio::test]
async fn a_capability_that_fails_is_named_and_does_not_stop_the_turn() {
    let village = TestVillage::new().await;
    village.tool("look", Approval::Never);
    village.capability.fail("no connection");
    let script = village.provider.expect();
    script.text("Hello.");
    script.finish();
    let begun = village.say("Hi").await;
    assert_eq!(village.ended(begun.message).await.message.status, MessageStatus::Complete);
    let asked = village.provider.asked(0).await;
    assert!(asked.system.contains("# Not available now") && asked.system.contains("played"), "{}", asked.system);
}

#[tokio::test]
async fn a_word_for_a_conversation_where_nothing_runs_is_refused() {
    let village = TestVillage::new().await;
    let refused: Result<(), EngineError> = village.engine.decide(village.conversation, "c", Decision::Deny).await;
    assert_eq!(refused.unwrap_err().code(), ErrorCode::NotAwaiting);
}
