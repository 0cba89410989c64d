//! One Conversation over a WebSocket.

use std::time::Duration;

use hamlet_actors::vocabulary::{Frame, Transcript};
use hamlet_test_support::{Client, Socket, StoppedClock, TestServer};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

/// A little more than the server waits between its pings: timers are rounded up.
const HEARTBEAT: Duration = Duration::from_millis(15_010);

async fn open(server: &TestServer, id: &str, query: &str) -> Socket {
    Socket::open(&server.admin, &ws(id, query)).await.unwrap()
}

fn ws(id: &str, query: &str) -> String {
    format!("/api/conversations/{id}/ws{query}")
}

fn messages(id: &str) -> String {
    format!("/api/conversations/{id}/messages")
}

async fn stored(server: &TestServer, id: &str) -> Value {
    server.admin.get(&messages(id)).await.expect(StatusCode::OK).await
}

async fn answered(server: &TestServer, id: &str, path: &str, text: &str) {
    let script = server.provider.expect();
    let body = if path == "messages" { json!({"text": "Hi"}) } else { json!({}) };
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/{path}"), body).await;
    script.text(text);
    script.finish();
    stream.to_end().await;
}

fn parts(transcript: &Transcript) -> Value {
    let entries = json!(transcript.entries());
    entries.as_array().unwrap().iter().map(|entry| entry["parts"].clone()).collect()
}

fn stored_parts(stored: &Value) -> Value {
    stored["items"].as_array().unwrap().iter().map(|item| item["parts"].clone()).collect()
}

#[tokio::test]
async fn a_turn_over_a_socket_is_answered_like_a_post_and_shown_like_a_watch() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let script = server.provider.expect();
    let mut socket = open(&server, &id, "").await;
    assert!(socket.until(|socket| socket.cursor == Some(0)).await);
    let answer = socket.ask(json!({"op": "turn", "requestId": "1", "text": "Hi", "clientId": "tab-1"})).await;
    assert_eq!(answer["status"], 202);
    script.text("Hello ");
    assert!(socket.until(|socket| socket.text() == "Hello ").await);
    script.text("there.");
    script.finish();
    let terminal = |socket: &Socket| socket.frames.iter().any(|(_, frame)| json!(frame)["turn"]["state"] == "ended");
    assert!(socket.until(terminal).await);
    let stored = stored(&server, &id).await;
    assert_eq!(parts(&socket.transcript), stored_parts(&stored));
    assert_eq!(json!(socket.cursor), stored["cursor"]);
    assert_eq!(
        answer["result"],
        json!({"turnId": stored["items"][1]["turnId"], "messageId": stored["items"][1]["id"], "cursor": 0})
    );
    assert_eq!(stored["items"][0]["clientId"], "tab-1");
    assert!(socket.frames.iter().all(|(cursor, _)| cursor.is_some()), "each live frame moves the cursor");
}

/// Promise 6: whichever message was the last that came, its cursor continues without gap or double.
#[tokio::test]
async fn promise_6_a_socket_that_is_cut_anywhere_resumes_from_its_cursor() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    answered(&server, &id, "messages", "one").await;
    answered(&server, &id, "regenerate", "two").await;
    answered(&server, &id, "messages", "three").await;
    let end = stored(&server, &id).await["cursor"].as_u64();
    let mut whole = open(&server, &id, "?after=0").await;
    assert!(whole.until(|socket| socket.cursor == end).await);
    for cut in 0..=whole.frames.len() {
        let (mut transcript, mut cursor) = (Transcript::default(), 0);
        for (seq, frame) in &whole.frames[..cut] {
            transcript.fold(frame.clone());
            cursor = seq.unwrap_or(cursor);
        }
        let mut rest = open(&server, &id, &format!("?after={cursor}")).await;
        rest.transcript = transcript;
        assert!(rest.until(|socket| socket.cursor == end).await);
        assert_eq!(rest.transcript.entries(), whole.transcript.entries(), "cut at {cut}");
    }
    assert!(whole.frames.iter().any(|(cursor, frame)| cursor.is_none() && matches!(frame, Frame::Start(_))));
}

