//! The store as the engine's memory.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use hamlet_actors::{
    policy::recall::{RecallLimits, ordered, ranked},
    ports::memory::{Forgotten, Memory, MemoryError, NewMemory, Remembered, Which, Whose},
    vocabulary::{Recollection, Timestamp},
};
use rusqlite::Connection;

use super::{Kept, MemoryRow, Scope, candidates, delete, ending, remember, scored};
use crate::store::{Store, StoreError};

/// Memories that are shown when several fit, of each index.
const SHOWN: usize = 8;
/// Candidates of each index for each memory that may come back: age and near-copies reorder them.
const BREADTH: usize = 6;

impl Memory for Store {
    fn recall(
        &self,
        whose: Whose,
        question: Arc<str>,
        limits: RecallLimits,
        now: Timestamp,
    ) -> BoxFuture<'static, Result<Vec<Recollection>, MemoryError>> {
        let store = self.clone();
        Box::pin(async move { Ok(store.read(move |conn| recall(conn, whose, &question, limits, now)).await?) })
    }

    fn remember(&self, memory: NewMemory) -> BoxFuture<'static, Result<Remembered, MemoryError>> {
        let store = self.clone();
        Box::pin(async move {
            match store.write(move |conn| remember(conn, &memory)).await? {
                Kept::New(row) => Ok(Remembered::New(row.into())),
                Kept::Again(row) => Ok(Remembered::Again(row.into())),
                Kept::Full => Err(MemoryError::Full),
            }
        })
    }

    fn forget(&self, whose: Whose, which: Which, now: Timestamp) -> BoxFuture<'static, Result<Forgotten, MemoryError>> {
        let store = self.clone();
        Box::pin(async move { Ok(store.write(move |conn| forget(conn, whose, &which, now)).await?) })
    }
}

fn recall(
    conn: &Connection,
    whose: Whose,
    question: &str,
    limits: RecallLimits,
    now: Timestamp,
) -> Result<Vec<Recollection>, StoreError> {
    let scope = Scope { player: whose.player, npc: Some(whose.npc) };
    let found = candidates(conn, scope, question, limits.memories.saturating_mul(BREADTH))?;
    Ok(ranked(scored(found), now, limits))
}

fn forget(conn: &Connection, whose: Whose, which: &Which, now: Timestamp) -> Result<Forgotten, StoreError> {
    let mut found: Vec<Recollection> = match which {
        Which::Ending(digits) => ending(conn, whose, digits)?.into_iter().map(MemoryRow::into).collect(),
        // Near-copies count: of two that say nearly the same, neither is the clear one.
        Which::About(question) => {
            let scope = Scope { player: whose.player, npc: Some(whose.npc) };
            ordered(scored(candidates(conn, scope, question, SHOWN)?), now)
        }
    };
    match (found.pop(), found.is_empty()) {
        (None, _) => Ok(Forgotten::Nothing),
        (Some(one), true) => {
            delete(conn, whose.player, one.id)?;
            Ok(Forgotten::One(one))
        }
        (Some(last), false) => {
            found.push(last);
            Ok(Forgotten::Several(found))
        }
    }
}

impl From<StoreError> for MemoryError {
    fn from(error: StoreError) -> Self {
        // What the store says of itself is for the log; a model would only repeat it to the Player.
        tracing::warn!(%error, "memories could not be reached");
        Self::Unavailable("the store did not answer".to_owned())
    }
}
