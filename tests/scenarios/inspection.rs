//! What operators see of actors, and what they may do with them.

use std::time::Duration;

use hamlet_actors::{
    conversation::vitals::ActorState,
    village::{ActorChanges, ActorView, Intervention},
    vocabulary::{ErrorCode, Hop, MessageStatus},
};
use hamlet_test_support::TestVillage;

async fn view(village: &TestVillage) -> ActorView {
    village.engine.actor(village.conversation).await.unwrap().unwrap()
}

#[tokio::test]
async fn an_operator_sees_where_a_running_turn_stands() {
    let village = TestVillage::new().await;
    assert_eq!(village.engine.actors().await.unwrap(), vec![], "nobody is awake");
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    let assembling = view(&village).await;
    assert_eq!((assembling.state, assembling.phase.as_deref()), (ActorState::Running, Some("assembling")));
    let mut tab = village.tab(begun.cursor).await;
    let mut slow = village.tab(begun.cursor).await;
    slow.until(|_| true).await;
    script.text("Half");
    tab.until_text("Half").await;
    let seen = view(&village).await;
    assert_eq!((seen.state, seen.phase.as_deref(), seen.step), (ActorState::Running, Some("streaming"), 1));
    let turn = seen.turn.unwrap();
    assert_eq!((turn.id, turn.message_id), (begun.turn, begun.message));
    assert_eq!(seen.speaker.unwrap().name, "Ada");
    assert_eq!(seen.hop, Hop { count: 0, limit: 6 });
    assert_eq!((seen.cursor, seen.epoch), (Some(tab.cursor), Some(1)));
    assert_eq!(seen.mailbox.map(|mailbox| (mailbox.depth, mailbox.capacity)), Some((0, 64)));
    assert_eq!((seen.watchers.count, seen.watchers.lags[0]), (2, tab.cursor - begun.cursor));
    assert!(seen.last_activity.is_some_and(|at| at >= turn.since));
    let idle = {
        script.finish();
        tab.until_ended().await;
        view(&village).await
    };
    assert_eq!((idle.state, idle.turn, idle.speaker, idle.phase), (ActorState::Idle, None, None, None));
    assert_eq!((idle.history.messages, idle.history.tokens), (2, 3), "what both said");
    assert_eq!(village.engine.actors().await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_last_error_is_shown_without_the_words_of_the_provider() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    script.fail();
    village.tab(begun.cursor).await.until_ended().await;
    let error = view(&village).await.last_error.unwrap();
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::ProviderError, "Scripted answered 500."));
    assert_eq!(village.engine.retire(village.conversation).await, Ok(Intervention::Done));
    let tab = village.tab(begun.cursor).await;
    let asleep = view(&village).await;
    assert_eq!((asleep.state, asleep.last_error), (ActorState::Asleep, Some(error)), "kept while somebody watches");
    drop(tab);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn inspecting_never_waits_on_a_busy_actor() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    let mut tab = village.tab(begun.cursor).await;
    script.text("Half");
    tab.until_text("Half").await;
    let mut busy = village.clock.hold_next();
    script.text(" more");
    busy.held().await;
    let seen = tokio::time::timeout(Duration::from_secs(5), view(&village)).await.unwrap();
    assert_eq!(seen.turn.map(|turn| turn.id), Some(begun.turn));
    busy.release();
    tab.until_text("Half more").await;
}

#[tokio::test]
async fn a_slow_subscriber_gets_the_newest_view_of_each_changed_actor() {
    let village = TestVillage::new().await;
    let mut feed = village.engine.watch_actors();
    assert_eq!(feed.next().await.unwrap(), ActorChanges::default(), "nobody is awake");
    for text in ["One", "Two", "Three"] {
        let script = village.provider.expect();
        let begun = village.say(text).await;
        script.text("Yes.");
        script.finish();
        village.tab(begun.cursor).await.until_ended().await;
    }
    let changes = feed.next().await.unwrap();
    let seen: Vec<_> = changes.changed.iter().map(|view| (view.conversation_id, view.state)).collect();
    assert_eq!((seen, changes.gone), (vec![(village.conversation, ActorState::Idle)], vec![]));
    assert_eq!(changes.changed[0].history.messages, 6);
    village.engine.delete(village.conversation);
    assert_eq!(feed.next().await.unwrap(), ActorChanges { changed: vec![], gone: vec![village.conversation] });
}

