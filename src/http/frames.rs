//! Watching over HTTP: one Conversation, or several in one stream.

use std::{collections::HashSet, sync::Arc};

use axum::{Router, extract::State, response::Response, routing::get};
use hamlet_actors::vocabulary::ConversationId;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::json;

use super::{
    error::ApiError,
    extract::{Id, Query},
    watch::{
        self, Watching, among,
        begin::{self, Since},
    },
};
use crate::{app::App, auth::SignedIn};

/// Conversations in one stream at most.
const WATCH_LIMIT: usize = 100;

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/conversations/{id}/frames", get(one)).route("/api/frames", get(several))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneQuery {
    after: Option<u64>,
}

async fn one(
    signed_in: SignedIn,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Query(query): Query<OneQuery>,
) -> Result<Response, ApiError> {
    let since = watch::last_event_id(&headers).or(query.after).map_or(Since::Now, Since::Cursor);
    let place = begin::one(&app, &signed_in.who, id, since).await?;
    let watching = Watching {
        store: app.store.clone(),
        accounts: app.accounts.clone(),
        log: place.log,
        conversation: id,
        signed_in,
        cursor: place.cursor,
        until: None,
        end: None,
        following: None,
    };
    Ok(watching.into_response())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeveralQuery {
    watch: String,
}

async fn several(
    signed_in: SignedIn,
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Query(query): Query<SeveralQuery>,
) -> Result<Response, ApiError> {
    let mut asked = entries(&query.watch)?;
    if let Some(last) = watch::last_event_id_among(&headers) {
        resume(&mut asked, last);
    }
    let places = begin::several(&app, &signed_in.who, &asked).await?;
    let absent: Vec<ConversationId> =
        asked.iter().zip(&places).filter(|(_, place)| place.is_none()).map(|((id, _), _)| *id).collect();
    if absent.len() == asked.len() {
        return Err(ApiError::not_found().with(json!({"conversationIds": absent})));
    }
    Ok(among::respond(&app, &signed_in, places.into_iter().flatten().collect(), &absent))
}

/// `ID:CURSOR,ID:CURSOR`; a cursor may be empty.
fn entries(watch: &str) -> Result<Vec<(ConversationId, Since)>, ApiError> {
    let entries = watch.split(',').map(entry).collect::<Option<Vec<_>>>().ok_or_else(|| {
        ApiError::invalid("\"watch\" must be like ID:CURSOR,ID:CURSOR, where a cursor is a number or empty.")
    })?;
    if entries.len() > WATCH_LIMIT {
        return Err(ApiError::invalid(format!("\"watch\" names more than {WATCH_LIMIT} Conversations.")));
    }
    let distinct: HashSet<ConversationId> = entries.iter().map(|(id, _)| *id).collect();
    if distinct.len() < entries.len() {
        return Err(ApiError::invalid("\"watch\" names a Conversation twice."));
    }
    Ok(entries)
}

fn entry(entry: &str) -> Option<(ConversationId, Since)> {
    let (id, cursor) = entry.split_once(':')?;
    let since = if cursor.is_empty() { Since::Now } else { Since::Cursor(cursor.parse().ok()?) };
    Some((id.parse().ok()?, since))
}

/// A browser that reconnects by itself asks for the same URL again and brings the last id, which is one Conversation's. The
/// cursors of the others are as old as the URL: they are read from there again, but no piece without its beginning, so
/// that what the reader has already is not doubled. One without a cursor is read from its beginning: where it stood is
/// not known any more.
fn resume(asked: &mut [(ConversationId, Since)], (last, cursor): (ConversationId, u64)) {
    for (id, since) in asked {
        *since = match *since {
            _ if *id == last => Since::Cursor(cursor),
            Since::Cursor(cursor) | Since::WholeMessages(cursor) => Since::WholeMessages(cursor),
            Since::Now => Since::WholeMessages(0),
        };
    }
}
