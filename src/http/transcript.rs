//! The transcript with its cursor, taken together: the log first, then the store. The log wins per Message, and rows that
//! begin behind the cursor are left out, so that frames from the cursor on continue without gap or double.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use hamlet_actors::{
    conversation::frame_log::Stretch,
    ports::journal::Queued,
    vocabulary::{ConversationId, Entry, Frame, Message, MessageId, MessageStatus, Part, Transcript, TurnId},
};
use serde::{Deserialize, Serialize};

use super::{
    error::ApiError,
    extract::{Id, Query},
    page,
};
use crate::{
    app::App,
    auth::Who,
    store::{
        Stored, conversations, messages,
        queue::{self, Waiting},
    },
};

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/conversations/{id}/messages", get(transcript))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TranscriptQuery {
    limit: Option<usize>,
    before: Option<String>,
}

#[derive(Debug, Serialize)]
struct TranscriptOut {
    items: Vec<Message>,
    next: Option<String>,
    cursor: u64,
    turn: Option<TurnOut>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnOut {
    /// Null while nothing runs and texts wait.
    id: Option<TurnId>,
    state: &'static str,
    message_id: Option<MessageId>,
    queue: QueueOut,
}

#[derive(Debug, Serialize)]
struct QueueOut {
    /// Whether it waits for somebody to say that it may go on.
    paused: bool,
    items: Vec<Waiting>,
}

async fn transcript(
    who: Who,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Query(query): Query<TranscriptQuery>,
) -> Result<Response, ApiError> {
    let limit = page::limit(query.limit, 100)?;
    let before = match query.before.as_deref() {
        Some(next) => Some(page::decode::<i64>(next)?),
        None => None,
    };
    let log = app.engine.log(id).await?;
    let live = log.snapshot();
    let (rows, settled, waiting) = app
        .store
        .read(move |conn| {
            let row = conversations::of_player(conn, id, who.id)?;
            let rows = messages::page(conn, row.key, before, limit + 1)?;
            Ok((rows, messages::settled_seq(conn, &row)?, queue::waiting(conn, row.key)?))
        })
        .await?;
    let more = rows.len() > limit;
    let mut rows = rows;
    if more {
        rows.remove(0);
    }
    let next = rows.first().filter(|_| more).map(|oldest| page::encode(&oldest.message.position.to_string()));
    let (entries, cursor) = match live {
        Some((stretches, head)) => (fold(&stretches), head),
        // Without a log nothing is shown of a Message that began meanwhile: the cursor stands before it.
        None => (Vec::new(), settled),
    };
    let live = entries.iter().rev().find(|entry| entry.status == MessageStatus::Running);
    // Of a turn that began meanwhile the cursor may stand before the reply: it runs all the same.
    let begun = rows.iter().rev().find(|row| row.message.status == MessageStatus::Running);
    let running = live.map(|entry| (entry.turn_id, entry.id));
    let running = running.or(begun.map(|row| (row.message.turn_id, row.message.id)));
    rows.retain(|row| row.first_seq <= cursor);
    let items: Vec<Message> = rows.into_iter().map(|row| overlay(row, &entries)).collect();
    let turn = turn(running, &waiting);
    Ok(axum::Json(TranscriptOut { items, next, cursor, turn }).into_response())
}

/// What runs, by the log or else by the store, and what waits; None when nothing does.
fn turn(running: Option<(TurnId, MessageId)>, waiting: &[Queued]) -> Option<TurnOut> {
    if running.is_none() && waiting.is_empty() {
        return None;
    }
    let id = running.map(|(turn, _)| turn);
    let waiting = waiting.iter().map(|item| Waiting {
        message_id: item.message,
        turn_id: item.turn,
        steers: item.steers.is_some() && item.steers == id,
    });
    Some(TurnOut {
        id,
        state: if running.is_some() { "running" } else { "queued" },
        message_id: running.map(|(_, message)| message),
        queue: QueueOut { paused: running.is_none(), items: waiting.collect() },
    })
}

/// The running turn's Messages as its frames tell them.
pub fn fold(stretches: &[Arc<Stretch>]) -> Vec<Entry> {
    let mut transcript = Transcript::default();
    for line in stretches.iter().flat_map(|stretch| stretch.lines()) {
        match serde_json::from_slice::<Frame>(&line.json) {
            Ok(frame) => transcript.fold(frame),
            Err(error) => tracing::error!(%error, "a frame of our own cannot be read"),
        }
    }
    transcript.entries().to_vec()
}

/// The stored row, as the log knows it where it does. A Message without Parts still reads from its text.
pub fn overlay(row: Stored, entries: &[Entry]) -> Message {
    let mut message = row.message;
    if let Some(entry) = entries.iter().find(|entry| entry.id == message.id) {
        message.status = entry.status;
        message.turn_id = entry.turn_id;
        message.position = entry.position;
        message.parts.clone_from(&entry.parts);
        message.text = entry
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        message.finish_reason = entry.finish_reason;
        message.usage = entry.usage;
        message.error.clone_from(&entry.error);
        message.supersedes.clone_from(&entry.supersedes);
    } else if message.parts.is_empty() && !message.text.is_empty() {
        message.parts = vec![Part::text(message.text.clone())];
    }
    message
}
