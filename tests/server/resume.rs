//! Streams that are asked for again, and titles that change meanwhile.

use hamlet_test_support::TestServer;
use reqwest::{Method, StatusCode};
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn a_repeat_that_has_seen_everything_ends_at_once() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let path = format!("/api/conversations/{id}/messages");
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&path, json!({"text": "Hi"})).await;
    script.text("Hello.");
    script.finish();
    stream.to_end().await;
    // Now one with a key, seen to its end, and repeated with what was seen.
    let script = server.provider.expect();
    let ask = |last: Option<u64>| {
        let mut request = server
            .admin
            .request(Method::POST, &path)
            .header("accept", "text/event-stream")
            .header("idempotency-key", "k1");
        if let Some(last) = last {
            request = request.header("last-event-id", last.to_string());
        }
        request.json(&json!({"text": "Again"}))
    };
    let response = ask(None).send().await.unwrap();
    script.text("Yes.");
    script.finish();
    let text = response.text().await.unwrap();
    let last: u64 = text.lines().filter_map(|l| l.strip_prefix("id: ")).next_back().unwrap().parse().unwrap();
    let response = ask(Some(last)).send().await.unwrap();
    let read = tokio::time::timeout(Duration::from_secs(3), response.text()).await;
    assert!(read.is_ok(), "the stream never ends");
}

/// The stream of a turn that was cut off after its first word, asked for again while the reply is being made anew.
async fn ask_again_while_it_is_made_anew(last_seen: impl Fn(&[u64]) -> u64) {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let path = format!("/api/conversations/{id}/messages");
    let ask = || {
        let request = server.admin.request(Method::POST, &path).header("idempotency-key", "k1");
        request.header("accept", "text/event-stream").json(&json!({"text": "Hi"}))
    };
    let script = server.provider.expect();
    let stream = ask().send().await.unwrap();
    script.text("Hello.");
    script.finish();
    let text = stream.text().await.unwrap();
    let ids: Vec<u64> = text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    let script = server.provider.expect();
    let mut anew = server.admin.stream(&format!("/api/conversations/{id}/regenerate"), json!({})).await;
    script.text("Good day.");
    anew.until_text("Good day.").await;
    let again = ask().header("last-event-id", last_seen(&ids).to_string()).send().await.unwrap();
    let read = tokio::time::timeout(Duration::from_secs(3), again.text()).await;
    assert!(read.is_ok(), "the stream never ends");
    script.finish();
}

#[tokio::test]
async fn a_stream_that_was_cut_off_ends_also_when_its_reply_was_made_anew_meanwhile() {
    ask_again_while_it_is_made_anew(|ids| ids[ids.len() - 2]).await;
}

#[tokio::test]
async fn a_stream_that_was_seen_to_its_end_ends_also_when_its_reply_was_made_anew_meanwhile() {
    ask_again_while_it_is_made_anew(|ids| ids[ids.len() - 1]).await;
}

#[tokio::test]
async fn a_new_turn_is_shown_whatever_last_event_id_comes_with_it() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let path = format!("/api/conversations/{id}/messages");
    let script = server.provider.expect();
    let response = server
        .admin
        .request(Method::POST, &path)
        .header("accept", "text/event-stream")
        .header("last-event-id", "5000")
        .json(&json!({"text": "Hi"}))
        .send()
        .await
        .unwrap();
    script.text("Hello.");
    script.finish();
    let read = tokio::time::timeout(Duration::from_secs(3), response.text()).await;
    assert!(read.is_ok(), "the stream never ends");
}

#[tokio::test]
async fn frames_tell_the_title_that_the_player_gave_and_one_taken_away_is_given_anew() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let path = format!("/api/conversations/{id}/messages");
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&path, json!({"text": "First words"})).await;
    script.text("Hello.");
    script.finish();
    stream.to_end().await;
    server
        .admin
        .send(Method::PATCH, &format!("/api/conversations/{id}"), json!({"title": "Renamed"}))
        .await
        .expect(StatusCode::OK)
        .await;
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&path, json!({"text": "More"})).await;
    script.text("Hello.");
    script.finish();
    stream.to_end().await;
    assert_eq!(stream.transcript.title(), Some("Renamed"));
    server
        .admin
        .send(Method::PATCH, &format!("/api/conversations/{id}"), json!({"title": null}))
        .await
        .expect(StatusCode::OK)
        .await;
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&path, json!({"text": "Anew"})).await;
    script.text("Hello.");
    script.finish();
    stream.to_end().await;
    let one = server.admin.get(&format!("/api/conversations/{id}")).await.expect(StatusCode::OK).await;
    assert_eq!(one["title"], "Anew");
}

#[tokio::test]
async fn a_message_from_before_parts_still_renders_from_its_text() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let path = format!("/api/conversations/{id}/messages");
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&path, json!({"text": "Hi"})).await;
    script.text("Hello.");
    script.finish();
    stream.to_end().await;
    server.app.store.write(|conn| Ok(conn.execute("UPDATE messages SET parts = NULL", [])?)).await.unwrap();
    let stored = server.admin.get(&path).await.expect(StatusCode::OK).await;
    let mut replay = server.admin.watch(&format!("/api/conversations/{id}/frames?after=0")).await;
    assert!(replay.until(|events| events.terminal_frames() == 1).await);
    for (n, text) in ["Hi", "Hello."].into_iter().enumerate() {
        let parts = json!([{"type": "text", "text": text}]);
        assert_eq!(stored["items"][n]["parts"], parts);
        assert_eq!(json!(replay.transcript.entries()[n].parts), parts);
    }
}
