//! Who answers a text that waited, decided at the moment that it is taken up: Party, settings and keys may be others by
//! then than when it was sent.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};

use super::TurnPlan;
use crate::{
    conversation::event::Cast,
    policy::outcome::{internal, store_unavailable},
    vocabulary::{Author, ConversationId, MessageError, NpcId},
};

/// For the answer of a planner that reads a store.
const PATIENCE: Duration = Duration::from_secs(10);

/// Casts a turn. The same rules as the gates of a text that begins at once.
pub trait Planner: Send + Sync + 'static {
    /// Who answers, and how to ask; or what the Player must be told.
    fn plan(&self, text: Unanswered) -> BoxFuture<'static, Result<Planned, MessageError>>;
}

/// A text that is to be answered now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    pub conversation: ConversationId,
    pub author: Author,
    pub text: Arc<str>,
    /// Whom it addresses.
    pub to: Option<NpcId>,
}

#[derive(Debug, Clone)]
pub struct Planned {
    pub cast: Cast,
    pub plan: TurnPlan,
}

/// Asks the planner; one that panics, or does not answer, is an error like any other.
pub async fn plan(planner: Arc<dyn Planner>, text: Unanswered) -> Result<Planned, MessageError> {
    let asked = AssertUnwindSafe(async { planner.plan(text).await }).catch_unwind();
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(planned)) => planned,
        Ok(Err(_panic)) => {
            tracing::error!("the planner panicked");
            Err(internal())
        }
        Err(_late) => Err(store_unavailable()),
    }
}
