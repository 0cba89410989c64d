//! Texts that wait, edits and variants over HTTP: every tab sees the same, a reload and a restart too.

use hamlet_actors::vocabulary::{Message, MessageStatus, Transcript};
use hamlet_test_support::{Client, Events, Point, TestServer};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// A Conversation in the middle of its first reply, and a tab that watches it from the beginning.
pub struct Scene {
    pub server: TestServer,
    pub id: String,
    pub script: hamlet_test_support::Script,
    pub tab: Events,
    /// The running turn.
    pub turn: Value,
}

impl Scene {
    pub async fn new() -> Self {
        let server = TestServer::start().await;
        let id = server.conversation().await;
        let script = server.provider.expect();
        let accepted = say(&server.admin, &id, json!({"text": "First"})).await;
        let mut tab = server.admin.watch(&format!("/api/conversations/{id}/frames?after=0")).await;
        script.text("One");
        tab.until_text("One").await;
        Self { server, id, script, tab, turn: accepted["turnId"].clone() }
    }

    pub fn path(&self, rest: &str) -> String {
        format!("/api/conversations/{}/{rest}", self.id)
    }

    /// Reads on until the transcript reads so.
    pub async fn until(&mut self, texts: &[(&str, MessageStatus)]) {
        let wanted: Vec<(String, MessageStatus)> =
            texts.iter().map(|(text, status)| ((*text).to_owned(), *status)).collect();
        assert!(
            self.tab.until(|tab| texts_of(&tab.transcript) == wanted).await,
            "{:?}",
            texts_of(&self.tab.transcript)
        );
        self.reloads_alike().await;
    }

    /// A tab that was away since any of the ids that this one got reads the same.
    pub async fn reads_alike_from_every_cursor(&self) {
        let ids: Vec<u64> = self.tab.frames.iter().filter_map(|(id, _)| *id).collect();
        for (at, cursor) in ids.iter().enumerate() {
            let mut back = self.server.admin.watch(&self.path(&format!("frames?after={cursor}"))).await;
            let held = self.tab.frames.iter().take_while(|(id, _)| id.is_none_or(|id| id <= *cursor));
            for (_, frame) in held {
                back.transcript.fold(frame.clone());
            }
            let here = self.tab.transcript.clone();
            assert!(back.until(|tab| tab.transcript.entries() == here.entries()).await, "from the {at}th id, {cursor}");
        }
    }

    /// A tab that is opened now, one that was away all the time, and this one read the same.
    async fn reloads_alike(&mut self) {
        let page = self.server.admin.get(&self.path("messages")).await.expect(StatusCode::OK).await;
        let items: Vec<Message> = serde_json::from_value(page["items"].clone()).unwrap();
        assert_eq!(Transcript::of(items).entries(), self.tab.transcript.entries(), "a reload");
        let mut away = self.server.admin.watch(&self.path("frames?after=0")).await;
        let here = self.tab.transcript.clone();
        assert!(
            away.until(|tab| tab.transcript.entries() == here.entries()).await,
            "a replay: {away:?}",
            away = away.transcript
        );
    }
}

pub fn texts_of(transcript: &Transcript) -> Vec<(String, MessageStatus)> {
    let text = |message: &hamlet_actors::vocabulary::Entry| {
        hamlet_actors::vocabulary::Body { parts: message.parts.clone(), ..Default::default() }.text()
    };
    transcript.entries().iter().map(|entry| (text(entry), entry.status)).collect()
}

pub async fn say(client: &Client, id: &str, body: Value) -> Value {
    client.post(&format!("/api/conversations/{id}/messages"), body).await.expect(StatusCode::ACCEPTED).await
}

use MessageStatus::{Aborted, Complete, Queued, Running};

#[tokio::test]
async fn a_text_that_waits_is_seen_by_every_tab_and_taken_up_when_the_reply_is_complete() {
    let mut scene = Scene::new().await;
    let queued = say(&scene.server.admin, &scene.id, json!({"text": "Second", "onBusy": "enqueue"})).await;
    scene.until(&[("First", Complete), ("One", Running), ("Second", Queued)]).await;
    let page = scene.server.admin.get(&scene.path("messages")).await.expect(StatusCode::OK).await;
    assert_eq!(page["turn"]["id"], scene.turn);
    assert_eq!(page["turn"]["queue"]["paused"], false);
    assert_eq!(page["turn"]["queue"]["items"][0]["turnId"], queued["turnId"]);
    let next = scene.server.provider.expect();
    scene.script.finish();
    next.text("Two");
    next.finish();
    scene.until(&[("First", Complete), ("One", Complete), ("Second", Complete), ("Two", Complete)]).await;
    let asked = scene.server.provider.asked(1).await;
    assert!(format!("{asked:?}").contains("Second"));
    let page = scene.server.admin.get(&scene.path("messages")).await.expect(StatusCode::OK).await;
    assert_eq!((&page["turn"], &page["items"][3]["id"]), (&Value::Null, &queued["messageId"]));
}

