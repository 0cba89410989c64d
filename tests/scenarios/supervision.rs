//! Actors fail, and what takes their place fails as well; a store is slow, or full for a while. Watchers stay.

use std::time::Duration;

use hamlet_actors::{
    conversation::vitals::ActorState,
    engine::Engine,
    vocabulary::{ErrorCode, Frame, MessageStatus, Transcript},
};
use hamlet_test_support::{Fault, Point, StoppedClock, TestVillage};

async fn swept() -> TestVillage {
    TestVillage::new().await.sweeping(Duration::from_millis(50)).await
}

#[tokio::test]
async fn promise_8_a_turn_ends_once_also_when_its_claim_fails() {
    for fault in Fault::ALL {
        let village = swept().await;
        let mut tab = village.onlooker(0).await;
        let script = village.provider.expect();
        let begun = village.say("Hello").await;
        script.text("Half");
        tab.until_text("Half").await;
        village.journal.once(Point::Claim, fault);
        village.clock.panic_next();
        script.text(" lost");
        let seen = tab.until_end_of(begun.turn).await;
        let stored = village.ended(begun.message).await;
        assert_eq!((stored.message.status, stored.message.text.as_str()), (MessageStatus::Failed, "Half"), "{fault:?}");
        let reload = Transcript::of(village.stored().await.into_iter().map(|row| row.message));
        assert_eq!((seen.transcript.entries(), seen.ends_of(begun.turn)), (reload.entries(), 1), "{fault:?}");
        let script = village.provider.expect();
        let begun = village.say("And now?").await;
        script.text("Fine.");
        script.finish();
        let seen = tab.until_end_of(begun.turn).await;
        assert_eq!(seen.last_text(), "Fine.", "{fault:?}");
    }
}

#[tokio::test]
async fn the_village_survives_its_own_panic_and_does_what_it_was_at() {
    let village = swept().await;
    let mut tab = village.onlooker(0).await;
    for n in 0..4 {
        let script = village.provider.expect();
        let begun = village.say("Hello").await;
        script.text("Half");
        tab.until_text("Half").await;
        if n == 3 {
            // This claim is the Village's own.
            village.journal.once(Point::Claim, Fault::Panics);
        }
        village.clock.panic_next();
        script.text(" lost");
        tab.until_end_of(begun.turn).await;
    }
    let seen = village.engine.actor(village.conversation).await.unwrap().unwrap();
    assert_eq!(seen.state, ActorState::Quarantined);
    assert_eq!(village.newest().await.message.error.map(|error| error.code), Some(ErrorCode::Quarantined));
}

#[tokio::test]
async fn promise_2_nothing_is_shown_while_its_commit_is_on_the_way() {
    let village = TestVillage::new().await;
    let mut tab = village.onlooker(0).await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    let shown = tab.until(|seen| seen.cursor > begun.cursor).await;
    let held = village.journal.hold(Point::Pieces);
    script.text("One ");
    let batch = held.await.unwrap();
    for word in ["two ", "three"] {
        script.text(word);
    }
    let seen = village.onlooker(0).await.until(|seen| seen.cursor >= shown.cursor).await;
    assert_eq!((seen.last_text(), seen.cursor), (String::new(), shown.cursor));
    batch.release();
    script.finish();
    let seen = tab.until_end_of(begun.turn).await;
    assert_eq!(seen.last_text(), "One two three");
    assert_eq!(village.newest().await.message.text, "One two three");
}

#[tokio::test]
async fn a_stop_while_a_commit_is_on_the_way_keeps_what_is_in_it() {
    let village = TestVillage::new().await;
    let mut tab = village.onlooker(0).await;
    let mut script = village.provider.expect();
    let begun = village.say("Hello").await;
    let held = village.journal.hold(Point::Pieces);
    script.text("Half");
    let batch = held.await.unwrap();
    let engine = village.engine.clone();
    let (conversation, turn) = (village.conversation, begun.turn);
    let stopping = tokio::spawn(async move { engine.abort(conversation, Some(turn)).await });
    script.closed().await;
    batch.release();
    assert!(stopping.await.unwrap().unwrap().aborted);
    let seen = tab.until_end_of(begun.turn).await;
    let stored = village.newest().await.message;
    assert_eq!((seen.last_text().as_str(), stored.text.as_str()), ("Half", "Half"));
    assert_eq!(stored.status, MessageStatus::Aborted);
}