#[tokio::test]
async fn a_feed_tells_of_tabs_that_come_and_go() {
    let village = TestVillage::new().await;
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    script.finish();
    village.tab(begun.cursor).await.until_ended().await;
    let mut feed = village.engine.watch_actors();
    assert_eq!(feed.next().await.unwrap().changed[0].watchers.count, 0);
    let tab = village.tab(begun.cursor).await;
    assert_eq!(feed.next().await.unwrap().changed[0].watchers.count, 1);
    drop(tab);
    assert_eq!(feed.next().await.unwrap().changed[0].watchers.count, 0);
}

#[tokio::test]
async fn an_actor_that_is_restarted_in_mid_turn_ends_it_before_its_watchers() {
    let village = TestVillage::new().await;
    let mut script = village.provider.expect();
    let begun = village.say("Hello").await;
    let mut tab = village.tab(begun.cursor).await;
    script.text("Half");
    tab.until_text("Half").await;
    assert_eq!(village.engine.restart(village.conversation).await, Ok(Intervention::Done));
    script.closed().await;
    village.ended(begun.message).await;
    let stored = village.newest().await;
    assert_eq!((stored.message.text.as_str(), stored.message.status), ("Half", MessageStatus::Failed));
    assert!(stored.terminal);
    let next = village.provider.expect();
    let begun = village.say("And now?").await;
    next.text("Fine.");
    next.finish();
    tab.cursor = begun.cursor;
    tab.until_text("Fine.").await;
    let seen = view(&village).await;
    assert_eq!((seen.epoch, seen.restarts.total, seen.restarts.recent), (Some(2), 1, 0));
}

#[tokio::test]
async fn only_an_idle_actor_is_retired() {
    let village = TestVillage::new().await;
    assert_eq!(village.engine.retire(village.conversation).await, Ok(Intervention::NotAwake));
    assert_eq!(village.engine.restart(village.conversation).await, Ok(Intervention::NotAwake));
    let script = village.provider.expect();
    let begun = village.say("Hello").await;
    assert_eq!(village.engine.retire(village.conversation).await, Ok(Intervention::Busy { running: Some(begun.turn) }));
    script.text("Hello.");
    script.finish();
    village.tab(begun.cursor).await.until_ended().await;
    assert_eq!(village.newest().await.message.status, MessageStatus::Complete);
    assert_eq!(village.engine.retire(village.conversation).await, Ok(Intervention::Done));
    let script = village.provider.expect();
    let begun = village.say("Awake?").await;
    script.text("Yes.");
    script.finish();
    village.tab(begun.cursor).await.until_text("Yes.").await;
}

#[tokio::test]
async fn an_actor_that_fails_again_and_again_is_quarantined_until_it_is_released() {
    let village = TestVillage::new().await;
    let mut watching = village.tab(0).await;
    for n in 0..4 {
        assert_eq!(village.engine.release(village.conversation).await, Ok(Intervention::NotQuarantined), "{n}");
        let script = village.provider.expect();
        let begun = village.say("Hello").await;
        let mut tab = village.tab(begun.cursor).await;
        script.text("Half");
        tab.until_text("Half").await;
        village.clock.panic_next();
        script.text(" lost");
        village.ended(begun.message).await;
        watching.until(|_| true).await;
    }
    let newest = village.newest().await;
    assert_eq!((newest.message.text.as_str(), newest.message.status), ("Half", MessageStatus::Failed));
    assert_eq!(newest.message.error.map(|error| error.code), Some(ErrorCode::Quarantined), "whoever watches reads why");
    assert!(newest.terminal);
    let refused = village.try_say("Hello?").await;
    assert_eq!(refused.map_err(|error| error.code()), Err(ErrorCode::Quarantined));
    let aborted = village.engine.abort(village.conversation, None).await;
    assert_eq!(aborted.map_err(|error| error.code()), Err(ErrorCode::Quarantined));
    for wish in [village.engine.restart(village.conversation).await, village.engine.retire(village.conversation).await]
    {
        assert_eq!(wish, Ok(Intervention::Quarantined));
    }
    let seen = view(&village).await;
    assert_eq!((seen.state, seen.restarts.recent, seen.watchers.count), (ActorState::Quarantined, 3, 1));
    assert_eq!(
        seen.last_error.map(|error| (error.code, error.message)),
        Some((ErrorCode::Internal, "The actor panicked.".to_owned()))
    );
    assert_eq!(village.engine.release(village.conversation).await, Ok(Intervention::Done));
    let script = village.provider.expect();
    let begun = village.say("Better?").await;
    script.text("Yes.");
    script.finish();
    watching.cursor = begun.cursor;
    watching.until_text("Yes.").await;
    assert_eq!(village.ended(begun.message).await.message.status, MessageStatus::Complete);
}
