//! Rolling summaries, in versions. Which of them counts is decided here, under the writer's transaction.

use hamlet_actors::{
    ports::{Kept, SummaryDraft},
    vocabulary::{ConversationId, MessageId, Summary, SummaryMaker, Timestamp},
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{StoreError, rows};

const COLUMNS: &str = "version, text, from_position, through_position, made_by, created_at";

/// Versions of a Conversation that are kept; the oldest of more are deleted.
const VERSIONS: u64 = 50;

/// The newest version in use that ends before this place.
pub fn newest(conn: &Connection, id: ConversationId, before: i64) -> Result<Option<Summary>, StoreError> {
    let key: Option<i64> = key_of(conn, id).optional()?;
    key.map_or(Ok(None), |key| newest_of(conn, key, before))
}

pub fn newest_of(conn: &Connection, key: i64, before: i64) -> Result<Option<Summary>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM summaries WHERE conversation_key = ?1 AND in_use = 1 AND through_position < ?2 \
         ORDER BY version DESC LIMIT 1"
    );
    Ok(conn.prepare_cached(&sql)?.query_row((key, before), summary).optional()?)
}

/// Every version that is kept, the newest first, and whether it is in use.
pub fn all(conn: &Connection, key: i64) -> Result<Vec<(Summary, bool)>, StoreError> {
    let sql = format!("SELECT {COLUMNS}, in_use FROM summaries WHERE conversation_key = ?1 ORDER BY version DESC");
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([key], |row| Ok((summary(row)?, row.get(6)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Stores another version, if what it was made from still holds.
pub fn keep(conn: &Connection, id: ConversationId, draft: &SummaryDraft, at: Timestamp) -> Result<Kept, StoreError> {
    let key: i64 = key_of(conn, id)?;
    let newest = newest_of(conn, key, draft.before_position)?;
    if newest.as_ref().map(|newest| newest.version) != draft.base {
        return Ok(Kept::Overtaken);
    }
    let after = newest.map_or(-1, |newest| newest.through_position);
    if after >= draft.through_position || said_between(conn, key, after, draft.through_position)? != draft.messages {
        return Ok(Kept::Overtaken);
    }
    insert(conn, key, draft, at).map(Kept::Kept)
}

/// Another version in place of the newest, with the same range: what the Player wrote.
///
/// # Errors
/// Not found when there is none; conflict when the newest is another version than the one that was read.
pub fn rewrite(conn: &Connection, key: i64, version: u64, text: &str, at: Timestamp) -> Result<Summary, StoreError> {
    let newest = newest_of(conn, key, i64::MAX)?.ok_or(StoreError::NotFound)?;
    if newest.version != version {
        return Err(StoreError::Conflict("the summary has another version by now".to_owned()));
    }
    let draft = SummaryDraft {
        base: Some(version),
        before_position: i64::MAX,
        messages: Vec::new(),
        text: text.to_owned(),
        from_position: newest.from_position,
        through_position: newest.through_position,
        made_by: SummaryMaker::Player,
    };
    insert(conn, key, &draft, at)
}

/// The newest version goes out of use: the one before it counts again. Answers that one.
///
/// # Errors
/// Not found when there is none.
pub fn undo(conn: &Connection, key: i64) -> Result<Option<Summary>, StoreError> {
    let newest = newest_of(conn, key, i64::MAX)?.ok_or(StoreError::NotFound)?;
    conn.prepare_cached("UPDATE summaries SET in_use = 0 WHERE conversation_key = ?1 AND version = ?2")?
        .execute((key, newest.version))?;
    newest_of(conn, key, i64::MAX)
}

/// Versions that cover one of these Messages are out of use: it left the transcript, or came back.
pub fn leave(conn: &Connection, key: i64, moved: &[MessageId]) -> Result<(), StoreError> {
    let mut first: Option<i64> = None;
    let mut position = conn.prepare_cached("SELECT position FROM messages WHERE id = ?1")?;
    for id in moved {
        let at: i64 = position.query_row([id.0.as_bytes()], |row| row.get(0))?;
        first = Some(first.map_or(at, |first| first.min(at)));
    }
    let Some(first) = first else { return Ok(()) };
    conn.prepare_cached(
        "UPDATE summaries SET in_use = 0 WHERE conversation_key = ?1 AND in_use = 1 AND through_position >= ?2",
    )?
    .execute((key, first))?;
    Ok(())
}

fn insert(conn: &Connection, key: i64, draft: &SummaryDraft, at: Timestamp) -> Result<Summary, StoreError> {
    let version: u64 = conn
        .prepare_cached("SELECT coalesce(max(version), 0) + 1 FROM summaries WHERE conversation_key = ?1")?
        .query_row([key], |row| row.get(0))?;
    let SummaryDraft { text, from_position, through_position, made_by, .. } = draft;
    conn.prepare_cached(
        "INSERT INTO summaries (conversation_key, version, text, from_position, through_position, made_by, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute((key, version, text, from_position, through_position, rows::as_word(made_by)?, at.as_millis()))?;
    conn.prepare_cached("DELETE FROM summaries WHERE conversation_key = ?1 AND version + ?2 <= ?3")?
        .execute((key, VERSIONS, version))?;
    Ok(Summary {
        version,
        text: text.clone(),
        from_position: *from_position,
        through_position: *through_position,
        made_by: *made_by,
        created_at: at,
    })
}

fn said_between(conn: &Connection, key: i64, after: i64, through: i64) -> Result<Vec<MessageId>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT id FROM messages WHERE conversation_key = ?1 AND position > ?2 AND position <= ?3 \
         AND status NOT IN ('superseded', 'withdrawn', 'queued', 'running') ORDER BY position",
    )?;
    let ids = statement.query_map((key, after, through), |row| Ok(MessageId(rows::id(row, 0)?)))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

fn key_of(conn: &Connection, id: ConversationId) -> rusqlite::Result<i64> {
    conn.prepare_cached("SELECT key FROM conversations WHERE id = ?1 AND deleted_at IS NULL")?
        .query_row([id.0.as_bytes()], |row| row.get(0))
}

fn summary(row: &Row<'_>) -> rusqlite::Result<Summary> {
    Ok(Summary {
        version: row.get(0)?,
        text: row.get(1)?,
        from_position: row.get(2)?,
        through_position: row.get(3)?,
        made_by: rows::word::<SummaryMaker>(row, 4)?,
        created_at: Timestamp::from_millis(row.get(5)?),
    })
}

#[cfg(test)]
mod tests;
