//! What is bundled with Hamlet: each a capability behind the same seam (`hamlet_actors::capability`).

pub mod memory;
#[cfg(test)]
pub mod testing;

use std::sync::Arc;

use hamlet_actors::{
    capability::{Capability, party::Party},
    ports::Clock,
};

use crate::village::VillageState;
use memory::Remembering;

/// In the order in which sections of one place stand.
pub fn bundled(village: &VillageState, clock: &Arc<dyn Clock>) -> Vec<Arc<dyn Capability>> {
    vec![Arc::new(Party), Arc::new(Remembering::new(Arc::new(village.store.clone()), Arc::clone(clock)))]
}
