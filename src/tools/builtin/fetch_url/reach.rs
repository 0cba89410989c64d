//! How far a fetch may reach, as it is set now, and what names mean.

use std::{io, net::IpAddr};

use futures_util::future::BoxFuture;

use crate::village::{VillageState, settings};

/// Which addresses may be connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Those of the public internet.
    Public,
    /// Those of this machine and its networks too.
    Private,
}

/// What a fetch needs of its surroundings.
pub trait Reaching: Send + Sync + 'static {
    /// # Errors
    /// Why it is not known, in words for the model.
    fn reach(&self) -> BoxFuture<'static, Result<Reach, String>>;

    /// All addresses of a name.
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The Village's setting, and the names that this machine knows.
pub struct VillageReach(pub VillageState);

impl Reaching for VillageReach {
    fn reach(&self) -> BoxFuture<'static, Result<Reach, String>> {
        let village = self.0.clone();
        Box::pin(async move {
            let pins = village.pins.clone();
            let settings = village.store.read(move |conn| settings::effective(conn, &pins)).await.map_err(|error| {
                tracing::warn!(%error, "the settings could not be read for a fetch");
                "the settings of this server can't be read now".to_owned()
            })?;
            Ok(if settings.fetch_private_addresses { Reach::Private } else { Reach::Public })
        })
    }

    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}