#[tokio::test]
async fn the_stream_of_a_text_that_waits_ends_with_its_own_turn() {
    let scene = Scene::new().await;
    let mut stream =
        scene.server.admin.stream(&scene.path("messages"), json!({"text": "Second", "onBusy": "enqueue"})).await;
    let next = scene.server.provider.expect();
    scene.script.finish();
    next.text("Two");
    next.finish();
    stream.to_end().await;
    assert_eq!(stream.last_text(), "Two");
}

#[tokio::test]
async fn after_stop_what_waits_is_paused_also_across_a_restart_and_goes_on_when_told() {
    let mut scene = Scene::new().await;
    say(&scene.server.admin, &scene.id, json!({"text": "Second", "onBusy": "enqueue"})).await;
    scene.server.admin.post(&scene.path("abort"), json!({"turnId": scene.turn})).await.expect(StatusCode::OK).await;
    scene.until(&[("First", Complete), ("One", Aborted), ("Second", Queued)]).await;
    let Scene { server, id, tab, .. } = scene;
    let server = server.restarted().await;
    let page = server.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await;
    assert_eq!((&page["turn"]["id"], &page["turn"]["queue"]["paused"]), (&Value::Null, &json!(true)));
    let mut again = server.admin.watch(&format!("/api/conversations/{id}/frames?after={}", tab.last_id.unwrap())).await;
    again.transcript = tab.transcript;
    let script = server.provider.expect();
    let path = format!("/api/conversations/{id}/queue/resume");
    let resumed = server.admin.post(&path, json!({})).await.expect(StatusCode::ACCEPTED).await;
    assert_eq!(resumed["turnId"], page["turn"]["queue"]["items"][0]["turnId"]);
    script.text("Two");
    script.finish();
    again.until_text("Two").await;
    assert!(again.until(|tab| tab.terminal_frames() == 1).await);
    let end = [("First", Complete), ("One", Aborted), ("Second", Complete), ("Two", Complete)];
    assert_eq!(texts_of(&again.transcript), end.map(|(text, status)| (text.to_owned(), status)));
    let nothing = server.admin.post(&path, json!({})).await.expect(StatusCode::OK).await;
    assert_eq!(nothing, json!({"turnId": null}));
}

#[tokio::test]
async fn a_text_that_waits_is_edited_in_place_and_withdrawn() {
    let mut scene = Scene::new().await;
    for text in ["Second", "Third"] {
        say(&scene.server.admin, &scene.id, json!({"text": text, "onBusy": "enqueue"})).await;
    }
    scene.until(&[("First", Complete), ("One", Running), ("Second", Queued), ("Third", Queued)]).await;
    let page = scene.server.admin.get(&scene.path("messages")).await.expect(StatusCode::OK).await;
    let message = |n: usize| format!("/api/messages/{}", page["items"][n]["id"].as_str().unwrap());
    let admin = scene.server.admin.clone();
    let edit = async |path: String, text: &str| admin.send(Method::PATCH, &path, json!({"text": text})).await;
    edit(message(2), "Other").await.expect(StatusCode::NO_CONTENT).await;
    scene.server.admin.send(Method::DELETE, &message(3), json!({})).await.expect(StatusCode::NO_CONTENT).await;
    assert_eq!(edit(message(2), " ").await.refused(StatusCode::BAD_REQUEST).await, "INVALID_BODY");
    assert_eq!(edit(message(1), "Not mine").await.refused(StatusCode::CONFLICT).await, "CONFLICT");
    let gone = scene.server.admin.send(Method::DELETE, &message(3), json!({})).await;
    assert_eq!(gone.refused(StatusCode::CONFLICT).await, "NOT_QUEUED");
    let said = scene.server.admin.send(Method::DELETE, &message(0), json!({})).await;
    assert_eq!(said.refused(StatusCode::CONFLICT).await, "NOT_QUEUED");
    let stranger = scene.server.player("Wren").await;
    let foreign = stranger.send(Method::PATCH, &message(2), json!({"text": "Mine"})).await;
    assert_eq!(foreign.refused(StatusCode::NOT_FOUND).await, "NOT_FOUND");
    scene.until(&[("First", Complete), ("One", Running), ("Other", Queued)]).await;
}

