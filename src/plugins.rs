//! What is bundled with Hamlet: each a capability behind the same seam (`hamlet_actors::capability`).

pub mod memory;
pub mod skills;
#[cfg(test)]
pub mod testing;
pub mod titles;

use std::sync::Arc;

use hamlet_actors::{
    capability::{Capability, party::Party},
    ports::Clock,
};

use crate::{
    tools::{
        builtin::{Toolbox, VillageReach},
        servers::ToolServers,
    },
    village::VillageState,
};
use memory::Remembering;
use skills::Skills;
use titles::Titles;

/// What this server has, in the order of [`bundled`]. Cheap to clone.
#[derive(Clone)]
pub struct Capabilities(pub Arc<[Arc<dyn Capability>]>);

/// In the order in which sections of one place stand.
pub fn bundled(
    village: &VillageState,
    clock: &Arc<dyn Clock>,
    tool_servers: Arc<ToolServers>,
) -> Vec<Arc<dyn Capability>> {
    vec![
        Arc::new(Party),
        Arc::new(Remembering::new(Arc::new(village.store.clone()), Arc::clone(clock))),
        Arc::new(Skills::new(village.store.clone())),
        Arc::new(Toolbox::new(Arc::clone(clock), Arc::new(VillageReach(village.clone())))),
        tool_servers,
        Arc::new(Titles::new(village.clone())),
    ]
}
