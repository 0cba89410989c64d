//! Reading Messages: pages of the transcript, what a watcher missed, what a regenerate replaces.

use hamlet_actors::{
    policy::said::Said,
    vocabulary::{Body, Message, MessageId, Role, TurnId},
};
use rusqlite::{Connection, OptionalExtension};

use super::{
    StoreError,
    conversations::ConversationRow,
    rows::{self, MESSAGE, Stored},
};

/// Bytes of Parts in one read of what a watcher missed, about: what a reader holds while its socket is slow, or stands still.
const REPLAY_BYTES: usize = 64 << 10;

/// Messages that a reader sees: not the ones that were superseded or withdrawn.
const VISIBLE: &str = "m.status NOT IN ('superseded', 'withdrawn')";

/// The newest `limit` visible Messages before `before` (a position), oldest first.
pub fn page(
    conn: &Connection,
    conversation: i64,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<Stored>, StoreError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM messages m JOIN conversations c ON c.key = m.conversation_key \
         WHERE m.conversation_key = ?1 AND m.position < ?2 AND {VISIBLE} ORDER BY m.position DESC LIMIT ?3"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map((conversation, before.unwrap_or(i64::MAX), limit), rows::message)?;
    let mut page = rows.collect::<Result<Vec<_>, _>>()?;
    page.reverse();
    Ok(page)
}

/// One Message by its id, whatever its status.
pub fn one(conn: &Connection, conversation: i64, id: MessageId) -> Result<Stored, StoreError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM messages m JOIN conversations c ON c.key = m.conversation_key \
         WHERE m.id = ?1 AND m.conversation_key = ?2"
    );
    Ok(conn.prepare_cached(&sql)?.query_row((id.0.as_bytes(), conversation), rows::message)?)
}

/// Messages that ended, or wait, with a last seq in `after < seq <= upto`, in that order: what a watcher at `after`
/// missed. Running ones are not among them; their frames come from the log.
pub fn ended_between(
    conn: &Connection,
    conversation: i64,
    after: u64,
    upto: u64,
    limit: usize,
) -> Result<Ended, StoreError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM messages m JOIN conversations c ON c.key = m.conversation_key \
         WHERE m.conversation_key = ?1 AND m.last_seq > ?2 AND m.last_seq <= ?3 AND m.status <> 'running' \
         ORDER BY m.last_seq LIMIT ?4"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query((conversation, after, upto, limit))?;
    let mut ended = Ended { messages: Vec::new(), more: false };
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        bytes += row.get_ref("parts")?.as_bytes_or_null().map_err(rusqlite::Error::from)?.map_or(0, <[u8]>::len);
        ended.messages.push(rows::message(row)?);
        if bytes >= REPLAY_BYTES || ended.messages.len() >= limit {
            ended.more = true;
            break;
        }
    }
    Ok(ended)
}

/// A piece of what a watcher missed.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub messages: Vec<Stored>,
    /// Whether more may follow behind the last of them.
    pub more: bool,
}

/// The highest seq before which nothing is running: what is behind it comes from the log. Without this bound a reader that
/// found nobody awake, and then the first frames of a turn in the store, would skip those.
pub fn settled_seq(conn: &Connection, row: &ConversationRow) -> Result<u64, StoreError> {
    let running: Option<u64> = conn
        .prepare_cached("SELECT min(first_seq) FROM messages WHERE conversation_key = ?1 AND status = 'running'")?
        .query_row([row.key], |found| found.get(0))?;
    Ok(running.map_or(row.last_seq, |first| row.last_seq.min(first.saturating_sub(1))))
}

/// One Message as a model is told of it, and its whole content.
pub fn said(conn: &Connection, conversation: i64, id: MessageId) -> Result<(Said, Body), StoreError> {
    let Stored { message, .. } = one(conn, conversation, id)?;
    let opaque: Option<String> = conn
        .prepare_cached("SELECT opaque FROM messages WHERE id = ?1")?
        .query_row([id.0.as_bytes()], |row| row.get(0))?;
    let opaque = rows::body(None, opaque.as_deref())?.opaque;
    let body = Body { parts: message.parts, opaque };
    Ok((Said::of(message.id, message.position, message.role, message.author, &body), body))
}

