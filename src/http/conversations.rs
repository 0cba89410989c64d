//! Conversations: make, list, name, take part, read, delete.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::{get, put},
};
use hamlet_actors::vocabulary::{ConversationId, NewcomersKnow, NpcId, SpeakerPolicy, Timestamp};
use http::StatusCode;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    error::ApiError,
    extract::{Id, Json, Query},
    page::{self, Asked, Page, TimeAndKey},
};
use crate::{
    app::App,
    auth::Who,
    store::{
        StoreError,
        conversations::{self, ConversationRow, NewConversation},
        npcs,
    },
    village::patch::present,
};

/// NPCs of one Party at most.
const PARTY_LIMIT: usize = 32;
/// Characters of a title that a Player gives at most.
const TITLE_LIMIT: usize = 200;
const EXTERNAL_ID_LIMIT: usize = 255;

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/conversations", get(list).post(create))
        .route("/api/conversations/{id}", get(one).patch(change).delete(remove))
        .route("/api/conversations/{id}/participants", put(set_participants))
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ConversationOut {
    id: ConversationId,
    title: Option<String>,
    external_id: Option<String>,
    npcs: Vec<Participant>,
    speaker_policy: SpeakerPolicy,
    newcomers_know: NewcomersKnow,
    created_at: Timestamp,
    updated_at: Timestamp,
}

#[derive(Debug, Serialize)]
struct Participant {
    id: NpcId,
    slug: String,
    name: String,
}

