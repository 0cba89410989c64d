//! What NPCs remember of Players, as rows, and the indexes over them: the full-text one, and for scripts without spaces the
//! texts themselves. Every statement names the Player.

mod finding;
mod port;

use hamlet_actors::{
    policy::recall,
    ports::memory::{MEMORIES_LIMIT, NewMemory, Whose, Writer},
    vocabulary::{MemoryId, NpcId, PlayerId, Recollection, Timestamp},
};
use rusqlite::{Connection, OptionalExtension, Row, named_params};
use serde::Serialize;

use super::{StoreError, rows};
pub use finding::{Scope, candidates, scored};

/// One memory. Its serde form is the wire's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryRow {
    pub id: MemoryId,
    pub npc_id: NpcId,
    pub text: String,
    /// `npc` or `player`: who wrote it down.
    pub written_by: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Its place in the table: the list's order among those of one moment.
    #[serde(skip)]
    pub key: i64,
}

/// What became of a memory that was to be kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    New(MemoryRow),
    Again(MemoryRow),
    /// There are as many as there may be.
    Full,
}

/// What became of a memory that was to say something else.
#[derive(Debug, Clone, PartialEq)]
pub enum Reworded {
    Done(MemoryRow),
    /// Another one says that already.
    Taken,
}

const COLUMNS: &str = "m.key, m.id, m.npc_id, m.text, m.written_by, m.created_at, m.updated_at";

/// Keeps it, or brings the one that says the same up to date; that one keeps its words, its id and its writer.
///
/// # Errors
/// [`StoreError::Conflict`] when the Player or the NPC is not there.
pub fn remember(conn: &Connection, memory: &NewMemory) -> Result<Kept, StoreError> {
    let key = recall::key(&memory.text);
    if let Some(same) = of_key(conn, memory.whose, &key)? {
        conn.prepare_cached("UPDATE memories SET updated_at = ?2 WHERE key = ?1")?
            .execute((same.key, memory.at.as_millis()))?;
        return Ok(Kept::Again(MemoryRow { updated_at: memory.at, ..same }));
    }
    if is_full(conn, memory.whose)? {
        return Ok(Kept::Full);
    }
    let writer = match memory.writer {
        Writer::Npc => "npc",
        Writer::Player => "player",
    };
    conn.prepare_cached(
        "INSERT INTO memories (id, player_id, npc_id, text, text_key, written_by, conversation_id, created_at, updated_at) \
         VALUES (:id, :player, :npc, :text, :key, :writer, :conversation, :at, :at)",
    )?
    .execute(named_params! {
        ":id": memory.id.0.as_bytes(),
        ":player": memory.whose.player.0.as_bytes(),
        ":npc": memory.whose.npc.0.as_bytes(),
        ":text": memory.text,
        ":key": key,
        ":writer": writer,
        ":conversation": memory.conversation.map(|id| id.0.into_bytes()),
        ":at": memory.at.as_millis(),
    })?;
    Ok(Kept::New(get(conn, memory.whose.player, memory.id)?))
}

/// # Errors
/// [`StoreError::NotFound`] for an absent one and for another Player's.
pub fn get(conn: &Connection, player: PlayerId, id: MemoryId) -> Result<MemoryRow, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM memories m WHERE m.id = ?1 AND m.player_id = ?2");
    Ok(conn.prepare_cached(&sql)?.query_row((id.0.as_bytes(), player.0.as_bytes()), read)?)
}

/// Up to `limit` of the Player's, the newest first; behind `after`, a time and a key, where that is given.
pub fn list(
    conn: &Connection,
    player: PlayerId,
    npc: Option<NpcId>,
    after: Option<(i64, i64)>,
    limit: usize,
) -> Result<Vec<MemoryRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM memories m WHERE m.player_id = :player AND (:npc IS NULL OR m.npc_id = :npc) \
           AND (m.updated_at, m.key) < (:time, :key) ORDER BY m.updated_at DESC, m.key DESC LIMIT :limit"
    );
    let (time, key) = after.unwrap_or((i64::MAX, i64::MAX));
    let mut statement = conn.prepare_cached(&sql)?;
    let found = statement.query_map(
        named_params! {
            ":player": player.0.as_bytes(),
            ":npc": npc.map(|npc| npc.0.into_bytes()),
            ":time": time,
            ":key": key,
            ":limit": i64::try_from(limit).unwrap_or(i64::MAX),
        },
        read,
    )?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// # Errors
