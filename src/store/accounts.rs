//! Players and what lets them in, as plain functions over a connection: the server runs them in its writer's group
//! commit, the command line in a transaction of its own. Both take back what a refused change had already written.

mod credentials;
mod players;

use std::path::Path;

use hamlet_actors::vocabulary::PlayerId;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::{StoreError, connect, migrations};
use crate::auth::SignUp;

pub use credentials::{
    ApiToken, Session, TOKENS_AT_MOST, add_invite, add_login_link, add_token, delete_expired, delete_token,
    end_session, end_sessions, is_token_good, player_of_token, player_of_token_id, renew_session, session,
    start_session, tokens, use_invite, use_login_link,
};
pub use players::{
    Change, NewPlayer, Player, add, add_first, change, delete, find, find_by_name, first_id, is_claimed, list,
    password_hash, rename, set_password, sign_up,
};

/// Why a change of accounts was not made.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("the name {0:?} is taken")]
    NameTaken(String),
    #[error("no Player of that name or id")]
    NoSuchPlayer,
    #[error("the last admin who can enter must stay one")]
    LastAdmin,
    #[error("the Player owns {0} Conversations; disable the Player instead, or delete the Conversations first")]
    OwnsConversations(i64),
    #[error("a Player has at most {TOKENS_AT_MOST} API tokens; delete one first")]
    TooManyTokens,
    #[error("the invitation is not, or no longer, good")]
    InvalidInvite,
    #[error("sign-up is closed here to those who have no invitation")]
    SignUpClosed,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for AccountError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Who may make an account by themselves, as the page stored it; whoever is invited when it did not.
///
/// # Errors
/// When the store or the stored value can't be read.
pub fn sign_up_policy(conn: &Connection) -> Result<SignUp, StoreError> {
    setting(conn, "signUp").map(Option::unwrap_or_default)
}

fn setting<T: serde::de::DeserializeOwned>(conn: &Connection, name: &str) -> Result<Option<T>, StoreError> {
    let stored: Option<String> =
        conn.query_row("SELECT value FROM settings WHERE name = ?1", [name], |row| row.get(0)).optional()?;
    stored
        .map(|json| serde_json::from_str(&json))
        .transpose()
        .map_err(|error| StoreError::Damaged(format!("setting {name}: {error}")))
}

fn player_id(bytes: [u8; 16]) -> PlayerId {
    PlayerId(uuid::Uuid::from_bytes(bytes))
}

/// A connection for one administrative command beside a running server. Recovers nothing and migrates nothing: ending
/// what still runs, or changing tables under a server, would harm it. An empty file gets the schema.
///
/// # Errors
/// When the file can't be opened, or another version of Hamlet wrote it.
pub fn open_for_admin(path: &Path) -> Result<Connection, StoreError> {
    let mut conn = connect(path)?;
    let found: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found != 0 && found < migrations::SCHEMA_VERSION {
        return Err(StoreError::Unavailable(format!(
            "{} was written by an older Hamlet; start the server once, it brings the file up to date",
            path.display()
        )));
    }
    migrations::apply(&mut conn, path)?;
    Ok(conn)
}

/// Runs a change in one short transaction; a refusal leaves nothing behind.
///
/// # Errors
/// What the change answers, or what kept it from committing.
pub fn in_transaction<T>(
    conn: &mut Connection,
    change: impl FnOnce(&Connection) -> Result<T, AccountError>,
) -> Result<T, AccountError> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = change(&tx)?;
    tx.commit()?;
    Ok(value)
}

#[cfg(test)]
mod tests;
