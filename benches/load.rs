//! The server under load in one process with its clients, beside a relay that writes each token by itself. The Provider is
//! in the process too: no wire format is read here (`decode` measures that). Prints ratios and sizes; nothing passes or
//! fails. `cargo bench --bench load`
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that fails, fails, and prints what it found")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Router, body::Body, response::IntoResponse, routing::post};
use bytes::Bytes;
use futures_util::{
    StreamExt,
    future::{BoxFuture, join_all},
    stream,
};
use hamlet::{
    app::BuildsProviders,
    auth::AccountsOptions,
    gates::origin::OriginRules,
    providers::models::ListedModel,
    serve::{Server, Setup},
    store::{Store, conversations},
    vault::Vault,
    village::{
        registry::{EnvironmentProviders, Known},
        settings::Pins,
    },
};
use hamlet_actors::{
    engine::Engine,
    ports::{End, ModelRequest, Provider, ProviderEvent, ProviderEvents, ProviderFailure, SystemClock},
    turn::{Planned, Planner, Unanswered},
    village::Upkeep,
    vocabulary::{ConversationId, Delta, FinishReason, MessageError, NpcId, PlayerId, ProviderId, Timestamp},
};
use tokio_util::sync::CancellationToken;

const STREAMS: usize = 64;
const TOKENS: usize = 2_000;
/// Tokens that arrive in one read, as they do from a Provider that is ahead.
const BURST: usize = 16;
const TOKEN: &str = "word ";
const IDLE_ACTORS: usize = 10_000;

/// Says the same tokens to everybody, as fast as they are taken.
struct Fast(ProviderId);

impl Provider for Fast {
    fn id(&self) -> ProviderId {
        self.0
    }

    fn name(&self) -> &str {
        "Fast"
    }

    fn ask(&self, _request: ModelRequest) -> ProviderEvents {
        let token = || ProviderEvent::Delta(Delta::Text(TOKEN.to_owned()));
        let bursts = (0..TOKENS / BURST).map(move |_| (0..BURST).map(|_| token()).collect());
        let end = vec![ProviderEvent::End(End::Complete(FinishReason::Stop))];
        Box::pin(stream::iter(bursts.chain([end])).then(|events| async {
            tokio::task::yield_now().await;
            events
        }))
    }
}

impl BuildsProviders for Fast {
    fn build(&self, _known: &Known) -> Arc<dyn Provider> {
        Arc::new(Fast(self.0))
    }

    fn models(&self, _known: &Known) -> BoxFuture<'static, Result<Vec<ListedModel>, ProviderFailure>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

fn main() {
    // The clients below need one; nothing was installed before.
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        idle_actors().await;
        let relay = relayed().await;
        let hamlet = served().await;
        println!("relay:  {relay:>10.0} tokens/s");
        println!("hamlet: {hamlet:>10.0} tokens/s, everything parsed, folded and durable");
        println!("ratio:  {:>10.2}", hamlet / relay);
    });
}

/// What 64 clients read a second, whoever serves.
async fn measure(requests: Vec<reqwest::RequestBuilder>) -> f64 {
    let begun = Instant::now();
    let readers = requests.into_iter().map(|request| async move {
        let mut bytes = request.send().await.unwrap().error_for_status().unwrap().bytes_stream();
        let mut words = 0;
        while let Some(chunk) = bytes.next().await {
            words += chunk.unwrap().windows(TOKEN.len()).filter(|window| *window == TOKEN.as_bytes()).count();
        }
        words
    });
    let words: usize = join_all(readers).await.into_iter().sum();
    assert!(words >= STREAMS * (TOKENS - BURST), "{words} words came");
    words as f64 / begun.elapsed().as_secs_f64()
}

async fn relayed() -> f64 {
    let line = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{TOKEN}\"}}}}]}}\n\n");
    let handler = move || {
        let line = Bytes::from(line.clone());
        async move {
            let lines = stream::iter((0..TOKENS).map(move |_| Ok::<_, std::io::Error>(line.clone())));
            Body::from_stream(lines.then(|line| async {
                tokio::task::yield_now().await;
                line
            }))
            .into_response()
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, Router::new().route("/", post(handler))).await });
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let requests = (0..STREAMS).map(|_| client.post(format!("http://{address}/"))).collect();
    let rate = measure(requests).await;
    serving.abort();
    rate
}

