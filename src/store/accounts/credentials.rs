//! Sessions, API tokens, one-time links and invitations, each by its hash. What has expired is as good as absent, and is
//! deleted whenever a session begins.

use hamlet_actors::vocabulary::{PlayerId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::{AccountError, Player, find, player_id, players::mark_entered};
use crate::{auth::secret::SecretHash, store::StoreError};

pub const TOKENS_AT_MOST: i64 = 100;
/// Sessions of one Player; the oldest end first.
const SESSIONS_AT_MOST: i64 = 50;

/// A session that is good now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub player: Player,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    pub id: Uuid,
    pub name: String,
    pub created_at: Timestamp,
}

/// # Errors
/// When the store can't be written.
pub fn start_session(
    conn: &Connection,
    player: PlayerId,
    hash: SecretHash,
    now: Timestamp,
    expires_at: Timestamp,
) -> Result<(), StoreError> {
    delete_expired(conn, now)?;
    conn.execute(
        "INSERT INTO sessions (hash, player_id, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)",
        params![hash.0, player.0.as_bytes(), now.as_millis(), expires_at.as_millis()],
    )?;
    conn.execute(
        "DELETE FROM sessions WHERE player_id = ?1 AND hash NOT IN
           (SELECT hash FROM sessions WHERE player_id = ?1 ORDER BY created_at DESC, hash = ?2 DESC LIMIT ?3)",
        params![player.0.as_bytes(), hash.0, SESSIONS_AT_MOST],
    )?;
    mark_entered(conn, player)
}

