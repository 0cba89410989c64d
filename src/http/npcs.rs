//! `/api/npcs`. Every signed-in Player reads and makes NPCs; who made one, or an admin, changes and deletes it.

use axum::{
    Router,
    extract::{FromRef, FromRequestParts, State},
    routing::get,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hamlet_actors::vocabulary::{NpcId, Timestamp};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    error::ApiError,
    extract::{Id, Json, Query},
    village::change,
};
use crate::{
    auth::Who,
    store::npcs::{self, NpcRecord},
    village::{
        VillageState,
        npc::{self, Making, NpcFields},
        patch::Object,
    },
};

const PAGE: usize = 50;
const PAGE_MAX: usize = 100;

pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    VillageState: FromRef<S>,
    Who: FromRequestParts<S>,
{
    Router::new()
        .route("/api/npcs", get(list).post(create))
        .route("/api/npcs/{id}", get(read).patch(update).delete(remove))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    limit: Option<usize>,
    after: Option<String>,
}

#[derive(Debug, Serialize)]
struct Listed {
    items: Vec<NpcRecord>,
    /// What to send as `after` for the rest; null: this is all.
    next: Option<String>,
}

async fn list(
    _who: Who,
    State(village): State<VillageState>,
    Query(page): Query<Page>,
) -> Result<axum::Json<Listed>, ApiError> {
    let limit = page.limit.unwrap_or(PAGE);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(ApiError::invalid(format!("limit is not between 1 and {PAGE_MAX}.")));
    }
    let after = page.after.as_deref().map(read_mark).transpose()?;
    // One more than asked for tells whether there is a rest.
    let mut items = village.store.read(move |conn| npcs::list(conn, after, limit + 1)).await?;
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| URL_SAFE_NO_PAD.encode(last.npc.id.0.as_bytes()));
    Ok(axum::Json(Listed { items, next }))
}

fn read_mark(mark: &str) -> Result<NpcId, ApiError> {
    let bytes: Option<[u8; 16]> = URL_SAFE_NO_PAD.decode(mark).ok().and_then(|bytes| bytes.try_into().ok());
    let id = bytes.map(|bytes| NpcId(Uuid::from_bytes(bytes)));
    id.ok_or_else(|| ApiError::invalid("after is not what a list answered as next."))
}

async fn create(
    who: Who,
    State(village): State<VillageState>,
    Json { value: Object(fields), .. }: Json<Object<NpcFields>>,
) -> Result<(StatusCode, axum::Json<NpcRecord>), ApiError> {
    let given = village.given();
    let making = Making { id: NpcId::generate(), by: Some(who.id), at: Timestamp::now() };
    let record = change(&village.store, move |conn| npc::create(conn, fields, making, &given)).await?;
    Ok((StatusCode::CREATED, axum::Json(record)))
}

async fn read(
    _who: Who,
    State(village): State<VillageState>,
    Id(id): Id<NpcId>,
) -> Result<axum::Json<NpcRecord>, ApiError> {
    Ok(axum::Json(village.store.read(move |conn| npcs::get(conn, id)).await?))
}

async fn update(
    who: Who,
    State(village): State<VillageState>,
    Id(id): Id<NpcId>,
    Json { value: Object(fields), .. }: Json<Object<NpcFields>>,
) -> Result<axum::Json<NpcRecord>, ApiError> {
    let given = village.given();
    let now = Timestamp::now();
    let record = change(&village.store, move |conn| npc::change(conn, id, fields, &who, now, &given)).await?;
    Ok(axum::Json(record))
}

async fn remove(who: Who, State(village): State<VillageState>, Id(id): Id<NpcId>) -> Result<StatusCode, ApiError> {
    change(&village.store, move |conn| npc::delete(conn, id, &who)).await?;
    Ok(StatusCode::NO_CONTENT)
}
