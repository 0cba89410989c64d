//! The Conversation's rows as they are stored, those that left the transcript included.

use hamlet::store::StoreError;
use hamlet_actors::vocabulary::{ConversationId, MessageId, MessageStatus, Part, Role, TurnId};
use rusqlite::Connection;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_str, from_value};
use uuid::Uuid;

#[derive(Debug, Clone)]
pub struct Row {
    pub id: MessageId,
    pub turn: TurnId,
    pub role: Role,
    pub status: MessageStatus,
    pub position: i64,
    pub text: String,
    pub parts: Vec<Part>,
    pub last_seq: u64,
    pub terminal: bool,
    pub client_id: Option<String>,
}

impl Row {
    pub fn is_visible(&self) -> bool {
        !matches!(self.status, MessageStatus::Superseded | MessageStatus::Withdrawn)
    }
}

/// All of them, in the order of the transcript.
pub fn all(conn: &Connection, id: ConversationId) -> Result<Vec<Row>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT m.id, m.turn_id, m.role, m.status, m.position, m.text, m.parts, m.last_seq, m.terminal, m.client_id \
         FROM messages m JOIN conversations c ON c.key = m.conversation_key WHERE c.id = ?1 ORDER BY m.position, m.id",
    )?;
    let mut rows = statement.query([id.0.as_bytes()])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let parts: Option<String> = row.get(6)?;
        all.push(Row {
            id: MessageId(Uuid::from_bytes(row.get(0)?)),
            turn: TurnId(Uuid::from_bytes(row.get(1)?)),
            role: word(row.get(2)?)?,
            status: word(row.get(3)?)?,
            position: row.get(4)?,
            text: row.get(5)?,
            parts: parts.map(|parts| from_str(&parts)).transpose()?.unwrap_or_default(),
            last_seq: row.get(7)?,
            terminal: row.get(8)?,
            client_id: row.get(9)?,
        });
    }
    Ok(all)
}

fn word<T: DeserializeOwned>(word: String) -> Result<T, StoreError> {
    Ok(from_value(Value::String(word))?)
}

/// The highest seq that would be found again if the process were killed now.
pub fn durable_seq(conn: &Connection, id: ConversationId) -> Result<u64, StoreError> {
    Ok(conn
        .prepare_cached(
            "SELECT max(c.last_seq, coalesce((SELECT max(max(last_seq, journaled_through)) FROM messages \
             WHERE conversation_key = c.key), 0), coalesce((SELECT max(j.seq) FROM journal j JOIN messages m \
             ON m.key = j.message_key WHERE m.conversation_key = c.key AND m.status = 'running'), 0)) \
             FROM conversations c WHERE c.id = ?1",
        )?
        .query_row([id.0.as_bytes()], |row| row.get(0))?)
}

/// The newest of what has ended up to a seq, and before whatever runs.
pub fn newest_ended(conn: &Connection, id: ConversationId, upto: Option<u64>) -> Result<u64, StoreError> {
    Ok(conn
        .prepare_cached(
            "SELECT coalesce(max(m.last_seq), 0) FROM messages m JOIN conversations c ON c.key = m.conversation_key \
             WHERE c.id = ?1 AND m.status <> 'running' AND m.last_seq <= ?2 AND NOT EXISTS (SELECT 1 FROM messages r \
             WHERE r.conversation_key = c.key AND r.status = 'running' AND r.first_seq <= m.last_seq AND ?3)",
        )?
        .query_row((id.0.as_bytes(), upto.unwrap_or(i64::MAX as u64), upto.is_none()), |row| row.get(0))?)
}
