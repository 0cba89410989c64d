//! Conversations as operators see them: whoever's they are. Only routes of the role admin may ask this; all others are
//! scoped by the Player (`conversations.rs`).

use std::collections::{HashMap, HashSet};

use hamlet_actors::vocabulary::{ConversationId, PlayerId, Timestamp};
use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

use super::{StoreError, accounts, rows};
use crate::auth::name::PlayerName;

/// Whose a Conversation is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Owner {
    pub id: PlayerId,
    pub name: String,
}

/// What is stored of a Conversation, without its Messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overseen {
    pub key: i64,
    pub owner: Owner,
    pub title: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub last_seq: u64,
    pub epoch: u64,
    /// Stored Messages, those that left the transcript included.
    pub messages: u64,
    /// Of them, those that wait for their turn.
    pub queued: usize,
}

/// # Errors
/// Not found when it is absent or deleted.
pub fn conversation(conn: &Connection, id: ConversationId) -> Result<Overseen, StoreError> {
    let found = conn
        .prepare_cached(
            "SELECT c.key, p.id, p.name, c.title, c.created_at, c.updated_at, c.last_seq, c.epoch, \
             (SELECT count(*) FROM messages m WHERE m.conversation_key = c.key), \
             (SELECT count(*) FROM queue q WHERE q.conversation_key = c.key) \
             FROM conversations c JOIN players p ON p.id = c.owner_id WHERE c.id = ?1 AND c.deleted_at IS NULL",
        )?
        .query_row([id.0.as_bytes()], |row| {
            Ok(Overseen {
                key: row.get(0)?,
                owner: Owner { id: PlayerId(rows::id(row, 1)?), name: row.get(2)? },
                title: row.get(3)?,
                created_at: Timestamp::from_millis(row.get(4)?),
                updated_at: Timestamp::from_millis(row.get(5)?),
                last_seq: row.get(6)?,
                epoch: row.get(7)?,
                messages: row.get(8)?,
                queued: row.get(9)?,
            })
        })?;
    Ok(found)
}

/// Whose these are; those that are gone are left out.
///
/// # Errors
/// When the store can't be read.
pub fn owners(conn: &Connection, ids: &[ConversationId]) -> Result<HashMap<ConversationId, Owner>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT p.id, p.name FROM conversations c JOIN players p ON p.id = c.owner_id WHERE c.id = ?1",
    )?;
    let mut owners = HashMap::with_capacity(ids.len());
    for id in ids {
        let owner = statement
            .query_row([id.0.as_bytes()], |row| Ok(Owner { id: PlayerId(rows::id(row, 0)?), name: row.get(1)? }))
            .optional()?;
        owners.extend(owner.map(|owner| (*id, owner)));
    }
    Ok(owners)
}

/// How many texts wait in these, where any do.
///
/// # Errors
/// When the store can't be read.
pub fn waiting(conn: &Connection, ids: &[ConversationId]) -> Result<HashMap<ConversationId, usize>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT count(*) FROM queue WHERE conversation_key = (SELECT key FROM conversations WHERE id = ?1)",
    )?;
    let mut waiting = HashMap::new();
    for id in ids {
        let count = statement.query_row([id.0.as_bytes()], |row| row.get(0))?;
        if count > 0 {
            waiting.insert(*id, count);
        }
    }
    Ok(waiting)
}

/// How many texts wait in all Conversations together.
///
/// # Errors
/// When the store can't be read.
pub fn all_waiting(conn: &Connection) -> Result<i64, StoreError> {
    Ok(conn.prepare_cached("SELECT count(*) FROM queue")?.query_row([], |row| row.get(0))?)
}

/// The Player of this name, whatever its case, or of this id.
///
/// # Errors
/// When the store can't be read.
pub fn player(conn: &Connection, name_or_id: &str) -> Result<Option<PlayerId>, StoreError> {
    let by_name = match PlayerName::new(name_or_id) {
        Ok(name) => accounts::find_by_name(conn, &name)?,
        Err(_) => None,
    };
    match (by_name, name_or_id.parse::<PlayerId>()) {
        (Some(player), _) => Ok(Some(player.id)),
        (None, Ok(id)) => Ok(accounts::find(conn, id)?.map(|player| player.id)),
        (None, Err(_)) => Ok(None),
    }
}

/// All Conversations of a Player.
///
/// # Errors
/// When the store can't be read.
pub fn owned(conn: &Connection, player: PlayerId) -> Result<HashSet<ConversationId>, StoreError> {
    let mut statement =
        conn.prepare_cached("SELECT id FROM conversations WHERE owner_id = ?1 AND deleted_at IS NULL")?;
    let found = statement.query_map([player.0.as_bytes()], |row| Ok(ConversationId(rows::id(row, 0)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}
