//! Rows to vocabulary and back. Ids are 16 bytes, words are their wire form, JSON columns hold the wire shapes.

use std::collections::BTreeMap;

use hamlet_actors::vocabulary::{
    Author, AuthorKind, Body, ConversationId, FinishReason, Hop, Message, MessageError, MessageId, MessageStatus,
    Opaque, Part, Piece, Role, Timestamp, TurnId, Usage,
};
use rusqlite::{Row, types::Type};
use serde::{Serialize, de::DeserializeOwned};
use uuid::Uuid;

use super::StoreError;

/// The columns that [`message`] reads, in its order.
pub const MESSAGE: &str = "m.id, c.id, m.turn_id, m.role, m.author_kind, m.author_id, m.author_name, m.position, m.text, \
     m.parts, m.status, m.finish_reason, m.usage, m.error, m.hop_count, m.hop_limit, m.supersedes, m.client_id, \
     m.created_at, m.first_seq, m.last_seq, m.terminal, \
     CASE WHEN m.variant_of IS NULL THEN 1 ELSE (SELECT count(*) FROM messages v WHERE v.variant_of = m.variant_of) END";

/// A stored Message with its place in the Conversation's sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    pub message: Message,
    pub first_seq: u64,
    pub last_seq: u64,
    pub terminal: bool,
}

pub fn message(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let status: MessageStatus = word(row, 10)?;
    let parts: Option<Vec<Part>> = optional_json(row, 9)?;
    let supersedes: Vec<MessageId> = json(row, 16)?;
    let message = Message {
        id: MessageId(id(row, 0)?),
        conversation_id: ConversationId(id(row, 1)?),
        turn_id: TurnId(id(row, 2)?),
        role: word::<Role>(row, 3)?,
        author: Author { kind: word::<AuthorKind>(row, 4)?, id: row.get(5)?, name: row.get(6)? },
        position: row.get(7)?,
        text: row.get(8)?,
        parts: parts.unwrap_or_default(),
        status,
        finish_reason: optional_word::<FinishReason>(row, 11)?,
        usage: optional_json::<Usage>(row, 12)?,
        error: optional_json::<MessageError>(row, 13)?,
        hop: Hop { count: row.get(14)?, limit: row.get(15)? },
        variant_count: row.get(22)?,
        // Only a reply that has not begun yet still has something to supersede.
        supersedes: if status == MessageStatus::Running { supersedes } else { Vec::new() },
        client_id: row.get(17)?,
        created_at: Timestamp::from_millis(row.get(18)?),
    };
    Ok(Stored { message, first_seq: row.get(19)?, last_seq: row.get(20)?, terminal: row.get(21)? })
}

pub fn id(row: &Row<'_>, at: usize) -> rusqlite::Result<Uuid> {
    let bytes: [u8; 16] = row.get(at)?;
    Ok(Uuid::from_bytes(bytes))
}

pub fn optional_id(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Uuid>> {
    let bytes: Option<[u8; 16]> = row.get(at)?;
    Ok(bytes.map(Uuid::from_bytes))
}

/// One of our own words, as serde writes it on the wire.
pub fn word<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text: String = row.get(at)?;
    serde_json::from_value(serde_json::Value::String(text)).map_err(|error| unreadable(at, error))
}

/// The same, by the column's name.
pub fn word_named<T: DeserializeOwned>(row: &Row<'_>, name: &str) -> rusqlite::Result<T> {
    word(row, row.as_ref().column_index(name)?)
}

fn optional_word<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(at)?;
    text.map(|text| serde_json::from_value(serde_json::Value::String(text)).map_err(|error| unreadable(at, error)))
        .transpose()
}

pub fn json<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(at)?.as_str()?).map_err(|error| unreadable(at, error))
}

pub fn optional_json<T: DeserializeOwned>(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<T>> {
    match row.get_ref(at)?.as_str_or_null()? {
        Some(text) => serde_json::from_str(text).map(Some).map_err(|error| unreadable(at, error)),
        None => Ok(None),
    }
}

fn unreadable(at: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(at, Type::Text, Box::new(error))
}

/// A word of ours as it is stored.
pub fn as_word<T: Serialize>(value: &T) -> Result<String, StoreError> {
    match serde_json::to_value(value)? {
        serde_json::Value::String(word) => Ok(word),
        other => Err(StoreError::Damaged(format!("{other} is no word"))),
    }
}

pub fn as_json<T: Serialize>(value: &T) -> Result<String, StoreError> {
    Ok(serde_json::to_string(value)?)
}

/// JSON, or null where there is nothing.
pub fn as_optional_json<T: Serialize>(value: Option<&T>) -> Result<Option<String>, StoreError> {
    value.map(as_json).transpose()
}

/// The state beside Parts, or null where there is none.
pub fn opaque_column(body: &Body) -> Result<Option<String>, StoreError> {
    if body.opaque.is_empty() { Ok(None) } else { as_json(&body.opaque).map(Some) }
}

/// A piece as a journal row: its index, kind and body.
pub fn piece_columns(piece: &Piece) -> Result<(u32, u8, std::borrow::Cow<'_, str>), StoreError> {
    Ok(match piece {
        Piece::Part { index, part: Part::Text { text } } => (*index, 0, text.into()),
        Piece::Part { index, part: Part::Reasoning { text, redacted: false } } => (*index, 1, text.into()),
        Piece::Part { index, part } => (*index, 2, as_json(part)?.into()),
        Piece::Opaque { index, opaque } => (*index, 3, as_json(opaque)?.into()),
    })
}

pub fn piece(index: u32, kind: u8, body: String) -> Result<Piece, StoreError> {
    Ok(match kind {
        0 => Piece::Part { index, part: Part::Text { text: body } },
        1 => Piece::Part { index, part: Part::reasoning(body) },
        2 => Piece::Part { index, part: serde_json::from_str(&body)? },
        3 => Piece::Opaque { index, opaque: serde_json::from_str(&body)? },
        other => return Err(StoreError::Damaged(format!("a journal row of kind {other}"))),
    })
}

/// Parts and the state beside them, from their columns.
pub fn body(parts: Option<&str>, opaque: Option<&str>) -> Result<Body, StoreError> {
    let opaque: BTreeMap<u32, Opaque> = opaque.map(serde_json::from_str).transpose()?.unwrap_or_default();
    Ok(Body { parts: parts.map(serde_json::from_str).transpose()?.unwrap_or_default(), opaque })
}
