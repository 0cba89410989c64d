//! `/api/memories`: what NPCs remember of the Player who asks, and of nobody else.

use axum::{
    Router,
    extract::{FromRef, FromRequestParts, State},
    routing::get,
};
use hamlet_actors::{
    policy::recall::ordered,
    ports::memory::Whose,
    vocabulary::{MemoryId, NpcId, Timestamp},
};
use http::StatusCode;
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    error::ApiError,
    extract::{Id, Json, Query},
    page::{self, Page, TimeAndKey},
    village::change,
};
use crate::{
    auth::Who,
    store::{
        StoreError,
        memories::{self, MemoryRow, Scope},
    },
    village::{
        VillageState,
        memory::{self, MemoryChange, MemoryFields, Written},
    },
};

/// Memories of one page where nothing is asked for.
const DEFAULT: usize = 50;
/// Characters of a search at most; what is beyond has no say in what is found.
const SEARCH_LIMIT: usize = 1_000;
/// Memories that one commit deletes, so that no token of a running turn waits behind a long one.
const CLEARED_AT_ONCE: usize = 250;

pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    VillageState: FromRef<S>,
    Who: FromRequestParts<S>,
{
    Router::new()
        .route("/api/memories", get(list).post(create).delete(clear))
        .route("/api/memories/{id}", get(read).patch(update).delete(remove))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    npc_id: Option<NpcId>,
    q: Option<String>,
    limit: Option<usize>,
    after: Option<String>,
}

async fn list(
    who: Who,
    State(village): State<VillageState>,
    Query(asked): Query<Asked>,
) -> Result<axum::Json<Page<MemoryRow>>, ApiError> {
    let limit = page::limit(asked.limit, DEFAULT)?;
    let after = asked.after.as_deref().map(page::decode::<TimeAndKey>).transpose()?;
    let scope = Scope { player: who.id, npc: asked.npc_id };
    let Some(question) = asked.q.filter(|q| !q.trim().is_empty()) else {
        let after = after.map(|TimeAndKey(time, key)| (time, key));
        let rows =
            village.store.read(move |conn| memories::list(conn, scope.player, scope.npc, after, limit + 1)).await?;
        let key = |row: &MemoryRow| TimeAndKey(row.updated_at.as_millis(), row.key).to_string();
        return Ok(axum::Json(Page::of(rows, limit, key, |row| row)));
    };
    if after.is_some() {
        return Err(ApiError::invalid("A search has one page: leave \"after\" out, or \"q\"."));
    }
    if question.chars().count() > SEARCH_LIMIT {
        return Err(ApiError::invalid(format!("\"q\" has more than {SEARCH_LIMIT} characters.")));
    }
    let now = Timestamp::now();
    let found = village.store.read(move |conn| search(conn, scope, &question, limit, now)).await?;
    Ok(axum::Json(Page::whole(found)))
}

/// In the order in which they come back to the NPC. Near-copies are shown: a Player may want them all gone.
fn search(
    conn: &Connection,
    scope: Scope,
    question: &str,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<MemoryRow>, StoreError> {
    let found = memories::candidates(conn, scope, question, limit)?;
    let mut rows: Vec<MemoryRow> = found.iter().flatten().map(|(row, _)| row.clone()).collect();
    let order = ordered(memories::scored(found), now);
    Ok(order
        .iter()
        .take(limit)
        .filter_map(|recollection| {
            let at = rows.iter().position(|row| row.id == recollection.id)?;
            Some(rows.swap_remove(at))
        })
        .collect())
}

async fn create(
    who: Who,
    State(village): State<VillageState>,
    Json { value: fields, .. }: Json<MemoryFields>,
) -> Result<(StatusCode, axum::Json<MemoryRow>), ApiError> {
    let (id, now) = (MemoryId::generate(), Timestamp::now());
    let written = change(&village.store, move |conn| memory::write(conn, &fields, who.id, id, now)).await?;
    Ok(match written {
        Written::New(row) => (StatusCode::CREATED, axum::Json(row)),
        Written::Again(row) => (StatusCode::OK, axum::Json(row)),
    })
}

async fn read(
    who: Who,
    State(village): State<VillageState>,
    Id(id): Id<MemoryId>,
) -> Result<axum::Json<MemoryRow>, ApiError> {
    Ok(axum::Json(village.store.read(move |conn| memories::get(conn, who.id, id)).await?))
}

async fn update(
    who: Who,
    State(village): State<VillageState>,
    Id(id): Id<MemoryId>,
    Json { value: fields, .. }: Json<MemoryChange>,
) -> Result<axum::Json<MemoryRow>, ApiError> {
    let now = Timestamp::now();
    Ok(axum::Json(change(&village.store, move |conn| memory::change(conn, who.id, id, &fields, now)).await?))
}

async fn remove(who: Who, State(village): State<VillageState>, Id(id): Id<MemoryId>) -> Result<StatusCode, ApiError> {
    village.store.write(move |conn| memories::delete(conn, who.id, id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Clearing {
    npc_id: NpcId,
}

/// All that this NPC remembers of the Player; an NPC that is not there remembers nothing.
async fn clear(
    who: Who,
    State(village): State<VillageState>,
    Query(Clearing { npc_id }): Query<Clearing>,
) -> Result<axum::Json<Value>, ApiError> {
    let whose = Whose { player: who.id, npc: npc_id };
    let mut deleted = 0;
    loop {
        let cleared = village.store.write(move |conn| memories::clear(conn, whose, CLEARED_AT_ONCE)).await?;
        deleted += cleared;
        if cleared < CLEARED_AT_ONCE {
            return Ok(axum::Json(json!({"deleted": deleted})));
        }
    }
}

#[cfg(test)]
mod tests;