#[tokio::test]
async fn stop_by_its_turn_withdraws_what_waits() {
    let mut scene = Scene::new().await;
    let mut stream =
        scene.server.admin.stream(&scene.path("messages"), json!({"text": "Second", "onBusy": "enqueue"})).await;
    stream.until_text("Second").await;
    let turn = serde_json::to_value(stream.transcript.entries().last().unwrap().turn_id).unwrap();
    let aborted =
        scene.server.admin.post(&scene.path("abort"), json!({"turnId": turn})).await.expect(StatusCode::OK).await;
    assert_eq!(aborted, json!({"aborted": true, "turnId": turn}));
    stream.to_end().await;
    scene.until(&[("First", Complete), ("One", Running)]).await;
}

#[tokio::test]
async fn interrupt_keeps_what_was_said_and_begins() {
    let mut scene = Scene::new().await;
    let next = scene.server.provider.expect();
    let begun = say(&scene.server.admin, &scene.id, json!({"text": "No, this", "onBusy": "interrupt"})).await;
    scene.script.closed().await;
    next.text("Two");
    next.finish();
    scene.until(&[("First", Complete), ("One", Aborted), ("No, this", Complete), ("Two", Complete)]).await;
    let stale = scene.server.admin.post(&scene.path("abort"), json!({"turnId": scene.turn})).await;
    assert_eq!(stale.expect(StatusCode::OK).await["aborted"], false);
    assert_ne!(begun["turnId"], scene.turn);
}

#[tokio::test]
async fn a_repeat_of_a_text_that_waits_joins_it_and_is_not_said_twice() {
    let mut scene = Scene::new().await;
    let send = || {
        let request = scene.server.admin.request(Method::POST, &scene.path("messages")).header("idempotency-key", "k1");
        let request = request.header("accept", "application/json");
        request.json(&json!({"text": "Second", "onBusy": "enqueue"})).send()
    };
    let (first, second) = tokio::join!(send(), send());
    let first: Value = first.unwrap().json().await.unwrap();
    let second: Value = second.unwrap().json().await.unwrap();
    assert_eq!(first, second);
    let third: Value = send().await.unwrap().json().await.unwrap();
    assert_eq!(first, third);
    scene.until(&[("First", Complete), ("One", Running), ("Second", Queued)]).await;
}

#[tokio::test]
async fn an_npc_that_cannot_answer_any_more_leaves_the_text_waiting_with_the_reason() {
    let mut scene = Scene::new().await;
    say(&scene.server.admin, &scene.id, json!({"text": "Second", "onBusy": "enqueue"})).await;
    let body = json!({"npcIds": []});
    scene.server.admin.send(Method::PUT, &scene.path("participants"), body).await.expect(StatusCode::OK).await;
    scene.script.finish();
    let told = |tab: &Events| tab.transcript.entries().last().unwrap().error.is_some();
    assert!(scene.tab.until(told).await);
    scene.until(&[("First", Complete), ("One", Complete), ("Second", Queued)]).await;
    let refused = scene.server.admin.post(&scene.path("queue/resume"), json!({})).await;
    assert_eq!(refused.refused(StatusCode::BAD_REQUEST).await, "NO_NPC");
}

#[tokio::test]
async fn so_many_texts_wait_and_the_next_is_told_so() {
    let scene = Scene::new().await;
    for n in 0..20 {
        say(&scene.server.admin, &scene.id, json!({"text": format!("{n}"), "onBusy": "enqueue"})).await;
    }
    let one_more = json!({"text": "More", "onBusy": "enqueue"});
    let refused = scene.server.admin.post(&scene.path("messages"), one_more).await;
    assert_eq!(refused.refused(StatusCode::TOO_MANY_REQUESTS).await, "QUEUE_FULL");
}

