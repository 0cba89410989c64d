//! A running server on a free loopback port, with a Provider that the test plays, and a client that is signed in.

#![expect(clippy::unwrap_used, reason = "a test support that fails, fails the test")]

use std::{
    net::SocketAddr,
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::{StreamExt, future::BoxFuture};
use hamlet::{
    app::{App, BuildsProviders, RealProviders},
    auth::AccountsOptions,
    gates::origin::OriginRules,
    providers::{Clients, Limits, models::ListedModel},
    serve::{Server, Setup},
    vault::Vault,
    village::{
        registry::{EnvironmentProviders, Known},
        settings::Pins,
    },
};
use hamlet_actors::{
    ports::{Provider, ProviderFailure, journal::Journal},
    village::Upkeep,
    vocabulary::{Frame, Transcript, TurnState},
};
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{FaultyJournal, ScriptedProvider};

/// What a scraper of a test server brings.
pub const SCRAPER: &str = "the scraper's own token";

/// Whatever is asked for, the played Provider answers.
struct Played(Arc<ScriptedProvider>);

impl BuildsProviders for Played {
    fn build(&self, _known: &Known) -> Arc<dyn Provider> {
        self.0.clone()
    }

    fn models(&self, known: &Known) -> BoxFuture<'static, Result<Vec<ListedModel>, ProviderFailure>> {
        // The real ones; only replies are played.
        RealProviders(Clients::new(Limits { retries: 0, ..Limits::default() }).unwrap()).models(known)
    }
}

/// What a server is started with over this folder.
pub fn setup(folder: &Path, provider: Arc<ScriptedProvider>) -> Setup {
    Setup {
        data: folder.to_owned(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        rules: OriginRules::default(),
        accounts: AccountsOptions::default(),
        vault: Vault::new(&[7; 32]),
        environment: EnvironmentProviders::default(),
        found: Vec::new(),
        pins: Pins::default(),
        providers: Arc::new(Played(provider)),
        journal: Box::new(|store| Arc::new(store)),
        upkeep: Upkeep { sweep_every: Duration::from_millis(100), ..Upkeep::default() },
        metrics_token: Some(SCRAPER.into()),
        deadline: Duration::from_millis(200),
    }
}

pub struct TestServer {
    pub address: SocketAddr,
    pub app: Arc<App>,
    pub provider: Arc<ScriptedProvider>,
    /// Between the engine and the store.
    pub journal: Arc<FaultyJournal>,
    /// Signed in as the admin.
    pub admin: Client,
    pub stop: CancellationToken,
    pub running: tokio::task::JoinHandle<()>,
    folder: Arc<tempfile::TempDir>,
}

impl TestServer {
    pub async fn start() -> Self {
        Self::over(Arc::new(tempfile::tempdir().unwrap()), AccountsOptions::default(), OriginRules::default()).await
    }

    pub async fn over(folder: Arc<tempfile::TempDir>, accounts: AccountsOptions, rules: OriginRules) -> Self {
        let provider = ScriptedProvider::new();
        let made: Arc<OnceLock<Arc<FaultyJournal>>> = Arc::default();
        let making = Arc::clone(&made);
        let faulty =
            move |store| making.get_or_init(|| FaultyJournal::over(Arc::new(store))).clone() as Arc<dyn Journal>;
        let setup = Setup { rules, accounts, journal: Box::new(faulty), ..setup(folder.path(), provider.clone()) };
        let server = Server::start(setup).await.unwrap();
        let (address, app, link) =
            (server.address, server.app.clone(), server.first_link.as_ref().map(|link| link.text()));
        let stop = CancellationToken::new();
        let running = tokio::spawn(server.run(stop.clone()));
        let mut admin = Client::new(address);
        if let Some(link) = link {
            admin.enter(&link).await;
        }
        let journal = made.get().unwrap().clone();
        Self { address, app, provider, journal, admin, stop, running, folder }
    }

    /// The folder that holds `hamlet.db`.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Stops as on a signal, and starts again on the same data; whoever was signed in still is.
    pub async fn restarted(self) -> Self {
        let Self { stop, running, folder, admin, .. } = self;
        stop.cancel();
        running.await.unwrap();
        let mut next = Self::over(folder, AccountsOptions::default(), OriginRules::default()).await;
        next.admin = Client { address: next.address, ..admin };
        next
    }

    /// As after `kill -9`: another server opens a copy of the file as it is at this moment. The first goes on unnoticed;
    /// whoever was signed in there is signed in here.
    pub async fn killed_and_restarted(&self) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        for file in ["hamlet.db", "hamlet.db-wal"] {
            let from = self.folder.path().join(file);
            if from.exists() {
                std::fs::copy(from, folder.path().join(file)).unwrap();
            }
        }
        let mut next = Self::over(folder, AccountsOptions::default(), OriginRules::default()).await;
        next.admin = Client { address: next.address, ..self.admin.clone() };
        next
    }

    /// Somebody else, with the role player.
    pub async fn player(&self, name: &str) -> Client {
        let body = json!({"name": name, "password": "correct horse"});
        self.admin.post("/api/users", body.clone()).await.expect(StatusCode::CREATED).await;
        let mut client = Client::new(self.address);
        let response = client.request(Method::POST, "/api/auth/sign-in").json(&body).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        client.cookie = cookie(&response);
        client
    }

    /// The id of the Village's first NPC.
    pub async fn npc(&self) -> String {
        let npcs = self.admin.get("/api/npcs").await.expect(StatusCode::OK).await;
        npcs["items"][0]["id"].as_str().unwrap().to_owned()
    }

    /// A new Conversation of the admin's with that NPC.
    pub async fn conversation(&self) -> String {
        self.conversation_of(&self.admin).await
    }

    pub async fn conversation_of(&self, client: &Client) -> String {
        let npc = self.npc().await;
        let made = client.post("/api/conversations", json!({"npcIds": [npc]})).await.expect(StatusCode::CREATED).await;
        made["id"].as_str().unwrap().to_owned()
    }
}

