use hamlet_actors::{
    ports::ProviderEvent,
    vocabulary::{CallDelta, Delta, ErrorCode, MessageStatus, Part},
};
use hamlet_test_support::TestVillage;

#[tokio::test]
async fn promise_2_after_kill_9_everything_that_was_shown_is_there_and_marked() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    let mut tab = village.tab(begun.cursor).await;
    for word in ["One ", "two ", "three"] {
        script.text(word);
        tokio::task::yield_now().await;
    }
    tab.until_text("One two three").await;
    let restarted = village.killed_and_restarted().await;
    let stored = restarted.newest().await;
    assert_eq!((stored.message.text.as_str(), stored.message.status), ("One two three", MessageStatus::Interrupted));
    assert_eq!(stored.message.error.map(|error| error.code), Some(ErrorCode::Interrupted));
    assert!(stored.terminal);
    assert!(stored.last_seq > tab.cursor, "the cursor goes on growing");
    let script = restarted.provider.expect();
    let begun = restarted.say("And now?").await;
    script.text("Fine.");
    script.finish();
    restarted.tab(begun.cursor).await.until_ended().await;
    assert_eq!(restarted.newest().await.message.text, "Fine.");
}

#[tokio::test]
async fn a_call_that_was_open_at_the_crash_gets_its_result() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    let call = CallDelta { id: "call_a".into(), name: "save".into(), arguments: "{}".into(), closed: true };
    script.events(vec![ProviderEvent::Delta(Delta::Call(call))]);
    let mut tab = village.tab(begun.cursor).await;
    tab.until(|tab| tab.transcript.entries().last().is_some_and(|entry| entry.parts.len() == 1)).await;
    let restarted = village.killed_and_restarted().await;
    let parts = restarted.newest().await.message.parts;
    assert!(matches!(parts.as_slice(), [Part::ToolCall(_), Part::ToolResult(result)] if result.is_error), "{parts:?}");
}

#[tokio::test]
async fn what_a_provider_keeps_to_itself_survives_the_crash_beside_the_parts() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    let opaque = hamlet_actors::vocabulary::Opaque { signature: Some("SIG".into()), ..Default::default() };
    script
        .events(vec![ProviderEvent::Delta(Delta::Reasoning("hm".into())), ProviderEvent::Delta(Delta::Opaque(opaque))]);
    script.text("Yes.");
    village.tab(begun.cursor).await.until_text("Yes.").await;
    let restarted = village.killed_and_restarted().await;
    let opaque: String = restarted
        .store
        .read(|conn| {
            Ok(conn.query_row("SELECT opaque FROM messages WHERE status = 'interrupted'", [], |row| row.get(0))?)
        })
        .await
        .unwrap();
    let opaque: serde_json::Value = serde_json::from_str(&opaque).unwrap();
    assert_eq!(opaque["0"]["signature"], "SIG");
    assert_eq!(opaque["0"]["model"], "scripted");
}

#[tokio::test]
async fn a_crash_before_the_first_word_leaves_an_interrupted_reply_and_no_zombie() {
    let village = TestVillage::new().await;
    village.say("Hello").await;
    let restarted = village.killed_and_restarted().await;
    assert_eq!(restarted.newest().await.message.status, MessageStatus::Interrupted);
    assert!(restarted.try_say("Still there?").await.is_ok());
}
