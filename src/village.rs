//! The Village's own things: who lives there, which Providers are known, what is set, and which model an NPC speaks with.
//! Rules over plain values and short reads; no route and no wire format of a Provider is known here.

pub mod address;
pub mod grants;
pub mod memory;
pub mod npc;
pub mod patch;
pub mod provider;
pub mod registry;
pub mod resolve;
pub mod seeds;
pub mod settings;
pub mod skill;
mod slug;
pub mod text;
pub mod tool_server;

use std::sync::Arc;

use hamlet_actors::vocabulary::ProviderId;

use crate::{
    plugins::skills::Shelf,
    store::{Store, StoreError},
    vault::Vault,
};
use registry::{EnvironmentProviders, Found, Known};
use settings::{Pins, Settings};

/// What the Village's routes and a turn's gates read. Cheap to clone.
#[derive(Debug, Clone)]
pub struct VillageState {
    pub store: Store,
    pub vault: Arc<Vault>,
    pub environment: Arc<EnvironmentProviders>,
    pub found: Arc<Vec<Found>>,
    pub pins: Arc<Pins>,
    /// Skills that come from the data folder.
    pub shelf: Shelf,
}

impl VillageState {
    /// The settings and all known Providers, from one read.
    pub async fn choices(&self) -> Result<(Settings, Vec<Known>), StoreError> {
        let state = self.clone();
        self.store
            .read(move |conn| {
                let known = registry::known(conn, &state.vault, &state.environment, &state.found)?;
                Ok((settings::effective(conn, &state.pins)?, known))
            })
            .await
    }

    /// One Provider, whatever its source.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when it is not known.
    pub async fn provider(&self, id: ProviderId) -> Result<Known, StoreError> {
        let (_, known) = self.choices().await?;
        known.into_iter().find(|known| known.id == id).ok_or(StoreError::NotFound)
    }

    /// The Providers that have no row, and so can't be changed here.
    pub fn given(&self) -> Vec<ProviderId> {
        registry::given(&self.environment, &self.found).into_iter().map(|known| known.id).collect()
    }
}
