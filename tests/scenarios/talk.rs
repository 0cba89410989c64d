use hamlet_actors::{
    conversation::BeginRefusal,
    engine::EngineError,
    ports::RequestItem,
    vocabulary::{Frame, MessageStatus, Part, Usage},
};
use hamlet_test_support::TestVillage;

#[tokio::test]
async fn a_player_is_answered_and_the_transcript_is_what_the_tab_saw() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello there!").await;
    let mut tab = village.tab(begun.cursor).await;
    script.text("Well ");
    tab.until_text("Well ").await;
    script.text("met.");
    script.usage(12, 3);
    script.finish();
    tab.until_ended().await;
    let stored = village.stored().await;
    assert_eq!(stored.len(), 2);
    let entries = tab.transcript.entries();
    for (stored, entry) in stored.iter().zip(entries) {
        assert_eq!(hamlet_actors::vocabulary::Entry::from(stored.message.clone()), *entry);
    }
    let reply = &stored[1].message;
    assert_eq!((reply.text.as_str(), reply.status), ("Well met.", MessageStatus::Complete));
    assert_eq!(reply.usage, Some(Usage { input_tokens: Some(12), output_tokens: Some(3), ..Usage::default() }));
    assert_eq!(tab.cursor, stored[1].last_seq);
}

#[tokio::test]
async fn promise_3_a_start_frames_id_is_a_stored_row() {
    let village = TestVillage::new().await;
    let begun = village.say("Hello").await;
    let mut tab = village.tab(begun.cursor).await;
    tab.until(|tab| tab.transcript.entries().len() == 2).await;
    let ids: Vec<_> = village.stored().await.iter().map(|stored| stored.message.id).collect();
    assert_eq!(ids, tab.transcript.entries().iter().map(|entry| entry.id).collect::<Vec<_>>());
    assert_eq!(begun.message, ids[1]);
}

#[tokio::test]
async fn the_model_is_told_who_it_is_and_what_was_said() {
    let village = TestVillage::new().await;
    for (n, (question, answer)) in [("One?", "First."), ("Two?", "Second.")].into_iter().enumerate() {
        let script = village.provider.expect();
        let begun = village.say(question).await;
        village.provider.asked(n).await;
        script.text(answer);
        script.finish();
        village.tab(begun.cursor).await.until_ended().await;
    }
    let _third = village.provider.expect();
    village.say("Three?").await;
    let request = village.provider.asked(2).await;
    assert!(request.system.starts_with("# Who you are\nYou are Ada, Innkeeper."), "{}", request.system);
    let said: Vec<(&str, &str)> = request
        .items
        .iter()
        .map(|item| match item {
            RequestItem::User { text } => ("player", &**text),
            RequestItem::Assistant { text, .. } => ("npc", &**text),
            RequestItem::ToolResult { output, .. } => ("tool", output.as_str()),
        })
        .collect();
    assert_eq!(
        said,
        [("player", "One?"), ("npc", "First."), ("player", "Two?"), ("npc", "Second."), ("player", "Three?")]
    );
}

#[tokio::test]
async fn the_history_is_the_same_from_the_cache_and_from_the_store() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("One?").await;
    script.text("First.");
    script.finish();
    village.tab(begun.cursor).await.until_ended().await;
    let restarted = village.killed_and_restarted().await;
    village.say("Two?").await;
    restarted.say("Two?").await;
    assert_eq!(village.provider.asked(1).await.items, restarted.provider.asked(0).await.items);
}

#[tokio::test]
async fn one_turn_runs_at_a_time_and_a_refused_one_leaves_nothing() {
    let village = TestVillage::new().await;
    let begun = village.say("Hello").await;
    let refused = village.try_say("Hello again").await;
    assert_eq!(refused, Err(EngineError::Refused(BeginRefusal::Busy { running: begun.turn })));
    assert_eq!(village.stored().await.len(), 2);
}

#[tokio::test]
async fn of_many_sends_at_once_exactly_one_runs() {
    let village = TestVillage::new().await;
    let sends = (0..20).map(|n| {
        let (begin, plan) = village.say_with(&format!("Hello {n}"));
        village.engine.begin(village.conversation, begin, plan)
    });
    let answers = futures_util::future::join_all(sends).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1, "{answers:?}");
    assert_eq!(village.stored().await.len(), 2);
}

#[tokio::test]
async fn promise_2_a_thousand_pieces_are_shown_in_order_and_stored_as_one_part() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Count").await;
    let mut tab = village.tab(begun.cursor).await;
    let expected: String = (0..1_000).map(|n| format!("{n} ")).collect();
    for n in 0..1_000 {
        script.text(&format!("{n} "));
        if n % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    script.finish();
    tab.until_ended().await;
    assert_eq!(tab.last_text(), expected);
    let stored = village.newest().await.message;
    assert_eq!(stored.parts, vec![Part::text(expected)]);
    let parts = tab.seen.iter().filter(|frame| matches!(frame, Frame::Part { .. })).count();
    assert!(parts < 1_000, "pieces that wait for a commit are merged; {parts} frames were shown");
}

#[tokio::test]
async fn promise_6_a_reader_that_finds_nobody_awake_stops_before_what_runs() {
    let village = TestVillage::new().await;
    let begun = village.say("Hello").await;
    let (conversation, player) = (village.conversation, village.player);
    let (settled, last_seq) = village
        .store
        .read(move |conn| {
            let row = hamlet::store::conversations::of_player(conn, conversation, player)?;
            Ok((hamlet::store::messages::settled_seq(conn, &row)?, row.last_seq))
        })
        .await
        .unwrap();
    // Start, Part and finish of the Player's Message; the reply's start comes from the log.
    assert_eq!((settled, last_seq), (begun.cursor + 3, begun.cursor + 4));
}

#[tokio::test]
async fn a_newcomer_is_told_what_was_said_from_its_joining_on() {
    let village = TestVillage::new().await;
    for _ in 0..2 {
        let script = village.provider.expect();
        script.text("Yes.");
        script.finish();
        let begun = village.say("Is it?").await;
        village.ended(begun.message).await;
    }
    village.planner.know_from(2);
    let script = village.provider.expect();
    script.finish();
    village.say("And now?").await;
    assert_eq!(village.provider.asked(2).await.items.len(), 3);
}
