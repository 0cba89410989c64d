//! Conversations and who takes part. Everything is scoped by the Player who asks: what belongs to another is not found,
//! like what does not exist (promise 17).

use hamlet_actors::vocabulary::{
    ConversationId, MessageId, NewcomersKnow, NpcId, PlayerId, SpeakerPolicy, Timestamp, TurnId,
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{Store, StoreError, journal::Claims, queue, rows, writer::Job};

/// A Conversation as its list and its page need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRow {
    pub key: i64,
    pub id: ConversationId,
    pub external_id: Option<String>,
    pub title: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub last_seq: u64,
    pub speaker_policy: SpeakerPolicy,
    pub newcomers_know: NewcomersKnow,
}

const COLUMNS: &str = "c.key, c.id, c.external_id, c.title, c.created_at, c.updated_at, c.last_seq, c.speaker_policy, \
                       c.newcomers_know";

fn conversation(row: &Row<'_>) -> rusqlite::Result<ConversationRow> {
    Ok(ConversationRow {
        key: row.get(0)?,
        id: ConversationId(rows::id(row, 1)?),
        external_id: row.get(2)?,
        title: row.get(3)?,
        created_at: Timestamp::from_millis(row.get(4)?),
        updated_at: Timestamp::from_millis(row.get(5)?),
        last_seq: row.get(6)?,
        speaker_policy: rows::word(row, 7)?,
        newcomers_know: rows::word(row, 8)?,
    })
}

#[derive(Debug, Clone)]
pub struct NewConversation {
    pub id: ConversationId,
    pub owner: PlayerId,
    pub external_id: Option<String>,
    pub title: Option<String>,
    pub npcs: Vec<NpcId>,
    pub at: Timestamp,
}

/// # Errors
/// Not found when one of the NPCs does not exist; conflict when the external id is taken.
pub fn create(conn: &Connection, new: &NewConversation) -> Result<ConversationRow, StoreError> {
    conn.prepare_cached(
        "INSERT INTO conversations (id, owner_id, external_id, title, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
    )?
    .execute((new.id.0.as_bytes(), new.owner.0.as_bytes(), &new.external_id, &new.title, new.at.as_millis()))?;
    let key = conn.last_insert_rowid();
    conn.prepare_cached("INSERT INTO members (conversation_key, player_id, role) VALUES (?1, ?2, 'owner')")?
        .execute((key, new.owner.0.as_bytes()))?;
    set_participants(conn, key, &new.npcs, new.at)?;
    of_player(conn, new.id, new.owner)
}

/// Replaces who takes part; one that stays keeps the time and the place of its joining. A newcomer's place is behind
/// everything that was said or waits.
///
/// # Errors
/// Not found when one of the NPCs does not exist.
pub fn set_participants(conn: &Connection, key: i64, npcs: &[NpcId], at: Timestamp) -> Result<(), StoreError> {
    let known: Vec<(NpcId, (i64, i64))> = {
        let mut statement = conn.prepare_cached(
            "SELECT npc_id, joined_at, joined_position FROM participants WHERE conversation_key = ?1",
        )?;
        let rows = statement.query_map([key], |row| Ok((NpcId(rows::id(row, 0)?), (row.get(1)?, row.get(2)?))))?;
        rows.collect::<Result<_, _>>()?
    };
    let behind: i64 = conn
        .prepare_cached("SELECT coalesce(max(position) + 1, 0) FROM messages WHERE conversation_key = ?1")?
        .query_row([key], |row| row.get(0))?;
    conn.prepare_cached("DELETE FROM participants WHERE conversation_key = ?1")?.execute([key])?;
    for (ordinal, npc) in npcs.iter().enumerate() {
        let joined = known.iter().find(|(id, _)| id == npc).map_or((at.as_millis(), behind), |(_, joined)| *joined);
        let inserted = conn
            .prepare_cached(
                "INSERT INTO participants (conversation_key, npc_id, ordinal, joined_at, joined_position) \
                 SELECT ?1, id, ?3, ?4, ?5 FROM npcs WHERE id = ?2",
            )?
            .execute((key, npc.0.as_bytes(), ordinal, joined.0, joined.1))?;
        if inserted == 0 {
            return Err(StoreError::NotFound);
        }
    }
    Ok(())
}

