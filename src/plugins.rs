//! What is bundled with Hamlet: each a capability behind the same seam (`hamlet_actors::capability`).

use std::sync::Arc;

use hamlet_actors::capability::{Capability, party::Party};

use crate::tools::servers::ToolServers;

/// In the order in which sections of one place stand.
pub fn bundled(tool_servers: Arc<ToolServers>) -> Vec<Arc<dyn Capability>> {
    vec![Arc::new(Party), tool_servers]
}
