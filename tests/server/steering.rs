//! Texts that steer the running turn, over HTTP: their replies, streams and keys.

use MessageStatus::{Complete, Queued, Running};
use hamlet_actors::vocabulary::MessageStatus;
use hamlet_test_support::Events;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::queue::{Scene, say, texts_of};

#[tokio::test]
async fn steering_is_one_turn_with_two_replies() {
    let mut scene = Scene::new().await;
    let steered = say(&scene.server.admin, &scene.id, json!({"text": "In brief", "onBusy": "steer"})).await;
    assert_eq!(steered["turnId"], scene.turn);
    scene.until(&[("First", Complete), ("One", Running), ("In brief", Queued)]).await;
    let next = scene.server.provider.expect();
    scene.script.finish();
    next.text("Two");
    scene.until(&[("First", Complete), ("One", Complete), ("In brief", Complete), ("Two", Running)]).await;
    next.finish();
    scene.until(&[("First", Complete), ("One", Complete), ("In brief", Complete), ("Two", Complete)]).await;
    assert_eq!(scene.tab.terminal_frames(), 1);
    let asked = format!("{:?}", scene.server.provider.asked(1).await.items);
    let order: Vec<_> = ["First", "One", "In brief"].iter().map(|text| asked.find(text)).collect();
    assert!(order.is_sorted() && order[0].is_some(), "{asked}");
}

#[tokio::test]
async fn two_texts_that_steer_are_answered_one_a_step_under_the_ids_that_were_told() {
    let mut scene = Scene::new().await;
    let brief = say(&scene.server.admin, &scene.id, json!({"text": "In brief", "onBusy": "steer"})).await;
    let french = say(&scene.server.admin, &scene.id, json!({"text": "In French", "onBusy": "steer"})).await;
    let (second, third) = (scene.server.provider.expect(), scene.server.provider.expect());
    scene.script.finish();
    second.text("Two");
    second.finish();
    third.text("Trois");
    third.finish();
    let said = [("First", Complete), ("One", Complete), ("In brief", Complete), ("Two", Complete)];
    scene.until(&[&said[..], &[("In French", Complete), ("Trois", Complete)]].concat()).await;
    let page = scene.server.admin.get(&scene.path("messages")).await.expect(StatusCode::OK).await;
    assert_eq!((&page["items"][3]["id"], &page["items"][5]["id"]), (&brief["messageId"], &french["messageId"]));
    assert_eq!((&brief["turnId"], &french["turnId"], scene.tab.terminal_frames()), (&scene.turn, &scene.turn, 1));
}

#[tokio::test]
async fn the_stream_of_a_text_that_steers_ends_with_the_turn_that_it_joined() {
    let scene = Scene::new().await;
    let steer = json!({"text": "In brief", "onBusy": "steer"});
    let mut stream = scene.server.admin.stream(&scene.path("messages"), steer).await;
    let next = scene.server.provider.expect();
    scene.script.finish();
    next.text("Two");
    next.finish();
    stream.to_end().await;
    assert_eq!((stream.last_text().as_str(), stream.terminal_frames()), ("Two", 1));
}

#[tokio::test]
async fn the_stream_of_a_text_that_steers_follows_it_to_its_own_answer_when_the_turn_is_stopped() {
    let scene = Scene::new().await;
    let path = scene.path("messages");
    let send = |accept: &'static str| {
        let request = scene.server.admin.request(Method::POST, &path).header("idempotency-key", "k1");
        request.header("accept", accept).json(&json!({"text": "In brief", "onBusy": "steer"})).send()
    };
    let steered: Value = send("application/json").await.unwrap().json().await.unwrap();
    let repeated: Value = send("application/json").await.unwrap().json().await.unwrap();
    assert_eq!((&steered["turnId"], &steered), (&scene.turn, &repeated));
    let mut stream = Events::of(send("text/event-stream").await.unwrap());
    scene.server.admin.post(&scene.path("abort"), json!({"turnId": scene.turn})).await.expect(StatusCode::OK).await;
    assert!(stream.until(|stream| stream.terminal_frames() == 1).await, "the turn that it was to steer");
    let late: Value = send("application/json").await.unwrap().json().await.unwrap();
    let next = scene.server.provider.expect();
    let resumed = scene.server.admin.post(&scene.path("queue/resume"), json!({})).await;
    let resumed = resumed.expect(StatusCode::ACCEPTED).await;
    assert_eq!((&late["turnId"], &late["messageId"]), (&resumed["turnId"], &steered["messageId"]));
    next.text("Two");
    next.finish();
    stream.to_end().await;
    assert_eq!((stream.last_text().as_str(), stream.terminal_frames()), ("Two", 2));
    let mut again = Events::of(send("text/event-stream").await.unwrap());
    again.to_end().await;
    assert_eq!(again.last_text(), "Two", "a repeat has the answer, too");
}

#[tokio::test]
async fn the_stream_of_a_text_that_steers_ends_when_it_is_withdrawn_behind_the_turn() {
    let scene = Scene::new().await;
    let steer = json!({"text": "In brief", "onBusy": "steer"});
    let mut stream = scene.server.admin.stream(&scene.path("messages"), steer).await;
    scene.server.admin.post(&scene.path("abort"), json!({"turnId": scene.turn})).await.expect(StatusCode::OK).await;
    assert!(stream.until(|stream| stream.terminal_frames() == 1).await);
    let page = scene.server.admin.get(&scene.path("messages")).await.expect(StatusCode::OK).await;
    let message = format!("/api/messages/{}", page["turn"]["queue"]["items"][0]["messageId"].as_str().unwrap());
    scene.server.admin.send(Method::DELETE, &message, json!({})).await.expect(StatusCode::NO_CONTENT).await;
    stream.to_end().await;
    assert_eq!(texts_of(&stream.transcript), [], "it left");
}

/// The text that waited longest has older frames than the replies that stand before it.
#[tokio::test]
async fn a_text_that_a_second_reply_of_the_running_turn_overtakes_reads_alike_from_every_cursor() {
    let mut scene = Scene::new().await;
    say(&scene.server.admin, &scene.id, json!({"text": "Later", "onBusy": "enqueue"})).await;
    say(&scene.server.admin, &scene.id, json!({"text": "In brief", "onBusy": "steer"})).await;
    let (second, third) = (scene.server.provider.expect(), scene.server.provider.expect());
    scene.script.finish();
    second.text("Two");
    let steered = [("First", Complete), ("One", Complete), ("In brief", Complete)];
    scene.until(&[&steered[..], &[("Two", Running), ("Later", Queued)]].concat()).await;
    scene.reads_alike_from_every_cursor().await;
    second.finish();
    third.text("Three");
    third.finish();
    let answered = [("Two", Complete), ("Later", Complete), ("Three", Complete)];
    scene.until(&[&steered[..], &answered[..]].concat()).await;
    scene.reads_alike_from_every_cursor().await;
    let id = scene.id.clone();
    let server = scene.server.restarted().await;
    let mut back = server.admin.watch(&format!("/api/conversations/{id}/frames?after=0")).await;
    let here = scene.tab.transcript.clone();
    assert!(back.until(|tab| tab.transcript.entries() == here.entries()).await, "from the store alone");
}
