//! Ends what was left running: the Message is folded from the journal, its open calls get results, and its error and
//! terminal frame are there for whoever reconnects (promises 4 and 8). Costs what was running, not what is stored.

use std::collections::HashMap;

use hamlet_actors::{
    policy::outcome::{internal, interrupted, quarantined, recovered_call},
    ports::journal::Leftover,
    vocabulary::{Body, MessageStatus, Timestamp},
};
use rusqlite::{Connection, TransactionBehavior};

use super::{
    StoreError,
    journal::Claims,
    rows::{as_json, body, opaque_column, piece},
};

/// At start: everything that an earlier process left running, in one transaction. Answers how many turns that were.
pub fn end_interrupted(conn: &mut Connection) -> Result<u64, StoreError> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let left = running(&tx, "status = 'running'", [])?;
    let count = left.len();
    end_all(&tx, left, Leftover::Interrupted, 0)?;
    // Nothing is running now, so that nothing needs these rows.
    tx.execute("DELETE FROM journal", [])?;
    tx.commit()?;
    if count > 0 {
        tracing::info!(count, "replies that were being written when Hamlet stopped are marked as interrupted");
    }
    Ok(count as u64)
}

/// What was running in one Conversation.
pub struct EndedLeft {
    /// The highest seq that is in use; 0 when nothing ran.
    pub last_seq: u64,
    pub turns: u64,
}

/// Ends what is running in one Conversation.
pub fn end_running(
    conn: &Connection,
    claims: &mut Claims,
    conversation: i64,
    cause: Leftover,
) -> Result<EndedLeft, StoreError> {
    let left = running(conn, "status = 'running' AND conversation_key = ?1", [conversation])?;
    let turns = left.len() as u64;
    let first_row = claims.first_row_of(left.iter().map(|message| message.id));
    for message in &left {
        claims.end(message.id);
    }
    Ok(EndedLeft { last_seq: end_all(conn, left, cause, first_row)?, turns })
}

struct Left {
    key: i64,
    id: hamlet_actors::vocabulary::MessageId,
    conversation_key: i64,
    /// The highest seq known to be in use.
    last_seq: u64,
    through: u64,
    body: Body,
}

fn running<P: rusqlite::Params>(conn: &Connection, condition: &str, params: P) -> Result<Vec<Left>, StoreError> {
    let sql = format!(
        "SELECT key, id, conversation_key, (SELECT c.last_seq FROM conversations c WHERE c.key = conversation_key), \
         journaled_through, parts, opaque FROM messages WHERE {condition}"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(params)?;
    let mut left = Vec::new();
    while let Some(row) = rows.next()? {
        let parts: Option<String> = row.get(5)?;
        let opaque: Option<String> = row.get(6)?;
        left.push(Left {
            key: row.get(0)?,
            id: hamlet_actors::vocabulary::MessageId(super::rows::id(row, 1)?),
            conversation_key: row.get(2)?,
            last_seq: row.get(3)?,
            through: row.get(4)?,
            body: body(parts.as_deref(), opaque.as_deref())?,
        });
    }
    Ok(left)
}

/// `first_row`: no earlier journal row belongs to one of them.
fn end_all(conn: &Connection, left: Vec<Left>, cause: Leftover, first_row: i64) -> Result<u64, StoreError> {
    if left.is_empty() {
        return Ok(0);
    }
    let mut by_key: HashMap<i64, Left> = left.into_iter().map(|message| (message.key, message)).collect();
    let mut statement =
        conn.prepare_cached("SELECT message_key, seq, idx, kind, body FROM journal WHERE id >= ?1 ORDER BY id")?;
    let mut rows = statement.query([first_row])?;
    while let Some(row) = rows.next()? {
        let Some(message) = by_key.get_mut(&row.get(0)?) else { continue };
        let seq: u64 = row.get(1)?;
        if seq > message.through {
            message.body.fold(piece(row.get(2)?, row.get(3)?, row.get(4)?)?);
            message.last_seq = message.last_seq.max(seq);
        }
    }
    let mut highest = 0;
    for message in by_key.into_values() {
        highest = highest.max(end(conn, message, cause)?);
    }
    Ok(highest)
}

fn end(conn: &Connection, mut message: Left, cause: Leftover) -> Result<u64, StoreError> {
    let (status, error, why) = match cause {
        Leftover::Interrupted => (MessageStatus::Interrupted, interrupted(), "not run: interrupted"),
        Leftover::Failed => (MessageStatus::Failed, internal(), "not run: the turn failed"),
        Leftover::Quarantined => (MessageStatus::Failed, quarantined(), "not run: the turn failed"),
    };
    // Seqs of the closing pieces, the error and the finish: those that live frames would have had.
    let mut seq = message.last_seq.max(message.through);
    for call in message.body.open_calls() {
        for delta in recovered_call(call, why) {
            seq += message.body.place(delta).len() as u64;
        }
    }
    seq += 2;
    conn.prepare_cached(
        "UPDATE messages SET status = ?2, text = ?3, parts = ?4, opaque = ?5, error = ?6, terminal = 1, last_seq = ?7, \
         finished_at = ?8 WHERE key = ?1",
    )?
    .execute((
        message.key,
        status.as_str(),
        message.body.text(),
        as_json(&message.body.parts)?,
        opaque_column(&message.body)?,
        as_json(&error)?,
        seq,
        Timestamp::now().as_millis(),
    ))?;
    conn.prepare_cached("UPDATE conversations SET last_seq = max(last_seq, ?2) WHERE key = ?1")?
        .execute((message.conversation_key, seq))?;
    Ok(seq)
}
