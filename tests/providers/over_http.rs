//! The adapter against a server that misbehaves: what is asked again and what is not, how long it waits, what it never
//! sends on and never shows.

mod complaints;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use hamlet::providers::{Clients, Limits, ProviderKind, ProviderSpec, Quirks, build};
use hamlet_actors::{
    ports::{End, ModelRequest, Provider, ProviderEvent, ProviderFailure, RequestItem},
    vocabulary::{Delta, ErrorCode, ErrorKind, FinishReason, ModelParams},
};
use hamlet_test_support::StoppedClock;
use url::Url;

use crate::{
    cases::{finished, unfinished},
    fake::{Act, Fake, Seen, answer, body, stream_head},
    told::origin,
};

const KEY: &str = "sk-village-0123456789";
const HI: &[&str] = &[r#"{"content":"hi"}"#];

fn clients(change: impl FnOnce(&mut Limits)) -> Clients {
    // Another test of this process may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut limits = Limits { backoff: Duration::from_millis(1), ..Limits::default() };
    change(&mut limits);
    Clients::new(limits).unwrap()
}

fn spec(base_url: Url) -> ProviderSpec {
    ProviderSpec {
        id: origin().provider,
        name: "Fake".into(),
        kind: ProviderKind::OpenAiChat,
        base_url: Some(base_url),
        api_key: Some(KEY.to_owned().into()),
        quirks: Quirks::default(),
    }
}

fn provider(fake: &Fake, change: impl FnOnce(&mut Limits)) -> Arc<dyn Provider> {
    build(spec(fake.base_url()), &clients(change))
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "village-1".into(),
        system: "You are Ada.".into(),
        items: vec![RequestItem::User { text: "Hello?".into() }],
        tools: Vec::new(),
        params: ModelParams::default(),
    }
}

async fn heard(provider: &dyn Provider) -> Vec<ProviderEvent> {
    provider.ask(request()).collect::<Vec<_>>().await.concat()
}

async fn failure(provider: &dyn Provider) -> ProviderFailure {
    match heard(provider).await.pop() {
        Some(ProviderEvent::End(End::Failed(failure))) => failure,
        other => panic!("no failure but {other:?}"),
    }
}

fn text(text: &str) -> ProviderEvent {
    ProviderEvent::Delta(Delta::Text(text.into()))
}

const STOP: ProviderEvent = ProviderEvent::End(End::Complete(FinishReason::Stop));

#[tokio::test]
async fn a_request_carries_the_key_in_one_header_and_the_words_in_the_body() {
    let mut fake = Fake::playing(vec![vec![stream_head(), body(finished(HI, "stop"))]]).await;
    assert_eq!(heard(&*provider(&fake, |_| {})).await, [text("hi"), STOP]);
    let Seen::Asked(head, body) = fake.seen().await else { panic!() };
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    assert_eq!(head.matches(KEY).count(), 1);
    assert!(head.contains(&format!("authorization: Bearer {KEY}\r\n")));
    assert!(!head.contains("accept-encoding"));
    assert_eq!(
        body,
        r#"{"model":"village-1","messages":[{"role":"system","content":"You are Ada."},{"role":"user","content":"Hello?"}],"stream":true,"stream_options":{"include_usage":true}}"#
    );
}

#[tokio::test]
async fn the_base_url_is_taken_as_it_was_given() {
    for (given, asked) in [
        ("", "/chat/completions"),
        ("/", "/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/v1?v=2", "/v1/chat/completions?v=2"),
    ] {
        let mut fake = Fake::playing(vec![vec![stream_head(), body(finished(HI, "stop"))]]).await;
        let url = Url::parse(&format!("http://{}{given}", fake.address)).unwrap();
        assert_eq!(heard(&*build(spec(url), &clients(|_| {}))).await.len(), 2);
        let Seen::Asked(head, _) = fake.seen().await else { panic!() };
        assert!(head.starts_with(&format!("POST {asked} ")), "{head}");
    }
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    let mut fake = Fake::playing(vec![vec![]]).await;
    let stream = provider(&fake, |_| {}).ask(request());
    tokio::task::yield_now().await;
    drop(stream);
    assert_eq!(fake.more(), 0);
}

