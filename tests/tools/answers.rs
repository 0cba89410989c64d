//! How one call ends, whatever the server does.

use std::time::{Duration, Instant};

use hamlet::tools::servers::{answer::ANSWER_MAX, limits::Limits};
use hamlet_actors::ports::ToolAnswer;
use serde_json::{Value, json};

use crate::{
    fake::Fake,
    house::{House, eventually, http, invocation, short, text},
};

/// What a tool of the played server answers.
async fn answered(tool: &str, arguments: Value) -> ToolAnswer {
    answered_within(short(), tool, arguments).await
}

async fn answered_within(limits: Limits, tool: &str, arguments: Value) -> ToolAnswer {
    let (house, fake) = (House::within(limits, None).await, Fake::new(&[tool]).await);
    house.connected(http("fake", &fake.url())).await;
    house.call(&format!("fake/{tool}"), arguments).await
}

#[tokio::test]
async fn an_answer_comes_as_json_and_as_a_stream_alike() {
    for plain in [true, false] {
        let (house, fake) = (House::new().await, Fake::new(&["echo"]).await);
        fake.script.lock().unwrap().plain = plain;
        house.connected(http("fake", &fake.url())).await;
        let answer = house.call("fake/echo", json!({"message": "hello"})).await;
        assert_eq!(answer, ToolAnswer { output: json!("hello"), is_error: false, truncated: false });
        let (method, params) = fake.script.lock().unwrap().asked.last().cloned().unwrap();
        assert_eq!(
            (method.as_str(), &params["name"], &params["arguments"]),
            ("tools/call", &json!("echo"), &json!({"message": "hello"}))
        );
    }
}

#[tokio::test]
async fn what_a_server_says_or_asks_before_its_answer_does_not_stop_the_answer() {
    assert_eq!(answered("noted", json!({})).await.output, json!("noted"));
}

#[tokio::test]
async fn a_server_that_never_answers_ends_the_call_at_its_limit() {
    for tool in ["hang", "open", "wrong-id"] {
        let begun = Instant::now();
        let limits = Limits { call: Duration::from_secs(2), ..short() };
        let answer = answered_within(limits, tool, json!({})).await;
        assert!(answer.is_error && text(&answer).contains("did not answer within 2 s"), "{tool}: {answer:?}");
        assert!(begun.elapsed() < Duration::from_secs(15), "{tool}");
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_is_an_error_and_not_an_empty_answer() {
    let answer = answered("cut", json!({})).await;
    assert!(answer.is_error && text(&answer).contains("No result from fake"), "{answer:?}");
}

#[tokio::test]
async fn a_tool_that_fails_and_a_server_that_refuses_say_why() {
    let answer = answered("failing", json!({})).await;
    assert_eq!((answer.is_error, text(&answer)), (true, "no such file"));
    let answer = answered("refusing", json!({})).await;
    assert_eq!((answer.is_error, text(&answer)), (true, "fake refused the call: path is missing"));
}

#[tokio::test]
async fn an_answer_that_is_none_is_an_error() {
    for (tool, words) in [
        ("no-json", "No result from fake"),
        ("html", "No result from fake"),
        ("broken", "HTTP 500"),
        ("odd-content", "something else than was asked for"),
    ] {
        let answer = answered(tool, json!({})).await;
        assert!(answer.is_error && text(&answer).contains(words), "{tool}: {answer:?}");
    }
}

#[tokio::test]
async fn a_huge_answer_is_cut_and_a_monstrous_one_refused() {
    for tool in ["big", "big-stream", "structured"] {
        let answer = answered(tool, json!({"bytes": 1_000_000})).await;
        assert!(answer.truncated && !answer.is_error && text(&answer).len() == ANSWER_MAX, "{tool}");
        let answer = answered(tool, json!({"bytes": 9 * 1024 * 1024})).await;
        assert!(answer.is_error && text(&answer).len() < 1_000, "{tool}");
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let (house, fake) = (House::new().await, Fake::new(&["open"]).await);
    house.connected(http("fake", &fake.url())).await;
    let tool = house.tool("fake/open").await;
    let call = tokio::spawn(tool.call(invocation(serde_json::Map::new())));
    eventually(|| (fake.count("tools/call") == 1).then_some(()), || "the call did not arrive".to_owned()).await;
    call.abort();
    let cancelled = || fake.count("notifications/cancelled") == 1;
    eventually(|| cancelled().then_some(()), || "nothing was cancelled".to_owned()).await;
}

#[tokio::test]
async fn a_tool_of_a_server_that_has_been_removed_says_so() {
    let (house, fake) = (House::new().await, Fake::new(&["echo"]).await);
    let server = house.connected(http("fake", &fake.url())).await;
    let tool = house.tool("fake/echo").await;
    house.remove(&server).await;
    drop(server);
    let answer = crate::house::call(&tool, json!({})).await;
    assert!(answer.is_error, "{answer:?}");
    assert!(house.gather(&["fake/echo"]).await.tools.is_empty());
}
