//! One Message: its variants, and what may be done with it afterwards. Edit, withdraw and select go through the
//! Conversation's mailbox, so that each has one outcome whatever runs meanwhile.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::{get, patch, post},
};
use hamlet_actors::{
    conversation::{ChangeRefusal, QueueChange, Select},
    engine::EngineError,
    vocabulary::{ConversationStamp, ErrorCode, Frame, Message, MessageId, MessageStatus},
};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::{
    error::ApiError,
    extract::{Id, Json},
    page::Page,
    replay,
    transcript::overlay,
    turns::{Nothing, answer},
};
use crate::{
    app::App,
    auth::{SignedIn, Who},
    gates::admit::{self, Edited, Repeatable},
    store::{
        Stored,
        branches::{self, Switch},
        conversations::{self, ConversationRow},
        messages,
    },
};

/// A select reads what it changes before it asks; when the Conversation has moved on meanwhile, it reads again.
const STALE_TRIES: usize = 20;
const STALE_PAUSE: Duration = Duration::from_millis(10);

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/messages/{id}", patch(edit).delete(withdraw))
        .route("/api/messages/{id}/variants", get(variants))
        .route("/api/messages/{id}/select", post(select))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct EditBody {
    text: String,
    client_id: Option<String>,
}

/// A text that waits is changed in place (204). One that was said leaves, with all behind it, and the new one is answered:
/// the turn streams, or is 202.
async fn edit(
    signed_in: SignedIn,
    Id(id): Id<MessageId>,
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Json { value: body, raw }: Json<EditBody>,
) -> Result<Response, ApiError> {
    let repeatable = Repeatable::of(&headers, &format!("edit {id}"), &raw)?;
    match admit::edit(&app, &signed_in.who, id, &body.text, body.client_id, repeatable).await? {
        Edited::Waiting => Ok(StatusCode::NO_CONTENT.into_response()),
        Edited::Branched { conversation, joined } => answer(&app, signed_in, conversation, joined, &headers).await,
    }
}

/// Only what waits can be withdrawn; what was said stays said.
async fn withdraw(who: Who, Id(id): Id<MessageId>, State(app): State<Arc<App>>) -> Result<StatusCode, ApiError> {
    let row = app.store.read(move |conn| conversations::of_message(conn, id, who.id)).await?;
    app.engine.change(row.id, QueueChange::Withdraw { message: id }).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn variants(who: Who, Id(id): Id<MessageId>, State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let found = app
        .store
        .read(move |conn| {
            let row = conversations::of_message(conn, id, who.id)?;
            messages::variants(conn, row.key, id)
        })
        .await?;
    let items: Vec<Message> = found.into_iter().map(|stored| overlay(stored, &[])).collect();
    Ok(axum::Json(Page::whole(items)).into_response())
}

/// The variant comes back in its place, with all that left together with it; what stands there now is kept as a variant.
async fn select(
    who: Who,
    Id(id): Id<MessageId>,
    State(app): State<Arc<App>>,
    Json { value: Nothing {}, .. }: Json<Nothing>,
) -> Result<StatusCode, ApiError> {
    for _ in 0..STALE_TRIES {
        let (row, switch) = app
            .store
            .read(move |conn| {
                let row = conversations::of_message(conn, id, who.id)?;
                let switch = branches::switch(conn, row.key, id)?;
                Ok((row, switch))
            })
            .await?;
        let Some(switch) = switch else {
            let wanted = app.store.read(move |conn| messages::one(conn, row.key, id)).await?;
            return match wanted.message.status {
                MessageStatus::Superseded | MessageStatus::Withdrawn => Err(ApiError::new(
                    ErrorCode::Conflict,
                    "This Message has no place in the transcript as it is now. Select the variant that it follows first.",
                )),
                // It stands there already.
                _ => Ok(StatusCode::NO_CONTENT),
            };
        };
        if switch.leaving.len() > branches::LIMIT || switch.back.len() > branches::LIMIT {
            return Err(admit::branches_limit());
        }
        let select = selection(&row, switch);
        match app.engine.select(row.id, select).await {
            Ok(()) => return Ok(StatusCode::NO_CONTENT),
            // Something else is being stored just now.
            Err(EngineError::NotChanged(ChangeRefusal::Stale)) => tokio::time::sleep(STALE_PAUSE).await,
            Err(error) => return Err(error.into()),
        }
    }
    Err(admit::keeps_moving())
}

/// What is asked of the Conversation so that a variant comes back, and the frames that tell of it.
pub fn selection(row: &ConversationRow, switch: Switch) -> Select {
    let stamp = ConversationStamp { title: row.title.clone(), updated_at: row.updated_at };
    Select {
        as_of: row.last_seq,
        leaving: switch.leaving.into_iter().map(|stored| leaving(stored, &stamp)).collect(),
        back: switch.back.into_iter().map(|stored| (stored.message.id, replay::frames(stored, &stamp))).collect(),
    }
}

/// The one frame that tells of a Message's leaving.
fn leaving(mut stored: Stored, stamp: &ConversationStamp) -> (MessageId, Frame) {
    stored.message.status = MessageStatus::Superseded;
    let id = stored.message.id;
    (id, replay::finish(&stored, stamp))
}
