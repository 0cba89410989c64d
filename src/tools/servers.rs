//! Tool servers (MCP): programs beside Hamlet, over stdio or HTTP, whose tools NPCs may be granted. Each has a supervisor
//! of its own; a turn takes what is known of them at its moment and waits for none that was reached before.

pub mod answer;
mod answering;
mod backoff;
mod capability;
mod connection;
mod contribution;
pub mod definition;
pub mod document;
mod expand;
mod file;
pub mod limits;
mod listener;
mod listing;
pub mod offered;
mod process;
pub mod resolve;
mod said;
mod schema;
pub mod server;
pub mod state;
mod supervise;
pub mod tool;
mod wire_name;
mod words;

use std::{path::Path, sync::Arc, time::Duration};

use hamlet_actors::vocabulary::ToolServerId;
use tokio::{
    sync::{Mutex, watch},
    task::JoinError,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use crate::{
    store::{
        StoreError,
        tool_servers::{self, ToolServerRow},
    },
    village::VillageState,
};
use limits::Limits;
use server::{Server, Source};

/// The file in the data folder that servers are read from at start.
pub use file::NAME as FILE;

/// For what was cut to let go.
const CUT: Duration = Duration::from_millis(150);

/// All tool servers of a Village.
#[derive(Debug)]
pub struct ToolServers {
    village: VillageState,
    limits: Limits,
    servers: watch::Sender<Vec<Arc<Server>>>,
    /// Why the file gave no servers.
    file_error: Option<String>,
    /// Supervisors, and changes under way.
    tasks: TaskTracker,
    changes: Mutex<()>,
    /// Asks all supervisors to end; they do, too, when this value goes without having been closed.
    stop: CancellationToken,
    _ending: DropGuard,
    /// Ends those that did not.
    cut: CancellationToken,
}

impl ToolServers {
    /// Reads the servers of the store and of the file, and begins to connect to them in the background. A file that can't be
    /// read is told, and stops nothing.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn start(village: VillageState, data_folder: &Path) -> Result<Arc<Self>, StoreError> {
        Self::start_within(village, data_folder, Limits::default()).await
    }

    /// As [`Self::start`], with other limits.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_within(
        village: VillageState,
        data_folder: &Path,
        limits: Limits,
    ) -> Result<Arc<Self>, StoreError> {
        let rows = village.store.read(tool_servers::list).await?;
        let (entries, file_error) = match file::read(data_folder).await {
            Ok(entries) => (entries, None),
            Err(error) => {
                tracing::error!(error, "the tool servers' file can't be used");
                (Vec::new(), Some(error))
            }
        };
        let stop = CancellationToken::new();
        let all = Self {
            village,
            limits,
            servers: watch::Sender::new(Vec::new()),
            file_error,
            tasks: TaskTracker::new(),
            changes: Mutex::new(()),
            _ending: stop.clone().drop_guard(),
            stop,
            cut: CancellationToken::new(),
        };
        let mut servers = Vec::with_capacity(rows.len() + entries.len());
        for row in rows {
            servers.push(Arc::new(Server::of_row(row, &all.village.vault, all.stop.child_token())));
        }
        for entry in entries {
            let definition = if servers.iter().any(|server: &Arc<Server>| server.name == entry.name) {
                Err("a server of this name was added to the Village already".to_owned())
            } else {
                entry.definition
            };
            if let Err(error) = &definition {
                tracing::warn!(server = entry.name, error, "a tool server of the file is not set up rightly");
            }
            let mut id = server::fixed_id(&entry.name);
            if servers.iter().any(|server| server.id == id) {
                id = server::fixed_id(&format!("{} {}", entry.name, servers.len()));
            }
            let stop = all.stop.child_token();
            servers.push(Arc::new(Server::new(id, entry.name, Source::File, entry.enabled, definition, stop)));
        }
        servers.iter().for_each(|server| all.supervise(server));
        all.servers.send_replace(servers);
        Ok(Arc::new(all))
    }

    /// All of them, in the order of their making; those of the file come last.
    pub fn all(&self) -> Vec<Arc<Server>> {
        self.servers.borrow().clone()
    }

    pub fn get(&self, id: ToolServerId) -> Option<Arc<Server>> {
        self.servers.borrow().iter().find(|server| server.id == id).cloned()
    }

    /// Why the file gave no servers, in words for an admin.
    pub fn file_error(&self) -> Option<&str> {
        self.file_error.as_deref()
    }

    /// Names of the servers that have no row.
    pub fn given(&self) -> Vec<String> {
        let of_file = |server: &&Arc<Server>| server.source == Source::File;
        self.servers.borrow().iter().filter(of_file).map(|server| server.name.clone()).collect()
    }

    /// Carries out a change of what is stored together with what follows from it here: one at a time, so that the last row
    /// is the last server, and to its end, even if who asked for it does not wait.
    ///
    /// # Errors
    /// When the change panics.
    pub async fn carry_out<T, F>(self: &Arc<Self>, change: impl FnOnce(Arc<Self>) -> F) -> Result<T, JoinError>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (all, changing) = (Arc::clone(self), change(Arc::clone(self)));
        let change = async move {
            let turn = all.changes.lock().await;
            let done = changing.await;
            drop(turn);
            done
        };
        self.tasks.spawn(change).await
    }

    /// Takes over what is stored now: a new server, or a changed one, whose old connection has ended by then. Within
    /// [`Self::carry_out`].
    pub async fn put(&self, row: ToolServerRow) -> Arc<Server> {
        let id = row.id;
        let server = Arc::new(Server::of_row(row, &self.village.vault, self.stop.child_token()));
        let mut old = None;
        self.servers.send_modify(|servers| match servers.iter_mut().find(|server| server.id == id) {
            Some(place) => old = Some(std::mem::replace(place, Arc::clone(&server))),
            None => {
                let stored = servers.iter().take_while(|server| server.source == Source::Stored).count();
                servers.insert(stored, Arc::clone(&server));
            }
        });
        if let Some(old) = old {
            self.retire(&old).await;
        }
        self.supervise(&server);
        server
    }

    /// Its tools are gone, and its connection has ended, when this returns. Within [`Self::carry_out`].
    pub async fn remove(&self, id: ToolServerId) {
        let removed = self.get(id);
        self.servers.send_modify(|servers| servers.retain(|server| server.id != id));
        if let Some(server) = removed {
            self.retire(&server).await;
        }
    }

    /// Tries a server now, whatever pause it is in, and connects anew to one that is connected.
    pub fn reconnect(&self, server: &Server) {
        server.again.notify_one();
    }

    /// Ends all connections and processes, within a bound.
    pub async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(self.limits.close, self.tasks.wait()).await.is_ok() {
            return;
        }
        tracing::warn!(left = self.tasks.len(), "tool servers that did not end are cut");
        self.cut.cancel();
        if tokio::time::timeout(CUT, self.tasks.wait()).await.is_err() {
            tracing::error!(left = self.tasks.len(), "tool servers were left behind");
        }
    }

    fn supervise(&self, server: &Arc<Server>) {
        let (server, limits, cut) = (Arc::clone(server), self.limits, self.cut.clone());
        self.tasks.spawn(async move {
            let ended = server.ended.clone().drop_guard();
            if cut.run_until_cancelled(Box::pin(supervise::supervise(Arc::clone(&server), limits))).await.is_none() {
                tracing::debug!(server = server.name, "a tool server's supervisor was cut");
            }
            drop(ended);
        });
    }

    async fn retire(&self, server: &Server) {
        server.stop.cancel();
        if tokio::time::timeout(self.limits.close, server.ended.cancelled()).await.is_err() {
            tracing::debug!(server = server.name, "a tool server takes its time to end");
        }
    }
}
