//! A tool server over streamable HTTP that the tests play: each of its tools misbehaves in its own way.

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, Response, StatusCode, header},
    routing::any,
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::broadcast, task::AbortHandle};

/// What it is told to do, and what it was asked.
#[derive(Default)]
pub struct Script {
    pub tools: Vec<Value>,
    /// Tools a page; 0: all in one.
    pub page: usize,
    /// Every page names another one.
    pub endless: bool,
    /// A change is told in the answer to the first list, before the list.
    pub changed_first: bool,
    /// Answers plain JSON where it could stream.
    pub plain: bool,
    /// Says 400 and not 404 to a session that it does not know, as many do.
    pub vague: bool,
    /// As one behind a proxy that is there.
    down: bool,
    sessions: HashSet<String>,
    pub begun: usize,
    pub lists: usize,
    /// Methods with their parameters, in their order.
    pub asked: Vec<(String, Value)>,
    pub headers: Vec<HashMap<String, String>>,
}

pub struct Fake {
    pub address: SocketAddr,
    pub script: Arc<Mutex<Script>>,
    told: broadcast::Sender<Value>,
    serving: Mutex<Option<AbortHandle>>,
}

/// A tool without arguments.
pub fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object"}})
}

impl Fake {
    pub async fn new(tools: &[&str]) -> Self {
        let script = Script { tools: tools.iter().map(|name| tool(name)).collect(), ..Script::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fake = Self {
            address: listener.local_addr().unwrap(),
            script: Arc::new(Mutex::new(script)),
            told: broadcast::Sender::new(16),
            serving: Mutex::new(None),
        };
        fake.serve(listener);
        fake
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    fn serve(&self, listener: TcpListener) {
        let state = (Arc::clone(&self.script), self.told.clone());
        let router = Router::new().route("/mcp", any(answer)).with_state(state);
        let serving = tokio::spawn(async move {
            let shutdown = std::future::pending::<()>();
            drop(axum::serve(listener, router).with_graceful_shutdown(shutdown).await);
        });
        *self.serving.lock().unwrap() = Some(serving.abort_handle());
    }

    /// Nobody listens any more, and what it knew of its clients is lost.
    pub fn stop(&self) {
        self.serving.lock().unwrap().take().unwrap().abort();
        let mut script = self.script.lock().unwrap();
        script.sessions.clear();
        // Connections that are open have tasks of their own.
        script.down = true;
    }

    pub async fn start_again(&self) {
        let listener = loop {
            match TcpListener::bind(self.address).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        };
        self.script.lock().unwrap().down = false;
        self.serve(listener);
    }

    pub fn forget_sessions(&self) {
        self.script.lock().unwrap().sessions.clear();
    }

    /// To whoever listens to the common stream.
    pub fn tell(&self, method: &str) {
        drop(self.told.send(json!({"jsonrpc": "2.0", "method": method})));
    }

    pub fn set_tools(&self, tools: &[&str]) {
        self.script.lock().unwrap().tools = tools.iter().map(|name| tool(name)).collect();
    }

    pub fn count(&self, method: &str) -> usize {
        self.script.lock().unwrap().asked.iter().filter(|(asked, _)| asked == method).count()
    }
}

type Shared = (Arc<Mutex<Script>>, broadcast::Sender<Value>);

async fn answer(
    State((script, told)): State<Shared>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    if script.lock().unwrap().down {
        return status(StatusCode::SERVICE_UNAVAILABLE);
    }
    let session = headers.get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let seen = headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap_or("?").to_owned()));
    script.lock().unwrap().headers.push(seen.collect());
    let known = session.as_ref().is_some_and(|id| script.lock().unwrap().sessions.contains(id));
    if session.is_some() && !known && script.lock().unwrap().vague {
        let error = json!({"code": -32000, "message": "Bad Request: No valid session ID provided"});
        let mut refused = plain(&json!({"jsonrpc": "2.0", "error": error}));
        *refused.status_mut() = StatusCode::BAD_REQUEST;
        return refused;
    }
    if session.is_some() && !known {
        return status(StatusCode::NOT_FOUND);
    }
    if method == Method::GET {
        let pushed = stream::unfold(told.subscribe(), |mut told| async {
            let message = told.recv().await.ok()?;
            Some((event(&message), told))
        });
        return sse(pushed);
    }
    if method == Method::DELETE {
        return status(StatusCode::OK);
    }
    let Ok(request) = serde_json::from_slice::<Value>(&body) else { return status(StatusCode::BAD_REQUEST) };
    let asked = request["method"].as_str().unwrap_or("answer").to_owned();
    script.lock().unwrap().asked.push((asked.clone(), request["params"].clone()));
    let id = request["id"].clone();
    match asked.as_str() {
        "initialize" => begin(&script, &request),
        "tools/list" => list(&script, &request),
        "tools/call" => call(&script, &request).await,
        "ping" => plain(&json!({"jsonrpc": "2.0", "id": id, "result": {}})),
        _ => status(StatusCode::ACCEPTED),
    }
}

