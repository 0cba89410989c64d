//! The cursor: where a stream begins, what it repeats, when it ends.

use std::time::Duration;

use hamlet_actors::{
    ports::ProviderEvent,
    vocabulary::{Delta, Frame, Opaque, Transcript},
};
use hamlet_test_support::{Client, Events, Script, StoppedClock, TestServer};
use reqwest::StatusCode;
use serde_json::{Value, json};

/// A little more than the server waits between its comments: timers are rounded up.
const HEARTBEAT: Duration = Duration::from_millis(15_010);

fn frames(id: &str) -> String {
    format!("/api/conversations/{id}/frames")
}

async fn stored(server: &TestServer, id: &str) -> Value {
    server.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await
}

/// Asks for a turn and plays it; the stream is read to its end.
async fn turn(server: &TestServer, id: &str, path: &str, play: impl AsyncFnOnce(&Script, &mut Events)) {
    let script = server.provider.expect();
    let body = if path == "messages" { json!({"text": "Hi"}) } else { json!({}) };
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/{path}"), body).await;
    play(&script, &mut stream).await;
    stream.to_end().await;
}

async fn says(server: &TestServer, id: &str, path: &str, text: &str) {
    turn(server, id, path, async |script, _| {
        script.text(text);
        script.finish();
    })
    .await;
}

/// What a reader has at each cursor that it held, the place before its first frame included.
fn held(live: &Events) -> Vec<(u64, Transcript)> {
    let (mut states, mut transcript) = (vec![(0, Transcript::default())], Transcript::default());
    for (id, frame) in &live.frames {
        transcript.fold(frame.clone());
        states.extend(id.map(|id| (id, transcript.clone())));
    }
    states
}

async fn assert_all_resume(server: &TestServer, id: &str, held: &[(u64, Transcript)], when: &str) {
    let end = stored(server, id).await;
    let expected: Vec<Value> = end["items"].as_array().unwrap().iter().map(|item| item["parts"].clone()).collect();
    for (cursor, transcript) in held {
        let mut rest = server.admin.watch(&format!("{}?after={cursor}", frames(id))).await;
        rest.transcript = transcript.clone();
        assert!(rest.until(|events| json!(events.last_id) == end["cursor"]).await);
        let parts: Vec<Value> = rest.transcript.entries().iter().map(|entry| json!(entry.parts)).collect();
        assert_eq!(parts, expected, "from {cursor}, {when}");
    }
}

/// Promise 6, for every cursor that a tab ever held: in the middle of pieces, before and behind replies that were superseded
/// twice, an error, a stop; while the log has it, when only the store has it, and after a restart.
#[tokio::test]
async fn promise_6_every_cursor_that_was_ever_held_leads_to_the_same_transcript() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let mut live = server.admin.watch(&format!("{}?after=0", frames(&id))).await;
    turn(&server, &id, "messages", async |script, stream| {
        script.events(vec![ProviderEvent::Delta(Delta::Reasoning("Hm. ".to_owned()))]);
        let opaque = Opaque { signature: Some("s".to_owned()), ..Opaque::default() };
        script.events(vec![ProviderEvent::Delta(Delta::Opaque(opaque))]);
        for said in ["One ", "One \"two\" ", "One \"two\" \u{1F600}"] {
            let piece = said.split_inclusive(' ').next_back().unwrap();
            script.text(piece);
            stream.until_text(said).await;
        }
        script.finish();
    })
    .await;
    says(&server, &id, "regenerate", "Second.").await;
    says(&server, &id, "regenerate", "Third.").await;
    turn(&server, &id, "messages", async |script, stream| {
        script.text("Half of it");
        stream.until_text("Half of it").await;
        script.fail();
    })
    .await;
    let script = server.provider.expect();
    server
        .admin
        .post(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"}))
        .await
        .expect(StatusCode::ACCEPTED)
        .await;
    script.text("Stopped");
    assert!(live.until(|events| events.last_text() == "Stopped").await);
    let held_in_mid_reply = held(&live);
    assert_all_resume(&server, &id, &held_in_mid_reply, "in mid-reply").await;
    server.admin.post(&format!("/api/conversations/{id}/abort"), json!({})).await.expect(StatusCode::OK).await;
    assert!(live.until(|events| events.terminal_frames() == 5).await);
    let held = held(&live);
    assert_all_resume(&server, &id, &held, "from the log").await;
    let log = server.app.engine.log(id.parse().unwrap()).await.unwrap();
    while log.floor() != log.head() {
        tokio::task::yield_now().await;
    }
    assert_all_resume(&server, &id, &held, "from the store").await;
    drop((log, live));
    let server = server.restarted().await;
    assert_all_resume(&server, &id, &held, "after a restart").await;
}

