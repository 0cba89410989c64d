//! The rows of Players, and the rules that keep a Village reachable: names are unique whatever their case, and an admin
//! who can enter always remains.

use hamlet_actors::vocabulary::{PlayerId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{AccountError, player_id, setting};
use crate::{
    auth::{PlayerRole, SignUp, name::PlayerName, secret::SecretHash},
    store::StoreError,
};

/// Names the Player that the first start made, until somebody enters: a row of `settings`.
const FIRST: &str = "_firstPlayer";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Player {
    pub id: PlayerId,
    pub name: String,
    pub role: PlayerRole,
    pub disabled: bool,
    pub has_password: bool,
    pub created_at: Timestamp,
}

impl Player {
    /// Where [`list`] goes on after this Player.
    pub fn list_key(&self) -> String {
        self.name.to_lowercase()
    }
}

#[derive(Debug, Clone)]
pub struct NewPlayer {
    pub id: PlayerId,
    pub name: PlayerName,
    /// Argon2id in PHC form; none when the Player enters by links and tokens only.
    pub password_hash: Option<String>,
    pub role: PlayerRole,
    pub created_at: Timestamp,
}

/// What an admin may change of a Player; `None` leaves it.
#[derive(Debug, Clone, Default)]
pub struct Change {
    pub role: Option<PlayerRole>,
    pub disabled: Option<bool>,
    pub password_hash: Option<String>,
}

const COLUMNS: &str = "id, name, role, disabled, password_hash IS NOT NULL, created_at";

fn read(row: &Row<'_>) -> rusqlite::Result<Player> {
    let role: String = row.get(2)?;
    Ok(Player {
        id: player_id(row.get(0)?),
        name: row.get(1)?,
        // The table's CHECK admits these two.
        role: if role == "admin" { PlayerRole::Admin } else { PlayerRole::Player },
        disabled: row.get(3)?,
        has_password: row.get(4)?,
        created_at: Timestamp::from_millis(row.get(5)?),
    })
}

/// # Errors
/// `NameTaken`.
pub fn add(conn: &Connection, new: &NewPlayer) -> Result<Player, AccountError> {
    require_free(conn, &new.name, None)?;
    conn.prepare_cached(
        "INSERT INTO players (id, name, name_key, password_hash, role, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        new.id.0.as_bytes(),
        new.name.as_str(),
        new.name.key(),
        new.password_hash,
        new.role.as_str(),
        new.created_at.as_millis()
    ])?;
    find(conn, new.id)?.ok_or(AccountError::NoSuchPlayer)
}

/// # Errors
/// When the store can't be read.
pub fn find(conn: &Connection, id: PlayerId) -> Result<Option<Player>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM players WHERE id = ?1");
    Ok(conn.prepare_cached(&sql)?.query_row([id.0.as_bytes()], read).optional()?)
}

/// # Errors
/// When the store can't be read.
pub fn find_by_name(conn: &Connection, name: &PlayerName) -> Result<Option<Player>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM players WHERE name_key = ?1");
    Ok(conn.prepare_cached(&sql)?.query_row([name.key()], read).optional()?)
}

/// # Errors
/// When the store can't be read.
pub fn password_hash(conn: &Connection, id: PlayerId) -> Result<Option<String>, StoreError> {
    let sql = "SELECT password_hash FROM players WHERE id = ?1";
    Ok(conn.prepare_cached(sql)?.query_row([id.0.as_bytes()], |row| row.get(0)).optional()?.flatten())
}

/// Players by name, from the one after this key on.
///
/// # Errors
/// When the store can't be read.
pub fn list(conn: &Connection, after_key: &str, limit: usize) -> Result<Vec<Player>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM players WHERE name_key > ?1 ORDER BY name_key LIMIT ?2");
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params![after_key, limit], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// # Errors
/// `NameTaken`.
pub fn rename(conn: &Connection, id: PlayerId, name: &PlayerName) -> Result<(), AccountError> {
    require_free(conn, name, Some(id))?;
    conn.execute(
        "UPDATE players SET name = ?2, name_key = ?3 WHERE id = ?1",
        params![id.0.as_bytes(), name.as_str(), name.key()],
    )?;
    Ok(())
}

/// Sets the password and ends every session but the one that is kept.
///
/// # Errors
/// When the store can't be written.
pub fn set_password(conn: &Connection, id: PlayerId, hash: &str, keep: Option<SecretHash>) -> Result<(), StoreError> {
    conn.execute("UPDATE players SET password_hash = ?2 WHERE id = ?1", params![id.0.as_bytes(), hash])?;
    mark_entered(conn, id)?;
    super::end_sessions(conn, id, keep)
}

