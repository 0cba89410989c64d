use hamlet_test_support::TestServer;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

#[tokio::test]
async fn a_message_streams_its_turn_and_the_transcript_is_the_fold_of_the_stream() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let script = server.provider.expect();
    let mut stream =
        server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": "Hello there"})).await;
    script.text("Well \"met\", ");
    stream.until_text("Well \"met\", ").await;
    script.text("traveller. \u{1F600}");
    script.usage(5, 4);
    script.finish();
    stream.to_end().await;
    assert_eq!(stream.terminal_frames(), 1);
    let transcript = server.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await;
    let folded = serde_json::to_value(stream.transcript.entries()).unwrap();
    for (stored, folded) in transcript["items"].as_array().unwrap().iter().zip(folded.as_array().unwrap()) {
        for (name, value) in folded.as_object().unwrap() {
            assert_eq!(&stored[name], value, "{name}");
        }
    }
    assert_eq!(transcript["items"][1]["text"], "Well \"met\", traveller. \u{1F600}");
    assert_eq!(transcript["cursor"], json!(stream.last_id));
    assert_eq!(transcript["turn"], Value::Null);
    let listed = server.admin.get("/api/conversations").await.expect(StatusCode::OK).await;
    assert_eq!(listed["items"][0]["title"], "Hello there");
}

#[tokio::test]
async fn who_asks_for_json_gets_202_and_can_watch_from_its_cursor() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let script = server.provider.expect();
    let accepted = server
        .admin
        .post(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"}))
        .await
        .expect(StatusCode::ACCEPTED)
        .await;
    let mut watch = server.admin.watch(&format!("/api/conversations/{id}/frames?after={}", accepted["cursor"])).await;
    script.text("Hello.");
    script.finish();
    assert!(watch.until(|events| events.terminal_frames() == 1).await);
    assert_eq!(watch.last_text(), "Hello.");
}

#[tokio::test]
async fn a_reload_in_the_middle_of_a_reply_continues_without_gap_or_double() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let script = server.provider.expect();
    let mut first = server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"})).await;
    script.text("One ");
    first.until_text("One ").await;
    let snapshot = server.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await;
    assert_eq!(snapshot["items"][1]["text"], "One ");
    assert_eq!(snapshot["turn"]["messageId"], snapshot["items"][1]["id"]);
    let mut tab = server.admin.watch(&format!("/api/conversations/{id}/frames?after={}", snapshot["cursor"])).await;
    tab.transcript = hamlet_actors::vocabulary::Transcript::of(
        serde_json::from_value::<Vec<hamlet_actors::vocabulary::Message>>(snapshot["items"].clone()).unwrap(),
    );
    script.text("two.");
    script.finish();
    assert!(tab.until(|events| events.terminal_frames() == 1).await);
    first.to_end().await;
    assert_eq!(tab.transcript.entries(), first.transcript.entries());
}

#[tokio::test]
async fn stop_answers_after_the_terminal_frame_is_stored() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let mut script = server.provider.expect();
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"})).await;
    script.text("Half");
    stream.until_text("Half").await;
    let turn = serde_json::to_value(stream.transcript.entries()[1].turn_id).unwrap();
    let path = format!("/api/conversations/{id}/abort");
    let other = json!({"turnId": "01890000-0000-7000-8000-000000000000"});
    assert_eq!(server.admin.post(&path, other).await.refused(StatusCode::CONFLICT).await, "TURN_MISMATCH");
    let aborted = server.admin.post(&path, json!({"turnId": turn})).await.expect(StatusCode::OK).await;
    assert_eq!(aborted, json!({"aborted": true, "turnId": turn}));
    let stored = server.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await;
    assert_eq!((&stored["items"][1]["text"], &stored["items"][1]["status"]), (&json!("Half"), &json!("aborted")));
    script.closed().await;
    stream.to_end().await;
    assert_eq!(stream.terminal_frames(), 1);
    let again = server.admin.post(&path, json!({"turnId": turn})).await.expect(StatusCode::OK).await;
    assert_eq!(again["aborted"], false);
}

