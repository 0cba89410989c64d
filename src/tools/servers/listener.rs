//! What a tool server tells without being asked. Only that its tools changed is acted upon; requests of a server (for a
//! model, for roots, for input) are refused, as a client that offers nothing does.

use std::sync::Arc;

use rmcp::{
    ClientHandler, RoleClient,
    model::{ClientCapabilities, ClientConfig, Implementation},
    service::NotificationContext,
};
use tokio::sync::Notify;

/// One connection's.
#[derive(Debug, Clone, Default)]
pub struct Listener {
    /// Holds one permit: a change that is told before the first list has come is not lost.
    pub changed: Arc<Notify>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("hamlet", env!("CARGO_PKG_VERSION")))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
