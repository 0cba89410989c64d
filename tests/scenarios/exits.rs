use std::time::Duration;

use hamlet_actors::{
    ports::{End, ProviderEvent},
    turn::WhenUnwatched,
    vocabulary::{CallDelta, CallState, Delta, ErrorCode, FinishReason, MessageStatus, Part},
};
use hamlet_test_support::{Script, Tab, TestVillage};

/// A turn that has shown "Half".
async fn half_said(village: &TestVillage) -> (Script, Tab, hamlet_actors::conversation::Begun) {
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    let mut tab = village.tab(begun.cursor).await;
    script.text("Half");
    tab.until_text("Half").await;
    (script, tab, begun)
}

/// After every exit: one terminal frame, the stored row is what the tab saw, and the next turn works.
async fn check(village: &TestVillage, mut tab: Tab, text: &str, status: MessageStatus, code: Option<ErrorCode>) {
    tab.until_ended().await;
    let stored = village.newest().await;
    assert_eq!((stored.message.text.as_str(), stored.message.status), (text, status));
    assert_eq!(stored.message.error.as_ref().map(|error| error.code), code);
    assert_eq!(tab.terminal_frames(), 1);
    assert_eq!(tab.cursor, stored.last_seq);
    let entry = hamlet_actors::vocabulary::Entry::from(stored.message);
    assert_eq!(tab.transcript.entries().last(), Some(&entry));
    let asked = village.provider.times_asked();
    let script = village.provider.expect();
    let begun = village.say("And now?").await;
    village.provider.asked(asked).await;
    script.text("Fine.");
    script.finish();
    let mut tab = village.tab(begun.cursor).await;
    tab.until_ended().await;
    assert_eq!(village.newest().await.message.status, MessageStatus::Complete);
}

#[tokio::test]
async fn stop_ends_a_silent_provider_at_once_and_keeps_what_was_shown() {
    let village = TestVillage::new().await;
    let (mut script, tab, begun) = half_said(&village).await;
    let aborted = village.engine.abort(village.conversation, Some(begun.turn)).await.unwrap();
    assert!(aborted.aborted);
    let stored = village.newest().await.message;
    assert_eq!(stored.status, MessageStatus::Aborted, "the answer comes after the commit");
    assert_eq!(stored.usage, None);
    script.closed().await;
    check(&village, tab, "Half", MessageStatus::Aborted, None).await;
}

#[tokio::test]
async fn stop_of_a_turn_that_has_ended_changes_nothing() {
    let village = TestVillage::new().await;
    let (script, tab, begun) = half_said(&village).await;
    script.finish();
    check(&village, tab, "Half", MessageStatus::Complete, None).await;
    let aborted = village.engine.abort(village.conversation, Some(begun.turn)).await.unwrap();
    assert!(!aborted.aborted);
}

#[tokio::test]
async fn promise_16_an_error_in_the_middle_is_a_failed_reply_that_keeps_its_text() {
    let village = TestVillage::new().await;
    let (script, tab, _) = half_said(&village).await;
    script.fail();
    check(&village, tab, "Half", MessageStatus::Failed, Some(ErrorCode::ProviderError)).await;
}

#[tokio::test]
async fn promise_16_a_connection_that_closes_without_an_end_mark_is_a_truncated_reply() {
    let village = TestVillage::new().await;
    let (mut script, tab, _) = half_said(&village).await;
    script.hang_up();
    check(&village, tab, "Half", MessageStatus::Failed, Some(ErrorCode::ReplyTruncated)).await;
}

#[tokio::test]
async fn promise_16_an_end_mark_without_a_word_is_an_empty_reply() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    script.finish();
    let tab = village.tab(begun.cursor).await;
    check(&village, tab, "", MessageStatus::Failed, Some(ErrorCode::EmptyReply)).await;
}

#[tokio::test]
async fn promise_16_a_withheld_reply_says_so() {
    let village = TestVillage::new().await;
    let (script, tab, _) = half_said(&village).await;
    script.end(End::Complete(FinishReason::ContentFilter));
    check(&village, tab, "Half", MessageStatus::Failed, Some(ErrorCode::ContentFiltered)).await;
}

#[tokio::test]
async fn promise_11_usage_is_kept_on_the_error_path() {
    let village = TestVillage::new().await;
    let (script, tab, _) = half_said(&village).await;
    script.usage(7, 2);
    script.fail();
    check(&village, tab, "Half", MessageStatus::Failed, Some(ErrorCode::ProviderError)).await;
    assert_eq!(village.stored().await[1].message.usage.and_then(|usage| usage.output_tokens), Some(2));
}