#[tokio::test]
async fn a_repeat_under_one_key_joins_the_first_turn_also_after_a_restart() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let path = format!("/api/conversations/{id}/messages");
    let script = server.provider.expect();
    let send = |server: &TestServer, text: &str| {
        let request = server
            .admin
            .request(Method::POST, &path)
            .header("idempotency-key", "k1")
            .header("accept", "application/json");
        request.json(&json!({"text": text})).send()
    };
    let first: Value = send(&server, "Hi").await.unwrap().json().await.unwrap();
    let second: Value = send(&server, "Hi").await.unwrap().json().await.unwrap();
    assert_eq!(first, second);
    assert_eq!(send(&server, "Ho").await.unwrap().status(), StatusCode::UNPROCESSABLE_ENTITY);
    script.text("Hello.");
    script.finish();
    let mut watch = server.admin.watch(&format!("/api/conversations/{id}/frames?after=0")).await;
    assert!(watch.until(|events| events.terminal_frames() == 1).await);
    drop(watch);
    let server = server.restarted().await;
    let third: Value = send(&server, "Hi").await.unwrap().json().await.unwrap();
    assert_eq!(first, third);
    let request = server.admin.request(Method::POST, &path).header("idempotency-key", "k1");
    let replay = request.json(&json!({"text": "Hi"})).send().await.unwrap().text().await.unwrap();
    assert!(replay.contains("Hello.") && replay.contains("\"ended\""), "{replay}");
    assert_eq!(server.provider.times_asked(), 0);
}

#[tokio::test]
async fn two_of_the_same_at_once_are_one_turn() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let path = format!("/api/conversations/{id}/messages");
    let sends = (0..8).map(|_| {
        let request = server
            .admin
            .request(Method::POST, &path)
            .header("idempotency-key", "k1")
            .header("accept", "application/json");
        async { request.json(&json!({"text": "Hi"})).send().await.unwrap().json::<Value>().await.unwrap() }
    });
    let answers = futures_util::future::join_all(sends).await;
    assert!(answers.iter().all(|answer| answer == &answers[0] && answer["turnId"].is_string()), "{answers:?}");
}

#[tokio::test]
async fn regenerate_over_http_keeps_the_old_reply_as_a_variant() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    for (path, text) in [("messages", "Old."), ("regenerate", "New.")] {
        let script = server.provider.expect();
        let body = if path == "messages" { json!({"text": "Hi"}) } else { json!({}) };
        let mut stream = server.admin.stream(&format!("/api/conversations/{id}/{path}"), body).await;
        script.text(text);
        script.finish();
        stream.to_end().await;
    }
    let stored = server.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await;
    let items = stored["items"].as_array().unwrap();
    assert_eq!(items.iter().map(|item| item["text"].as_str().unwrap()).collect::<Vec<_>>(), ["Hi", "New."]);
    let path = format!("/api/messages/{}/variants", items[1]["id"].as_str().unwrap());
    let variants = server.admin.get(&path).await.expect(StatusCode::OK).await;
    let texts: Vec<_> = variants["items"].as_array().unwrap().iter().map(|item| item["text"].clone()).collect();
    assert_eq!(texts, ["Old.", "New."]);
}

#[tokio::test]
async fn a_deleted_conversation_is_gone_and_its_streams_end() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let mut script = server.provider.expect();
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"})).await;
    script.text("Half");
    stream.until_text("Half").await;
    let gone = server.admin.request(Method::DELETE, &format!("/api/conversations/{id}")).send().await.unwrap();
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    stream.to_end().await;
    script.closed().await;
    for path in ["", "/messages", "/frames"] {
        let code =
            server.admin.get(&format!("/api/conversations/{id}{path}")).await.refused(StatusCode::NOT_FOUND).await;
        assert_eq!(code, "NOT_FOUND");
    }
    let code = server.admin.post(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"})).await;
    assert_eq!(code.refused(StatusCode::NOT_FOUND).await, "NOT_FOUND");
    assert_eq!(server.admin.get("/api/conversations").await.expect(StatusCode::OK).await["items"], json!([]));
    let purged = async {
        loop {
            let left: i64 = server
                .app
                .store
                .read(|conn| Ok(conn.query_row("SELECT count(*) FROM messages", [], |row| row.get(0))?))
                .await
                .unwrap();
            if left == 0 {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(5), purged).await.unwrap();
}