#[tokio::test]
async fn what_was_superseded_twice_while_a_tab_was_away_leaves_by_its_finish_alone() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    says(&server, &id, "messages", "First.").await;
    let away = stored(&server, &id).await["cursor"].clone();
    says(&server, &id, "regenerate", "Second.").await;
    says(&server, &id, "regenerate", "Third.").await;
    let server = server.restarted().await;
    let mut back = server.admin.watch(&format!("{}?after={away}", frames(&id))).await;
    assert!(back.until(|events| events.terminal_frames() > 0 && events.last_text() == "Third.").await);
    let told: Vec<String> = back
        .frames
        .iter()
        .map(|(id, frame)| format!("{} {}", name(frame), if id.is_some() { "id" } else { "-" }))
        .collect();
    assert_eq!(told, ["finish superseded id", "finish superseded id", "start -", "part -", "finish complete id"]);
}

fn name(frame: &Frame) -> String {
    let frame = json!(frame);
    let words = [&frame["type"], &frame["status"]];
    words.into_iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn a_failed_reply_is_replayed_with_its_error_and_only_the_last_event_moves_the_cursor() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    turn(&server, &id, "messages", async |script, stream| {
        script.text("Half");
        stream.until_text("Half").await;
        script.fail();
    })
    .await;
    let server = server.restarted().await;
    let mut back = server.admin.watch(&format!("{}?after=0", frames(&id))).await;
    assert!(back.until(|events| events.terminal_frames() == 1).await);
    let told: Vec<String> = back.frames.iter().map(|(id, frame)| format!("{} {}", name(frame), id.is_some())).collect();
    let player = ["start false", "part false", "finish complete true"];
    let npc = ["start false", "part false", "error false", "finish failed true"];
    assert_eq!(told, [&player[..], &npc[..]].concat());
}

#[tokio::test]
async fn without_a_cursor_a_running_turn_comes_from_its_beginning_and_else_what_comes_from_now_on() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    says(&server, &id, "messages", "Long ago.").await;
    let mut idle = server.admin.watch(&frames(&id)).await;
    assert!(idle.until(|events| events.last_id.is_some()).await);
    turn(&server, &id, "messages", async |script, stream| {
        script.text("One ");
        stream.until_text("One ").await;
        let mut late = server.admin.watch(&frames(&id)).await;
        late.until_text("One ").await;
        assert_eq!(late.transcript.entries().len(), 2, "the turn's own Messages and no other");
        script.text("two");
        late.until_text("One two").await;
        script.finish();
    })
    .await;
    idle.until_text("One two").await;
    assert_eq!(idle.transcript.entries().len(), 2);
}

#[tokio::test]
async fn a_quiet_stream_shows_a_sign_of_life_every_15_seconds() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    for path in [frames(&id), format!("/api/frames?watch={id}:")] {
        let mut watch = server.admin.watch(&path).await;
        assert!(watch.until(|events| events.raw.ends_with(b"\n\n")).await);
        let opening = watch.raw.len();
        let clock = StoppedClock::new();
        for beats in 1..4 {
            clock.advance(HEARTBEAT).await;
            assert!(watch.until(|events| events.raw[opening..] == b":\n\n".repeat(beats)).await);
        }
    }
}

#[tokio::test]
async fn the_streams_of_who_signs_out_end_at_the_next_heartbeat_and_nobody_elses() {
    let server = TestServer::start().await;
    let other = server.player("Quill").await;
    let (id, own) = (server.conversation_of(&other).await, server.conversation().await);
    let paths = |id: &str| [frames(id), format!("/api/frames?watch={id}:")];
    let open = async |client: &Client, path: &str| {
        let mut events = client.watch(path).await;
        assert!(events.until(|events| !events.raw.is_empty()).await);
        events
    };
    let mut ending = Vec::new();
    for path in paths(&id) {
        ending.push(open(&other, &path).await);
    }
    let mut staying = open(&server.admin, &paths(&own)[0]).await;
    let clock = StoppedClock::new();
    assert_eq!(other.post("/api/auth/sign-out", json!({})).await.0.status(), StatusCode::NO_CONTENT);
    clock.advance(HEARTBEAT).await;
    for mut events in ending {
        let seen = events.raw.len();
        events.to_end().await;
        assert_eq!(events.raw.len(), seen, "not even a sign of life");
    }
    assert!(staying.until(|events| events.raw.ends_with(b":\n\n")).await);
}
