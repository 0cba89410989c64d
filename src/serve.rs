//! The server's life: open the store, start the engine, accept connections, and on a signal come to rest with everything
//! stored.

pub mod connections;
mod program;
mod sliced;

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use axum::Router;
use hamlet_actors::{engine::NotStarted, ports::journal::Journal, village::Upkeep, vocabulary::Timestamp};
pub use program::{StartError, blocking};
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    app::{App, BuildsProviders, Counting},
    auth::{Accounts, AccountsOptions, accounts::AuthError, secret::Secret},
    config::data_folder::SKILLS,
    gates::origin::OriginRules,
    http::{metrics::ScraperToken, router},
    metrics::Metrics,
    plugins::skills::Shelf,
    store::{Store, StoreError},
    tools::servers::ToolServers,
    vault::Vault,
    village::{
        VillageState,
        registry::{EnvironmentProviders, Found},
        seeds,
        settings::Pins,
    },
};

/// Makes the engine's Journal of the open store.
pub type MakesJournal = Box<dyn FnOnce(Store) -> Arc<dyn Journal> + Send>;

/// Everything that a server is started with.
pub struct Setup {
    /// The folder that holds `hamlet.db`.
    pub data: PathBuf,
    pub listen: SocketAddr,
    pub rules: OriginRules,
    pub accounts: AccountsOptions,
    pub vault: Vault,
    pub environment: EnvironmentProviders,
    pub found: Vec<Found>,
    pub pins: Pins,
    pub providers: Arc<dyn BuildsProviders>,
    /// Where Conversations are written: the store itself, or something that stands before it.
    pub journal: MakesJournal,
    pub upkeep: Upkeep,
    /// Lets whoever brings it read `/metrics`, beside admins.
    pub metrics_token: Option<SecretString>,
    /// How long running turns may go on after the signal to stop.
    pub deadline: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Accounts(#[from] AuthError),
    #[error(transparent)]
    Engine(#[from] NotStarted),
    #[error("{address} can't be listened on: {error}")]
    Listen { address: SocketAddr, error: std::io::Error },
}

/// A server that listens and does not accept yet.
pub struct Server {
    pub app: Arc<App>,
    /// The address that was taken.
    pub address: SocketAddr,
    /// The way in for the admin of a Village that nobody has entered yet.
    pub first_link: Option<Secret>,
    router: Router,
    listener: TcpListener,
    deadline: Duration,
}

impl Server {
    /// # Errors
    /// When the store can't be opened, or the address not be listened on.
    pub async fn start(setup: Setup) -> Result<Self, ServeError> {
        let address = setup.listen;
        let listener = TcpListener::bind(address).await.map_err(|error| ServeError::Listen { address, error })?;
        let address = listener.local_addr().map_err(|error| ServeError::Listen { address, error })?;
        let path = setup.data.join("hamlet.db");
        let metrics = Arc::new(Metrics::default());
        let counting = metrics.store.clone();
        let opening = tokio::task::spawn_blocking(move || Store::open_counted(&path, counting));
        let store = opening.await.map_err(|error| StoreError::Unavailable(error.to_string()))??;
        store.write(|conn| seeds::seed(conn, Timestamp::now())).await?;
        let accounts = Accounts::new(store.clone(), setup.accounts);
        let first_link = accounts.first_link().await?;
        let village = VillageState {
            store: store.clone(),
            vault: Arc::new(setup.vault),
            environment: Arc::new(setup.environment),
            found: Arc::new(setup.found),
            pins: Arc::new(setup.pins),
            shelf: Shelf::new(setup.data.join(SKILLS)),
        };
        village.shelf.read(&store).await?;
        let journal = (setup.journal)(store.clone());
        let counting = Counting { metrics, scraper: setup.metrics_token.as_ref().map(ScraperToken::new) };
        let tool_servers = ToolServers::start(village.clone(), &setup.data).await?;
        let app = App::start(store, journal, accounts, village, setup.providers, tool_servers, counting, setup.upkeep)
            .await?;
        let router = router(Arc::clone(&app), setup.rules);
        Ok(Self { app, address, first_link, router, listener, deadline: setup.deadline })
    }

    /// Serves until `stop` is cancelled, then comes to rest: nothing new is admitted (503), running turns end or are ended,
    /// streams close, connections finish what they are at.
    pub async fn run(self, stop: CancellationToken) {
        let Self { app, router, listener, deadline, .. } = self;
        let connections = TaskTracker::new();
        let purging = tokio::spawn(Arc::clone(&app).keep_purging());
        let accepting = connections::accept(listener, router, app.closing.clone(), connections.clone());
        let accepting = tokio::spawn(accepting);
        stop.cancelled().await;
        tracing::info!("stopping: nothing new is admitted, running turns have {} s", deadline.as_secs());
        app.stopping.cancel();
        app.engine.shut_down(deadline).await;
        app.closing.cancel();
        connections.close();
        app.sockets.close();
        let ended = async { tokio::join!(connections.wait(), app.sockets.wait()) };
        if tokio::time::timeout(CONNECTIONS, ended).await.is_err() {
            let left = connections.len() + app.sockets.len();
            tracing::warn!(left, "connections that did not end are cut");
        }
        app.deeds.close();
        if tokio::time::timeout(CONNECTIONS, app.deeds.wait()).await.is_err() {
            tracing::warn!(left = app.deeds.len(), "what operators asked for did not come to its end");
        }
        app.engine.stop();
        // Behind the last turn, which may still have called a tool.
        app.tool_servers.close().await;
        // What is not purged yet is purged at the next start.
        purging.abort();
        for task in [accepting, purging] {
            if let Err(error) = task.await
                && !error.is_cancelled()
            {
                tracing::error!(%error, "a task of the server failed");
            }
        }
    }
}

/// For connections to finish what they are at, once all turns have ended.
const CONNECTIONS: Duration = Duration::from_secs(3);
