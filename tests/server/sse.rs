use hamlet_actors::vocabulary::{Frame, Transcript};
use hamlet_test_support::TestServer;
use reqwest::{Method, StatusCode};
use serde_json::json;

async fn answered(server: &TestServer, id: &str, path: &str, text: &str) {
    let script = server.provider.expect();
    let body = if path == "messages" { json!({"text": format!("Say {text}")}) } else { json!({}) };
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/{path}"), body).await;
    for piece in text.split_inclusive(' ') {
        script.text(piece);
        tokio::task::yield_now().await;
    }
    script.finish();
    stream.to_end().await;
}

#[tokio::test]
async fn the_streams_headers_keep_proxies_from_holding_it_back() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let watch = server.admin.watch(&format!("/api/conversations/{id}/frames")).await;
    let header = |name: &str| {
        watch.response_headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
    };
    assert_eq!(header("content-type"), "text/event-stream");
    assert_eq!(header("cache-control"), "no-cache, no-transform");
    assert_eq!(header("x-accel-buffering"), "no");
}

#[tokio::test]
async fn a_stream_opens_with_an_id_and_no_data() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    answered(&server, &id, "messages", "one").await;
    let mut watch = server.admin.watch(&format!("/api/conversations/{id}/frames")).await;
    assert!(watch.until(|events| events.last_id.is_some()).await);
    assert_eq!(watch.frames, vec![]);
    let stored = server.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await;
    assert_eq!(json!(watch.last_id), stored["cursor"]);
}

#[tokio::test]
async fn last_event_id_beats_after_and_junk_is_ignored() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    answered(&server, &id, "messages", "one").await;
    let opened = |last: &'static str, after: &'static str| {
        let request = server.admin.request(Method::GET, &format!("/api/conversations/{id}/frames?after={after}"));
        async move {
            let response = request.header("last-event-id", last).send().await.unwrap();
            let mut bytes = response.bytes_stream();
            let first = futures_util::StreamExt::next(&mut bytes).await.unwrap().unwrap();
            String::from_utf8_lossy(&first).lines().next().unwrap_or_default().to_owned()
        }
    };
    assert_eq!(opened("3", "0").await, "id: 3");
    assert_eq!(opened("junk", "2").await, "id: 2");
    let newest =
        server.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await["cursor"]
            .clone();
    assert_eq!(opened("999999", "0").await, format!("id: {newest}"), "a cursor from the future is none of ours");
}

/// Promise 6, for finished Messages: cut the bytes anywhere, come back with the id that was seen, and the fold is the same.
#[tokio::test]
async fn promise_6_a_stream_that_is_cut_at_any_byte_resumes_without_gap_or_double() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    answered(&server, &id, "messages", "one two").await;
    answered(&server, &id, "regenerate", "three \"four\"").await;
    answered(&server, &id, "messages", "five").await;
    let path = format!("/api/conversations/{id}/frames");
    let stored = server.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await;
    let end = stored["cursor"].as_u64();
    let mut whole = server.admin.watch(&format!("{path}?after=0")).await;
    assert!(whole.until(|events| events.last_id == end && !events.frames.is_empty()).await);
    let texts: Vec<_> = stored["items"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect();
    let folded: Vec<_> = whole.transcript.entries().iter().map(|entry| json!(entry.id)).collect();
    assert_eq!(texts, folded);
    for cut in (1..whole.raw.len()).step_by(37) {
        let (mut transcript, mut last_id) = (Transcript::default(), None);
        // What a browser takes from the cut piece: whole events only.
        let seen = &whole.raw[..cut];
        let text = String::from_utf8_lossy(seen);
        let whole_events = text.rfind("\n\n").map_or("", |at| &text[..at + 2]);
        for event in whole_events.split_terminator("\n\n") {
            for line in event.lines() {
                if let Some(id) = line.strip_prefix("id: ") {
                    last_id = id.parse::<u64>().ok();
                } else if let Some(data) = line.strip_prefix("data: ") {
                    transcript.fold(serde_json::from_str::<Frame>(data).unwrap());
                }
            }
        }
        let mut rest = server.admin.watch(&format!("{path}?after={}", last_id.unwrap_or(0))).await;
        rest.transcript = transcript;
        assert!(rest.until(|events| events.last_id == end).await);
        assert_eq!(rest.transcript.entries(), whole.transcript.entries(), "cut at {cut}");
    }
}

#[tokio::test]
async fn a_tab_that_was_away_over_a_restart_gets_what_it_missed() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    answered(&server, &id, "messages", "one").await;
    let cursor =
        server.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await["cursor"]
            .clone();
    answered(&server, &id, "messages", "two").await;
    let server = server.restarted().await;
    answered(&server, &id, "messages", "three").await;
    let mut watch = server.admin.watch(&format!("/api/conversations/{id}/frames?after={cursor}")).await;
    assert!(watch.until(|events| events.terminal_frames() == 2).await);
    assert_eq!(watch.transcript.entries().len(), 4);
    assert_eq!(watch.last_text(), "three");
}

#[tokio::test]
async fn a_watcher_follows_all_later_turns_and_a_dormant_conversation_wakes_for_it() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let mut watch = server.admin.watch(&format!("/api/conversations/{id}/frames")).await;
    assert!(watch.until(|events| events.last_id == Some(0)).await);
    for (n, text) in ["one", "two", "three"].into_iter().enumerate() {
        answered(&server, &id, "messages", text).await;
        assert!(watch.until(|events| events.terminal_frames() == n + 1).await);
        assert_eq!(watch.last_text(), text);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_6_a_watch_that_opens_at_the_moment_of_the_first_message_misses_nothing() {
    let server = TestServer::start().await;
    for round in 0..100 {
        let id = server.conversation().await;
        let script = server.provider.expect();
        script.text("Hello.");
        script.finish();
        let (messages, frames) =
            (format!("/api/conversations/{id}/messages"), format!("/api/conversations/{id}/frames?after=0"));
        let (_, mut watch) =
            tokio::join!(server.admin.post(&messages, json!({"text": "Hi"})), server.admin.watch(&frames));
        assert!(watch.until(|events| events.terminal_frames() == 1).await);
        assert_eq!((watch.transcript.entries().len(), watch.last_text()), (2, "Hello.".to_owned()), "round {round}");
    }
}

#[tokio::test]
async fn on_shutdown_streams_end_with_the_turns_terminal_frame_and_watches_say_when_to_come_back() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let mut watch = server.admin.watch(&format!("/api/conversations/{id}/frames")).await;
    assert!(watch.until(|events| events.last_id.is_some()).await);
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"})).await;
    script.text("Half");
    stream.until_text("Half").await;
    server.stop.cancel();
    stream.to_end().await;
    assert_eq!(stream.terminal_frames(), 1);
    watch.to_end().await;
    assert_eq!(watch.terminal_frames(), 1);
    let raw = String::from_utf8(watch.raw).unwrap();
    let pause = raw.trim_end().rsplit("\n\n").next().and_then(|last| last.strip_prefix("retry: ")).unwrap();
    assert!((1000..4000).contains(&pause.parse::<u32>().unwrap()), "tabs come back at different times");
    server.running.await.unwrap();
}