async fn served() -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup {
        data: folder.path().to_owned(),
        listen: "127.0.0.1:0".parse().unwrap(),
        rules: OriginRules::default(),
        accounts: AccountsOptions::default(),
        vault: Vault::new(&[1; 32]),
        environment: EnvironmentProviders::default(),
        found: Vec::new(),
        pins: Pins::default(),
        providers: Arc::new(Fast(ProviderId::generate())),
        upkeep: Upkeep::default(),
        deadline: Duration::from_secs(1),
    };
    let server = Server::start(setup).await.unwrap();
    let (base, link) = (format!("http://{}", server.address), server.first_link.as_ref().unwrap().text());
    let stop = CancellationToken::new();
    let serving = tokio::spawn(server.run(stop.clone()));
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let entered = client.get(format!("{base}/sign-in?token={link}")).send().await.unwrap();
    let cookie = entered.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let get = |path: &str| client.get(format!("{base}{path}")).header("cookie", &cookie);
    let post = |path: &str, body: serde_json::Value| {
        client.post(format!("{base}{path}")).header("cookie", &cookie).json(&body)
    };
    let npcs: serde_json::Value = get("/api/npcs").send().await.unwrap().json().await.unwrap();
    let mut requests = Vec::new();
    for _ in 0..STREAMS {
        let body = serde_json::json!({"npcIds": [npcs["items"][0]["id"]]});
        let made: serde_json::Value = post("/api/conversations", body).send().await.unwrap().json().await.unwrap();
        let path = format!("/api/conversations/{}/messages", made["id"].as_str().unwrap());
        requests.push(post(&path, serde_json::json!({"text": "Go on"})));
    }
    let rate = measure(requests).await;
    stop.cancel();
    serving.await.unwrap();
    rate
}

/// Resident bytes of an actor that is awake and has nothing to do.
async fn idle_actors() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
    let player = PlayerId::generate();
    let made: Vec<ConversationId> = (0..IDLE_ACTORS + 500).map(|_| ConversationId::generate()).collect();
    let ids = made.clone();
    store
        .write(move |conn| {
            conn.execute(
                "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, 'P', 'p', 'admin', 0)",
                [player.0.as_bytes()],
            )?;
            for id in ids {
                let npcs: Vec<NpcId> = Vec::new();
                let new = conversations::NewConversation {
                    id,
                    owner: player,
                    external_id: None,
                    title: None,
                    npcs,
                    at: Timestamp::now(),
                };
                conversations::create(conn, &new)?;
            }
            Ok(())
        })
        .await
        .unwrap();
    let engine =
        Engine::start(Arc::new(store), Arc::new(Nobody), Arc::new(SystemClock), Upkeep::default()).await.unwrap();
    // Stopping what does not run wakes an actor and leaves it idle. The first ones warm the allocator.
    for id in &made[..500] {
        engine.abort(*id, None).await.unwrap();
    }
    let before = resident();
    let begun = Instant::now();
    for id in &made[500..] {
        engine.abort(*id, None).await.unwrap();
    }
    let each = (resident() - before) as f64 / IDLE_ACTORS as f64 / 1024.0;
    let wake = begun.elapsed().as_secs_f64() * 1000.0 / IDLE_ACTORS as f64;
    println!("idle actor: {each:.1} KiB resident, woken in {wake:.2} ms (its claim's commit included)");
    engine.shut_down(Duration::ZERO).await;
}

/// Resident bytes of this process.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// Nothing waits here, so that nobody is asked who answers it.
struct Nobody;

impl Planner for Nobody {
    fn plan(&self, _text: Unanswered) -> BoxFuture<'static, Result<Planned, MessageError>> {
        Box::pin(std::future::pending())
    }
}
