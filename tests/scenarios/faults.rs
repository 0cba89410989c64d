//! The store fails, or what it holds is deleted, at the worst moments.

use std::time::Duration;

use hamlet::store::{Store, StoreError, conversations};
use hamlet_actors::{
    conversation::vitals::ActorState,
    engine::EngineError,
    vocabulary::{ConversationId, ErrorCode, MessageStatus, Timestamp},
};
use hamlet_test_support::{Point, TestVillage};

async fn journal_rows(store: &Store) -> i64 {
    store.read(|conn| Ok(conn.query_row("SELECT count(*) FROM journal", [], |row| row.get(0))?)).await.unwrap()
}

async fn another(village: &TestVillage) -> ConversationId {
    let (id, player, npc) = (ConversationId::generate(), village.player, village.npc.id);
    village
        .store
        .write(move |conn| {
            let new = conversations::NewConversation {
                id,
                owner: player,
                external_id: None,
                title: None,
                npcs: vec![npc],
                at: Timestamp::from_millis(0),
            };
            conversations::create(conn, &new)
        })
        .await
        .unwrap();
    id
}

#[tokio::test]
async fn deleted_text_never_comes_back_in_another_conversation() {
    let mut village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("secret question").await;
    let mut tab = village.tab(begun.cursor).await;
    script.text("SECRET OF SOMEBODY ELSE ");
    script.finish();
    tab.until_ended().await;
    let (gone, player) = (village.conversation, village.player);
    let other = another(&village).await;
    village.store.delete_conversation(gone, player, Timestamp::now()).await.unwrap();
    village.engine.delete(gone);
    village.store.purge_deleted().await.unwrap();
    village.conversation = other;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    let mut tab = village.tab(begun.cursor).await;
    script.text("Half");
    tab.until_text("Half").await;
    let restarted = village.killed_and_restarted().await;
    assert_eq!(restarted.newest().await.message.text, "Half");
}

#[tokio::test]
async fn promise_2_a_claim_that_cannot_commit_loses_nothing_of_what_was_shown() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    let mut tab = village.tab(begun.cursor).await;
    let long = "x".repeat(300_000);
    script.text(&long);
    tab.until_text(&long).await;
    room(&village, 1).await;
    village.clock.panic_next();
    script.text("y");
    tokio::time::sleep(Duration::from_millis(500)).await;
    room(&village, 1000000).await;
    for _ in 0..6 {
        village.store.check().await.unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    drop(village.engine.abort(village.conversation, None).await);
    let stored = village.newest().await.message;
    assert_eq!((stored.text.len(), stored.status), (long.len(), MessageStatus::Failed));
}