fn begin(script: &Mutex<Script>, request: &Value) -> Response<Body> {
    let mut script = script.lock().unwrap();
    script.begun += 1;
    let session = format!("session-{}", script.begun);
    script.sessions.insert(session.clone());
    let result = json!({
        "protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "fake", "version": "1"},
    });
    let mut response = plain(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    response.headers_mut().insert("mcp-session-id", session.parse().unwrap());
    response
}

fn list(script: &Mutex<Script>, request: &Value) -> Response<Body> {
    let mut script = script.lock().unwrap();
    script.lists += 1;
    let from: usize = request["params"]["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
    let page = if script.page == 0 { script.tools.len() } else { script.page };
    let tools: Vec<Value> = script.tools.iter().skip(from).take(page).cloned().collect();
    let mut result = json!({"tools": tools});
    if script.endless || from + page < script.tools.len() {
        result["nextCursor"] = json!((from + page).to_string());
    }
    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    if script.changed_first {
        script.changed_first = false;
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        script.tools.push(tool("late"));
        return sse(stream::iter([event(&changed), event(&answer)]));
    }
    if script.plain { plain(&answer) } else { sse(stream::iter([event(&answer)])) }
}

async fn call(script: &Mutex<Script>, request: &Value) -> Response<Body> {
    let arguments = &request["params"]["arguments"];
    let answer = |result: Value| json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    let text = |text: &str| answer(json!({"content": [{"type": "text", "text": text}]}));
    let big = || "x".repeat(usize::try_from(arguments["bytes"].as_u64().unwrap_or(0)).unwrap());
    match request["params"]["name"].as_str().unwrap() {
        "hang" => std::future::pending().await,
        "open" => sse(stream::pending::<Result<Bytes, Infallible>>()),
        "cut" => sse(stream::empty::<Result<Bytes, Infallible>>()),
        "big" => plain(&text(&big())),
        "big-stream" => sse(stream::iter([event(&text(&big()))])),
        "structured" => plain(&answer(json!({"content": [], "structuredContent": {"all": big()}}))),
        "wrong-id" => plain(&json!({"jsonrpc": "2.0", "id": 9_999_999, "result": {"content": []}})),
        "late" | "noted" => {
            let note =
                json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}});
            let wants = json!({"jsonrpc": "2.0", "id": "mine", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}});
            sse(stream::iter([event(&note), event(&wants), event(&text("noted"))]))
        }
        "no-json" => response("application/json", Body::from("{")),
        "html" => response("text/html", Body::from("<p>hello")),
        "failing" => plain(&answer(json!({"content": [{"type": "text", "text": "no such file"}], "isError": true}))),
        "refusing" => plain(&json!({
            "jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "path is missing"},
        })),
        "telling" => plain(&json!({
            "jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "bad key sk-secret"},
        })),
        "broken" => status(StatusCode::INTERNAL_SERVER_ERROR),
        "moved" => {
            let mut moved = status(StatusCode::TEMPORARY_REDIRECT);
            let to = arguments["to"].as_str().unwrap_or("/elsewhere");
            moved.headers_mut().insert(header::LOCATION, to.parse().unwrap());
            moved
        }
        "odd-content" => plain(&answer(json!({"content": [{"type": "hologram"}]}))),
        _ => {
            let said = arguments["message"].as_str().unwrap_or("done").to_owned();
            if script.lock().unwrap().plain { plain(&text(&said)) } else { sse(stream::iter([event(&text(&said))])) }
        }
    }
}

fn event(message: &Value) -> Result<Bytes, Infallible> {
    Ok(Bytes::from(format!("event: message\ndata: {message}\n\n")))
}

fn sse(events: impl futures_util::Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response<Body> {
    response("text/event-stream", Body::from_stream(events.boxed()))
}

fn plain(message: &Value) -> Response<Body> {
    response("application/json", Body::from(message.to_string()))
}

fn response(kind: &str, body: Body) -> Response<Body> {
    Response::builder().header(header::CONTENT_TYPE, kind).body(body).unwrap()
}

fn status(status: StatusCode) -> Response<Body> {
    Response::builder().status(status).body(Body::empty()).unwrap()
}
