//! A turn's cancellation, with its reason: whoever asks first decides how the Message ends.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::policy::outcome::Ending;

#[derive(Debug, Clone, Default)]
pub struct Cancel {
    token: CancellationToken,
    ending: Arc<OnceLock<Ending>>,
}

impl Cancel {
    /// Asks the turn to end so. Takes effect at once, also when the Provider is silent.
    pub fn ask(&self, ending: Ending) {
        // A second reason comes too late: the first stands.
        let _first_stands = self.ending.set(ending);
        self.token.cancel();
    }

    /// Resolves when asked.
    pub async fn asked(&self) -> Ending {
        self.token.cancelled().await;
        self.ending.get().cloned().unwrap_or(Ending::Aborted)
    }
}
