//! Everything about one Conversation's actor, also where nobody is awake. Its newest Messages are listed without what
//! they say; `?text=1` answers that, too, and is written down first.

use std::sync::Arc;

use axum::{extract::State, response::IntoResponse};
use hamlet_actors::{
    village::ActorView,
    vocabulary::{ConversationId, Timestamp},
};
use serde::{Deserialize, Serialize};

use super::{
    audit,
    row::{Row, asleep},
    text::{self, MessageOut, Reading},
};
use crate::{
    app::App,
    auth::Admin,
    http::{
        error::ApiError,
        extract::{Id, Query},
        transcript::fold,
    },
    store::{messages, oversight},
};

/// Of the newest Messages.
const SHOWN: usize = 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetailQuery {
    text: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DetailOut {
    #[serde(flatten)]
    row: Row,
    conversation: StoredOut,
    /// The newest, oldest first.
    messages: Vec<MessageOut>,
    /// Whether what was said is left out.
    redacted: bool,
    now: Timestamp,
}

/// What the store has.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StoredOut {
    created_at: Timestamp,
    updated_at: Timestamp,
    last_seq: u64,
    /// How many Messages, those that left the transcript included.
    messages: u64,
    /// A piece of what was said: only when that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<Option<String>>,
}

pub async fn show(
    Admin(who): Admin,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Query(query): Query<DetailQuery>,
) -> Result<impl IntoResponse, ApiError> {
    let reading = reading(query.text.as_deref())?;
    let actor = app.engine.actor(id).await?;
    // The log first, then the store, as for a transcript: what ends in between is in the store.
    let running = match actor {
        Some(_) => app.engine.log(id).await?.snapshot().map_or_else(Vec::new, |(stretches, _)| fold(&stretches)),
        // Where nobody is, none is to be made by looking.
        None => Vec::new(),
    };
    let (stored, newest) = app
        .store
        .read(move |conn| {
            let stored = oversight::conversation(conn, id)?;
            let newest = messages::page(conn, stored.key, None, SHOWN)?;
            Ok((stored, newest))
        })
        .await?;
    let messages: Vec<MessageOut> =
        newest.into_iter().map(|message| text::message(message, &running, reading)).collect();
    let actor = match actor {
        Some(actor) if actor.is_awake() => actor,
        Some(watched) => ActorView { queue: stored.queued, ..watched },
        None => asleep(id, &stored),
    };
    if reading == Reading::Text {
        audit::reading(&app, &who, id, messages.len()).await?;
    }
    Ok(axum::Json(DetailOut {
        conversation: StoredOut {
            created_at: stored.created_at,
            updated_at: stored.updated_at,
            last_seq: stored.last_seq,
            messages: stored.messages,
            title: (reading == Reading::Text).then_some(stored.title),
        },
        row: Row { actor, player: Some(stored.owner) },
        messages,
        redacted: reading == Reading::Redacted,
        now: Timestamp::now(),
    }))
}

fn reading(asked: Option<&str>) -> Result<Reading, ApiError> {
    match asked {
        None | Some("0" | "false") => Ok(Reading::Redacted),
        Some("1" | "true") => Ok(Reading::Text),
        Some(_) => Err(ApiError::invalid("\"text\" is 1 or true, 0 or false.")),
    }
}