#[tokio::test]
async fn what_refuses_a_post_refuses_a_turn_over_a_socket_in_the_same_words() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    server.admin.post(&messages(&id), json!({"text": "Hi"})).await.expect(StatusCode::ACCEPTED).await;
    let mut socket = open(&server, &id, "").await;
    let long = "a".repeat(32_769);
    for body in [
        json!({"text": "Hi"}),
        json!({"text": ""}),
        json!({"text": long}),
        json!({"text": "Hi", "to": "01890000-0000-7000-8000-000000000000"}),
        json!({"text": "Hi", "clientId": ""}),
    ] {
        let answer = server.admin.post(&messages(&id), body.clone()).await;
        let status = answer.0.status();
        let mut posted = answer.expect(status).await["error"].clone();
        posted.as_object_mut().unwrap().remove("requestId");
        let mut request = json!({"op": "turn", "requestId": "1"});
        request.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        let told = socket.ask(request).await;
        assert_eq!(told, json!({"requestId": "1", "status": status.as_u16(), "error": posted}));
    }
    for body in [
        json!({}),
        json!({"text": 7}),
        json!({"text": "Hi", "colour": "red"}),
        json!({"text": "Hi", "idempotencyKey": 7}),
    ] {
        let mut request = json!({"op": "turn", "requestId": "2"});
        request.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        let told = socket.ask(request).await;
        assert_eq!((&told["status"], &told["error"]["code"]), (&json!(400), &json!("INVALID_BODY")), "{told}");
    }
    assert_eq!(stored(&server, &id).await["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_repeat_under_one_key_joins_the_first_turn_over_a_socket_and_over_http() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let mut socket = open(&server, &id, "").await;
    let request = |id: &str, text: &str| json!({"op": "turn", "requestId": id, "idempotencyKey": "k1", "text": text});
    let first = socket.ask(request("1", "Hi")).await;
    assert_eq!(socket.ask(request("2", "Hi")).await["result"], first["result"]);
    let posted = server.admin.request(Method::POST, &messages(&id)).header("accept", "application/json");
    let posted = posted.header("idempotency-key", "k1").json(&json!({"text": "Hi"})).send().await.unwrap();
    assert_eq!(posted.json::<Value>().await.unwrap(), first["result"]);
    let other = socket.ask(request("3", "Ho")).await;
    assert_eq!((&other["status"], &other["error"]["code"]), (&json!(422), &json!("IDEMPOTENCY_MISMATCH")));
}

#[tokio::test]
async fn a_stop_over_a_socket_names_its_turn_and_is_answered_once_the_end_is_stored() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let mut script = server.provider.expect();
    let mut socket = open(&server, &id, "").await;
    let begun = socket.ask(json!({"op": "turn", "requestId": "1", "text": "Hi"})).await;
    script.text("Half");
    assert!(socket.until(|socket| socket.text() == "Half").await);
    let stale = json!({"op": "abort", "requestId": "2", "turnId": "01890000-0000-7000-8000-000000000000"});
    let stale = socket.ask(stale).await;
    assert_eq!((&stale["status"], &stale["error"]["code"]), (&json!(409), &json!("TURN_MISMATCH")));
    assert_eq!(stale["error"]["details"]["turnId"], begun["result"]["turnId"]);
    let stopped = socket.ask(json!({"op": "abort", "requestId": "3", "turnId": begun["result"]["turnId"]})).await;
    assert_eq!(stopped["status"], 200);
    assert_eq!(stopped["result"], json!({"aborted": true, "turnId": begun["result"]["turnId"]}));
    assert_eq!(stored(&server, &id).await["items"][1]["status"], "aborted");
    script.closed().await;
    let idle = socket.ask(json!({"op": "abort", "requestId": "4"})).await;
    assert_eq!(idle["result"]["aborted"], false);
}

#[tokio::test]
async fn what_cannot_be_read_or_is_not_leased_is_answered_and_the_socket_goes_on() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let mut socket = open(&server, &id, "").await;
    for junk in ["", "{", "[]", "7", r#"{"op":"turn","text":"Hi"}"#, r#"{"op":"turn","requestId":7,"text":"Hi"}"#] {
        socket.send_raw(Message::text(junk)).await;
        let told = socket.answer(&Value::Null).await;
        assert_eq!((&told["status"], &told["error"]["code"]), (&json!(400), &json!("INVALID_BODY")), "{junk}: {told}");
    }
    socket.send_raw(Message::binary(br#"{"op":"abort","requestId":"1"}"#.to_vec())).await;
    assert_eq!(socket.answer(&Value::Null).await["status"], 400);
    for op in [json!("sing"), json!(null), json!(7)] {
        let told = socket.ask(json!({"op": op, "requestId": "1"})).await;
        assert_eq!((&told["status"], &told["error"]["code"]), (&json!(400), &json!("INVALID_BODY")));
    }
    for (body, code) in [
        (json!({"op": "toolResult", "requestId": "2", "toolCallId": "c", "clientId": "tab"}), "NOT_LEASED"),
        (json!({"op": "approve", "requestId": "2", "toolCallId": "c", "decision": "deny"}), "NOT_AWAITING"),
    ] {
        let told = socket.ask(body).await;
        assert_eq!((&told["status"], &told["error"]["code"]), (&json!(409), &json!(code)));
    }
    let script = server.provider.expect();
    assert_eq!(socket.ask(json!({"op": "turn", "requestId": "3", "text": "Hi"})).await["status"], 202);
    script.text("Still here.");
    assert!(socket.until(|socket| socket.text() == "Still here.").await);
}

#[tokio::test]
async fn a_socket_is_refused_before_it_opens() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let nobody = Client::new(server.address);
    let other = server.player("Quill").await;
    let absent = ws("01890000-0000-7000-8000-000000000000", "");
    for (client, path, origin, status) in [
        (&nobody, ws(&id, ""), None, 401),
        (&other, ws(&id, ""), None, 404),
        (&server.admin, absent, None, 404),
        (&server.admin, ws(&id, "?after=x"), None, 400),
        (&server.admin, ws(&id, ""), Some("https://evil.example"), 403),
        (&server.admin, ws(&id, ""), Some("null"), 403),
    ] {
        let refused = Socket::from_page(client, &path, origin).await.err();
        assert_eq!(refused, Some(status), "{path} from {origin:?}");
    }
    let own = format!("http://{}", server.address);
    assert!(Socket::from_page(&server.admin, &ws(&id, ""), Some(&own)).await.is_ok());
    let plain = server.admin.get(&ws(&id, "")).await.refused(StatusCode::BAD_REQUEST).await;
    assert_eq!(plain, "INVALID_BODY");
}

