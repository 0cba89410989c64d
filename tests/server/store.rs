//! A store that fails under a running server: what is told, what `/readyz` says, and that nothing is lost.

use std::{fs, time::Duration};

use hamlet_test_support::{Answer, Fault, Point, StoppedClock, TestServer};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

async fn say(server: &TestServer, id: &str, text: &str, key: Option<&str>) -> Answer {
    let request = server.admin.request(Method::POST, &format!("/api/conversations/{id}/messages"));
    let request = request.header("accept", "application/json").json(&json!({"text": text}));
    let request = match key {
        Some(key) => request.header("idempotency-key", key),
        None => request,
    };
    Answer(request.send().await.unwrap())
}

async fn messages(server: &TestServer, id: &str) -> Vec<Value> {
    let page = server.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await;
    page["items"].as_array().unwrap().clone()
}

async fn whole_turn(server: &TestServer, id: &str, text: &str) {
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": text})).await;
    script.text("Yes.");
    script.finish();
    stream.to_end().await;
    assert_eq!((stream.terminal_frames(), stream.last_text()), (1, "Yes.".to_owned()));
}

/// Once `/readyz` answers so; it looks once a second.
async fn ready(server: &TestServer, status: StatusCode) {
    let looking = async {
        while server.admin.get("/readyz").await.0.status() != status {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), looking).await.unwrap();
}

#[tokio::test]
async fn whoever_is_told_that_nobody_knows_finds_out_by_asking_again() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    server.journal.once(Point::Admission, Fault::UnknownLost);
    let refused = say(&server, &id, "Hello", Some("first")).await.expect(StatusCode::SERVICE_UNAVAILABLE).await;
    assert_eq!(refused["error"]["code"], "STORE_UNAVAILABLE");
    assert!(refused["error"]["message"].as_str().unwrap().contains("not known"), "{refused}");
    assert_eq!(messages(&server, &id).await, Vec::<Value>::new());
    server.provider.expect_no_more();
    let script = server.provider.expect();
    let accepted = say(&server, &id, "Hello", Some("first")).await.expect(StatusCode::ACCEPTED).await;
    script.text("Hello.");
    script.finish();
    let mut watch = server.admin.watch(&format!("/api/conversations/{id}/frames?after=0")).await;
    assert!(watch.until(|events| events.terminal_frames() == 1).await);
    assert_eq!(json!(watch.transcript.entries()[1].turn_id), accepted["turnId"]);
}

#[tokio::test]
async fn a_message_that_was_stored_after_all_is_not_stored_twice() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    server.journal.once(Point::Admission, Fault::UnknownStored);
    // The key tells at once that it is there.
    let joined = say(&server, &id, "Hello", Some("first")).await.expect(StatusCode::ACCEPTED).await;
    let repeated = say(&server, &id, "Hello", Some("first")).await.expect(StatusCode::ACCEPTED).await;
    assert_eq!(joined["turnId"], repeated["turnId"]);
    let mut watch = server.admin.watch(&format!("/api/conversations/{id}/frames?after=0")).await;
    assert!(watch.until(|events| events.terminal_frames() == 1).await);
    let stored = messages(&server, &id).await;
    assert_eq!(stored.len(), 2);
    assert_eq!((&stored[1]["status"], &stored[1]["turnId"]), (&json!("failed"), &joined["turnId"]));
    // Without a key it is for the Player to look.
    server.journal.once(Point::Admission, Fault::UnknownStored);
    let refused = say(&server, &id, "And this?", None).await.expect(StatusCode::SERVICE_UNAVAILABLE).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("not known"), "{refused}");
}

#[tokio::test]
async fn an_admission_that_is_rolled_back_says_that_nothing_was_kept() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    server.journal.once(Point::Admission, Fault::RolledBack);
    let refused = say(&server, &id, "Hello", None).await.expect(StatusCode::SERVICE_UNAVAILABLE).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("Nothing of this request was kept"), "{refused}");
    assert_eq!(messages(&server, &id).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_file_that_was_deleted_is_not_written_any_more() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    whole_turn(&server, &id, "Hello").await;
    ready(&server, StatusCode::OK).await;
    fs::remove_file(server.path().join("hamlet.db")).unwrap();
    ready(&server, StatusCode::SERVICE_UNAVAILABLE).await;
    assert_eq!(server.admin.get("/readyz").await.refused(StatusCode::SERVICE_UNAVAILABLE).await, "STORE_UNAVAILABLE");
    let refused = say(&server, &id, "Still there?", None).await;
    assert_eq!(refused.refused(StatusCode::SERVICE_UNAVAILABLE).await, "STORE_UNAVAILABLE");
    let made = server.admin.post("/api/conversations", json!({"npcIds": []})).await;
    assert_eq!(made.refused(StatusCode::SERVICE_UNAVAILABLE).await, "STORE_UNAVAILABLE");
    assert_eq!(messages(&server, &id).await.len(), 2, "what was said can still be read");
    assert_eq!(server.admin.get("/healthz").await.0.status(), StatusCode::OK);
    assert!(!server.path().join("hamlet.db").exists(), "no empty file takes its place");
}