#[tokio::test]
async fn what_was_not_taken_up_is_asked_again() {
    for status in ["408 x", "429 x", "500 x", "502 x", "503 x", "504 x", "529 x"] {
        let mut fake = Fake::playing(vec![
            answer(status, "", ""),
            answer(status, "retry-after: 0\r\n", ""),
            vec![stream_head(), body(finished(HI, "stop"))],
        ])
        .await;
        assert_eq!(heard(&*provider(&fake, |_| {})).await, [text("hi"), STOP], "{status}");
        assert_eq!(fake.more(), 3);
    }
}

#[tokio::test]
async fn a_refusal_is_not_asked_again() {
    for (status, kind) in [
        ("400 x", ErrorKind::Request),
        ("401 x", ErrorKind::Auth),
        ("402 x", ErrorKind::Billing),
        ("403 x", ErrorKind::Auth),
        ("404 x", ErrorKind::Request),
        ("422 x", ErrorKind::Request),
    ] {
        let mut fake = Fake::playing(vec![answer(status, "", "")]).await;
        let failure = failure(&*provider(&fake, |_| {})).await;
        assert_eq!(
            (failure.kind, failure.retryable, failure.code),
            (kind, false, ErrorCode::ProviderError),
            "{status}"
        );
        assert_eq!(fake.more(), 1);
    }
}