#[tokio::test]
async fn a_deleted_conversation_closes_its_sockets_with_4404() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let mut socket = open(&server, &id, "").await;
    assert!(socket.until(|socket| socket.cursor.is_some()).await);
    let deleted = server.admin.request(Method::DELETE, &format!("/api/conversations/{id}")).send().await.unwrap();
    assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
    socket.to_end().await;
    assert_eq!(socket.closed, Some(4404));
}

#[tokio::test]
async fn on_shutdown_a_socket_gets_its_turns_terminal_frame_and_1001() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let script = server.provider.expect();
    let mut socket = open(&server, &id, "").await;
    socket.ask(json!({"op": "turn", "requestId": "1", "text": "Hi"})).await;
    script.text("Half");
    assert!(socket.until(|socket| socket.text() == "Half").await);
    server.stop.cancel();
    socket.to_end().await;
    assert_eq!(socket.closed, Some(1001));
    let (_, last) = socket.frames.last().unwrap();
    assert_eq!(json!(last)["turn"]["state"], "ended");
    server.running.await.unwrap();
}

#[tokio::test]
async fn who_is_signed_out_is_refused_at_once_and_closed_with_4401_at_the_next_heartbeat() {
    let server = TestServer::start().await;
    let other = server.player("Quill").await;
    let id = server.conversation_of(&other).await;
    let mut socket = Socket::open(&other, &ws(&id, "")).await.unwrap();
    let clock = StoppedClock::new();
    clock.advance(HEARTBEAT).await;
    assert!(socket.until(|socket| socket.pings == 1).await);
    assert_eq!(other.post("/api/auth/sign-out", json!({})).await.0.status(), StatusCode::NO_CONTENT);
    let refused = socket.ask(json!({"op": "turn", "requestId": "1", "text": "Hi"})).await;
    assert_eq!((&refused["status"], &refused["error"]["code"]), (&json!(401), &json!("UNAUTHENTICATED")));
    clock.advance(HEARTBEAT).await;
    socket.to_end().await;
    assert_eq!(socket.closed, Some(4401));
}

#[tokio::test]
async fn a_peer_that_answers_pings_stays_and_one_that_is_silent_for_45_seconds_is_dropped() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let mut silent = open(&server, &id, "").await;
    let mut living = open(&server, &id, "").await;
    assert!(silent.until(|socket| socket.cursor.is_some()).await);
    let clock = StoppedClock::new();
    for pings in 1..=6 {
        assert_eq!(server.app.sockets.len(), if pings <= 3 { 2 } else { 1 });
        clock.advance(HEARTBEAT).await;
        assert!(living.until(|socket| socket.pings == pings).await);
        // The server has read what the living one answers before it answers this.
        living.ask(json!({"op": "abort", "requestId": "1"})).await;
    }
}

#[tokio::test]
async fn more_than_eight_requests_at_a_time_are_refused_and_the_eight_are_answered() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let mut socket = open(&server, &id, "").await;
    assert!(socket.until(|socket| socket.cursor.is_some()).await);
    // No request gets past the store while its readers are busy.
    let (go, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Arc::new(std::sync::Mutex::new(gate));
    let busy: Vec<_> = (0..64)
        .map(|_| {
            let (store, gate) = (server.app.store.clone(), gate.clone());
            tokio::spawn(async move {
                store
                    .read(move |_| {
                        assert!(gate.lock().unwrap().recv().is_err());
                        Ok(())
                    })
                    .await
            })
        })
        .collect();
    tokio::task::yield_now().await;
    for n in 0..9 {
        socket.send(json!({"op": "abort", "requestId": n.to_string()})).await;
    }
    let refused = socket.answer(&json!("8")).await;
    assert_eq!((&refused["status"], &refused["error"]["code"]), (&json!(429), &json!("MAILBOX_FULL")));
    assert_eq!(socket.answers, Vec::<Value>::new());
    drop(go);
    for n in 0..8 {
        assert_eq!(socket.answer(&json!(n.to_string())).await["status"], 200);
    }
    for read in busy {
        read.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_message_that_is_too_large_ends_the_socket() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let mut socket = open(&server, &id, "").await;
    let huge = format!(r#"{{"op":"turn","requestId":"1","text":"{}"}}"#, "a".repeat(2 << 20));
    socket.try_send(Message::text(huge)).await;
    socket.to_end().await;
    assert_eq!(stored(&server, &id).await["items"], json!([]));
    assert_eq!((server.provider.times_asked(), socket.answers), (0, Vec::<Value>::new()));
}
