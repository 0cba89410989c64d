//! `/api/skills`. Every signed-in Player reads them; an admin changes those of the Village, and whoever may change an NPC
//! those of the NPC. A skill comes as JSON, or with its files as a zip archive in the open form.

use axum::{
    Router,
    extract::{FromRef, FromRequest, FromRequestParts, Path, Request, State},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use hamlet_actors::vocabulary::{ErrorCode, NpcId, SkillId, Timestamp};
use http::{StatusCode, header};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    extract::{Id, Json, Query, media_type, read_body},
    page::{self, Page},
    village::{change, sentence},
};
use crate::{
    auth::{Admin, Who},
    plugins::skills::{
        Changes, Problem,
        archive::{self, ARCHIVE_MAX, Unpacked},
    },
    store::{
        StoreError, npcs,
        skills::{self, SkillEntry, SkillRecord},
    },
    village::{
        VillageState,
        skill::{self, Making, SkillBundle, SkillFields, SkillRefusal},
    },
};

pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    VillageState: FromRef<S>,
    Who: FromRequestParts<S>,
    Admin: FromRequestParts<S>,
{
    Router::new()
        .route("/api/skills", get(list).post(create))
        .route("/api/skills/rescan", post(rescan))
        .route("/api/skills/{id}", get(read).patch(update).delete(remove))
        .route("/api/skills/{id}/files/{*path}", get(file))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AskedSkills {
    /// Only what is in scope for this NPC: its own, and the Village's that they don't hide.
    npc_id: Option<NpcId>,
    limit: Option<usize>,
    after: Option<String>,
}

#[derive(Debug, Serialize)]
struct Listed {
    #[serde(flatten)]
    page: Page<SkillEntry>,
    /// Folders under `skills/` that are no skills.
    problems: Vec<Problem>,
}

/// A skill with the paths of its files.
#[derive(Debug, Serialize)]
struct Whole {
    #[serde(flatten)]
    record: SkillRecord,
    files: Vec<String>,
}

fn whole(conn: &Connection, record: SkillRecord) -> Result<Whole, StoreError> {
    Ok(Whole { files: skills::file_paths(conn, record.entry.id)?, record })
}

async fn list(
    _who: Who,
    State(village): State<VillageState>,
    Query(asked): Query<AskedSkills>,
) -> Result<axum::Json<Listed>, ApiError> {
    let limit = page::limit(asked.limit, page::DEFAULT)?;
    let after = asked.after.as_deref().map(page::decode::<SkillId>).transpose()?;
    let read = village.store.read(move |conn| {
        if let Some(npc) = asked.npc_id {
            npcs::get(conn, npc)?;
        }
        skills::list(conn, asked.npc_id, after, limit + 1)
    });
    let unknown = |error| match error {
        StoreError::NotFound => ApiError::invalid("\"npcId\" names no NPC that is here."),
        error => error.into(),
    };
    let page = Page::of(read.await.map_err(unknown)?, limit, |entry| entry.id.to_string(), |entry| entry);
    Ok(axum::Json(Listed { page, problems: village.shelf.problems() }))
}

/// For whom an archive's skills are.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ForWhom {
    npc_id: Option<NpcId>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Imported {
    items: Vec<Whole>,
    /// What of the archive was left out: scripts, assets and whatever else is no text under `references/`.
    not_imported: Vec<String>,
}

async fn create(
    who: Who,
    State(village): State<VillageState>,
    Query(whom): Query<ForWhom>,
    request: Request,
) -> Result<Response, ApiError> {
    let media = media_type(request.headers()).to_ascii_lowercase();
    match media.as_str() {
        "application/zip" | "application/x-zip-compressed" => import(who, village, whom.npc_id, request).await,
        "application/json" if whom.npc_id.is_none() => make(who, village, request).await,
        "application/json" => Err(ApiError::invalid("Say \"npcId\" in the body: in the query it is for archives.")),
        _ => {
            let message = "Send a skill as application/json, or an archive as application/zip.";
            Err(ApiError::new(ErrorCode::UnsupportedMediaType, message))
        }
    }
}

async fn make(who: Who, village: VillageState, request: Request) -> Result<Response, ApiError> {
    let Json { value: fields, .. } = Json::<SkillFields>::from_request(request, &()).await?;
    let making = Making { npc: fields.npc_id.flatten(), who, at: Timestamp::now() };
    let bundle = SkillBundle { text: skill::text_of(fields)?, ..SkillBundle::default() };
    let mut made = made(&village, vec![bundle], making).await?;
    let made = made.pop().ok_or_else(|| ApiError::internal(&StoreError::NotFound))?;
    Ok((StatusCode::CREATED, axum::Json(made)).into_response())
}

/// All of them, or none.
async fn made(village: &VillageState, bundles: Vec<SkillBundle>, making: Making) -> Result<Vec<Whole>, ApiError> {
    let bundles = bundles.into_iter().map(|bundle| (SkillId::generate(), bundle)).collect();
    change::<_, SkillRefusal, _>(&village.store, move |conn| match skill::create(conn, bundles, making)? {
        Ok(records) => records.into_iter().map(|record| whole(conn, record)).collect::<Result<_, _>>().map(Ok),
        Err(refusal) => Ok(Err(refusal)),
    })
    .await
}

async fn import(who: Who, village: VillageState, npc: Option<NpcId>, request: Request) -> Result<Response, ApiError> {
    let bytes = read_body(request, ARCHIVE_MAX).await?;
    let unpacking = tokio::task::spawn_blocking(move || archive::unpack(&bytes));
    let unpacked = unpacking.await.map_err(|error| ApiError::internal(&error))?;
    let Unpacked { skills: bundles, not_imported } = unpacked.map_err(|error| ApiError::invalid(sentence(&error)))?;
    let items = made(&village, bundles, Making { npc, who, at: Timestamp::now() }).await?;
    Ok((StatusCode::CREATED, axum::Json(Imported { items, not_imported })).into_response())
}

async fn read(
    _who: Who,
    State(village): State<VillageState>,
    Id(id): Id<SkillId>,
) -> Result<axum::Json<Whole>, ApiError> {
    Ok(axum::Json(village.store.read(move |conn| whole(conn, skills::get(conn, id)?)).await?))
}

async fn update(
    who: Who,
    State(village): State<VillageState>,
    Id(id): Id<SkillId>,
    Json { value: fields, .. }: Json<SkillFields>,
) -> Result<axum::Json<Whole>, ApiError> {
    let now = Timestamp::now();
    let changed =
        change::<_, SkillRefusal, _>(&village.store, move |conn| match skill::change(conn, id, fields, &who, now)? {
            Ok(record) => whole(conn, record).map(Ok),
            Err(refusal) => Ok(Err(refusal)),
        });
    Ok(axum::Json(changed.await?))
}

async fn remove(who: Who, State(village): State<VillageState>, Id(id): Id<SkillId>) -> Result<StatusCode, ApiError> {
    change(&village.store, move |conn| skill::delete(conn, id, &who)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// As plain text: whatever it says, a browser shows it and runs nothing.
async fn file(
    _who: Who,
    State(village): State<VillageState>,
    path: Result<Path<(String, String)>, axum::extract::rejection::PathRejection>,
) -> Result<Response, ApiError> {
    let Path((id, path)) = path.map_err(|_| ApiError::not_found())?;
    let id: SkillId = id.parse().map_err(|_| ApiError::not_found())?;
    let body = village.store.read(move |conn| skills::file(conn, id, &path)).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], body).into_response())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

async fn rescan(
    Admin(_who): Admin,
    State(village): State<VillageState>,
    Json { value: Nothing {}, .. }: Json<Nothing>,
) -> Result<axum::Json<Changes>, ApiError> {
    Ok(axum::Json(village.shelf.read(&village.store).await?))
}

#[cfg(test)]
mod tests;