/// An HTTP client with its cookie.
#[derive(Clone)]
pub struct Client {
    pub address: SocketAddr,
    pub cookie: Option<String>,
    http: reqwest::Client,
}

fn cookie(response: &Response) -> Option<String> {
    let set = response.headers().get(header::SET_COOKIE)?.to_str().ok()?;
    Some(set.split(';').next()?.to_owned())
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        // Another test of this process may have installed it already.
        drop(rustls::crypto::ring::default_provider().install_default());
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy().build().unwrap();
        Self { address, cookie: None, http }
    }

    async fn enter(&mut self, link: &str) {
        let response = self.request(Method::GET, &format!("/sign-in?token={link}")).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        self.cookie = cookie(&response);
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("http://{}{path}", self.address));
        match &self.cookie {
            Some(cookie) => request.header(header::COOKIE, cookie),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer(self.request(Method::GET, path).send().await.unwrap())
    }

    /// A POST that asks for JSON: a send answers 202.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        let request = self.request(Method::POST, path).header(header::ACCEPT, "application/json");
        Answer(request.json(&body).send().await.unwrap())
    }

    pub async fn send(&self, method: Method, path: &str, body: Value) -> Answer {
        Answer(self.request(method, path).json(&body).send().await.unwrap())
    }

    /// A POST that streams its turn.
    pub async fn stream(&self, path: &str, body: Value) -> Events {
        let request = self.request(Method::POST, path).header(header::ACCEPT, "text/event-stream");
        Events::of(request.json(&body).send().await.unwrap())
    }

    pub async fn watch(&self, path: &str) -> Events {
        Events::of(self.request(Method::GET, path).send().await.unwrap())
    }
}

pub struct Answer(pub Response);

impl Answer {
    /// The JSON body, once the status is the expected one.
    pub async fn expect(self, status: StatusCode) -> Value {
        let (found, text) = (self.0.status(), self.0.text().await.unwrap());
        assert_eq!(found, status, "{text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// The error's code, once the status is the expected one.
    pub async fn refused(self, status: StatusCode) -> String {
        self.expect(status).await["error"]["code"].as_str().unwrap().to_owned()
    }
}

/// An SSE stream read event by event, folded as it comes.
pub struct Events {
    pub response_headers: header::HeaderMap,
    bytes: futures_util::stream::BoxStream<'static, reqwest::Result<Vec<u8>>>,
    buffer: Vec<u8>,
    pub last_id: Option<u64>,
    pub frames: Vec<(Option<u64>, Frame)>,
    pub transcript: Transcript,
    /// Everything as it came.
    pub raw: Vec<u8>,
}

impl Events {
    pub fn of(response: Response) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        let response_headers = response.headers().clone();
        let bytes = response.bytes_stream().map(|chunk| chunk.map(|chunk| chunk.to_vec())).boxed();
        let transcript = Transcript::default();
        Self {
            response_headers,
            bytes,
            buffer: Vec::new(),
            last_id: None,
            frames: Vec::new(),
            transcript,
            raw: Vec::new(),
        }
    }

    /// Reads until the condition holds; false when the stream ended before.
    pub async fn until(&mut self, condition: impl Fn(&Self) -> bool) -> bool {
        let reading = async {
            loop {
                if condition(self) {
                    return true;
                }
                match self.bytes.next().await {
                    Some(Ok(chunk)) => {
                        self.raw.extend_from_slice(&chunk);
                        self.buffer.extend(chunk);
                        self.take_events();
                    }
                    Some(Err(_)) | None => return condition(self),
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(10), reading).await.unwrap()
    }

    pub async fn until_text(&mut self, text: &str) {
        assert!(self.until(|events| events.last_text() == text).await, "the stream ended with {:?}", self.last_text());
    }

    /// Reads to the end of the stream.
    pub async fn to_end(&mut self) {
        self.until(|_| false).await;
    }

    pub fn terminal_frames(&self) -> usize {
        self.frames
            .iter()
            .filter(|(_, frame)| matches!(frame, Frame::Finish(finish) if finish.turn.state == TurnState::Ended))
            .count()
    }

    pub fn last_text(&self) -> String {
        use hamlet_actors::vocabulary::Part;
        let Some(entry) = self.transcript.entries().last() else { return String::new() };
        let text = |part: &Part| if let Part::Text { text } = part { Some(text.clone()) } else { None };
        entry.parts.iter().filter_map(text).collect()
    }

    fn take_events(&mut self) {
        while let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
            let event: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let mut id = None;
            for line in String::from_utf8(event).unwrap().lines() {
                if let Some(text) = line.strip_prefix("id: ") {
                    id = text.parse().ok();
                    self.last_id = id;
                } else if let Some(data) = line.strip_prefix("data: ") {
                    let frame: Frame = serde_json::from_str(data).unwrap();
                    self.transcript.fold(frame.clone());
                    self.frames.push((id, frame));
                }
            }
        }
    }
}
