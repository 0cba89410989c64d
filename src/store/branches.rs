//! What stood in a place of the transcript before: the branch that an edit replaces, and the one that comes back when a
//! variant is selected.

use hamlet_actors::vocabulary::{MessageId, MessageStatus, Role, TurnId};
use rusqlite::{Connection, OptionalExtension};

use super::{
    StoreError,
    rows::{self, MESSAGE, Stored},
};

/// Messages that leave, or come back, at once: they are one transaction, and everybody's next token waits behind it.
pub const LIMIT: usize = 1_000;

/// In the transcript, and said.
const SAID: &str = "m.status NOT IN ('superseded', 'withdrawn', 'queued')";

/// A Message, and all that stands behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    pub role: Role,
    /// The turn in which it was said, or will be.
    pub turn: TurnId,
    pub status: MessageStatus,
    pub position: i64,
    /// The first Message that ever stood in its place.
    pub variant_of: MessageId,
    /// In the transcript now, in order, at most one more than [`LIMIT`]; begins with the Message itself when it is there.
    pub messages: Vec<MessageId>,
}

/// # Errors
/// Not found when the Message is not of this Conversation.
pub fn from(conn: &Connection, conversation: i64, id: MessageId) -> Result<Branch, StoreError> {
    let (role, status, position, variant_of, turn) = conn
        .prepare_cached(
            "SELECT role, status, position, variant_of, turn_id FROM messages WHERE id = ?1 AND conversation_key = ?2",
        )?
        .query_row((id.0.as_bytes(), conversation), |row| {
            let variant_of = rows::optional_id(row, 3)?.map_or(id, MessageId);
            let turn = TurnId(rows::id(row, 4)?);
            Ok((rows::word::<Role>(row, 0)?, rows::word::<MessageStatus>(row, 1)?, row.get(2)?, variant_of, turn))
        })?;
    let sql = format!(
        "SELECT m.id FROM messages m WHERE m.conversation_key = ?1 AND m.position >= ?2 AND {SAID} ORDER BY m.position \
         LIMIT ?3"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let messages = statement.query_map((conversation, position, LIMIT + 1), |row| Ok(MessageId(rows::id(row, 0)?)))?;
    Ok(Branch { role, turn, status, position, variant_of, messages: messages.collect::<Result<_, _>>()? })
}

/// A variant that may come back.
#[derive(Debug, Clone, PartialEq)]
pub struct Switch {
    /// What stands in its place and behind it now, at most one more than [`LIMIT`].
    pub leaving: Vec<Stored>,
    /// What left together with it, itself first, with the status that each had.
    pub back: Vec<Stored>,
}

/// None when the Message stands in the transcript already, or no variant of it does.
///
/// # Errors
/// Not found when the Message is not of this Conversation.
pub fn switch(conn: &Connection, conversation: i64, id: MessageId) -> Result<Option<Switch>, StoreError> {
    let wanted = from(conn, conversation, id)?;
    if wanted.status != MessageStatus::Superseded {
        return Ok(None);
    }
    let sql = format!(
        "SELECT m.position FROM messages m WHERE m.variant_of = ?2 AND m.conversation_key = ?1 AND {SAID} \
         ORDER BY m.position DESC LIMIT 1"
    );
    let stands: Option<i64> = conn
        .prepare_cached(&sql)?
        .query_row((conversation, wanted.variant_of.0.as_bytes()), |row| row.get(0))
        .optional()?;
    let Some(stands) = stands else { return Ok(None) };
    let select = |condition: &str| {
        format!(
            "SELECT {MESSAGE}, m.left_as FROM messages m JOIN conversations c ON c.key = m.conversation_key \
             WHERE m.conversation_key = ?1 AND {condition} ORDER BY m.position LIMIT ?3"
        )
    };
    let leaving = conn
        .prepare_cached(&select(&format!("m.position >= ?2 AND {SAID}")))?
        .query_map((conversation, stands, LIMIT + 1), rows::message)?
        .collect::<Result<_, _>>()?;
    let back = conn
        .prepare_cached(&select("m.status = 'superseded' AND (m.left_with = ?2 OR m.id = ?2)"))?
        .query_map((conversation, id.0.as_bytes(), LIMIT + 1), |row| {
            let mut stored = rows::message(row)?;
            let left_as: Option<String> = row.get("left_as")?;
            // Kept since the second schema; what left before had ended well, as far as anybody knows.
            stored.message.status = match left_as {
                Some(_) => rows::word_named(row, "left_as")?,
                None => MessageStatus::Complete,
            };
            Ok(stored)
        })?
        .collect::<Result<_, _>>()?;
    Ok(Some(Switch { leaving, back }))
}