#[tokio::test]
async fn a_panic_of_the_turn_is_a_failed_reply() {
    let village = TestVillage::new().await;
    let (script, tab, _) = half_said(&village).await;
    script.panic();
    check(&village, tab, "Half", MessageStatus::Failed, Some(ErrorCode::Internal)).await;
}

#[tokio::test]
async fn promise_8_a_panic_of_the_actor_ends_the_turn_for_those_who_watch() {
    let village = TestVillage::new().await;
    let (script, mut tab, _) = half_said(&village).await;
    village.clock.panic_next();
    script.text(" lost");
    // The log begins anew behind the turn's end, which the store has.
    let log = village.engine.log(village.conversation).await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), async {
        while log.running_turn().is_some() || log.head().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .unwrap();
    let stored = village.newest().await;
    assert_eq!((stored.message.text.as_str(), stored.message.status), ("Half", MessageStatus::Failed));
    assert_eq!(stored.message.error.map(|error| error.code), Some(ErrorCode::Internal));
    assert!(stored.terminal && stored.last_seq > tab.cursor);
    let mut script = village.provider.expect();
    let begun = village.say("And now?").await;
    tab.cursor = begun.cursor;
    script.text("Fine.");
    tab.until_text("Fine.").await;
    script.hang_up();
}

#[tokio::test]
async fn promise_13_a_call_that_was_cut_off_is_stored_as_it_came_and_not_run() {
    let village = TestVillage::new().await;
    let (script, tab, _) = half_said(&village).await;
    let call = |arguments: &str, closed| {
        ProviderEvent::Delta(Delta::Call(CallDelta {
            id: "call_a".into(),
            name: "save".into(),
            arguments: arguments.into(),
            closed,
        }))
    };
    script.events(vec![call("", false), call("{\"title\":\"T", true)]);
    script.end(End::Complete(FinishReason::Length));
    check(&village, tab, "Half", MessageStatus::Failed, Some(ErrorCode::ToolCallInvalid)).await;
    let parts = village.stored().await[1].message.parts.clone();
    let [Part::Text { .. }, Part::ToolCall(call), Part::ToolResult(result)] = parts.as_slice() else {
        panic!("{parts:?}")
    };
    assert_eq!((call.state, call.input.clone()), (CallState::Done, serde_json::json!("{\"title\":\"T")));
    assert!(result.is_error && result.tool_call_id == "call_a");
}

#[tokio::test]
async fn promise_7_leaving_is_not_stopping() {
    let village = TestVillage::new().await;
    let (script, tab, begun) = half_said(&village).await;
    drop(tab);
    script.text(" and whole");
    script.finish();
    let mut later = village.tab(begun.cursor).await;
    later.until_ended().await;
    assert_eq!(village.newest().await.message.text, "Half and whole");
}

#[tokio::test]
async fn a_turn_that_nobody_watches_any_more_is_stopped_where_the_village_says_so() {
    let mut village = TestVillage::new().await;
    village.when_unwatched = WhenUnwatched::AbortAfter(Duration::ZERO);
    let (mut script, tab, begun) = half_said(&village).await;
    drop(tab);
    script.closed().await;
    let mut later = village.tab(begun.cursor).await;
    later.until_ended().await;
    assert_eq!(village.newest().await.message.status, MessageStatus::Aborted);
}

#[tokio::test]
async fn shutting_down_stores_what_runs_and_marks_it() {
    let village = TestVillage::new().await;
    let (_script, mut tab, _) = half_said(&village).await;
    village.engine.shut_down(Duration::from_millis(20)).await;
    tab.until_ended().await;
    let stored = village.newest().await.message;
    assert_eq!((stored.text.as_str(), stored.status), ("Half", MessageStatus::Interrupted));
}

#[tokio::test]
async fn shutting_down_lets_a_turn_come_to_its_end_in_time() {
    let village = TestVillage::new().await;
    let (script, mut tab, _) = half_said(&village).await;
    let (engine, ending) = (
        village.engine.clone(),
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            script.text(" and whole");
            script.finish();
        }),
    );
    engine.shut_down(Duration::from_secs(10)).await;
    ending.await.unwrap();
    tab.until_ended().await;
    assert_eq!(village.newest().await.message.text, "Half and whole");
}

#[tokio::test]
async fn a_reply_that_does_not_end_is_ended_and_what_came_is_kept() {
    let village = TestVillage::new().await;
    let (mut script, tab, _) = half_said(&village).await;
    let megabyte = "x".repeat(1 << 20);
    for _ in 0..17 {
        script.text(&megabyte);
    }
    script.closed().await;
    // The limit is passed with the sixteenth.
    let text = format!("Half{}", megabyte.repeat(16));
    check(&village, tab, &text, MessageStatus::Failed, Some(ErrorCode::ReplyTooLong)).await;
}
