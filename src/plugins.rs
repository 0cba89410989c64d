//! What is bundled with Hamlet: each a capability behind the same seam (`hamlet_actors::capability`).

pub mod skills;
pub mod titles;

use std::sync::Arc;

use hamlet_actors::capability::{Capability, party::Party};
use skills::Skills;
use titles::Titles;

use crate::village::VillageState;

/// In the order in which sections of one place stand.
pub fn bundled(village: &VillageState) -> Vec<Arc<dyn Capability>> {
    vec![Arc::new(Party), Arc::new(Skills::new(village.store.clone())), Arc::new(Titles::new(village.clone()))]
}