#[tokio::test]
async fn a_commit_that_hangs_lets_the_provider_go_and_the_turn_ends_when_the_store_is_back() {
    let village = TestVillage::new().await;
    let mut tab = village.onlooker(0).await;
    let mut script = village.provider.expect();
    let begun = village.say("Hello").await;
    script.text("Half");
    tab.until_text("Half").await;
    let held = village.journal.hold(Point::Pieces);
    script.text(" stored");
    let batch = held.await.unwrap();
    let patience = Duration::from_secs(10);
    village.clock.advance(patience);
    let clock = StoppedClock::new();
    clock.advance(patience).await;
    script.closed().await;
    let told = tab.until(|seen| matches!(seen.frames.last(), Some(Frame::Error { .. }))).await;
    assert_eq!((told.last_text().as_str(), told.ends_of(begun.turn)), ("Half", 0));
    let refused = village.try_say("Still there?").await;
    assert_eq!(refused.map_err(|error| error.code()), Err(ErrorCode::StoreUnavailable));
    drop(clock);
    batch.release();
    let seen = tab.until_end_of(begun.turn).await;
    let stored = village.newest().await.message;
    assert_eq!((seen.last_text().as_str(), stored.text.as_str()), ("Half stored", "Half stored"));
    assert_eq!(
        (stored.status, stored.error.map(|error| error.code)),
        (MessageStatus::Failed, Some(ErrorCode::StoreUnavailable))
    );
}

#[tokio::test]
async fn so_many_may_wait_for_an_answer_and_the_next_is_told_so() {
    let village = TestVillage::new().await;
    let held = village.journal.hold(Point::Admission);
    let (engine, conversation) = (village.engine.clone(), village.conversation);
    let (begin, plan) = village.say_with("Hello");
    let saying = tokio::spawn({
        let engine = engine.clone();
        async move { engine.begin(conversation, begin, plan).await }
    });
    let batch = held.await.unwrap();
    let stop = move |engine: Engine| async move { engine.abort(conversation, None).await };
    let stopping: Vec<_> = (1..64).map(|_| tokio::spawn(stop(engine.clone()))).collect();
    let depth = async || engine.actor(conversation).await.unwrap().unwrap().mailbox.unwrap().depth;
    while depth().await < 64 {
        tokio::task::yield_now().await;
    }
    let refused = engine.abort(conversation, None).await;
    assert_eq!(refused.map_err(|error| error.code()), Err(ErrorCode::MailboxFull));
    batch.release();
    saying.await.unwrap().unwrap();
    for stopped in stopping {
        assert!(stopped.await.unwrap().unwrap().aborted);
    }
    assert_eq!(depth().await, 0);
}

#[tokio::test]
async fn a_store_that_is_full_for_a_while_costs_no_word() {
    let village = TestVillage::new().await;
    let mut tab = village.onlooker(0).await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    script.text("One ");
    tab.until_text("One ").await;
    village.journal.full(true);
    script.text("two ");
    village.journal.met(Point::Pieces).await;
    let seen = village.engine.actor(village.conversation).await.unwrap().unwrap();
    assert_eq!(seen.state, ActorState::Committing);
    let refused = village.try_say("Still there?").await;
    assert_eq!(refused.map_err(|error| error.code()), Err(ErrorCode::StoreUnavailable));
    script.text("three");
    script.finish();
    assert_eq!(tab.until(|_| true).await.last_text(), "One ", "nothing is shown that is not stored");
    village.journal.full(false);
    let seen = tab.until_end_of(begun.turn).await;
    assert_eq!((seen.last_text().as_str(), seen.ends_of(begun.turn)), ("One two three", 1));
    let stored = village.newest().await.message;
    assert_eq!((stored.text.as_str(), stored.status), ("One two three", MessageStatus::Complete));
}
