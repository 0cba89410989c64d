//! The rehearsal behaves like a Provider on a network: it streams, it has one end, and each cue does what it says.

use std::time::Duration;

use futures_util::StreamExt;
use hamlet::providers::rehearsal::Rehearsal;
use hamlet_actors::{
    ports::{ModelRequest, Provider, ProviderEvent, RequestItem, ToolSpec},
    vocabulary::ModelParams,
};
use serde_json::json;
use tokio::time::Instant;

use crate::told::{Told, origin, told};

fn rehearsal() -> Rehearsal {
    Rehearsal::new(origin().provider, "Rehearsal".into()).at_pace(0)
}

fn asked(items: Vec<RequestItem>) -> ModelRequest {
    let tool = |name: &str| ToolSpec { name: name.into(), description: String::new(), parameters: json!({}) };
    ModelRequest {
        model: "rehearsal".into(),
        system: "# Who you are\nYou are Ada, the baker.\n\n# Instructions\nYou bake.".into(),
        items,
        tools: vec![tool("look"), tool("look_up")],
        params: ModelParams::default(),
    }
}

fn says(text: &str) -> Vec<RequestItem> {
    vec![RequestItem::User { text: text.into() }]
}

async fn items(provider: &Rehearsal, items: Vec<RequestItem>) -> Vec<Vec<ProviderEvent>> {
    provider.ask(asked(items)).collect().await
}

async fn heard(text: &str) -> Told {
    told(&items(&rehearsal(), says(text)).await.concat())
}

#[tokio::test]
async fn it_says_who_speaks_and_that_no_model_does() {
    let told = heard("Do you have bread?\nOr rolls?").await;
    assert_eq!(told.end, "stop");
    let text = told.parts.concat();
    assert!(text.contains("**Ada**") && text.contains("no language model"), "{text}");
    assert!(text.contains("> Do you have bread?\n> Or rolls?\n"), "{text}");
    assert_eq!(told, heard("Do you have bread?\nOr rolls?").await);
    assert!(told.usage.input_tokens.is_some() && told.usage.output_tokens > Some(10));
}

#[tokio::test]
async fn whoever_was_handed_the_turn_takes_its_cues_from_what_it_was_handed() {
    let handed = "use look {\"at\": 1}\n\n[Bo]: I will use it.\n\n[Bo to Ada]: echo: hi";
    assert_eq!(heard(handed).await.parts, ["text: hi"]);
    // A colleague's words alone are none.
    assert!(heard("echo: hi\n\n[Bo]: so").await.parts[0].starts_with("text: hi"));
}

#[tokio::test]
async fn every_cue_does_what_it_says() {
    let markdown = heard("Show me some Markdown, please").await.parts.concat();
    for needed in ["\n- ", "|---|", "```rust\n", "## "] {
        assert!(markdown.contains(needed), "{needed}");
    }
    let words = heard("a long one").await.parts.concat().split_whitespace().count();
    assert!((550..750).contains(&words), "{words}");
    assert!(heard("think first").await.parts[0].starts_with("thought: Ada"));
    let cut = heard("cut").await;
    assert_eq!((cut.end, cut.parts.len()), ("truncated", 1));
    let failed = heard("please fail").await;
    assert_eq!((failed.end, failed.parts.len()), ("failed", 1));
    assert_eq!(heard("echo:  exactly\n this: {}").await.parts, ["text:  exactly\n this: {}"]);
    assert_eq!(heard("shortcut thinking failure").await.end, "stop");
}

#[tokio::test]
async fn it_calls_a_granted_tool_and_tells_the_result() {
    let called = heard("please use look_up {\"at\": {\"x\": 1}} now").await;
    assert_eq!(
        called.parts,
        ["text: I will use `look_up` for that.".to_owned(), r#"call rehearsed_1 look_up {"at": {"x": 1}}"#.into()]
    );
    assert_eq!(called.end, "tool-calls");
    assert_eq!(heard("use look").await.parts[1], "call rehearsed_1 look {}");
    assert_eq!(heard("use hammer {}").await.end, "stop");
    let result = RequestItem::ToolResult {
        id: "rehearsed_1".into(),
        name: "look".into(),
        output: "a well".into(),
        is_error: false,
    };
    let told = told(&items(&rehearsal(), [says("use look"), vec![result]].concat()).await.concat());
    assert_eq!(told.end, "stop");
    assert!(told.parts.concat().contains("> a well"));
}

#[tokio::test(start_paused = true)]
async fn it_keeps_its_pace() {
    let start = Instant::now();
    let pieces = items(&rehearsal().at_pace(10), says("cut")).await.len();
    assert_eq!(start.elapsed(), Duration::from_millis(100) * u32::try_from(pieces).unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_does_not_slow_the_pace() {
    let start = Instant::now();
    let mut stream = rehearsal().at_pace(10).ask(asked(says("cut")));
    assert!(stream.next().await.is_some());
    tokio::time::sleep(Duration::from_millis(350)).await;
    for _ in 0..4 {
        assert!(stream.next().await.is_some());
    }
    assert_eq!(start.elapsed(), Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn its_silence_ends_at_the_idle_limit() {
    let start = Instant::now();
    let provider = rehearsal().with_idle_limit(Duration::from_secs(30));
    let told = told(&items(&provider, says("silence")).await.concat());
    assert_eq!(start.elapsed().as_secs(), 30);
    assert_eq!(told.failure.unwrap(), "Timeout true the Provider sent nothing for 30 s");
}
