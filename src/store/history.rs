//! What a model is told of what was said, as the store has it.

use std::sync::Arc;

use hamlet_actors::{
    policy::said::Said,
    ports::journal::Told,
    vocabulary::{Author, AuthorKind, ConversationId, MessageId, Role},
};
use rusqlite::{Connection, Row};

use super::{StoreError, rows, summaries};

/// Characters that an extract needs of a Message.
const SKETCH: usize = 1_000;

/// The columns that [`retold`] reads.
const COLUMNS: &str = "m.id, m.position, m.role, m.author_kind, m.author_id, m.author_name, m.text, m.parts, m.opaque";

/// In the transcript, and over.
const SAID: &str = "m.status NOT IN ('superseded', 'withdrawn', 'queued', 'running')";

/// In the JSON of Parts, wherever a call is among them; in a text its quotation marks are escaped.
const TOOL_CALL: &str = "\"tool-call\"";

/// The newest summary that ends before a place, and the newest whole exchanges behind it, of at most `max_chars` characters
/// in all, the last Message whatever its length.
pub fn told(
    conn: &Connection,
    conversation: ConversationId,
    before: i64,
    max_chars: usize,
) -> Result<Told, StoreError> {
    let summary = summaries::newest(conn, conversation, before)?;
    let after = summary.as_ref().map_or(-1, |summary| summary.through_position);
    let sql = format!(
        "SELECT {COLUMNS} FROM messages m WHERE m.conversation_key = (SELECT key FROM conversations WHERE id = ?1) \
         AND m.position > ?2 AND m.position < ?3 AND {SAID} ORDER BY m.position DESC"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query((conversation.0.as_bytes(), after, before))?;
    let mut tail = Told { summary, ..Told::default() };
    let mut chars = 0;
    while let Some(row) = rows.next()? {
        let one = retold(row)?;
        chars += one.chars;
        if chars > max_chars && !tail.said.is_empty() {
            tail.cut = true;
            // What is cut off begins in mid-exchange: a window holds whole ones.
            while tail.said.len() > 1 && tail.said.last().is_some_and(|oldest| oldest.role != Role::Player) {
                tail.said.pop();
            }
            break;
        }
        tail.said.push(Arc::new(one));
    }
    tail.said.reverse();
    Ok(tail)
}

/// Those at these places, in order, whatever became of them since: for a request that is rebuilt.
pub fn at(conn: &Connection, conversation: i64, (first, last): (i64, i64)) -> Result<Vec<Arc<Said>>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM messages m WHERE m.conversation_key = ?1 AND m.position BETWEEN ?2 AND ?3 ORDER BY m.position"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query((conversation, first, last))?;
    let mut said = Vec::new();
    while let Some(row) = rows.next()? {
        said.push(Arc::new(retold(row)?));
    }
    Ok(said)
}

/// The first `limit` Messages between two places, both exclusive, with the beginning of their text only.
pub fn sketches(
    conn: &Connection,
    conversation: ConversationId,
    after: i64,
    before: i64,
    limit: usize,
) -> Result<Vec<Said>, StoreError> {
    let sql = format!(
        "SELECT m.id, m.position, m.role, m.author_kind, m.author_id, m.author_name, substr(m.text, 1, {SKETCH}), NULL, NULL \
         FROM messages m WHERE m.conversation_key = (SELECT key FROM conversations WHERE id = ?1) \
         AND m.position > ?2 AND m.position < ?3 AND {SAID} ORDER BY m.position LIMIT ?4"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query((conversation.0.as_bytes(), after, before, limit))?;
    let mut said = Vec::new();
    while let Some(row) = rows.next()? {
        said.push(retold(row)?);
    }
    Ok(said)
}

/// Parts are read only where there is more to tell than words.
fn retold(row: &Row<'_>) -> Result<Said, StoreError> {
    let (id, position, role) = (MessageId(rows::id(row, 0)?), row.get(1)?, rows::word::<Role>(row, 2)?);
    let author = Author { kind: rows::word::<AuthorKind>(row, 3)?, id: row.get(4)?, name: row.get(5)? };
    let text = |at| row.get_ref(at)?.as_str_or_null().map_err(rusqlite::Error::from);
    let (parts, opaque) = (text(7)?, text(8)?);
    if opaque.is_some() || parts.is_some_and(|parts| parts.contains(TOOL_CALL)) {
        return Ok(Said::of(id, position, role, author, &rows::body(parts, opaque)?));
    }
    Ok(Said::new(id, position, role, author, text(6)?.unwrap_or_default()))
}