/// The session of this hash and its Player, unless it has expired or the Player is disabled.
///
/// # Errors
/// When the store can't be read.
pub fn session(conn: &Connection, hash: SecretHash, now: Timestamp) -> Result<Option<Session>, StoreError> {
    let found: Option<([u8; 16], i64)> = conn
        .prepare_cached("SELECT player_id, expires_at FROM sessions WHERE hash = ?1 AND expires_at > ?2")?
        .query_row(params![hash.0, now.as_millis()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((player, expires_at)) = found else { return Ok(None) };
    let player = enabled(conn, player_id(player))?;
    Ok(player.map(|player| Session { player, expires_at: Timestamp::from_millis(expires_at) }))
}

/// # Errors
/// When the store can't be written.
pub fn renew_session(conn: &Connection, hash: SecretHash, expires_at: Timestamp) -> Result<(), StoreError> {
    conn.execute("UPDATE sessions SET expires_at = ?2 WHERE hash = ?1", params![hash.0, expires_at.as_millis()])?;
    Ok(())
}

/// # Errors
/// When the store can't be written.
pub fn end_session(conn: &Connection, hash: SecretHash) -> Result<(), StoreError> {
    conn.execute("DELETE FROM sessions WHERE hash = ?1", [hash.0])?;
    Ok(())
}

/// # Errors
/// When the store can't be written.
pub fn end_sessions(conn: &Connection, player: PlayerId, keep: Option<SecretHash>) -> Result<(), StoreError> {
    let keep = keep.map(|hash| hash.0);
    conn.execute(
        "DELETE FROM sessions WHERE player_id = ?1 AND (?2 IS NULL OR hash <> ?2)",
        params![player.0.as_bytes(), keep],
    )?;
    Ok(())
}

/// # Errors
/// `TooManyTokens`.
pub fn add_token(conn: &Connection, player: PlayerId, hash: SecretHash, token: &ApiToken) -> Result<(), AccountError> {
    let sql = "SELECT count(*) FROM api_tokens WHERE player_id = ?1";
    let count: i64 = conn.query_row(sql, [player.0.as_bytes()], |row| row.get(0))?;
    if count >= TOKENS_AT_MOST {
        return Err(AccountError::TooManyTokens);
    }
    conn.execute(
        "INSERT INTO api_tokens (id, hash, player_id, name, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![token.id.as_bytes(), hash.0, player.0.as_bytes(), token.name, token.created_at.as_millis()],
    )?;
    mark_entered(conn, player)?;
    Ok(())
}

/// The Player of an API token and the token's id, unless the Player is disabled.
///
/// # Errors
/// When the store can't be read.
pub fn player_of_token(conn: &Connection, hash: SecretHash) -> Result<Option<(Player, Uuid)>, StoreError> {
    let found: Option<([u8; 16], [u8; 16])> = conn
        .prepare_cached("SELECT player_id, id FROM api_tokens WHERE hash = ?1")?
        .query_row([hash.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((player, token)) = found else { return Ok(None) };
    Ok(enabled(conn, player_id(player))?.map(|player| (player, Uuid::from_bytes(token))))
}

/// Whose the token is; none when it is gone or its Player disabled.
///
/// # Errors
/// When the store can't be read.
pub fn player_of_token_id(conn: &Connection, token: Uuid) -> Result<Option<Player>, StoreError> {
    let found: Option<[u8; 16]> = conn
        .prepare_cached("SELECT player_id FROM api_tokens WHERE id = ?1")?
        .query_row([token.as_bytes()], |row| row.get(0))
        .optional()?;
    match found {
        Some(player) => enabled(conn, player_id(player)),
        None => Ok(None),
    }
}

/// Whether the token exists and its Player is not disabled.
pub fn is_token_good(conn: &Connection, token: Uuid) -> Result<bool, StoreError> {
    let found = conn
        .prepare_cached(
            "SELECT 1 FROM api_tokens t JOIN players p ON p.id = t.player_id WHERE t.id = ?1 AND p.disabled = 0",
        )?
        .query_row([token.as_bytes()], |_| Ok(()))
        .optional()?;
    Ok(found.is_some())
}

/// A Player's tokens, the newest first; bounded by [`TOKENS_AT_MOST`].
///
/// # Errors
/// When the store can't be read.
pub fn tokens(conn: &Connection, player: PlayerId) -> Result<Vec<ApiToken>, StoreError> {
    let mut statement =
        conn.prepare_cached("SELECT id, name, created_at FROM api_tokens WHERE player_id = ?1 ORDER BY id DESC")?;
    let rows = statement.query_map([player.0.as_bytes()], |row| {
        Ok(ApiToken {
            id: Uuid::from_bytes(row.get(0)?),
            name: row.get(1)?,
            created_at: Timestamp::from_millis(row.get(2)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// # Errors
/// [`StoreError::NotFound`] when this Player has no such token.
pub fn delete_token(conn: &Connection, player: PlayerId, token: Uuid) -> Result<(), StoreError> {
    let sql = "DELETE FROM api_tokens WHERE id = ?1 AND player_id = ?2";
    match conn.execute(sql, params![token.as_bytes(), player.0.as_bytes()])? {
        0 => Err(StoreError::NotFound),
        _ => Ok(()),
    }
}

/// # Errors
/// When the store can't be written.
pub fn add_login_link(
    conn: &Connection,
    player: PlayerId,
    hash: SecretHash,
    expires_at: Timestamp,
) -> Result<(), StoreError> {
    conn.execute(
        "INSERT INTO login_links (hash, player_id, expires_at) VALUES (?1, ?2, ?3)",
        params![hash.0, player.0.as_bytes(), expires_at.as_millis()],
    )?;
    Ok(())
}

/// Takes the link away, and answers whom it lets in: a link works once.
///
/// # Errors
/// When the store can't be written.
pub fn use_login_link(conn: &Connection, hash: SecretHash, now: Timestamp) -> Result<Option<Player>, StoreError> {
    let used: Option<([u8; 16], i64)> = conn
        .prepare_cached("DELETE FROM login_links WHERE hash = ?1 RETURNING player_id, expires_at")?
        .query_row([hash.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match used {
        Some((player, expires_at)) if expires_at > now.as_millis() => enabled(conn, player_id(player)),
        Some(_) | None => Ok(None),
    }
}

/// # Errors
/// When the store can't be written.
pub fn add_invite(conn: &Connection, by: PlayerId, hash: SecretHash, expires_at: Timestamp) -> Result<(), StoreError> {
    conn.execute(
        "INSERT INTO invites (hash, created_by, expires_at) VALUES (?1, ?2, ?3)",
        params![hash.0, by.0.as_bytes(), expires_at.as_millis()],
    )?;
    Ok(())
}

/// Takes the invitation away: it lets one Player in.
///
/// # Errors
/// `InvalidInvite`.
pub fn use_invite(conn: &Connection, hash: SecretHash, now: Timestamp) -> Result<(), AccountError> {
    let sql = "DELETE FROM invites WHERE hash = ?1 AND expires_at > ?2";
    match conn.execute(sql, params![hash.0, now.as_millis()])? {
        0 => Err(AccountError::InvalidInvite),
        _ => Ok(()),
    }
}

/// # Errors
/// When the store can't be written.
pub fn delete_expired(conn: &Connection, now: Timestamp) -> Result<(), StoreError> {
    for table in ["sessions", "login_links", "invites"] {
        conn.prepare_cached(&format!("DELETE FROM {table} WHERE expires_at <= ?1"))?.execute([now.as_millis()])?;
    }
    Ok(())
}

fn enabled(conn: &Connection, player: PlayerId) -> Result<Option<Player>, StoreError> {
    Ok(find(conn, player)?.filter(|player| !player.disabled))
}
