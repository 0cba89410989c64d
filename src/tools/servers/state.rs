//! What is known of a server now, as its supervisor publishes it and everybody else reads it.

use std::sync::Arc;

use hamlet_actors::vocabulary::Timestamp;
use rmcp::{Peer, RoleClient};

use super::{offered::LeftOut, tool::RemoteTool, words::Hidden};

/// Replaced as a whole at each change.
#[derive(Debug, Clone)]
pub struct State {
    pub standing: Standing,
    /// Whether an attempt has come to an end yet.
    pub tried: bool,
    /// As last listed; kept while the server is away, so that they can still be granted.
    pub tools: Arc<[Arc<RemoteTool>]>,
    pub left_out: Arc<[LeftOut]>,
    /// What it says it is.
    pub program: Option<Program>,
    /// There while it is connected.
    pub peer: Option<Peer<RoleClient>>,
    pub process: Option<u32>,
    /// What it was given at its last connecting.
    pub(super) hidden: Arc<Hidden>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Connecting,
    Connected,
    Unreachable {
        error: String,
        /// When it is tried again.
        retry_at: Timestamp,
    },
    /// Nothing is tried until that is changed.
    Misconfigured {
        error: String,
    },
    Disabled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub name: String,
    pub version: String,
}

impl State {
    pub fn new(standing: Standing) -> Self {
        Self {
            standing,
            tried: false,
            tools: Arc::new([]),
            left_out: Arc::new([]),
            program: None,
            peer: None,
            process: None,
            hidden: Arc::default(),
        }
    }

    pub fn is_connected(&self) -> bool {
        self.standing == Standing::Connected
    }

    /// Whether waiting could make more of it known soon.
    pub fn is_first_attempt(&self) -> bool {
        self.standing == Standing::Connecting && !self.tried
    }
}