#[tokio::test]
async fn an_edit_begins_a_branch_and_the_old_one_can_come_back() {
    let mut scene = Scene::new().await;
    let page = scene.server.admin.get(&scene.path("messages")).await.expect(StatusCode::OK).await;
    let first = page["items"][0]["id"].as_str().unwrap().to_owned();
    let admin = scene.server.admin.clone();
    let edit = |text: &'static str| {
        let request = admin.request(Method::PATCH, &format!("/api/messages/{first}"));
        request.header("accept", "application/json").json(&json!({"text": text})).send()
    };
    let busy = edit("Too soon").await.unwrap();
    assert_eq!(busy.status(), StatusCode::CONFLICT, "while a reply is written, what was said stays");
    scene.script.finish();
    assert!(scene.tab.until(|tab| tab.terminal_frames() == 1).await);
    let script = scene.server.provider.expect();
    let branched = edit("Rather this").await.unwrap();
    assert_eq!(branched.status(), StatusCode::ACCEPTED);
    script.text("Another");
    script.finish();
    scene.until(&[("Rather this", Complete), ("Another", Complete)]).await;
    assert!(!format!("{:?}", scene.server.provider.asked(1).await.items).contains("First"));
    let page = scene.server.admin.get(&scene.path("messages")).await.expect(StatusCode::OK).await;
    assert_eq!(page["items"][0]["variantCount"], 2);
    let gone = edit("It left").await.unwrap();
    assert_eq!(gone.status(), StatusCode::CONFLICT);
    let select = |id: &str| format!("/api/messages/{id}/select");
    scene.server.admin.post(&select(&first), json!({})).await.expect(StatusCode::NO_CONTENT).await;
    scene.until(&[("First", Complete), ("One", Complete)]).await;
    let second = page["items"][0]["id"].as_str().unwrap().to_owned();
    scene.server.admin.post(&select(&second), json!({})).await.expect(StatusCode::NO_CONTENT).await;
    scene.until(&[("Rather this", Complete), ("Another", Complete)]).await;
    let script = scene.server.provider.expect();
    say(&scene.server.admin, &scene.id, json!({"text": "And now"})).await;
    script.text("On");
    script.finish();
    scene.until(&[("Rather this", Complete), ("Another", Complete), ("And now", Complete), ("On", Complete)]).await;
    let asked = format!("{:?}", scene.server.provider.asked(2).await.items);
    assert!(asked.contains("Rather this") && !asked.contains("First"), "{asked}");
    scene.server.admin.post(&select(&first), json!({})).await.expect(StatusCode::NO_CONTENT).await;
    scene.until(&[("First", Complete), ("One", Complete)]).await;
    scene.server.admin.post(&select(&second), json!({})).await.expect(StatusCode::NO_CONTENT).await;
    scene.until(&[("Rather this", Complete), ("Another", Complete), ("And now", Complete), ("On", Complete)]).await;
}

#[tokio::test]
async fn a_reply_that_was_made_anew_can_come_back_as_it_had_ended() {
    let mut scene = Scene::new().await;
    scene.server.admin.post(&scene.path("abort"), json!({"turnId": scene.turn})).await.expect(StatusCode::OK).await;
    let script = scene.server.provider.expect();
    scene.server.admin.post(&scene.path("regenerate"), json!({})).await.expect(StatusCode::ACCEPTED).await;
    script.text("Anew");
    script.finish();
    scene.until(&[("First", Complete), ("Anew", Complete)]).await;
    let page = scene.server.admin.get(&scene.path("messages")).await.expect(StatusCode::OK).await;
    let anew = page["items"][1]["id"].as_str().unwrap();
    let variants = scene.server.admin.get(&format!("/api/messages/{anew}/variants")).await.expect(StatusCode::OK).await;
    let old = variants["items"][0]["id"].as_str().unwrap();
    let select = format!("/api/messages/{old}/select");
    scene.server.admin.post(&select, json!({})).await.expect(StatusCode::NO_CONTENT).await;
    scene.until(&[("First", Complete), ("One", Aborted)]).await;
    scene.server.admin.post(&select, json!({})).await.expect(StatusCode::NO_CONTENT).await;
}

#[tokio::test]
async fn while_a_reply_is_written_regenerate_and_select_are_refused_and_deleting_ends_everything() {
    let mut scene = Scene::new().await;
    let regenerate = scene.server.admin.post(&scene.path("regenerate"), json!({})).await;
    assert_eq!(regenerate.refused(StatusCode::CONFLICT).await, "TURN_IN_PROGRESS");
    say(&scene.server.admin, &scene.id, json!({"text": "Second", "onBusy": "enqueue"})).await;
    let path = format!("/api/conversations/{}", scene.id);
    scene.server.admin.send(Method::DELETE, &path, json!({})).await.expect(StatusCode::NO_CONTENT).await;
    scene.tab.to_end().await;
    scene.script.closed().await;
    let resume = scene.server.admin.post(&scene.path("queue/resume"), json!({})).await;
    assert_eq!(resume.refused(StatusCode::NOT_FOUND).await, "NOT_FOUND");
    assert_eq!(scene.server.provider.times_asked(), 1, "what waited is not said");
}

