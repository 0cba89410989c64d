//! Killed between a call and its result: the call is found marked, and nothing does it again.

use std::{net::SocketAddr, time::Duration};

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use hamlet_actors::vocabulary::{CallState, Message, MessageStatus, Part};
use http::{Method, StatusCode, header};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch};

use crate::{
    ask::{converse, load, path},
    house::MODEL,
    patience::within_patience,
    program::Home,
};

/// A Provider that calls `fetch_url` once for each text, and the page that is fetched: it counts its visitors, and keeps
/// them waiting for ever.
struct Shop {
    address: SocketAddr,
    visitors: watch::Sender<usize>,
    _serving: tokio_util::task::AbortOnDropHandle<()>,
}

impl Shop {
    async fn open() -> Self {
        let visitors = watch::Sender::new(0);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let page = |State((_, visitors)): State<(SocketAddr, watch::Sender<usize>)>| async move {
            visitors.send_modify(|visitors| *visitors += 1);
            std::future::pending::<()>().await;
        };
        let models = || async { Json(json!({"object": "list", "data": [{"id": MODEL, "object": "model"}]})) };
        let router = Router::new()
            .route("/buy", get(page))
            .route("/v1/models", get(models))
            .route("/v1/chat/completions", post(answer))
            .with_state((address, visitors.clone()));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, visitors, _serving: tokio_util::task::AbortOnDropHandle::new(serving) }
    }
}

async fn answer(
    State((address, _)): State<(SocketAddr, watch::Sender<usize>)>,
    Json(request): Json<Value>,
) -> Response {
    let messages = request["messages"].as_array().unwrap();
    let bought = messages.iter().any(|message| message["role"] == "tool");
    let arguments = json!({"url": format!("http://{address}/buy")}).to_string();
    let (delta, finish) = match bought {
        true => (json!({"content": "I don't know whether it was bought."}), "stop"),
        false => (
            json!({"tool_calls": [{"index": 0, "id": "c", "type": "function",
                                   "function": {"name": "fetch_url", "arguments": arguments}}]}),
            "tool_calls",
        ),
    };
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": MODEL,
               "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    };
    let body = format!("data: {}\n\ndata: {}\n\ndata: [DONE]\n\n", chunk(delta, None), chunk(json!({}), Some(finish)));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn call_and_result(message: &Message) -> (CallState, String) {
    let (mut state, mut output) = (None, String::new());
    for part in &message.parts {
        match part {
            Part::ToolCall(call) => state = Some(call.state),
            Part::ToolResult(result) => output = result.output.as_str().unwrap().to_owned(),
            _ => {}
        }
    }
    (state.unwrap(), output)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_ran_when_the_process_was_killed_is_marked_and_not_run_twice() {
    let shop = Shop::open().await;
    let home = Home::asking(format!("http://{}/v1", shop.address), 1);
    let program = home.start().await;
    let mut client = program.admin().await;
    let npcs = client.get("/api/npcs").await.expect(StatusCode::OK).await;
    let grants = format!("/api/npcs/{}/grants", npcs["items"][0]["id"].as_str().unwrap());
    client.send(Method::PUT, &grants, json!([{"tool": "fetch_url"}])).await.expect(StatusCode::OK).await;
    let conversation = converse(&client).await.unwrap();
    client.post(&path(conversation, "messages"), json!({"text": "Buy it"})).await.expect(StatusCode::ACCEPTED).await;
    let mut visitors = shop.visitors.subscribe();
    within_patience("the first visitor", visitors.wait_for(|visitors| *visitors == 1)).await.unwrap();
    program.kill().await;

    let program = home.start().await;
    client.address = program.address;
    let loaded = load(&client, conversation).await.unwrap();
    let left = loaded.messages.last().unwrap();
    assert_eq!(left.status, MessageStatus::Interrupted);
    let why = "interrupted while it ran: whether it took effect is not known";
    assert_eq!(call_and_result(left), (CallState::Done, why.to_owned()));
    client.post(&path(conversation, "messages"), json!({"text": "Well?"})).await.expect(StatusCode::ACCEPTED).await;
    let answered = async {
        loop {
            let loaded = load(&client, conversation).await.unwrap();
            let last = loaded.messages.last().unwrap();
            if last.status == MessageStatus::Complete && last.text.starts_with("I don't know") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within_patience("the answer", answered).await;
    assert_eq!(*shop.visitors.borrow(), 1);
    program.kill().await;
}