/// [`StoreError::NotFound`] as for [`get`].
pub fn reword(
    conn: &Connection,
    player: PlayerId,
    id: MemoryId,
    text: &str,
    at: Timestamp,
) -> Result<Reworded, StoreError> {
    let row = get(conn, player, id)?;
    let key = recall::key(text);
    if of_key(conn, Whose { player, npc: row.npc_id }, &key)?.is_some_and(|same| same.id != id) {
        return Ok(Reworded::Taken);
    }
    conn.prepare_cached("UPDATE memories SET text = ?2, text_key = ?3, updated_at = ?4 WHERE key = ?1")?.execute((
        row.key,
        text,
        key,
        at.as_millis(),
    ))?;
    Ok(Reworded::Done(MemoryRow { text: text.to_owned(), updated_at: at, ..row }))
}

/// # Errors
/// [`StoreError::NotFound`] as for [`get`].
pub fn delete(conn: &Connection, player: PlayerId, id: MemoryId) -> Result<(), StoreError> {
    let sql = "DELETE FROM memories WHERE id = ?1 AND player_id = ?2";
    match conn.prepare_cached(sql)?.execute((id.0.as_bytes(), player.0.as_bytes()))? {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}

/// Deletes up to `limit` of them and answers how many; called again until it answers less, so that no commit is long.
pub fn clear(conn: &Connection, whose: Whose, limit: usize) -> Result<usize, StoreError> {
    let sql =
        "DELETE FROM memories WHERE key IN (SELECT key FROM memories WHERE player_id = ?1 AND npc_id = ?2 LIMIT ?3)";
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(conn.prepare_cached(sql)?.execute((whose.player.0.as_bytes(), whose.npc.0.as_bytes(), limit))?)
}

/// Those whose ids end so, three at most: more than one is one too many already.
pub fn ending(conn: &Connection, whose: Whose, digits: &str) -> Result<Vec<MemoryRow>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM memories m WHERE m.player_id = ?1 AND m.npc_id = ?2 \
           AND substr(hex(m.id), -length(?3)) = upper(?3) LIMIT 3"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let found = statement.query_map((whose.player.0.as_bytes(), whose.npc.0.as_bytes(), digits), read)?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn of_key(conn: &Connection, whose: Whose, key: &str) -> Result<Option<MemoryRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM memories m WHERE m.player_id = ?1 AND m.npc_id = ?2 AND m.text_key = ?3");
    let mut statement = conn.prepare_cached(&sql)?;
    Ok(statement.query_row((whose.player.0.as_bytes(), whose.npc.0.as_bytes(), key), read).optional()?)
}

fn is_full(conn: &Connection, whose: Whose) -> Result<bool, StoreError> {
    let sql = "SELECT count(*) FROM memories WHERE player_id = ?1 AND npc_id = ?2";
    let count: usize =
        conn.prepare_cached(sql)?.query_row((whose.player.0.as_bytes(), whose.npc.0.as_bytes()), |row| row.get(0))?;
    Ok(count >= MEMORIES_LIMIT)
}

fn read(row: &Row<'_>) -> rusqlite::Result<MemoryRow> {
    Ok(MemoryRow {
        key: row.get(0)?,
        id: MemoryId(rows::id(row, 1)?),
        npc_id: NpcId(rows::id(row, 2)?),
        text: row.get(3)?,
        written_by: row.get(4)?,
        created_at: Timestamp::from_millis(row.get(5)?),
        updated_at: Timestamp::from_millis(row.get(6)?),
    })
}

impl From<MemoryRow> for Recollection {
    fn from(row: MemoryRow) -> Self {
        Self { id: row.id, text: row.text, updated_at: row.updated_at }
    }
}

#[cfg(test)]
mod tests;