/// The last visible Message that was said, when it is a reply.
pub fn newest_reply(conn: &Connection, conversation: i64) -> Result<Option<Message>, StoreError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM messages m JOIN conversations c ON c.key = m.conversation_key WHERE m.conversation_key = ?1 \
         AND {VISIBLE} AND m.status <> 'queued' ORDER BY m.position DESC LIMIT 1"
    );
    let newest = conn.prepare_cached(&sql)?.query_row([conversation], rows::message).optional()?;
    Ok(newest.map(|stored| stored.message).filter(|message| message.role == Role::Npc))
}

/// What a regenerate replaces.
#[derive(Debug, Clone, PartialEq)]
pub struct Trailing {
    /// All visible replies behind the last Player Message, oldest first.
    pub replies: Vec<MessageId>,
    /// The place of the first of them.
    pub first_position: i64,
    /// The first reply that ever stood in this place.
    pub variant_of: Option<MessageId>,
    /// The last Player Message's text.
    pub question: String,
    /// The NPC that answered first.
    pub speaker: Option<String>,
}

/// None when the Conversation has no Player Message.
pub fn trailing(conn: &Connection, conversation: i64) -> Result<Option<Trailing>, StoreError> {
    let sql = format!(
        "SELECT m.position, m.text FROM messages m WHERE m.conversation_key = ?1 AND m.role = 'player' AND {VISIBLE} \
         AND m.status <> 'queued' ORDER BY m.position DESC LIMIT 1"
    );
    let asked: Option<(i64, String)> =
        conn.prepare_cached(&sql)?.query_row([conversation], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let Some((position, question)) = asked else { return Ok(None) };
    let sql = format!(
        "SELECT m.id, m.position, m.variant_of, m.author_id FROM messages m WHERE m.conversation_key = ?1 AND m.position > ?2 \
         AND m.role = 'npc' AND {VISIBLE} ORDER BY m.position"
    );
    let mut trailing =
        Trailing { replies: Vec::new(), first_position: position + 1, variant_of: None, question, speaker: None };
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query((conversation, position))?;
    while let Some(row) = rows.next()? {
        let id = MessageId(rows::id(row, 0)?);
        if trailing.replies.is_empty() {
            trailing.first_position = row.get(1)?;
            trailing.variant_of = Some(rows::optional_id(row, 2)?.map_or(id, MessageId));
            trailing.speaker = Some(row.get(3)?);
        }
        trailing.replies.push(id);
    }
    Ok(Some(trailing))
}

/// All replies that ever stood in a Message's place, oldest first, that one included.
pub fn variants(conn: &Connection, conversation: i64, id: MessageId) -> Result<Vec<Stored>, StoreError> {
    let sql = format!(
        "SELECT {MESSAGE} FROM messages m JOIN conversations c ON c.key = m.conversation_key WHERE m.conversation_key = ?1 \
         AND (m.id = ?2 OR m.variant_of = (SELECT variant_of FROM messages WHERE id = ?2)) ORDER BY m.position"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map((conversation, id.0.as_bytes()), rows::message)?;
    Ok(rows.collect::<Result<Vec<_>, _>>()?)
}

/// The seq of a turn's terminal frame, at or behind `first_seq`; None while it has none.
pub fn turn_end(conn: &Connection, conversation: i64, turn: TurnId, first_seq: u64) -> Result<Option<u64>, StoreError> {
    Ok(conn
        .prepare_cached(
            "SELECT last_seq FROM messages WHERE conversation_key = ?1 AND last_seq >= ?3 AND turn_id = ?2 AND terminal = 1 \
             ORDER BY last_seq LIMIT 1",
        )?
        .query_row((conversation, turn.0.as_bytes(), first_seq), |row| row.get(0))
        .optional()?)
}

/// The NPC that spoke last, by its id.
pub fn spoke_last(conn: &Connection, conversation: i64) -> Result<Option<String>, StoreError> {
    Ok(conn
        .prepare_cached(
            "SELECT author_id FROM messages WHERE conversation_key = ?1 AND role = 'npc' \
             AND status NOT IN ('superseded', 'withdrawn') ORDER BY position DESC LIMIT 1",
        )?
        .query_row([conversation], |row| row.get(0))
        .optional()?)
}
