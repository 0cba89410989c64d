//! The Provider of this suite, in the test's own process: a server with the chat completions wire format that says what
//! the Player's line orders, in many small writes, so that commits are dense. It outlives every Hamlet that asks it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::header,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

use crate::line::{AFTER, Curtain, INPUT_TOKENS, Line, TOOL};

/// The one model that it offers.
pub const MODEL: &str = "house-1";
/// Between two writes.
const BREATH: Duration = Duration::from_millis(1);

pub struct House {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    /// Replies that are held go on.
    released: watch::Sender<bool>,
    /// How many replies have been said up to where they are held.
    held: watch::Sender<usize>,
}

impl House {
    pub async fn open() -> Self {
        let shared = Arc::new(Shared { released: watch::Sender::new(false), held: watch::Sender::new(0) });
        let router = Router::new()
            .route(
                "/v1/models",
                get(async || Json(json!({"object": "list", "data": [{"id": MODEL, "object": "model"}]}))),
            )
            .route("/v1/chat/completions", post(answer))
            .with_state(Arc::clone(&shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, task }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Resolves when so many replies are held.
    pub async fn holds(&self, replies: usize) {
        self.shared.held.subscribe().wait_for(|held| *held >= replies).await.unwrap();
    }

    /// Lets all replies that are held come to their end.
    pub fn release(&self) {
        self.shared.released.send_replace(true);
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, Json(request): Json<Value>) -> Response {
    let last = request["messages"].as_array().and_then(|messages| messages.last());
    if last.is_some_and(|last| last["role"] == "tool") {
        let events = [chunk(json!({"content": AFTER}), None), chunk(json!({}), Some("stop"))];
        let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        return ([(header::CONTENT_TYPE, "text/event-stream")], body + "data: [DONE]\n\n").into_response();
    }
    let asked = request["messages"].as_array().and_then(|messages| messages.last()).map(|last| &last["content"]);
    // What was said before and got no reply stands before it in one Message.
    let line = asked.and_then(Value::as_str).and_then(|text| text.lines().last());
    let line: Line = line.unwrap_or_default().parse().unwrap();
    let writes = writes(&line);
    let holds = line.curtain == Curtain::Hold;
    let body = stream::unfold((writes, 0, shared), move |(mut writes, at, shared)| async move {
        if at > 0 {
            tokio::time::sleep(BREATH).await;
        }
        let last = writes.len() == 1;
        let write = writes.pop()?;
        if holds && last {
            shared.held.send_modify(|held| *held += 1);
            shared.released.subscribe().wait_for(|released| *released).await.unwrap();
        }
        Some((Ok::<_, std::convert::Infallible>(write), (writes, at + 1, shared)))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(body)).into_response()
}

/// All writes of the reply, the last one first.
fn writes(line: &Line) -> Vec<Bytes> {
    let mut writes: Vec<Bytes> = Vec::new();
    let of =
        |events: Vec<Value>| Bytes::from(events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>());
    for at in 0..line.thoughts {
        writes.push(of(vec![chunk(json!({"reasoning_content": line.thought(at)}), None)]));
    }
    let words: Vec<Value> = (0..line.words).map(|at| chunk(json!({"content": line.word(at)}), None)).collect();
    writes.extend(words.chunks(line.chunk.max(1) as usize).map(|some| of(some.to_vec())));
    writes.extend(curtain(line).into_iter().map(|events| match events {
        Ending::Events(events) => of(events),
        Ending::Done(events) => [&of(events)[..], b"data: [DONE]\n\n"].concat().into(),
    }));
    writes.reverse();
    writes
}

enum Ending {
    Events(Vec<Value>),
    /// Followed by the end mark.
    Done(Vec<Value>),
}

fn curtain(line: &Line) -> Vec<Ending> {
    let usage = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "choices": [],
        "usage": {"prompt_tokens": INPUT_TOKENS, "completion_tokens": line.words, "total_tokens": 9}});
    let call = |call: Value| chunk(json!({"tool_calls": [call]}), None);
    match line.curtain {
        Curtain::Stop | Curtain::Hold => vec![Ending::Done(vec![chunk(json!({}), Some("stop")), usage])],
        Curtain::Call => vec![
            Ending::Events(vec![call(json!({"index": 0, "id": format!("call_{}", line.number), "type": "function",
                       "function": {"name": TOOL, "arguments": ""}}))]),
            Ending::Events(vec![call(json!({"index": 0, "function": {"arguments": "{\"times\":"}}))]),
            Ending::Events(vec![call(json!({"index": 0, "function": {"arguments": "3}"}}))]),
            Ending::Done(vec![chunk(json!({}), Some("tool_calls")), usage]),
        ],
        Curtain::Fail => {
            vec![Ending::Events(vec![json!({"error": {"message": "the roof came down", "type": "server_error"}})])]
        }
        Curtain::Cut => Vec::new(),
    }
}

fn chunk(delta: Value, finish: Option<&str>) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": MODEL,
           "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}
