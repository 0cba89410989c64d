//! Applies one batch of a Conversation inside the writer's transaction.

use hamlet_actors::{
    ports::journal::{Batch, FinishedMessage, IdempotentTurn, NewMessage, Write},
    vocabulary::{Body, MessageId, Part, Piece, Timestamp},
};
use rusqlite::Connection;

use super::{
    StoreError,
    journal::{Claim, Claims},
    queue,
    rows::{as_json, as_optional_json, as_word, opaque_column, piece_columns},
    summaries,
};

pub fn apply(conn: &Connection, claims: &mut Claims, batch: &Batch) -> Result<(), StoreError> {
    let claim = claims.of(conn, batch.conversation)?;
    if claim.epoch != batch.epoch {
        return Err(StoreError::Fenced);
    }
    for write in &batch.writes {
        match write {
            Write::Insert(message) => insert(conn, claims, claim, message)?,
            Write::Pieces { message, pieces } => append(conn, claims, *message, pieces)?,
            Write::Fold { message, body, through } => fold(conn, claims, *message, body, *through)?,
            Write::Finish(message) => finish(conn, claims, message)?,
            Write::Supersede { left } => supersede(conn, claim, left)?,
            Write::Restore { back } => restore(conn, claim, back)?,
            Write::Enqueue { message, turn, reply, to } => {
                insert(conn, claims, claim, message)?;
                queue::enqueue(conn, claim, message.id, *turn, *reply, *to)?;
            }
            Write::Requeue(message) => queue::rewrite(conn, claim, message)?,
            Write::TakeUp(message) => queue::take_up(conn, claim, message)?,
            Write::Withdraw { message, turn, last_seq } => queue::withdraw(conn, claim, *message, *turn, *last_seq)?,
            Write::Explain { message, error, last_seq } => queue::explain(conn, claim, message, error, *last_seq)?,
            Write::Touch { updated_at, title } => touch(conn, claim, batch.last_seq, *updated_at, title.as_deref())?,
            Write::Retitle { message, notice, was, title, last_seq } => {
                retitle(conn, claim, *message, notice, (was.as_deref(), title), *last_seq)?;
            }
            Write::Remember(turn) => remember(conn, batch, turn)?,
        }
    }
    Ok(())
}

fn insert(conn: &Connection, claims: &mut Claims, claim: Claim, message: &NewMessage) -> Result<(), StoreError> {
    let whole = !message.body.parts.is_empty();
    let (provider, model) =
        message.model.as_ref().map_or((None, None), |(id, model)| (Some(id.0.into_bytes()), Some(model)));
    conn.prepare_cached(
        "INSERT INTO messages (id, conversation_key, turn_id, role, author_kind, author_id, author_name, position, status, \
         text, parts, opaque, hop_count, hop_limit, supersedes, variant_of, provider_id, model, client_id, first_seq, \
         last_seq, created_at, finished_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)",
    )?
    .execute(rusqlite::params![
        message.id.0.as_bytes(),
        claim.key,
        message.turn_id.0.as_bytes(),
        as_word(&message.role)?,
        as_word(&message.author.kind)?,
        message.author.id,
        message.author.name,
        message.position,
        message.status.as_str(),
        message.body.text(),
        whole.then(|| as_json(&message.body.parts)).transpose()?,
        opaque_column(&message.body)?,
        message.hop.count,
        message.hop.limit,
        as_json(&message.supersedes)?,
        message.variant_of.map(|id| id.0.into_bytes()),
        provider,
        model,
        message.client_id,
        message.first_seq,
        message.last_seq,
        message.created_at.as_millis(),
        whole.then(|| message.created_at.as_millis()),
    ])?;
    if message.status == hamlet_actors::vocabulary::MessageStatus::Running {
        claims.begin(message.id, conn.last_insert_rowid());
    }
    if let Some(first) = message.variant_of {
        // The first reply of this place becomes a variant with its first successor.
        conn.prepare_cached("UPDATE messages SET variant_of = id WHERE id = ?1 AND variant_of IS NULL")?
            .execute([first.0.as_bytes()])?;
    }
    Ok(())
}

fn append(
    conn: &Connection,
    claims: &mut Claims,
    message: MessageId,
    pieces: &[(u64, Piece)],
) -> Result<(), StoreError> {
    let key = claims.key_of(conn, message)?;
    let mut insert =
        conn.prepare_cached("INSERT INTO journal (message_key, seq, idx, kind, body) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (seq, piece) in pieces {
        let (index, kind, body) = piece_columns(piece)?;
        let row = insert.insert((key, seq, index, kind, body.as_ref()))?;
        claims.row(message, row);
    }
    Ok(())
}

fn fold(
    conn: &Connection,
    claims: &mut Claims,
    message: MessageId,
    body: &Body,
    through: u64,
) -> Result<(), StoreError> {
    let key = claims.key_of(conn, message)?;
    conn.prepare_cached(
        "UPDATE messages SET text = ?2, parts = ?3, opaque = ?4, journaled_through = ?5 WHERE key = ?1",
    )?
    .execute((key, body.text(), as_json(&body.parts)?, opaque_column(body)?, through))?;
    claims.fold(message);
    Ok(())
}

