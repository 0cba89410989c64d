//! What operators did and looked at: writing it down around the deed, and reading it.

use std::{future::Future, sync::Arc};

use axum::{extract::State, response::IntoResponse};
use hamlet_actors::vocabulary::{ConversationId, Timestamp};
use serde_json::{Value, json};

use crate::{
    app::App,
    auth::{Admin, Who},
    http::{
        error::ApiError,
        extract::Query,
        page::{Asked, Page},
    },
    store::audit::{self, Action, Deed, Entry},
};

/// The newest first.
pub async fn list(
    _: Admin,
    State(app): State<Arc<App>>,
    Query(asked): Query<Asked>,
) -> Result<impl IntoResponse, ApiError> {
    let (limit, after) = (asked.limit()?, asked.after::<i64>()?);
    let rows = app.store.read(move |conn| audit::page(conn, after, limit + 1)).await?;
    Ok(axum::Json(Page::of(rows, limit, |row: &Entry| row.id.to_string(), |row| row)))
}

/// The outcome of what was done as it was asked for.
const OK: &str = "ok";

/// Does what is to be audited. It is written down before it is done, and what can't be written down is not done; what came
/// of it is written down before it is answered. Goes on when the asker has gone.
///
/// # Errors
/// What the deed answers; STORE_UNAVAILABLE before it.
pub async fn audited<D>(
    app: &Arc<App>,
    who: Who,
    action: Action,
    conversation: ConversationId,
    deed: D,
) -> Result<axum::Json<Value>, ApiError>
where
    D: Future<Output = Result<Value, ApiError>> + Send + 'static,
{
    let asked = asked(who, action, conversation);
    let row = app.store.write(move |conn| audit::ask(conn, &asked)).await?;
    let store = app.store.clone();
    let deed = app.deeds.spawn(async move {
        let done = deed.await;
        let (outcome, details) = match &done {
            Ok(done) => (OK, done.clone()),
            Err(error) => (error.code.as_str(), error.details.clone().unwrap_or_else(|| json!({}))),
        };
        // What was done stands, and is answered: the row says that it was asked for.
        if let Err(error) = store.write(move |conn| audit::conclude(conn, row, outcome, &details)).await {
            tracing::error!(%error, row, outcome, "what became of an operator's deed could not be written down");
        }
        done
    });
    deed.await.map_err(|error| ApiError::internal(&error))?.map(axum::Json)
}

/// Writes down that what was said is about to be shown.
///
/// # Errors
/// STORE_UNAVAILABLE: then it must not be shown.
pub async fn reading(app: &App, who: &Who, conversation: ConversationId, messages: usize) -> Result<(), ApiError> {
    let asked = asked(who.clone(), Action::ReadText, conversation);
    app.store
        .write(move |conn| {
            let row = audit::ask(conn, &asked)?;
            audit::conclude(conn, row, OK, &json!({"messages": messages}))
        })
        .await?;
    Ok(())
}

fn asked(who: Who, action: Action, conversation: ConversationId) -> Deed {
    Deed { at: Timestamp::now(), player: who.id, player_name: who.name, action, conversation }
}