#[tokio::test]
async fn a_waiting_text_outlives_the_end_of_its_turns_stream_in_any_cursor() {
    let mut scene = Scene::new().await;
    say(&scene.server.admin, &scene.id, json!({"text": "Second", "onBusy": "enqueue"})).await;
    scene.until(&[("First", Complete), ("One", Running), ("Second", Queued)]).await;
    let next = scene.server.provider.expect();
    scene.script.text(" more");
    scene.script.finish();
    next.text("Two");
    next.finish();
    scene.until(&[("First", Complete), ("One more", Complete), ("Second", Complete), ("Two", Complete)]).await;
    scene.reads_alike_from_every_cursor().await;
}

#[tokio::test]
async fn what_runs_and_what_waits_is_told_with_any_page() {
    let scene = Scene::new().await;
    say(&scene.server.admin, &scene.id, json!({"text": "Second", "onBusy": "enqueue"})).await;
    for page in ["messages?limit=1", "messages?limit=2"] {
        let page = scene.server.admin.get(&scene.path(page)).await.expect(StatusCode::OK).await;
        assert_eq!((&page["turn"]["id"], &page["turn"]["queue"]["paused"]), (&scene.turn, &json!(false)));
    }
}

#[tokio::test]
async fn a_repeated_edit_of_what_waited_is_not_a_second_edit_of_what_was_said() {
    let mut scene = Scene::new().await;
    say(&scene.server.admin, &scene.id, json!({"text": "Second", "onBusy": "enqueue"})).await;
    let page = scene.server.admin.get(&scene.path("messages")).await.expect(StatusCode::OK).await;
    let path = format!("/api/messages/{}", page["turn"]["queue"]["items"][0]["messageId"].as_str().unwrap());
    let admin = scene.server.admin.clone();
    let edit = || {
        let request = admin.request(Method::PATCH, &path).header("idempotency-key", "e1");
        request.header("accept", "application/json").json(&json!({"text": "Other"})).send()
    };
    let at_once = futures_util::future::join_all((0..20).map(|_| edit())).await;
    for answer in at_once {
        assert_eq!(answer.unwrap().status(), StatusCode::NO_CONTENT);
    }
    let next = scene.server.provider.expect();
    scene.script.finish();
    next.text("Two");
    next.finish();
    scene.until(&[("First", Complete), ("One", Complete), ("Other", Complete), ("Two", Complete)]).await;
    assert_eq!(edit().await.unwrap().status(), StatusCode::NO_CONTENT, "as it was answered when it waited");
    assert_eq!(scene.server.provider.times_asked(), 2);
    scene.until(&[("First", Complete), ("One", Complete), ("Other", Complete), ("Two", Complete)]).await;
}

/// Somebody who is told which turn runs may wait for it, stop it, or look for its reply.
#[tokio::test]
async fn a_regenerate_that_must_be_read_anew_keeps_the_turn_that_others_were_told_of() {
    let mut scene = Scene::new().await;
    scene.script.finish();
    scene.until(&[("First", Complete), ("One", Complete)]).await;
    let first = scene.tab.transcript.entries()[1].id;
    let second = scene.server.provider.expect();
    scene.server.admin.post(&scene.path("regenerate"), json!({})).await.expect(StatusCode::ACCEPTED).await;
    second.text("Two");
    second.finish();
    scene.until(&[("First", Complete), ("Two", Complete)]).await;
    let held = scene.server.journal.hold(Point::Enqueue);
    let (admin, path) = (scene.server.admin.clone(), format!("/api/messages/{first}/select"));
    let selecting = tokio::spawn(async move { admin.post(&path, json!({})).await });
    let held = held.await.unwrap();
    let (admin, path) = (scene.server.admin.clone(), scene.path("regenerate"));
    let again = scene.server.provider.expect();
    let regenerating = tokio::spawn(async move { admin.post(&path, json!({})).await });
    let actor = format!("/admin/actors/{}", scene.id);
    while scene.server.admin.get(&actor).await.expect(StatusCode::OK).await["mailbox"]["depth"] != 2 {
        tokio::task::yield_now().await;
    }
    let refused = scene.server.admin.post(&scene.path("messages"), json!({"text": "Me too"})).await;
    let told = refused.expect(StatusCode::CONFLICT).await["error"]["details"]["turnId"].clone();
    held.release();
    selecting.await.unwrap().expect(StatusCode::NO_CONTENT).await;
    let regenerated = regenerating.await.unwrap().expect(StatusCode::ACCEPTED).await;
    assert_eq!(regenerated["turnId"], told);
    again.finish();
}
