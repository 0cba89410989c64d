//! Texts that wait: Messages with the status queued, and beside them what their turns will need.

use hamlet_actors::{
    ports::journal::{NewMessage, Queued},
    vocabulary::{Author, AuthorKind, MessageError, MessageId, NpcId, Timestamp, TurnId},
};
use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

use super::{
    StoreError,
    journal::Claim,
    rows::{self, as_json},
};

pub fn enqueue(
    conn: &Connection,
    claim: Claim,
    message: MessageId,
    turn: TurnId,
    reply: MessageId,
    to: Option<NpcId>,
) -> Result<(), StoreError> {
    conn.prepare_cached(
        "INSERT INTO queue (message_key, conversation_key, turn_id, reply_id, to_npc) \
         SELECT key, ?2, ?3, ?4, ?5 FROM messages WHERE id = ?1",
    )?
    .execute((
        message.0.as_bytes(),
        claim.key,
        turn.0.as_bytes(),
        reply.0.as_bytes(),
        to.map(|npc| npc.0.into_bytes()),
    ))?;
    Ok(())
}

/// The row reads so now. What kept it from being taken up is forgotten.
pub fn rewrite(conn: &Connection, claim: Claim, message: &NewMessage) -> Result<(), StoreError> {
    let changed = conn
        .prepare_cached(
            "UPDATE messages SET turn_id = ?3, position = ?4, status = ?5, text = ?6, parts = ?7, error = NULL, \
             first_seq = ?8, last_seq = ?9 WHERE id = ?1 AND conversation_key = ?2 AND status = 'queued'",
        )?
        .execute(rusqlite::params![
            message.id.0.as_bytes(),
            claim.key,
            message.turn_id.0.as_bytes(),
            message.position,
            message.status.as_str(),
            message.body.text(),
            as_json(&message.body.parts)?,
            message.first_seq,
            message.last_seq,
        ])?;
    one(changed)
}

/// It is said now, in its place, and waits no more.
pub fn take_up(conn: &Connection, claim: Claim, message: &NewMessage) -> Result<(), StoreError> {
    rewrite(conn, claim, message)?;
    leave(conn, message.id)
}

pub fn withdraw(
    conn: &Connection,
    claim: Claim,
    message: MessageId,
    turn: TurnId,
    last_seq: u64,
) -> Result<(), StoreError> {
    let changed = conn
        .prepare_cached(
            "UPDATE messages SET status = 'withdrawn', turn_id = ?4, terminal = 1, last_seq = ?3 \
             WHERE id = ?1 AND conversation_key = ?2 AND status = 'queued'",
        )?
        .execute((message.0.as_bytes(), claim.key, last_seq, turn.0.as_bytes()))?;
    one(changed)?;
    leave(conn, message)
}

pub fn explain(
    conn: &Connection,
    claim: Claim,
    message: &NewMessage,
    error: &MessageError,
    last_seq: u64,
) -> Result<(), StoreError> {
    rewrite(conn, claim, message)?;
    let changed = conn
        .prepare_cached(
            "UPDATE messages SET error = ?3, last_seq = ?4 WHERE id = ?1 AND conversation_key = ?2 AND status = 'queued'",
        )?
        .execute((message.id.0.as_bytes(), claim.key, as_json(error)?, last_seq))?;
    one(changed)
}

fn leave(conn: &Connection, message: MessageId) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM queue WHERE message_key = (SELECT key FROM messages WHERE id = ?1)")?
        .execute([message.0.as_bytes()])?;
    Ok(())
}

/// The state that asked for the change knew the Message as one that waits.
fn one(changed: usize) -> Result<(), StoreError> {
    if changed == 1 { Ok(()) } else { Err(StoreError::Damaged("a message that waits is not there".to_owned())) }
}

/// What waits, in the order of its taking up.
pub fn waiting(conn: &Connection, conversation: i64) -> Result<Vec<Queued>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT m.id, q.turn_id, q.reply_id, m.author_kind, m.author_id, m.author_name, m.text, m.client_id, q.to_npc, \
         m.turn_id, m.position, m.hop_limit, m.created_at FROM queue q JOIN messages m ON m.key = q.message_key \
         WHERE q.conversation_key = ?1 ORDER BY m.position",
    )?;
    let rows = statement.query_map([conversation], |row| {
        let (turn, joins) = (TurnId(rows::id(row, 1)?), TurnId(rows::id(row, 9)?));
        Ok(Queued {
            message: MessageId(rows::id(row, 0)?),
            turn,
            reply: MessageId(rows::id(row, 2)?),
            author: Author { kind: rows::word::<AuthorKind>(row, 3)?, id: row.get(4)?, name: row.get(5)? },
            text: row.get_ref(6)?.as_str()?.into(),
            client_id: row.get(7)?,
            to: rows::optional_id(row, 8)?.map(NpcId),
            steers: (joins != turn).then_some(joins),
            position: row.get(10)?,
            hop_limit: row.get(11)?,
            created_at: Timestamp::from_millis(row.get(12)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The turn that a reply stands in, or will: while its text waits to steer the turn that runs, that one. None when the text
/// was withdrawn.
pub fn answered_in(conn: &Connection, conversation: i64, reply: MessageId) -> Result<Option<TurnId>, StoreError> {
    let turn = conn
        .prepare_cached(
            "SELECT turn_id FROM messages WHERE id = ?2 AND conversation_key = ?1 UNION ALL \
             SELECT coalesce((SELECT r.turn_id FROM messages r WHERE r.conversation_key = ?1 AND r.status = 'running' \
             AND r.turn_id = m.turn_id), q.turn_id) FROM queue q JOIN messages m ON m.key = q.message_key \
             WHERE q.conversation_key = ?1 AND q.reply_id = ?2",
        )?
        .query_row((conversation, reply.0.as_bytes()), |row| Ok(TurnId(rows::id(row, 0)?)))
        .optional()?;
    Ok(turn)
}

/// One text that waits, as readers are told of it beside its Message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    pub message_id: MessageId,
    /// The turn that it begins; naming it in an abort withdraws the text.
    pub turn_id: TurnId,
    /// Whether it joins the running turn at its next step.
    pub steers: bool,
}
