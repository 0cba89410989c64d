//! A server with a Provider of the bench's, and a client that is signed in.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use hamlet::{
    app::{App, BuildsProviders},
    auth::AccountsOptions,
    gates::origin::OriginRules,
    providers::models::ListedModel,
    serve::{MakesJournal, Server, Setup},
    vault::Vault,
    village::{
        registry::{EnvironmentProviders, Known},
        settings::Pins,
    },
};
use hamlet_actors::{
    engine::World,
    ports::{Provider, ProviderFailure, SystemClock, Unobserved},
    turn::{Planned, Planner, Unanswered},
    village::Upkeep,
    vocabulary::MessageError,
};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub struct Served {
    pub app: Arc<App>,
    address: SocketAddr,
    base: String,
    cookie: String,
    client: reqwest::Client,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

/// Whoever is asked for, this one answers.
struct Always(Arc<dyn Provider>);

impl BuildsProviders for Always {
    fn build(&self, _known: &Known) -> Arc<dyn Provider> {
        Arc::clone(&self.0)
    }

    fn models(&self, _known: &Known) -> BoxFuture<'static, Result<Vec<ListedModel>, ProviderFailure>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

pub fn setup(folder: &Path, provider: Arc<dyn Provider>, journal: MakesJournal) -> Setup {
    Setup {
        data: folder.to_owned(),
        listen: "127.0.0.1:0".parse().unwrap(),
        rules: OriginRules::default(),
        accounts: AccountsOptions::default(),
        vault: Vault::new(&[1; 32]),
        environment: EnvironmentProviders::default(),
        found: Vec::new(),
        pins: Pins::default(),
        providers: Arc::new(Always(provider)),
        journal,
        upkeep: Upkeep::default(),
        metrics_token: None,
        deadline: Duration::from_secs(1),
    }
}

/// The store itself.
pub fn durable() -> MakesJournal {
    Box::new(|store| Arc::new(store))
}

impl Served {
    pub async fn start(folder: &Path, provider: Arc<dyn Provider>, journal: MakesJournal) -> Self {
        let server = Server::start(setup(folder, provider, journal)).await.unwrap();
        let (address, link) = (server.address, server.first_link.as_ref().unwrap().text());
        let base = format!("http://{address}");
        let (app, stop) = (Arc::clone(&server.app), CancellationToken::new());
        let serving = tokio::spawn(server.run(stop.clone()));
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let entered = client.get(format!("{base}/sign-in?token={link}")).send().await.unwrap();
        let cookie = entered.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        Self { app, address, base, cookie, client, stop, serving }
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.base)).header("cookie", &self.cookie)
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.base)).header("cookie", &self.cookie).json(body)
    }

    /// Ids of new Conversations.
    pub async fn conversations(&self, count: usize) -> Vec<String> {
        let npcs: Value = self.get("/api/npcs").send().await.unwrap().json().await.unwrap();
        let body = json!({"npcIds": [npcs["items"][0]["id"]]});
        let mut ids = Vec::with_capacity(count);
        for _ in 0..count {
            let made: Value = self.post("/api/conversations", &body).send().await.unwrap().json().await.unwrap();
            ids.push(made["id"].as_str().unwrap().to_owned());
        }
        ids
    }

    /// A send in a new Conversation each, not yet on its way.
    pub async fn sends(&self, count: usize) -> Vec<RequestBuilder> {
        let text = json!({"text": "Go on"});
        let send = |id: &String| self.post(&format!("/api/conversations/{id}/messages"), &text);
        self.conversations(count).await.iter().map(send).collect()
    }

    /// Begins a turn, and does not wait for its end.
    pub async fn say(&self, conversation: &str) {
        let send = self.post(&format!("/api/conversations/{conversation}/messages"), &json!({"text": "Go on"}));
        send.header("accept", "application/json").send().await.unwrap().error_for_status().unwrap();
    }

    /// Says something, and answers the turn's stream.
    pub async fn turn(&self, conversation: &str) -> reqwest::Response {
        let send = self.post(&format!("/api/conversations/{conversation}/messages"), &json!({"text": "Go on"}));
        send.header("accept", "text/event-stream").send().await.unwrap().error_for_status().unwrap()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client writes that watches this Conversation.
    pub fn watch_request(&self, conversation: &str) -> String {
        let (address, cookie) = (self.address, &self.cookie);
        format!("GET /api/conversations/{conversation}/frames HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\n\r\n")
    }

    pub async fn end(self) {
        self.stop.cancel();
        self.serving.await.unwrap();
    }
}

/// Nothing waits in these benches, so that nobody is asked who answers it.
pub struct Nobody;

impl Planner for Nobody {
    fn plan(&self, _text: Unanswered) -> BoxFuture<'static, Result<Planned, MessageError>> {
        Box::pin(std::future::pending())
    }
}

/// An engine over this store in which nobody answers and nothing is brought along.
pub fn world(store: &hamlet::store::Store) -> World {
    World {
        journal: Arc::new(store.clone()),
        summaries: Arc::new(store.clone()),
        prompts: Arc::new(store.clone()),
        planner: Arc::new(Nobody),
        clock: Arc::new(SystemClock),
        observer: Arc::new(Unobserved),
        capabilities: Arc::from([]),
    }
}