fn finish(conn: &Connection, claims: &mut Claims, message: &FinishedMessage) -> Result<(), StoreError> {
    let key = claims.key_of(conn, message.id)?;
    conn.prepare_cached(
        "UPDATE messages SET status = ?2, text = ?3, parts = ?4, opaque = ?5, finish_reason = ?6, usage = ?7, error = ?8, \
         terminal = ?9, last_seq = ?10, finished_at = ?11 WHERE key = ?1",
    )?
    .execute(rusqlite::params![
        key,
        message.status.as_str(),
        message.body.text(),
        as_json(&message.body.parts)?,
        opaque_column(&message.body)?,
        message.finish_reason.as_ref().map(as_word).transpose()?,
        as_optional_json(message.usage.as_ref())?,
        as_optional_json(message.error.as_ref())?,
        message.terminal,
        message.last_seq,
        message.finished_at.as_millis(),
    ])?;
    claims.end(message.id);
    Ok(())
}

/// What is to change was read at the cursor that the batch follows: if it is not there, what the actor knows is not what is
/// stored.
fn each(changed: usize, id: MessageId) -> Result<(), StoreError> {
    if changed == 1 { Ok(()) } else { Err(StoreError::Damaged(format!("message {id} is not as it was read"))) }
}

/// They leave together, under the name of the first: to bring that one back brings back all.
fn supersede(conn: &Connection, claim: Claim, left: &[(MessageId, u64)]) -> Result<(), StoreError> {
    let Some((first, _)) = left.first() else { return Ok(()) };
    let mut update = conn.prepare_cached(
        "UPDATE messages SET left_as = status, left_with = ?4, status = 'superseded', last_seq = ?3 \
         WHERE id = ?1 AND conversation_key = ?2 AND status <> 'superseded'",
    )?;
    for (id, seq) in left {
        each(update.execute((id.0.as_bytes(), claim.key, seq, first.0.as_bytes()))?, *id)?;
    }
    let moved: Vec<MessageId> = left.iter().map(|(id, _)| *id).collect();
    summaries::leave(conn, claim.key, &moved)
}

/// What was superseded before its status was kept has ended well, as far as anybody knows.
fn restore(conn: &Connection, claim: Claim, back: &[(MessageId, u64)]) -> Result<(), StoreError> {
    let mut update = conn.prepare_cached(
        "UPDATE messages SET status = coalesce(left_as, 'complete'), left_as = NULL, left_with = NULL, last_seq = ?3 \
         WHERE id = ?1 AND conversation_key = ?2 AND status = 'superseded'",
    )?;
    for (id, seq) in back {
        each(update.execute((id.0.as_bytes(), claim.key, seq))?, *id)?;
    }
    let moved: Vec<MessageId> = back.iter().map(|(id, _)| *id).collect();
    summaries::leave(conn, claim.key, &moved)
}

fn touch(conn: &Connection, claim: Claim, last_seq: u64, at: Timestamp, title: Option<&str>) -> Result<(), StoreError> {
    conn.prepare_cached(
        "UPDATE conversations SET last_seq = ?2, updated_at = ?3, title = coalesce(title, ?4) WHERE key = ?1",
    )?
    .execute((claim.key, last_seq, at.as_millis(), title))?;
    Ok(())
}

fn retitle(
    conn: &Connection,
    claim: Claim,
    message: MessageId,
    notice: &Part,
    (was, title): (Option<&str>, &str),
    last_seq: u64,
) -> Result<(), StoreError> {
    let changed = conn
        .prepare_cached(
            "UPDATE messages SET parts = json_insert(coalesce(parts, '[]'), '$[#]', json(?3)), last_seq = ?4 \
             WHERE id = ?1 AND conversation_key = ?2",
        )?
        .execute((message.0.as_bytes(), claim.key, as_json(notice)?, last_seq))?;
    each(changed, message)?;
    conn.prepare_cached(
        "UPDATE conversations SET last_seq = ?2, title = CASE WHEN title IS ?3 THEN ?4 ELSE title END WHERE key = ?1",
    )?
    .execute((claim.key, last_seq, was, title))?;
    Ok(())
}

fn remember(conn: &Connection, batch: &Batch, turn: &IdempotentTurn) -> Result<(), StoreError> {
    conn.prepare_cached(
        "INSERT INTO idempotency (player_id, key, conversation_id, body_hash, turn_id, message_id, first_seq, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((
        turn.player.0.as_bytes(),
        &turn.key,
        batch.conversation.0.as_bytes(),
        turn.body_hash.as_slice(),
        turn.turn.0.as_bytes(),
        turn.message.0.as_bytes(),
        turn.first_seq,
        turn.at.as_millis(),
    ))?;
    Ok(())
}
