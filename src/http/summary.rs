//! A Conversation's rolling summary: seen, edited and undone by the Player. Each change is another version, or the way back
//! to one.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use hamlet_actors::{
    policy::summary::SUMMARY_LIMIT,
    vocabulary::{ConversationId, Summary, Timestamp},
};
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    extract::{Id, Json},
};
use crate::{
    app::App,
    auth::Who,
    store::{conversations, summaries},
};

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/conversations/{id}/summary", get(read).patch(rewrite).delete(undo))
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    /// The one that counts; null while everything is said word by word.
    summary: Option<Summary>,
    /// All that are kept, the newest first.
    versions: Vec<Version>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    #[serde(flatten)]
    summary: Summary,
    /// False for one that was undone, or whose Messages were edited or left for another variant.
    in_use: bool,
}

impl Shown {
    fn of(versions: Vec<(Summary, bool)>) -> Self {
        let summary = versions.iter().find(|(_, in_use)| *in_use).map(|(summary, _)| summary.clone());
        let versions = versions.into_iter().map(|(summary, in_use)| Version { summary, in_use }).collect();
        Self { summary, versions }
    }
}

async fn read(who: Who, Id(id): Id<ConversationId>, State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let versions = app
        .store
        .read(move |conn| {
            let row = conversations::of_player(conn, id, who.id)?;
            summaries::all(conn, row.key)
        })
        .await?;
    Ok(axum::Json(Shown::of(versions)).into_response())
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RewriteBody {
    text: String,
    /// The version that was read: 409 when another one counts by now.
    version: u64,
}

async fn rewrite(
    who: Who,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Json { value: body, .. }: Json<RewriteBody>,
) -> Result<Response, ApiError> {
    let text = body.text.trim().to_owned();
    if text.is_empty() {
        return Err(ApiError::invalid("A summary has some text. To take it back, delete it."));
    }
    if text.chars().count() > SUMMARY_LIMIT {
        return Err(ApiError::invalid(format!("A summary has at most {SUMMARY_LIMIT} characters.")));
    }
    let versions = app
        .store
        .write(move |conn| {
            let row = conversations::of_player(conn, id, who.id)?;
            summaries::rewrite(conn, row.key, body.version, &text, Timestamp::now())?;
            summaries::all(conn, row.key)
        })
        .await?;
    app.engine.forget(id);
    Ok(axum::Json(Shown::of(versions)).into_response())
}

/// The version before it counts again.
async fn undo(who: Who, Id(id): Id<ConversationId>, State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    let versions = app
        .store
        .write(move |conn| {
            let row = conversations::of_player(conn, id, who.id)?;
            summaries::undo(conn, row.key)?;
            summaries::all(conn, row.key)
        })
        .await?;
    app.engine.forget(id);
    Ok(axum::Json(Shown::of(versions)).into_response())
}
