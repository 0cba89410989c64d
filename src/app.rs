//! The program put together: the only file that names concrete adapters. What is made here is handed to handlers as state.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::extract::FromRef;
use futures_util::future::BoxFuture;
use hamlet_actors::{
    engine::{Engine, World},
    ports::{Clock, Provider, ProviderFailure, SystemClock, journal::Journal},
    village::Upkeep,
};
use tokio::sync::{Mutex, Notify};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    auth::Accounts,
    gates::casting::Casting,
    http::{error::ApiError, metrics::ScraperToken, tool_servers::Servers},
    metrics::Metrics,
    plugins::{self, Capabilities},
    providers::{
        self, Clients, ProviderKind, ProviderSpec, Quirks,
        models::{ListedModel, list_models},
    },
    store::Store,
    tools::servers::ToolServers,
    village::{
        VillageState,
        registry::{KeyState, Known, REHEARSAL},
    },
};

/// After a purge that failed.
const PURGE_AGAIN: Duration = Duration::from_secs(30);

/// Everything that handlers share.
pub struct App {
    pub store: Store,
    pub engine: Engine,
    pub accounts: Accounts,
    pub village: VillageState,
    pub providers: Arc<dyn BuildsProviders>,
    pub capabilities: Capabilities,
    pub tool_servers: Arc<ToolServers>,
    pub metrics: Arc<Metrics>,
    /// Lets a scraper in that is no Player.
    pub scraper: Option<ScraperToken>,
    /// Cancelled when nothing new is admitted any more.
    pub stopping: CancellationToken,
    /// Cancelled when open streams are to end.
    pub closing: CancellationToken,
    /// What operators have asked for and is under way.
    pub deeds: TaskTracker,
    /// WebSockets that are open.
    pub sockets: TaskTracker,
    /// Something was deleted and waits to be purged.
    pub purge: Notify,
    /// When `/readyz` looked last, and what it saw.
    pub readiness: Mutex<Option<(Instant, Result<(), ApiError>)>>,
}

/// What the server counts, and whom it shows that.
pub struct Counting {
    pub metrics: Arc<Metrics>,
    pub scraper: Option<ScraperToken>,
}

/// Makes the Provider that a turn asks. Tests bring one that they play.
pub trait BuildsProviders: Send + Sync + 'static {
    fn build(&self, known: &Known) -> Arc<dyn Provider>;

    /// The models that it offers now.
    fn models(&self, known: &Known) -> BoxFuture<'static, Result<Vec<ListedModel>, ProviderFailure>>;
}

/// The Providers of the world, over shared connections.
pub struct RealProviders(pub Clients);

impl BuildsProviders for RealProviders {
    fn build(&self, known: &Known) -> Arc<dyn Provider> {
        providers::build(spec(known), &self.0)
    }

    fn models(&self, known: &Known) -> BoxFuture<'static, Result<Vec<ListedModel>, ProviderFailure>> {
        let (spec, clients) = (spec(known), self.0.clone());
        Box::pin(async move { list_models(&spec, &clients).await })
    }
}

/// A known Provider as its adapter needs it.
pub fn spec(known: &Known) -> ProviderSpec {
    let kind = if known.kind == REHEARSAL { ProviderKind::Rehearsal } else { ProviderKind::OpenAiChat };
    let by_host = known.base_url.as_ref().map(Quirks::known_of).unwrap_or_default();
    // What is stored was checked when it came in; what a later build wrote and this one does not know is left out.
    let quirks = by_host.overridden_by(&known.wire_quirks());
    ProviderSpec {
        id: known.id,
        name: known.name.clone(),
        kind,
        base_url: known.base_url.clone(),
        api_key: match &known.key {
            KeyState::Held(key) => Some(key.clone()),
            KeyState::None | KeyState::Unopenable => None,
        },
        quirks,
    }
}

impl App {
    /// Starts the engine over the store.
    ///
    /// # Errors
    /// When the Village's actor can't be started.
    #[expect(clippy::too_many_arguments, reason = "each is a part of the program, made before it and named once")]
    pub async fn start(
        store: Store,
        journal: Arc<dyn Journal>,
        accounts: Accounts,
        village: VillageState,
        providers: Arc<dyn BuildsProviders>,
        tool_servers: Arc<ToolServers>,
        counting: Counting,
        upkeep: Upkeep,
    ) -> Result<Arc<Self>, hamlet_actors::engine::NotStarted> {
        let Counting { metrics, scraper } = counting;
        let casting = Arc::new(Casting { village: village.clone(), providers: Arc::clone(&providers) });
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let capabilities = Capabilities(plugins::bundled(&village, &clock, Arc::clone(&tool_servers)).into());
        let world = World {
            journal,
            summaries: Arc::new(store.clone()),
            prompts: Arc::new(store.clone()),
            planner: casting,
            clock,
            observer: metrics.engine.clone(),
            capabilities: Arc::clone(&capabilities.0),
        };
        let engine = Engine::start(world, upkeep).await?;
        Ok(Arc::new(Self {
            store,
            engine,
            accounts,
            village,
            providers,
            capabilities,
            tool_servers,
            metrics,
            scraper,
            stopping: CancellationToken::new(),
            closing: CancellationToken::new(),
            deeds: TaskTracker::new(),
            sockets: TaskTracker::new(),
            purge: Notify::new(),
            readiness: Mutex::new(None),
        }))
    }

    /// Purges what is deleted, now and whenever something is; ends with the server.
    pub async fn keep_purging(self: Arc<Self>) {
        loop {
            let again = match self.store.purge_deleted().await {
                Ok(_) => Duration::MAX,
                Err(error) => {
                    tracing::warn!(%error, "what was deleted could not be purged; tried again in a moment");
                    PURGE_AGAIN
                }
            };
            tokio::select! {
                () = self.purge.notified() => {}
                () = tokio::time::sleep(again) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }
}

impl FromRef<Arc<App>> for Accounts {
    fn from_ref(app: &Arc<App>) -> Self {
        app.accounts.clone()
    }
}

impl FromRef<Arc<App>> for Capabilities {
    fn from_ref(app: &Arc<App>) -> Self {
        app.capabilities.clone()
    }
}

impl FromRef<Arc<App>> for VillageState {
    fn from_ref(app: &Arc<App>) -> Self {
        app.village.clone()
    }
}

impl FromRef<Arc<App>> for Servers {
    fn from_ref(app: &Arc<App>) -> Self {
        Self(Arc::clone(&app.tool_servers))
    }
}
