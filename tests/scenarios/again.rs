//! An actor fails when something is stored, before it has said so: whoever asked is answered by the next one.

use hamlet_actors::{
    conversation::{OnBusy, QueueChange},
    village::Intervention,
    vocabulary::{ErrorCode, MessageStatus},
};
use hamlet_test_support::{Fault, Point, TestVillage};

#[tokio::test]
async fn a_send_whose_actor_fails_behind_its_commit_is_answered_and_said_once() {
    let village = TestVillage::new().await;
    village.journal.once(Point::Admission, Fault::PanicsBehind);
    let begun = village.try_say("Hello").await.unwrap();
    let seen = village.onlooker(begun.cursor).await.until_end_of(begun.turn).await;
    let stored = village.stored().await;
    assert_eq!((stored.len(), seen.ends_of(begun.turn)), (2, 1));
    assert_eq!((stored[1].message.id, stored[1].message.status), (begun.message, MessageStatus::Failed));
}

#[tokio::test]
async fn a_text_that_waits_is_answered_for_and_withdrawn_once_whoever_fails_behind_the_commit() {
    let village = TestVillage::new().await;
    let mut tab = village.onlooker(0).await;
    let script = village.provider.expect();
    village.say("Hello").await;
    script.text("Half");
    tab.until_text("Half").await;
    village.journal.once(Point::Enqueue, Fault::PanicsBehind);
    let waits = village.say_when_busy("Next", OnBusy::Enqueue).await.unwrap();
    let stored = village.newest().await.message;
    assert_eq!((stored.status, stored.text.as_str()), (MessageStatus::Queued, "Next"));
    village.journal.once(Point::Enqueue, Fault::PanicsBehind);
    let change = QueueChange::Withdraw { message: stored.id };
    assert_eq!(village.engine.change(village.conversation, change.clone()).await, Ok(()));
    let late = village.engine.change(village.conversation, change).await;
    assert_eq!(late.map_err(|error| error.code()), Err(ErrorCode::NotQueued));
    let seen = tab.until_end_of(waits.turn).await;
    assert_eq!((seen.ends_of(waits.turn), village.stored().await.len()), (1, 2));
}

#[tokio::test]
async fn a_send_that_is_being_stored_when_an_operator_restarts_the_actor_is_answered_and_said_once() {
    let village = TestVillage::new().await;
    let held = village.journal.hold(Point::Admission);
    let script = village.provider.expect();
    let (saying, intervening) = tokio::join!(village.try_say("Hello"), async {
        let batch = held.await.unwrap();
        let done = village.engine.restart(village.conversation).await;
        batch.release();
        done
    });
    assert_eq!(intervening, Ok(Intervention::Done));
    let begun = saying.unwrap();
    script.text("Well.");
    script.finish();
    let seen = village.onlooker(begun.cursor).await.until_end_of(begun.turn).await;
    assert_eq!((seen.last_text().as_str(), village.stored().await.len()), ("Well.", 2));
}
