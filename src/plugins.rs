//! What is bundled with Hamlet: each a capability behind the same seam (`hamlet_actors::capability`).

pub mod memory;
#[cfg(test)]
pub mod testing;

use std::sync::Arc;

use hamlet_actors::{
    capability::{Capability, party::Party},
    ports::Clock,
};

use crate::{
    tools::builtin::{Toolbox, VillageReach},
    village::VillageState,
};
use memory::Remembering;

/// What this server has, in the order of [`bundled`]. Cheap to clone.
#[derive(Clone)]
pub struct Capabilities(pub Arc<[Arc<dyn Capability>]>);

/// In the order in which sections of one place stand.
pub fn bundled(village: &VillageState, clock: &Arc<dyn Clock>) -> Vec<Arc<dyn Capability>> {
    let memory = Remembering::new(Arc::new(village.store.clone()), Arc::clone(clock));
    let toolbox = Toolbox::new(Arc::clone(clock), Arc::new(VillageReach(village.clone())));
    vec![Arc::new(Party), Arc::new(memory), Arc::new(toolbox)]
}