#[tokio::test]
async fn an_empty_account_is_not_asked_again_although_it_answers_429() {
    let mut fake =
        Fake::playing(vec![answer("429 x", "", r#"{"error":{"code":"insufficient_quota","message":"top up"}}"#)]).await;
    let failure = failure(&*provider(&fake, |_| {})).await;
    assert_eq!((failure.kind, failure.retryable, failure.status), (ErrorKind::Billing, false, Some(429)));
    assert_eq!(failure.message, "the Provider answered 429: top up");
    assert_eq!(fake.more(), 1);
}

#[tokio::test]
async fn retries_end_and_say_what_the_last_answer_was() {
    let mut fake =
        Fake::playing(vec![answer("503 x", "", "first"), answer("503 x", "", "second"), answer("503 x", "", "third")])
            .await;
    let failure = failure(&*provider(&fake, |_| {})).await;
    assert_eq!((failure.kind, failure.retryable), (ErrorKind::Server, true));
    assert_eq!(failure.message, "the Provider answered 503: third");
    assert_eq!(fake.more(), 3);
}

#[tokio::test]
async fn a_wait_that_the_provider_asks_for_is_kept() {
    let mut fake = Fake::playing(vec![
        answer("429 x", "retry-after-ms: 150\r\n", ""),
        vec![stream_head(), body(finished(HI, "stop"))],
    ])
    .await;
    let start = Instant::now();
    assert_eq!(heard(&*provider(&fake, |_| {})).await, [text("hi"), STOP]);
    assert!(start.elapsed() >= Duration::from_millis(150));
    assert_eq!(fake.more(), 2);
}

#[tokio::test]
async fn a_wait_that_is_too_long_is_a_failure_now() {
    for header in ["retry-after: 3600\r\n", "retry-after: Fri, 01 Jan 2100 00:00:00 GMT\r\n"] {
        let mut fake = Fake::playing(vec![answer("429 x", header, "")]).await;
        let failure = failure(&*provider(&fake, |_| {})).await;
        assert_eq!((failure.kind, failure.retryable), (ErrorKind::RateLimit, true));
        assert_eq!(fake.more(), 1);
    }
}

#[tokio::test]
async fn nothing_is_asked_again_once_the_reply_began() {
    let mut fake = Fake::playing(vec![vec![stream_head(), body(unfinished(HI)), Act::Close]]).await;
    assert_eq!(heard(&*provider(&fake, |_| {})).await, [text("hi"), ProviderEvent::End(End::Truncated)]);
    assert_eq!(fake.more(), 1);
}

#[tokio::test]
async fn a_request_that_may_have_been_worked_on_is_not_repeated() {
    let mut fake = Fake::playing(vec![vec![Act::Close]]).await;
    let failure = failure(&*provider(&fake, |_| {})).await;
    assert_eq!((failure.kind, failure.retryable), (ErrorKind::Network, true));
    assert_eq!(fake.more(), 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_its_query_not_shown() {
    let mut other = Fake::playing(vec![vec![]]).await;
    let location = format!("location: http://u:pw@{}/v2?token=secret\r\n", other.address);
    let fake = Fake::playing(vec![answer("307 x", &location, "")]).await;
    let failure = failure(&*provider(&fake, |_| {})).await;
    assert_eq!(
        failure.message,
        format!(
            "the Provider redirects to http://{}/v2 (307), which is not followed: check the base URL",
            other.address
        )
    );
    assert_eq!(other.more(), 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failure_of_reaching_it() {
    let closed = Fake::playing(vec![]).await;
    let url = closed.base_url();
    drop(closed);
    tokio::task::yield_now().await;
    let failure = failure(&*build(spec(url.clone()), &clients(|_| {}))).await;
    assert_eq!((failure.code, failure.kind, failure.retryable), (ErrorCode::ProviderTimeout, ErrorKind::Network, true));
    assert!(!failure.message.contains(&url.port().unwrap().to_string()));
}

#[tokio::test]
async fn silence_before_the_head_the_body_and_the_next_word_is_a_timeout() {
    let limits = |limits: &mut Limits| {
        limits.first_byte = Duration::from_secs(80);
        limits.idle = Duration::from_secs(90);
    };
    for (script, silent_for) in [
        (vec![Act::AwaitClose], "80 s"),
        (vec![stream_head(), Act::AwaitClose], "80 s"),
        (vec![stream_head(), body(unfinished(HI)), Act::AwaitClose], "90 s"),
    ] {
        let mut fake = Fake::playing(vec![script]).await;
        let (clock, provider) = (StoppedClock::new(), provider(&fake, limits));
        let asking = tokio::spawn(async move { failure(&*provider).await });
        assert!(matches!(fake.seen().await, Seen::Asked(..)));
        while !asking.is_finished() {
            // In steps: what the server has sent arrives in between.
            clock.advance(Duration::from_millis(200)).await;
        }
        let failure = asking.await.unwrap();
        assert_eq!((failure.code, failure.kind), (ErrorCode::ProviderTimeout, ErrorKind::Timeout));
        assert_eq!(failure.message, format!("the Provider sent nothing for {silent_for}"));
        assert_eq!(fake.seen().await, Seen::Left);
    }
}

#[tokio::test]
async fn comments_are_signs_of_life_and_no_items() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let (begun, begins) = tokio::sync::oneshot::channel();
    let server = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = socket.read(&mut request).await.unwrap();
        socket
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
            .await
            .unwrap();
        begun.send(()).unwrap();
        let mut ticks = tokio::time::interval(Duration::from_secs(60));
        for _ in 0..6 {
            ticks.tick().await;
            socket.write_all(b": alive\n\n").await.unwrap();
        }
        socket.write_all(finished(HI, "stop").as_bytes()).await.unwrap();
    });
    let limits = |limits: &mut Limits| {
        limits.first_byte = Duration::from_secs(200);
        limits.idle = Duration::from_secs(200);
    };
    let (clock, provider) = (StoppedClock::new(), build(spec(url), &clients(limits)));
    let asking = tokio::spawn(async move { provider.ask(request()).collect::<Vec<_>>().await });
    begins.await.unwrap();
    while !asking.is_finished() {
        // In steps: what the server has sent arrives in between.
        clock.advance(Duration::from_millis(200)).await;
    }
    let items = asking.await.unwrap();
    assert!(items.iter().all(|item| !item.is_empty()));
    assert_eq!(items.concat(), [text("hi"), STOP]);
    server.await.unwrap();
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let mut fake = Fake::playing(vec![vec![stream_head(), body(unfinished(HI)), Act::AwaitClose]]).await;
    let mut stream = provider(&fake, |_| {}).ask(request());
    assert_eq!(stream.next().await, Some(vec![text("hi")]));
    assert!(matches!(fake.seen().await, Seen::Asked(..)));
    drop(stream);
    assert_eq!(fake.seen().await, Seen::Left);
}

#[tokio::test]
async fn dropping_the_stream_while_the_provider_is_silent_closes_the_connection() {
    let mut fake = Fake::playing(vec![vec![Act::AwaitClose]]).await;
    let mut stream = provider(&fake, |_| {}).ask(request());
    tokio::select! {
        item = stream.next() => panic!("{item:?}"),
        seen = fake.seen() => assert!(matches!(seen, Seen::Asked(..))),
    }
    drop(stream);
    assert_eq!(fake.seen().await, Seen::Left);
}

#[tokio::test]
async fn the_end_mark_ends_the_stream_though_the_socket_stays_open() {
    let mut fake = Fake::playing(vec![vec![stream_head(), body(finished(HI, "stop")), Act::AwaitClose]]).await;
    // No limit ends it.
    let clock = StoppedClock::new();
    assert_eq!(heard(&*provider(&fake, |_| {})).await, [text("hi"), STOP]);
    drop(clock);
    assert!(matches!(fake.seen().await, Seen::Asked(..)));
    assert_eq!(fake.seen().await, Seen::Left);
}

#[tokio::test]
async fn a_finish_without_end_mark_is_waited_for_and_not_for_long() {
    let bytes = finished(HI, "stop").replace("data: [DONE]\n\n", "");
    let fake = Fake::playing(vec![vec![stream_head(), body(bytes), Act::AwaitClose]]).await;
    let events = heard(&*provider(&fake, |limits| limits.after_finish = Duration::from_millis(100))).await;
    assert_eq!(events, [text("hi"), STOP]);
}

#[tokio::test]
async fn a_chunked_body_that_is_cut_is_truncated() {
    let chunk = unfinished(HI);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let bytes = format!("{head}{:x}\r\n{chunk}\r\n", chunk.len());
    let fake = Fake::playing(vec![vec![body(bytes), Act::Close]]).await;
    assert_eq!(heard(&*provider(&fake, |_| {})).await, [text("hi"), ProviderEvent::End(End::Truncated)]);
}

#[tokio::test]
async fn an_empty_body_is_a_truncated_reply_without_content() {
    let fake = Fake::playing(vec![vec![stream_head(), Act::Close]]).await;
    assert_eq!(heard(&*provider(&fake, |_| {})).await, [ProviderEvent::End(End::Truncated)]);
}

#[tokio::test]
async fn a_json_reply_is_read_under_whatever_content_type() {
    let reply = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    for content_type in ["application/json", "text/event-stream", "text/plain"] {
        let fake = Fake::playing(vec![answer("200 OK", &format!("content-type: {content_type}\r\n"), reply)]).await;
        assert_eq!(heard(&*provider(&fake, |_| {})).await, [text("hi"), STOP], "{content_type}");
    }
}

#[tokio::test]
async fn a_web_page_is_no_reply() {
    let fake = Fake::playing(vec![answer("200 OK", "content-type: text/html; charset=utf-8\r\n", "<html>")]).await;
    let failure = failure(&*provider(&fake, |_| {})).await;
    assert_eq!(failure.message, "the Provider answered with a web page: check the base URL");
}