fn out(conn: &Connection, row: ConversationRow) -> Result<ConversationOut, StoreError> {
    let ids = conversations::participants(conn, row.key)?;
    let party = npcs::party(conn, &ids)?;
    Ok(ConversationOut {
        id: row.id,
        title: row.title,
        external_id: row.external_id,
        npcs: party.into_iter().map(|npc| Participant { id: npc.id, slug: npc.slug, name: npc.name }).collect(),
        speaker_policy: row.speaker_policy,
        newcomers_know: row.newcomers_know,
        created_at: row.created_at,
        updated_at: row.updated_at,
    })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CreateBody {
    npc_ids: Vec<NpcId>,
    title: Option<String>,
    external_id: Option<String>,
}

async fn create(
    who: Who,
    State(app): State<Arc<App>>,
    Json { value: body, .. }: Json<CreateBody>,
) -> Result<Response, ApiError> {
    let npcs = party(body.npc_ids)?;
    let title = body.title.as_deref().map(title).transpose()?;
    if body.external_id.as_ref().is_some_and(|id| id.is_empty() || id.len() > EXTERNAL_ID_LIMIT) {
        return Err(ApiError::invalid(format!("\"externalId\" must have 1 to {EXTERNAL_ID_LIMIT} bytes.")));
    }
    let new = NewConversation {
        id: ConversationId::generate(),
        owner: who.id,
        external_id: body.external_id,
        title,
        npcs,
        at: Timestamp::now(),
    };
    let made = app
        .store
        .write(move |conn| {
            let row = conversations::create(conn, &new)?;
            out(conn, row)
        })
        .await
        .map_err(unknown_npc)?;
    Ok((StatusCode::CREATED, axum::Json(made)).into_response())
}

async fn list(who: Who, State(app): State<Arc<App>>, Query(asked): Query<Asked>) -> Result<Response, ApiError> {
    let limit = asked.limit()?;
    let after = asked.after::<TimeAndKey>()?.map(|TimeAndKey(time, key)| (time, key));
    let page = app
        .store
        .read(move |conn| {
            let (rows, more) = page::cut(conversations::page(conn, who.id, after, limit + 1)?, limit);
            let mark = |row: &ConversationRow| TimeAndKey(row.updated_at.as_millis(), row.key).to_string();
            let next = rows.last().filter(|_| more).map(|row| page::encode(&mark(row)));
            let items = rows.into_iter().map(|row| out(conn, row)).collect::<Result<Vec<_>, _>>()?;
            Ok(Page { items, next })
        })
        .await?;
    Ok(axum::Json(page).into_response())
}

async fn one(who: Who, Id(id): Id<ConversationId>, State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let found = app
        .store
        .read(move |conn| {
            let row = conversations::of_player(conn, id, who.id)?;
            out(conn, row)
        })
        .await?;
    Ok(axum::Json(found).into_response())
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ChangeBody {
    /// Null takes the title away; the next Message gives a new one.
    #[serde(deserialize_with = "present")]
    title: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    speaker_policy: Option<SpeakerPolicy>,
    #[serde(deserialize_with = "present")]
    newcomers_know: Option<NewcomersKnow>,
}

async fn change(
    who: Who,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Json { value: body, .. }: Json<ChangeBody>,
) -> Result<Response, ApiError> {
    let wanted = match body.title {
        Some(Some(text)) => Some(Some(title(&text)?)),
        Some(None) => Some(None),
        None => None,
    };
    let is_renamed = wanted.is_some();
    let changed = app
        .store
        .write(move |conn| {
            let row = conversations::of_player(conn, id, who.id)?;
            if let Some(title) = wanted {
                conversations::rename(conn, row.key, title.as_deref())?;
            }
            if let Some(policy) = body.speaker_policy {
                conversations::set_speaker_policy(conn, row.key, policy)?;
            }
            if let Some(know) = body.newcomers_know {
                conversations::set_newcomers_know(conn, row.key, know)?;
            }
            let row = conversations::of_player(conn, id, who.id)?;
            out(conn, row)
        })
        .await?;
    if is_renamed {
        app.engine.renamed(id, changed.title.clone());
    }
    Ok(axum::Json(changed).into_response())
}

async fn remove(who: Who, Id(id): Id<ConversationId>, State(app): State<Arc<App>>) -> Result<StatusCode, ApiError> {
    app.store.delete_conversation(id, who.id, Timestamp::now()).await?;
    app.engine.delete(id);
    app.purge.notify_one();
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ParticipantsBody {
    npc_ids: Vec<NpcId>,
}

async fn set_participants(
    who: Who,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Json { value: body, .. }: Json<ParticipantsBody>,
) -> Result<Response, ApiError> {
    let npcs = party(body.npc_ids)?;
    app.store.read(move |conn| conversations::of_player(conn, id, who.id)).await?;
    let changed = app
        .store
        .write(move |conn| {
            let row = conversations::of_player(conn, id, who.id)?;
            conversations::set_participants(conn, row.key, &npcs, Timestamp::now())?;
            out(conn, row)
        })
        .await
        .map_err(unknown_npc)?;
    Ok(axum::Json(changed).into_response())
}

fn party(npcs: Vec<NpcId>) -> Result<Vec<NpcId>, ApiError> {
    let mut distinct = Vec::with_capacity(npcs.len());
    for npc in npcs {
        if !distinct.contains(&npc) {
            distinct.push(npc);
        }
    }
    if distinct.len() > PARTY_LIMIT {
        return Err(ApiError::invalid(format!("A Party has at most {PARTY_LIMIT} NPCs.")));
    }
    Ok(distinct)
}

fn title(text: &str) -> Result<String, ApiError> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() || line.chars().count() > TITLE_LIMIT || line.chars().any(char::is_control) {
        return Err(ApiError::invalid(format!(
            "\"title\" must have 1 to {TITLE_LIMIT} characters, and none that controls a terminal."
        )));
    }
    Ok(line)
}

/// On these routes only an NPC can be what is not found: the Conversation is looked up before.
fn unknown_npc(error: StoreError) -> ApiError {
    match error {
        StoreError::NotFound => {
            ApiError::invalid("\"npcIds\" names an NPC that does not exist.").with(json!({"field": "npcIds"}))
        }
        StoreError::Conflict(_) => ApiError::new(
            hamlet_actors::vocabulary::ErrorCode::Conflict,
            "You have a Conversation with this \"externalId\" already.",
        ),
        error => error.into(),
    }
}
