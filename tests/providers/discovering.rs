//! Finding a model server on this machine.

use std::time::Duration;

use hamlet::providers::{
    Clients, Limits,
    discovery::{Found, look, ollama_url},
};
use hamlet_test_support::StoppedClock;
use tokio::time::Instant;

use crate::fake::{Act, Fake, answer};

fn clients() -> Clients {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Clients::new(Limits::default()).unwrap()
}

#[tokio::test]
async fn a_server_is_found_with_its_first_model_that_talks() {
    let list = r#"{"data":[{"id":"nomic-embed-text"},{"id":"llama3.2:3b"},{"id":"other"}]}"#;
    let fake = Fake::playing(vec![answer("200 OK", "", list)]).await;
    let _clock = StoppedClock::new();
    let found = look(&clients(), "Ollama", Some(fake.base_url())).await;
    let expected = Found { name: "Ollama", base_url: fake.base_url(), model: Some("llama3.2:3b".into()) };
    assert_eq!(found, Some(expected));
}

#[tokio::test]
async fn a_server_without_models_is_found_without_one() {
    let fake = Fake::playing(vec![answer("200 OK", "", r#"{"object":"list","data":null}"#)]).await;
    let _clock = StoppedClock::new();
    assert_eq!(look(&clients(), "Ollama", Some(fake.base_url())).await.unwrap().model, None);
}

#[tokio::test]
async fn what_is_silent_or_something_else_is_not_found_and_soon() {
    for script in [vec![Act::AwaitClose], vec![Act::Close], answer("404 x", "", ""), answer("200 OK", "", "<html>")] {
        let fake = Fake::playing(vec![script]).await;
        let clock = StoppedClock::new();
        let (start, clients) = (Instant::now(), clients());
        let mut looking = std::pin::pin!(look(&clients, "Ollama", Some(fake.base_url())));
        let found = loop {
            tokio::select! {
                found = &mut looking => break found,
                () = clock.advance(Duration::from_millis(10)) => {}
            }
        };
        assert_eq!(found, None);
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}

#[test]
fn the_variable_is_read_as_ollama_reads_it() {
    for (given, expected) in [
        ("0.0.0.0", Some("http://127.0.0.1:11434/v1")),
        ("0.0.0.0:8000", Some("http://127.0.0.1:8000/v1")),
        (":8000", Some("http://127.0.0.1:8000/v1")),
        ("localhost", Some("http://localhost:11434/v1")),
        ("[::1]:8000", Some("http://[::1]:8000/v1")),
        ("https://models.example/", Some("https://models.example/v1")),
        ("", None),
        ("not a host", None),
    ] {
        assert_eq!(ollama_url(given).map(String::from).as_deref(), expected, "{given}");
    }
}