/// The place of the first Message that each NPC was there for, in the order of the Party.
pub fn joined_positions(conn: &Connection, key: i64) -> Result<Vec<(NpcId, i64)>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT npc_id, joined_position FROM participants WHERE conversation_key = ?1 ORDER BY ordinal",
    )?;
    let rows = statement.query_map([key], |row| Ok((NpcId(rows::id(row, 0)?), row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The NPCs of a Conversation, in the order of the Party.
pub fn participants(conn: &Connection, key: i64) -> Result<Vec<NpcId>, StoreError> {
    let mut statement =
        conn.prepare_cached("SELECT npc_id FROM participants WHERE conversation_key = ?1 ORDER BY ordinal")?;
    let rows = statement.query_map([key], |row| Ok(NpcId(rows::id(row, 0)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// # Errors
/// Not found when it is absent, deleted, or somebody else's.
pub fn of_player(conn: &Connection, id: ConversationId, player: PlayerId) -> Result<ConversationRow, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM conversations c JOIN members p ON p.conversation_key = c.key \
         WHERE c.id = ?1 AND p.player_id = ?2 AND c.deleted_at IS NULL"
    );
    Ok(conn.prepare_cached(&sql)?.query_row((id.0.as_bytes(), player.0.as_bytes()), conversation)?)
}

/// Whose Message this is, for routes that name a Message alone.
///
/// # Errors
/// Not found when it is absent, or somebody else's.
pub fn of_message(conn: &Connection, id: MessageId, player: PlayerId) -> Result<ConversationRow, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM messages m JOIN conversations c ON c.key = m.conversation_key \
         JOIN members p ON p.conversation_key = c.key WHERE m.id = ?1 AND p.player_id = ?2 AND c.deleted_at IS NULL"
    );
    Ok(conn.prepare_cached(&sql)?.query_row((id.0.as_bytes(), player.0.as_bytes()), conversation)?)
}

/// A page of a Player's Conversations, most recently active first, behind the one given by its time and key.
pub fn page(
    conn: &Connection,
    owner: PlayerId,
    after: Option<(i64, i64)>,
    limit: usize,
) -> Result<Vec<ConversationRow>, StoreError> {
    let (at, key) = after.unwrap_or((i64::MAX, i64::MAX));
    let sql = format!(
        "SELECT {COLUMNS} FROM conversations c WHERE c.owner_id = ?1 AND c.deleted_at IS NULL \
         AND (c.updated_at, c.key) < (?2, ?3) ORDER BY c.updated_at DESC, c.key DESC LIMIT ?4"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map((owner.0.as_bytes(), at, key, limit), conversation)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub fn rename(conn: &Connection, key: i64, title: Option<&str>) -> Result<(), StoreError> {
    conn.prepare_cached("UPDATE conversations SET title = ?2 WHERE key = ?1")?.execute((key, title))?;
    Ok(())
}

pub fn set_speaker_policy(conn: &Connection, key: i64, policy: SpeakerPolicy) -> Result<(), StoreError> {
    let word = rows::as_word(&policy)?;
    conn.prepare_cached("UPDATE conversations SET speaker_policy = ?2 WHERE key = ?1")?.execute((key, word))?;
    Ok(())
}

pub fn set_newcomers_know(conn: &Connection, key: i64, know: NewcomersKnow) -> Result<(), StoreError> {
    let word = rows::as_word(&know)?;
    conn.prepare_cached("UPDATE conversations SET newcomers_know = ?2 WHERE key = ?1")?.execute((key, word))?;
    Ok(())
}

/// A turn that was begun under an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    pub conversation: ConversationId,
    pub body_hash: Vec<u8>,
    /// Where its reply stands, or will.
    pub turn: TurnId,
    /// That turn is not the one that it would have begun by itself.
    pub steers: bool,
    pub message: MessageId,
    pub first_seq: u64,
}

pub fn earlier(conn: &Connection, player: PlayerId, key: &str) -> Result<Option<Earlier>, StoreError> {
    let found = conn
        .prepare_cached(
            "SELECT i.conversation_id, i.body_hash, i.turn_id, i.message_id, i.first_seq, c.key FROM idempotency i \
             LEFT JOIN conversations c ON c.id = i.conversation_id WHERE i.player_id = ?1 AND i.key = ?2",
        )?
        .query_row((player.0.as_bytes(), key), |row| {
            let earlier = Earlier {
                conversation: ConversationId(rows::id(row, 0)?),
                body_hash: row.get(1)?,
                turn: TurnId(rows::id(row, 2)?),
                steers: false,
                message: MessageId(rows::id(row, 3)?),
                first_seq: row.get(4)?,
            };
            Ok((earlier, row.get::<_, Option<i64>>(5)?))
        })
        .optional()?;
    let Some((earlier, key)) = found else { return Ok(None) };
    // One that was to steer a turn may be answered in its own.
    let answered = key.map(|key| queue::answered_in(conn, key, earlier.message)).transpose()?.flatten();
    let turn = answered.unwrap_or(earlier.turn);
    Ok(Some(Earlier { turn, steers: turn != earlier.turn, ..earlier }))
}

/// Rows that one transaction of a purge deletes at most.
const PURGE_CHUNK: usize = 500;

impl Store {
    /// Deletes a Conversation: from this commit on it is found nowhere. Its rows are purged in the background.
    ///
    /// # Errors
    /// Not found when it is absent, deleted already, or somebody else's.
    pub async fn delete_conversation(
        &self,
        id: ConversationId,
        player: PlayerId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (answer, answered) = tokio::sync::oneshot::channel();
        self.inner.writer.submit(Box::new(Tombstone { id, player, at, answer }));
        answered.await.map_err(|_| StoreError::Unavailable("the store is closed".to_owned()))?
    }

    /// Purges what was deleted, in small transactions, until nothing is left. Answers how many Conversations went.
    ///
    /// # Errors
    /// What kept a transaction from committing.
    pub async fn purge_deleted(&self) -> Result<usize, StoreError> {
        let mut gone = 0;
        loop {
            match self.write(purge_some).await? {
                Purged::Nothing => return Ok(gone),
                Purged::Messages => {}
                Purged::Conversation => gone += 1,
            }
            tokio::task::yield_now().await;
        }
    }
}

enum Purged {
    Nothing,
    Messages,
    Conversation,
}

fn purge_some(conn: &Connection) -> Result<Purged, StoreError> {
    let next: Option<i64> = conn
        .prepare_cached("SELECT key FROM conversations WHERE deleted_at IS NOT NULL LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let Some(key) = next else { return Ok(Purged::Nothing) };
    let deleted = conn
        .prepare_cached(
            "DELETE FROM messages WHERE key IN (SELECT key FROM messages WHERE conversation_key = ?1 LIMIT ?2)",
        )?
        .execute((key, PURGE_CHUNK))?;
    if deleted == PURGE_CHUNK {
        return Ok(Purged::Messages);
    }
    conn.prepare_cached(
        "DELETE FROM idempotency WHERE conversation_id = (SELECT id FROM conversations WHERE key = ?1)",
    )?
    .execute([key])?;
    conn.prepare_cached("DELETE FROM conversations WHERE key = ?1")?.execute([key])?;
    Ok(Purged::Conversation)
}

/// The writer must forget the Conversation in the same step, so that no later batch of its actor is stored.
struct Tombstone {
    id: ConversationId,
    player: PlayerId,
    at: Timestamp,
    answer: tokio::sync::oneshot::Sender<Result<(), StoreError>>,
}

impl Job for Tombstone {
    fn run(&mut self, conn: &Connection, claims: &mut Claims) -> Result<(), StoreError> {
        let found = of_player(conn, self.id, self.player)?;
        conn.prepare_cached("UPDATE conversations SET deleted_at = ?2 WHERE key = ?1")?
            .execute((found.key, self.at.as_millis()))?;
        let mut running = conn.prepare_cached(
            "UPDATE messages SET status = 'withdrawn' WHERE conversation_key = ?1 AND status = 'running' RETURNING id",
        )?;
        for id in running.query_map([found.key], |row| rows::id(row, 0))? {
            claims.end(MessageId(id?));
        }
        claims.forget(self.id);
        Ok(())
    }

    fn done(self: Box<Self>, outcome: Result<(), StoreError>) {
        // The asker may have gone: the deletion stands all the same.
        drop(self.answer.send(outcome));
    }
}

#[cfg(test)]
mod tests;