/// # Errors
/// `NoSuchPlayer`; `LastAdmin` when nobody else could administer the Village afterwards.
pub fn change(conn: &Connection, id: PlayerId, change: &Change) -> Result<Player, AccountError> {
    let player = find(conn, id)?.ok_or(AccountError::NoSuchPlayer)?;
    let demotes = change.role == Some(PlayerRole::Player) || change.disabled == Some(true);
    if demotes {
        require_other_admin(conn, &player)?;
    }
    conn.execute(
        "UPDATE players SET role = coalesce(?2, role), disabled = coalesce(?3, disabled) WHERE id = ?1",
        params![id.0.as_bytes(), change.role.map(PlayerRole::as_str), change.disabled],
    )?;
    if let Some(hash) = &change.password_hash {
        set_password(conn, id, hash, None)?;
    }
    if change.disabled == Some(true) {
        // Enabling must not bring old sessions and links back.
        super::end_sessions(conn, id, None)?;
        conn.execute("DELETE FROM login_links WHERE player_id = ?1", [id.0.as_bytes()])?;
    }
    find(conn, id)?.ok_or(AccountError::NoSuchPlayer)
}

/// # Errors
/// `NoSuchPlayer`, `LastAdmin`, `OwnsConversations`.
pub fn delete(conn: &Connection, id: PlayerId) -> Result<(), AccountError> {
    let player = find(conn, id)?.ok_or(AccountError::NoSuchPlayer)?;
    require_other_admin(conn, &player)?;
    // Deleted Conversations count until they are purged: their rows still name the owner.
    let owned: i64 =
        conn.query_row("SELECT count(*) FROM conversations WHERE owner_id = ?1", [id.0.as_bytes()], |row| row.get(0))?;
    if owned > 0 {
        return Err(AccountError::OwnsConversations(owned));
    }
    remove(conn, id)
}

/// The row, and by it all that lets the Player in.
fn remove(conn: &Connection, id: PlayerId) -> Result<(), AccountError> {
    conn.execute("DELETE FROM players WHERE id = ?1", [id.0.as_bytes()])?;
    mark_entered(conn, id)?;
    Ok(())
}

/// Whether somebody has an account here: the one that the first start made does not count until it is entered.
///
/// # Errors
/// When the store can't be read.
pub fn is_claimed(conn: &Connection) -> Result<bool, StoreError> {
    let first = first_id(conn)?.map(|id| *id.0.as_bytes());
    let sql = "SELECT EXISTS (SELECT 1 FROM players WHERE ?1 IS NULL OR id <> ?1)";
    Ok(conn.query_row(sql, [first], |row| row.get(0))?)
}

/// The Player that the first start made, as long as nobody has entered.
///
/// # Errors
/// When the store can't be read.
pub fn first_id(conn: &Connection) -> Result<Option<PlayerId>, StoreError> {
    Ok(setting::<uuid::Uuid>(conn, FIRST)?.map(PlayerId))
}

/// Makes the admin of an empty Village, to be entered by a link; nothing when somebody is there.
///
/// # Errors
/// When the store can't be written.
pub fn add_first(conn: &Connection, new: &NewPlayer) -> Result<Option<PlayerId>, AccountError> {
    if is_claimed(conn)? {
        return Ok(None);
    }
    if let Some(waiting) = first_id(conn)? {
        return Ok(Some(waiting));
    }
    let player = add(conn, new)?;
    conn.execute("INSERT INTO settings (name, value) VALUES (?1, ?2)", params![FIRST, format!("\"{}\"", player.id)])?;
    Ok(Some(player.id))
}

/// From now on this Player's account is somebody's.
pub(super) fn mark_entered(conn: &Connection, id: PlayerId) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM settings WHERE name = ?1 AND value = ?2")?
        .execute(params![FIRST, format!("\"{id}\"")])?;
    Ok(())
}

/// Makes an account for whoever asks. The first one becomes the admin, in the place of the one that the first start
/// made; later ones need what the policy asks for.
///
/// # Errors
/// `SignUpClosed`, `InvalidInvite`, `NameTaken`.
pub fn sign_up(
    conn: &Connection,
    new: &NewPlayer,
    invite: Option<SecretHash>,
    policy: SignUp,
) -> Result<Player, AccountError> {
    if !is_claimed(conn)? {
        if let Some(waiting) = first_id(conn)? {
            remove(conn, waiting)?;
        }
        return add(conn, &NewPlayer { role: PlayerRole::Admin, ..new.clone() });
    }
    match (policy, invite) {
        (SignUp::Open, _) => {}
        (SignUp::Invite, Some(invite)) => super::use_invite(conn, invite, new.created_at)?,
        (SignUp::Invite, None) | (SignUp::Closed, _) => return Err(AccountError::SignUpClosed),
    }
    add(conn, new)
}

fn require_free(conn: &Connection, name: &PlayerName, but: Option<PlayerId>) -> Result<(), AccountError> {
    match find_by_name(conn, name)? {
        Some(other) if Some(other.id) != but => Err(AccountError::NameTaken(other.name)),
        Some(_) | None => Ok(()),
    }
}

fn require_other_admin(conn: &Connection, player: &Player) -> Result<(), AccountError> {
    if player.role != PlayerRole::Admin || player.disabled {
        return Ok(());
    }
    let sql = "SELECT EXISTS (SELECT 1 FROM players WHERE role = 'admin' AND disabled = 0 AND id <> ?1)";
    if conn.query_row(sql, [player.id.0.as_bytes()], |row| row.get(0))? {
        return Ok(());
    }
    Err(AccountError::LastAdmin)
}
