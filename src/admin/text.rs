//! The newest Messages of a Conversation, with or without what they say.

use hamlet_actors::vocabulary::{
    Author, Entry, ErrorCode, Message, MessageId, MessageStatus, Part, Role, Timestamp, TurnId,
};
use serde::Serialize;

use crate::store::Stored;

/// A Message as an operator sees it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageOut {
    id: MessageId,
    turn_id: TurnId,
    role: Role,
    author: Author,
    position: i64,
    status: MessageStatus,
    created_at: Timestamp,
    /// Of its text.
    characters: usize,
    error: Option<ErrorCode>,
    /// Kinds of its Parts, in order.
    kinds: Vec<&'static str>,
    /// What was said: only when it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<Part>>,
}

/// Whether what was said is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    Redacted,
    Text,
}

/// The stored Message, as the running turn's frames know it where they do.
pub fn message(stored: Stored, running: &[Entry], reading: Reading) -> MessageOut {
    let Message { id, turn_id, role, author, position, status, created_at, text, parts, error, .. } = stored.message;
    let (status, parts) = match running.iter().find(|entry| entry.id == id) {
        Some(entry) => (entry.status, entry.parts.clone()),
        // From before Parts.
        None if parts.is_empty() && !text.is_empty() => (status, vec![Part::text(text)]),
        None => (status, parts),
    };
    MessageOut {
        id,
        turn_id,
        role,
        author,
        position,
        status,
        created_at,
        characters: parts.iter().map(characters).sum(),
        error: error.map(|error| error.code),
        kinds: parts.iter().map(kind).collect(),
        parts: (reading == Reading::Text).then_some(parts),
    }
}

fn characters(part: &Part) -> usize {
    if let Part::Text { text } = part { text.chars().count() } else { 0 }
}

fn kind(part: &Part) -> &'static str {
    match part {
        Part::Text { .. } => "text",
        Part::Reasoning { .. } => "reasoning",
        Part::ToolCall(_) => "tool-call",
        Part::ToolResult(_) => "tool-result",
        Part::File { .. } => "file",
        Part::Source { .. } => "source",
        Part::Notice { .. } => "notice",
        Part::Unknown(_) => "unknown",
    }
}
