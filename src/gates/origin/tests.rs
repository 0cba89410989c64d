use axum::{Router, body::Body, middleware, routing::post};
use tower::ServiceExt;

use super::*;
use crate::http::error::render;

fn rules() -> OriginRules {
    OriginRules {
        public: "https://chat.example.com".parse().ok(),
        cors: vec!["https://app.example.org".parse().unwrap()],
        trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
    }
}

const READ: Effect = Effect::ReadOnly;
const CHANGE: Effect = Effect::Changes;

#[test]
fn the_table_of_hosts_and_origins() {
    let host = |host: &str| Err(Refusal::Host(host.to_owned()));
    let origin = || Err(Refusal::Origin);
    let direct = [
        // Effect, Host, Origin, Sec-Fetch-Site
        (READ, Some("127.0.0.1:8787"), None, None, Ok(())),
        (READ, Some("[::1]:8787"), None, None, Ok(())),
        (READ, Some("192.168.1.7:8787"), None, None, Ok(())),
        (READ, Some("localhost:8787"), None, None, Ok(())),
        (READ, Some("LOCALHOST"), None, None, Ok(())),
        (READ, Some("hamlet.localhost:8787"), None, None, Ok(())),
        (READ, Some("chat.example.com"), None, None, Ok(())),
        (READ, Some("chat.example.com:8787"), None, None, Ok(())),
        (READ, Some("localhost:8787"), Some("https://evil.test"), Some("cross-site"), Ok(())),
        (READ, Some("evil.test:8787"), None, None, host("evil.test:8787")),
        (READ, Some("localhost.evil.test"), None, None, host("localhost.evil.test")),
        (READ, Some("127.0.0.1.evil.test"), None, None, host("127.0.0.1.evil.test")),
        (READ, Some("evilchat.example.com"), None, None, host("evilchat.example.com")),
        (READ, None, None, None, Err(Refusal::NoHost)),
        (READ, Some(""), None, None, Err(Refusal::NoHost)),
        (READ, Some("evil.test@localhost"), None, None, Err(Refusal::NoHost)),
        (READ, Some("localhost/x"), None, None, Err(Refusal::NoHost)),
        (READ, Some("localhost:99999"), None, None, Err(Refusal::NoHost)),
        (CHANGE, Some("localhost:8787"), None, None, Ok(())),
        (CHANGE, Some("localhost:8787"), Some("http://localhost:8787"), Some("same-origin"), Ok(())),
        (CHANGE, Some("localhost"), Some("http://localhost"), None, Ok(())),
        (CHANGE, Some("[::1]:8787"), Some("http://[::1]:8787"), None, Ok(())),
        (CHANGE, Some("localhost:8787"), Some("http://localhost:3000"), None, origin()),
        (CHANGE, Some("localhost:8787"), Some("https://localhost:8787"), None, origin()),
        (CHANGE, Some("localhost:8787"), Some("http://127.0.0.1:8787"), None, origin()),
        (CHANGE, Some("localhost:8787"), Some("https://evil.test"), Some("cross-site"), origin()),
        (CHANGE, Some("localhost:8787"), Some("null"), None, origin()),
        (CHANGE, Some("localhost:8787"), Some(""), None, origin()),
        (CHANGE, Some("localhost:8787"), None, Some("cross-site"), origin()),
        (CHANGE, Some("localhost:8787"), None, Some("same-site"), origin()),
        (CHANGE, Some("localhost:8787"), None, Some("same-origin"), Ok(())),
        (CHANGE, Some("localhost:8787"), None, Some("none"), Ok(())),
        (CHANGE, Some("127.0.0.1:8787"), Some("https://chat.example.com"), None, Ok(())),
        (CHANGE, Some("chat.example.com"), Some("https://app.example.org"), Some("cross-site"), Ok(())),
        (CHANGE, Some("evil.test"), Some("http://evil.test"), None, host("evil.test")),
    ];
    for (effect, host, origin, fetch_site, expected) in direct {
        let asked = Asked { effect, host, origin, fetch_site, proxied: false };
        assert_eq!(rules().judge(asked), expected, "{asked:?}");
    }
    let behind_a_proxy = [
        ("192.168.1.7", "https://192.168.1.7", Ok(())),
        ("192.168.1.7:8443", "https://192.168.1.7:8443", Ok(())),
        ("192.168.1.7:8443", "https://192.168.1.7", origin()),
        ("192.168.1.7", "https://evil.test", origin()),
    ];
    for (host, origin, expected) in behind_a_proxy {
        let asked = Asked { effect: CHANGE, host: Some(host), origin: Some(origin), fetch_site: None, proxied: true };
        assert_eq!(rules().judge(asked), expected, "{asked:?}");
    }
}

#[test]
fn an_origin_reads_without_a_path_and_writes_without_a_default_port() {
    for (text, expected) in [
        ("https://example.com", Some("https://example.com")),
        ("https://EXAMPLE.com:443/", Some("https://example.com")),
        ("http://localhost:3000", Some("http://localhost:3000")),
        ("https://example.com/app", None),
        ("https://me@example.com", None),
        ("example.com", None),
        ("file:///tmp", None),
        ("*", None),
    ] {
        assert_eq!(text.parse::<Origin>().ok().map(|origin| origin.to_string()).as_deref(), expected, "{text}");
    }
}

fn app() -> Router {
    Router::new()
        .route("/", post(|| async { "done" }).get(|| async { "seen" }))
        .layer(middleware::from_fn_with_state(Arc::new(rules()), guard))
        .layer(cors(&rules().cors).unwrap())
        .layer(middleware::from_fn(render))
}

async fn ask(request: http::request::Builder) -> (u16, String) {
    let response = app().oneshot(request.uri("/").body(Body::empty()).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_name_that_is_not_ours_is_refused_with_the_way_out() {
    let (status, body) = ask(Request::builder().header("host", "evil.test")).await;
    assert_eq!(status, 403);
    assert!(body.contains("HOST_NOT_ALLOWED") && body.contains("--public-url"), "{body}");
}

#[tokio::test]
async fn a_request_without_a_host_or_with_two_is_bad() {
    assert_eq!(ask(Request::builder()).await.0, 400);
    assert_eq!(ask(Request::builder().header("host", "localhost").header("host", "localhost")).await.0, 400);
    assert_eq!(ask(Request::builder().version(Version::HTTP_10)).await, (200, "seen".to_owned()));
}

#[tokio::test]
async fn a_foreign_page_can_neither_post_nor_open_a_web_socket() {
    let foreign = || Request::builder().header("host", "localhost:8787").header("origin", "https://evil.test");
    let (status, body) = ask(foreign().method("POST")).await;
    assert_eq!(status, 403);
    assert!(body.contains("ORIGIN_NOT_ALLOWED"), "{body}");
    assert_eq!(ask(foreign().header("upgrade", "websocket")).await.0, 403);
    assert_eq!(ask(foreign()).await.0, 200);
}

#[test]
fn without_other_origins_answers_say_nothing_of_them() {
    assert!(cors(&[]).is_none());
}

#[tokio::test]
async fn an_allowed_page_of_another_origin_gets_its_preflight_answered_with_credentials() {
    let request = Request::builder()
        .method("OPTIONS")
        .header("host", "chat.example.com")
        .header("origin", "https://app.example.org")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "content-type")
        .body(Body::empty())
        .unwrap();
    let response = app().oneshot(request).await.unwrap();
    let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    assert_eq!(header("access-control-allow-origin"), "https://app.example.org");
    assert_eq!(header("access-control-allow-credentials"), "true");
    assert_eq!(header("access-control-allow-headers"), "content-type");
}
