//! One server: what it is, how it stands, and the levers that others have. Its supervisor (`supervise.rs`) is the only one
//! who changes how it stands.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use hamlet_actors::vocabulary::ToolServerId;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    definition::Definition,
    said::Lines,
    state::{Standing, State},
};
use crate::{store::tool_servers::ToolServerRow, vault::Vault, village::tool_server};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Added through the API.
    Stored,
    /// From `mcp.json` in the data folder.
    File,
}

#[derive(Debug)]
pub struct Server {
    pub id: ToolServerId,
    /// The first part of its tools' keys.
    pub name: String,
    pub source: Source,
    pub enabled: bool,
    /// Or why there is none.
    pub definition: Result<Definition, String>,
    pub(super) state: watch::Sender<State>,
    /// Tries again, now.
    pub(super) again: Notify,
    /// A call has found the connection wanting.
    pub(super) suspect: Notify,
    /// What its process wrote to stderr last.
    pub(super) stderr: Lines,
    calls: AtomicUsize,
    /// When it was made or changed.
    made: Instant,
    pub(super) stop: CancellationToken,
    /// Cancelled once its supervisor and all that it held have ended.
    pub(super) ended: CancellationToken,
}

impl Server {
    pub fn new(
        id: ToolServerId,
        name: String,
        source: Source,
        enabled: bool,
        definition: Result<Definition, String>,
        stop: CancellationToken,
    ) -> Self {
        let standing = match &definition {
            _ if !enabled => Standing::Disabled,
            Err(error) => Standing::Misconfigured { error: error.clone() },
            Ok(_) => Standing::Connecting,
        };
        Self {
            id,
            name,
            source,
            enabled,
            definition,
            state: watch::Sender::new(State::new(standing)),
            again: Notify::new(),
            suspect: Notify::new(),
            stderr: Lines::default(),
            calls: AtomicUsize::new(0),
            made: Instant::now(),
            stop,
            ended: CancellationToken::new(),
        }
    }

    pub fn of_row(row: ToolServerRow, vault: &Vault, stop: CancellationToken) -> Self {
        let definition = match tool_server::open(vault, row.id, row.sealed.as_deref()) {
            Some(secrets) => Ok(Definition { way: row.way, secrets }),
            None => {
                Err("what it is given was sealed with another key file and can't be opened; send env and headers again"
                    .to_owned())
            }
        };
        Self::new(row.id, row.name, Source::Stored, row.enabled, definition, stop)
    }

    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Counts a call for as long as what this returns is held.
    pub(super) fn calling(&self) -> Calling<'_> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Calling(self)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > 0
    }

    /// The last lines that its process wrote to stderr, oldest first.
    pub fn stderr(&self) -> Vec<String> {
        self.stderr.borrow().iter().cloned().collect()
    }

    /// Waits until the first attempt has come to its end, whichever; not beyond `patience` after the server was made, so that
    /// one which takes minutes to begin is waited for once and not in each turn.
    pub(super) async fn tried_within(&self, patience: Duration) {
        if timeout_at(self.made + patience, self.tried()).await.is_err() {
            tracing::debug!(server = self.name, "a turn goes on without a tool server that is still being connected");
        }
    }

    /// Waits until the first attempt has come to its end, whichever.
    pub async fn tried(&self) {
        let mut state = self.state.subscribe();
        // The sender is our own: it can't be gone.
        if state.wait_for(|state| !state.is_first_attempt()).await.is_err() {
            tracing::debug!(server = self.name, "a server went while it was waited for");
        }
    }
}

/// A call under way.
pub(super) struct Calling<'a>(&'a Server);

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The id of a server of the file: a UUID (version 8) made of the name alone.
pub fn fixed_id(name: &str) -> ToolServerId {
    let digest: [u8; 32] = Sha256::digest(format!("hamlet tool server {name}")).into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    ToolServerId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}
