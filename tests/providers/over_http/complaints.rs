//! What a Provider says against a request, passed on in its words and never with the key; and the list of its models.

use hamlet::providers::{ProviderSpec, build, models::list_models};
use hamlet_actors::vocabulary::ErrorKind;
use url::Url;

use super::{KEY, clients, failure, provider, spec};
use crate::fake::{Fake, Seen, answer, body, stream_head};

#[tokio::test]
async fn error_bodies_of_every_shape_are_told_in_the_providers_words() {
    for (body, message) in [
        (
            r#"{"error":{"message":"no such model","type":"invalid_request_error"}}"#,
            "the Provider answered 400: no such model",
        ),
        (r#"{"error":"no such model"}"#, "the Provider answered 400: no such model"),
        (r#"{"detail":"no such model"}"#, "the Provider answered 400: no such model"),
        (r#"{"message":"no such model","code":400}"#, "the Provider answered 400: no such model"),
        (r#"{"message":"no such model"}"#, "the Provider answered 400: no such model"),
        (r#"[{"error":{"message":"no such model"}}]"#, "the Provider answered 400: no such model"),
        ("no such model\n", "the Provider answered 400: no such model"),
        ("<html>oh</html>", "the Provider answered 400 and did not say why"),
        ("", "the Provider answered 400 and did not say why"),
    ] {
        let fake = Fake::playing(vec![answer("400 x", "", body)]).await;
        assert_eq!(failure(&*provider(&fake, |_| {})).await.message, message);
    }
}

#[tokio::test]
async fn a_long_complaint_is_cut_and_never_shows_the_key() {
    // The key stands where the cut would leave half of it.
    let words = format!("{} {KEY} {}", "w".repeat(490), "z".repeat(200_000));
    let error = format!(r#"{{"error":{{"message":"{words}"}}}}"#);
    let within = format!(r#"{{"choices":[],"error":{{"message":"{words}"}}}}"#);
    let short = format!(r#"{{"error":{{"message":"bad key {KEY}"}}}}"#);
    for script in [
        answer("400 x", "", &short),
        answer("400 x", "", &words[..60_000]),
        answer("200 OK", "", &error),
        vec![stream_head(), body(format!("data: {within}\n\n"))],
        vec![stream_head(), body(format!("event: error\ndata: {words}\n\n"))],
    ] {
        let fake = Fake::playing(vec![script]).await;
        let failure = failure(&*provider(&fake, |_| {})).await;
        assert!(failure.message.contains("[key]"), "{}", failure.message);
        assert!(!format!("{failure:?}").contains("sk-"), "{}", failure.message);
        assert!(failure.message.chars().count() < 560);
    }
}

#[test]
fn no_debug_output_shows_the_key() {
    let spec = spec(Url::parse("http://127.0.0.1:9/v1").unwrap());
    assert!(!format!("{spec:?}").contains(KEY));
    assert!(!format!("{:?}", build(spec, &clients(|_| {}))).contains(KEY));
}

#[tokio::test]
async fn a_key_that_no_header_can_carry_is_told_without_it() {
    let fake = Fake::playing(vec![]).await;
    let spec = ProviderSpec { api_key: Some("sk-two\nlines".to_owned().into()), ..spec(fake.base_url()) };
    let failure = failure(&*build(spec, &clients(|_| {}))).await;
    assert_eq!(failure.message, "the Provider's key holds characters that cannot be sent");
}

#[tokio::test]
async fn models_are_listed_from_every_shape_of_list() {
    for list in [
        r#"{"data":[{"id":"a","context_length":8192},{"id":"text-embed"}]}"#,
        r#"[{"id":"a","max_model_len":8192},{"name":"text-embed"}]"#,
        r#"{"models":[{"name":"a","context_window":8192},"text-embed"]}"#,
    ] {
        let mut fake = Fake::playing(vec![answer("200 OK", "", list)]).await;
        let models = list_models(&spec(fake.base_url()), &clients(|_| {})).await.unwrap();
        let ids: Vec<_> =
            models.iter().map(|model| (model.id.as_str(), model.context_length, model.is_for_chat())).collect();
        assert_eq!(ids, [("a", Some(8192), true), ("text-embed", None, false)]);
        let Seen::Asked(head, _) = fake.seen().await else { panic!() };
        assert!(head.starts_with("GET /v1/models "));
    }
    let fake = Fake::playing(vec![answer("401 x", "", "")]).await;
    let failure = list_models(&spec(fake.base_url()), &clients(|_| {})).await.unwrap_err();
    assert_eq!(failure.kind, ErrorKind::Auth);
}