#[tokio::test]
async fn deleting_in_mid_turn_keeps_no_journal_rows() {
    let mut village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    let mut tab = village.tab(begun.cursor).await;
    script.text("Half");
    tab.until_text("Half").await;
    let (gone, player) = (village.conversation, village.player);
    village.store.delete_conversation(gone, player, Timestamp::now()).await.unwrap();
    village.engine.delete(gone);
    village.store.purge_deleted().await.unwrap();
    village.conversation = another(&village).await;
    for _ in 0..3 {
        let script = village.provider.expect();
        let begun = village.say("Hello").await;
        script.text("Whole");
        script.finish();
        village.tab(begun.cursor).await.until_ended().await;
    }
    for _ in 0..8 {
        village.store.check().await.unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(journal_rows(&village.store).await <= 1);
}

#[tokio::test]
async fn journal_rows_that_nobody_needs_go_however_many_they_are() {
    let village = TestVillage::new().await;
    village
        .store
        .write(|conn| {
            for n in 0..60_000 {
                conn.prepare_cached(
                    "INSERT INTO journal (message_key, seq, idx, kind, body) VALUES (1, ?1, 0, 0, 'x')",
                )?
                .execute([n])?;
            }
            Ok(())
        })
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(journal_rows(&village.store).await <= 1, "the newest row stays");
}

#[tokio::test]
async fn promise_8_a_conversation_that_keeps_panicking_still_ends_its_turns() {
    let village = TestVillage::new().await;
    for n in 0..4 {
        let script = village.provider.expect();
        let begun = village.say("Hello").await;
        let mut tab = village.tab(begun.cursor).await;
        script.text("Half");
        tab.until_text("Half").await;
        village.clock.panic_next();
        script.text(" lost");
        assert_eq!(village.ended(begun.message).await.message.status, MessageStatus::Failed, "panic {n}");
    }
}

#[tokio::test]
async fn a_wake_that_cannot_commit_is_store_unavailable() {
    let village = TestVillage::new().await;
    let other = rusqlite::Connection::open(village.store.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = village.try_say("Hello").await;
    assert_eq!(refused.map_err(|error| error.code()), Err(ErrorCode::StoreUnavailable));
    other.execute_batch("ROLLBACK").unwrap();
    let script = village.provider.expect();
    let begun = village.say("Hello again").await;
    script.text("Hello.");
    script.finish();
    village.tab(begun.cursor).await.until_ended().await;
    assert_eq!(village.newest().await.message.status, MessageStatus::Complete);
}

#[tokio::test]
async fn a_message_that_comes_behind_the_deletion_is_not_found() {
    let village = TestVillage::new().await;
    village.store.delete_conversation(village.conversation, village.player, Timestamp::now()).await.unwrap();
    village.engine.delete(village.conversation);
    let refused = village.try_say("Hello").await;
    assert_eq!(refused.map_err(|error| error.code()), Err(ErrorCode::NotFound));
}

#[tokio::test]
async fn shutting_down_waits_for_an_admission_that_is_on_its_way() {
    let village = std::sync::Arc::new(TestVillage::new().await);
    let held = village.journal.hold(Point::Admission);
    let asker = village.clone();
    let asking = tokio::spawn(async move { asker.try_say("Hello").await });
    let batch = held.await.unwrap();
    let engine = village.engine.clone();
    let stopping = tokio::spawn(async move { engine.shut_down(Duration::ZERO).await });
    let told = async {
        while !matches!(village.try_say("And this?").await, Err(EngineError::ShuttingDown)) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), told).await.unwrap();
    batch.release();
    let begun = asking.await.unwrap().unwrap();
    stopping.await.unwrap();
    let stored = village.stored().await;
    assert_eq!((stored.len(), stored[1].message.id), (2, begun.message));
    assert_eq!(stored[1].message.status, MessageStatus::Interrupted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutting_down_waits_for_an_admission_behind_the_waking_of_its_conversation() {
    let village = std::sync::Arc::new(TestVillage::new().await);
    // The store is busy, so that the Conversation cannot be claimed yet.
    let (busy, is_busy) = tokio::sync::oneshot::channel();
    let (free, until_free) = std::sync::mpsc::channel::<()>();
    let store = village.store.clone();
    let slow = tokio::spawn(async move {
        store
            .write(move |_| {
                busy.send(()).unwrap();
                until_free.recv().unwrap();
                Ok(())
            })
            .await
    });
    is_busy.await.unwrap();
    let asker = village.clone();
    let asking = tokio::spawn(async move { asker.try_say("Hello").await });
    while village.engine.actor(village.conversation).await.unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    let engine = village.engine.clone();
    let stopping = tokio::spawn(async move { engine.shut_down(Duration::from_millis(500)).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    free.send(()).unwrap();
    slow.await.unwrap().unwrap();
    stopping.await.unwrap();
    let answer = asking.await.unwrap();
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(village.newest().await.message.status, MessageStatus::Interrupted);
}

#[tokio::test]
async fn a_window_read_from_the_store_begins_with_a_whole_exchange() {
    let village = TestVillage::new().await;
    for n in 0..4 {
        let script = village.provider.expect();
        let begun = village.say(&format!("{n}{}", "q".repeat(10_000))).await;
        village.provider.asked(n).await;
        script.text(&"a".repeat(70_000));
        script.finish();
        village.tab(begun.cursor).await.until_ended().await;
    }
    let restarted = village.killed_and_restarted().await;
    restarted.say("And?").await;
    let request = restarted.provider.asked(0).await;
    let first = format!("{:?}", request.items[0]);
    assert!(first.starts_with("User"), "{}", &first[..40]);
}
#[tokio::test]
async fn stop_while_the_store_cannot_commit_says_so_and_stops_the_provider() {
    let village = TestVillage::new().await;
    let mut script = village.provider.expect();
    let begun = village.say("Hello").await;
    let mut tab = village.tab(begun.cursor).await;
    script.text("Half");
    tab.until_text("Half").await;
    room(&village, 1).await;
    script.text(&"x".repeat(200_000));
    let in_trouble = async {
        while village.engine.actor(village.conversation).await.unwrap().unwrap().state != ActorState::Committing {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), in_trouble).await.unwrap();
    let stopped = village.engine.abort(village.conversation, None).await;
    assert_eq!(stopped.map_err(|error| error.code()), Err(ErrorCode::StoreUnavailable));
    script.closed().await;
    room(&village, 1_000_000).await;
    tab.until_ended().await;
    let stored = village.newest().await.message;
    assert_eq!((stored.text.len(), stored.status), (200_004, MessageStatus::Aborted));
}

/// The pages that the file may have: with few, the disk is full. What is written in the same group may still find it full, and
/// takes this with it: then it is asked for again.
async fn room(village: &TestVillage, pages: i64) {
    loop {
        let sql = format!("PRAGMA max_page_count = {pages}");
        let set = village.store.write(move |conn| Ok(conn.query_row(&sql, [], |_| Ok(()))?)).await;
        if !matches!(set, Err(StoreError::Unavailable(_))) {
            return set.unwrap();
        }
    }
}

#[tokio::test]
async fn whoever_asks_while_the_last_turns_are_being_ended_is_told_that_hamlet_stops() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    let mut tab = village.tab(begun.cursor).await;
    script.text("Half");
    tab.until_text("Half").await;
    // The end can't be stored yet, so that the engine is still stopping when the question comes.
    let other = rusqlite::Connection::open(village.store.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let engine = village.engine.clone();
    let stopping = tokio::spawn(async move { engine.shut_down(Duration::ZERO).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let aborted = village.engine.abort(village.conversation, Some(begun.turn)).await;
    assert_eq!(aborted.map_err(|error| error.code()), Err(ErrorCode::ShuttingDown));
    let refused = village.try_say("Hello again").await;
    assert_eq!(refused.map_err(|error| error.code()), Err(ErrorCode::ShuttingDown));
    other.execute_batch("ROLLBACK").unwrap();
    stopping.await.unwrap();
    assert_eq!(village.newest().await.message.status, MessageStatus::Interrupted);
}
