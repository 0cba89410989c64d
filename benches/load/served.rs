//! A server with a Provider of the bench's, and a client that is signed in.

use std::{path::Path, sync::Arc, time::Duration};

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
    ports::{Provider, ProviderFailure},
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
        let (base, link) = (format!("http://{}", server.address), server.first_link.as_ref().unwrap().text());
        let (app, stop) = (Arc::clone(&server.app), CancellationToken::new());
        let serving = tokio::spawn(server.run(stop.clone()));
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let entered = client.get(format!("{base}/sign-in?token={link}")).send().await.unwrap();
        let cookie = entered.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        Self { app, base, cookie, client, stop, serving }
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.base)).header("cookie", &self.cookie)
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.base)).header("cookie", &self.cookie).json(body)
    }

    /// A send in a new Conversation each, not yet on its way.
    pub async fn sends(&self, count: usize) -> Vec<RequestBuilder> {
        let npcs: Value = self.get("/api/npcs").send().await.unwrap().json().await.unwrap();
        let mut requests = Vec::with_capacity(count);
        for _ in 0..count {
            let body = json!({"npcIds": [npcs["items"][0]["id"]]});
            let made: Value = self.post("/api/conversations", &body).send().await.unwrap().json().await.unwrap();
            let path = format!("/api/conversations/{}/messages", made["id"].as_str().unwrap());
            requests.push(self.post(&path, &json!({"text": "Go on"})));
        }
        requests
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
