//! The real server without its socket: its store, its Village, its routes, asked in-process. It can be cut off as by a kill
//! and opened again on the same file. What plays the Conversation's actor writes to the store and the log that it holds.

use std::{path::Path, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, BodyDataStream, to_bytes},
    response::Response,
};
use hamlet::{
    app::App,
    gates::origin::OriginRules,
    http::router,
    serve::{Server, Setup},
    store::StoreError,
};
use hamlet_actors::{village::Upkeep, vocabulary::PlayerId};
use hamlet_test_support::{ScriptedProvider, setup};
use http::{Method, Request, StatusCode, header};
use rusqlite::Connection;
use serde_json::Value;
use tower::ServiceExt;

use crate::broken::{Broken, Checked, ensure, must};

/// Long enough that nothing happens by itself: what the Village does at intervals is a happening of the test.
const NEVER: Duration = Duration::from_secs(1 << 20);

pub struct House {
    folder: Arc<tempfile::TempDir>,
    pub app: Arc<App>,
    /// Answers whoever really asks for a turn.
    pub provider: Arc<ScriptedProvider>,
    routes: Router,
    host: String,
    cookie: String,
    pub player: PlayerId,
}

impl House {
    /// A new Village, with its admin signed in.
    pub async fn build() -> Self {
        let folder = Arc::new(folder());
        let provider = ScriptedProvider::new();
        let (server, link) = open(folder.path(), &provider).await;
        let mut house = Self::of(folder, &server, provider, String::new(), PlayerId::generate());
        let entered = house.ask(Method::GET, &format!("/sign-in?token={}", link.unwrap()), &[], None).await;
        let set = entered.headers()[header::SET_COOKIE].to_str().unwrap().to_owned();
        house.cookie = set.split(';').next().unwrap().to_owned();
        let me = house.json(Method::GET, "/api/me").await.unwrap();
        house.player = me["id"].as_str().unwrap().parse().unwrap();
        house
    }

    /// Ends the process that has the file open, whatever it was at, and opens the file again. Nobody may still read a stream.
    pub async fn reopened(&self) -> Self {
        self.let_go().await;
        let provider = ScriptedProvider::new();
        let (server, _) = open(self.folder.path(), &provider).await;
        Self::of(Arc::clone(&self.folder), &server, provider, self.cookie.clone(), self.player)
    }

    /// Ends all streams, as before an orderly end of the process.
    pub async fn let_go(&self) {
        self.app.engine.shut_down(Duration::ZERO).await;
        self.app.engine.stop();
        // The actors let go of the store in their own time.
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    fn of(
        folder: Arc<tempfile::TempDir>,
        server: &Server,
        provider: Arc<ScriptedProvider>,
        cookie: String,
        player: PlayerId,
    ) -> Self {
        let app = Arc::clone(&server.app);
        let routes = router(Arc::clone(&app), OriginRules::default());
        Self { folder, app, provider, routes, host: server.address.to_string(), cookie, player }
    }

    /// Reads the store by itself.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Checked<T> {
        must(self.app.store.read(read).await, "the store cannot be read")
    }

    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Response<Body> {
        let mut request = Request::builder().method(method).uri(path);
        request = request.header(header::HOST, &self.host).header(header::COOKIE, &self.cookie);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request.body(body.map_or_else(Body::empty, Body::from)).unwrap();
        self.routes.clone().oneshot(request).await.unwrap()
    }

    pub async fn json(&self, method: Method, path: &str) -> Checked<Value> {
        self.send(method, path, None).await
    }

    /// The JSON that is answered; what is sent wants no stream.
    pub async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Checked<Value> {
        let body = body.map(|body| body.to_string().into_bytes());
        let response = self.ask(method, path, &[("accept", "application/json")], body).await;
        let status = response.status();
        let bytes = must(to_bytes(response.into_body(), usize::MAX).await, "a body")?;
        ensure!(status.is_success(), "{path} answered {status}: {}", String::from_utf8_lossy(&bytes));
        if bytes.is_empty() { Ok(Value::Null) } else { must(serde_json::from_slice(&bytes), path) }
    }

    /// A stream of events; None when there is nothing to be watched.
    pub async fn stream(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Vec<u8>>,
    ) -> Checked<Option<BodyDataStream>> {
        let response = self.ask(method, path, headers, body).await;
        match response.status() {
            StatusCode::OK => Ok(Some(response.into_body().into_data_stream())),
            StatusCode::NOT_FOUND => Ok(None),
            status => Err(Broken(format!("{path} answered {status}"))),
        }
    }
}

/// In memory where the machine has such a folder: a commit costs no disk then, and the store is the same.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.or_else(|_| tempfile::tempdir()).unwrap()
}

async fn open(folder: &Path, provider: &Arc<ScriptedProvider>) -> (Server, Option<String>) {
    let setup = setup(folder, Arc::clone(provider));
    let upkeep = Upkeep { sweep_every: NEVER, ..setup.upkeep };
    let server = Server::start(Setup { upkeep, ..setup }).await.unwrap();
    let link = server.first_link.as_ref().map(|link| link.text());
    (server, link)
}