#[tokio::test]
async fn a_folder_that_is_away_for_a_while_costs_no_word() {
    let outer = tempfile::tempdir().unwrap();
    let server = TestServer::start().await;
    let (id, idle) = (server.conversation().await, server.conversation().await);
    whole_turn(&server, &id, "Hello").await;
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": "Go on"})).await;
    script.text("One ");
    stream.until_text("One ").await;
    fs::rename(server.path(), outer.path().join("away")).unwrap();
    ready(&server, StatusCode::SERVICE_UNAVAILABLE).await;
    script.text("two ");
    script.finish();
    let refused = say(&server, &idle, "Still there?", None).await;
    assert_eq!(refused.refused(StatusCode::SERVICE_UNAVAILABLE).await, "STORE_UNAVAILABLE");
    assert_eq!(messages(&server, &id).await[3]["text"], "One ", "nothing is shown that is not stored");
    fs::rename(outer.path().join("away"), server.path()).unwrap();
    ready(&server, StatusCode::OK).await;
    stream.to_end().await;
    assert_eq!((stream.terminal_frames(), stream.last_text()), (1, "One two ".to_owned()));
    let restarted = server.restarted().await;
    let stored = messages(&restarted, &id).await;
    assert_eq!((&stored[3]["text"], &stored[3]["status"]), (&json!("One two "), &json!("complete")));
}

#[tokio::test]
async fn a_file_in_the_place_of_the_one_that_is_open_is_left_alone() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let path = server.path().join("hamlet.db");
    fs::rename(&path, server.path().join("aside")).unwrap();
    fs::write(&path, "another one").unwrap();
    ready(&server, StatusCode::SERVICE_UNAVAILABLE).await;
    let refused = say(&server, &id, "Hello", None).await;
    assert_eq!(refused.refused(StatusCode::SERVICE_UNAVAILABLE).await, "STORE_UNAVAILABLE");
    assert_eq!(fs::read_to_string(&path).unwrap(), "another one");
}

#[tokio::test]
async fn a_store_that_became_read_only_is_read_on() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    whole_turn(&server, &id, "Hello").await;
    // This change itself may still be committed, or not any more.
    drop(server.app.store.write(|conn| Ok(conn.pragma_update(None, "query_only", true)?)).await);
    ready(&server, StatusCode::SERVICE_UNAVAILABLE).await;
    let refused = say(&server, &id, "Hello", None).await.expect(StatusCode::SERVICE_UNAVAILABLE).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("Nothing of this request was kept"), "{refused}");
    assert_eq!(messages(&server, &id).await.len(), 2);
}

#[tokio::test]
async fn a_disk_that_hangs_keeps_nobody_who_asks_whether_the_store_is_ready() {
    let server = TestServer::start().await;
    let (go_on, held) = std::sync::mpsc::channel();
    let store = server.app.store.clone();
    let hanging = tokio::spawn(async move { store.write(move |_| Ok(held.recv().is_ok())).await });
    let clock = StoppedClock::new();
    let asker = server.admin.clone();
    let asking = tokio::spawn(async move { asker.get("/readyz").await.refused(StatusCode::SERVICE_UNAVAILABLE).await });
    // Sockets take their own time. From when it waits for the store its limit counts.
    while server.app.readiness.try_lock().is_ok() {
        tokio::task::yield_now().await;
    }
    clock.advance(Duration::from_secs(6)).await;
    let answered = tokio::time::timeout(Duration::from_secs(20), asking).await;
    assert_eq!(answered.unwrap().unwrap(), "STORE_UNAVAILABLE");
    go_on.send(()).unwrap();
    assert!(hanging.await.unwrap().unwrap());
}

#[tokio::test]
async fn whoever_waits_for_a_disk_that_hangs_is_told_that_nobody_knows() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let held = server.journal.hold(Point::Admission);
    let clock = StoppedClock::new();
    let saying = server.admin.request(Method::POST, &format!("/api/conversations/{id}/messages"));
    let saying = saying.header("accept", "application/json").json(&json!({"text": "Hello"}));
    let saying = tokio::spawn(async move { Answer(saying.send().await.unwrap()) });
    let batch = held.await.unwrap();
    for _ in 0..31 {
        clock.advance(Duration::from_secs(1)).await;
    }
    let answered = tokio::time::timeout(Duration::from_secs(20), saying).await;
    let refused = answered.unwrap().unwrap().expect(StatusCode::SERVICE_UNAVAILABLE).await;
    assert_eq!(refused["error"]["code"], "STORE_UNAVAILABLE");
    assert!(refused["error"]["message"].as_str().unwrap().contains("not known"), "{refused}");
    drop(clock);
    batch.release();
    let mut watch = server.admin.watch(&format!("/api/conversations/{id}/frames?after=0")).await;
    assert!(watch.until(|events| !events.transcript.entries().is_empty()).await, "it was stored after all");
}
