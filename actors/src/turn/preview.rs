//! What an NPC would be told now, for whoever wants to know.

use std::sync::Arc;

use super::{
    context::{self, Keeping, NOW, Written},
    gather::gather,
    task::Site,
};
use crate::{ports::journal::JournalError, village::Recent};

pub struct Preview {
    pub written: Written,
    pub recent: Arc<Recent>,
}

pub async fn preview(site: &Site) -> Result<Preview, JournalError> {
    let scene = Arc::new(site.plan.scene(site.conversation, &site.progress));
    let gathering = gather(&site.ports.world.capabilities, scene);
    let (recent, gathered) = tokio::join!(context::recent(site, NOW, Keeping::Pretended), gathering);
    let recent = recent?;
    Ok(Preview { written: context::write(site, &recent, &gathered), recent })
}
