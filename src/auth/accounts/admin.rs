//! What admins do with accounts.

use hamlet_actors::vocabulary::{PlayerId, Timestamp};
use secrecy::SecretString;

use super::{Accounts, AuthError, DAY, new_player};
use crate::{
    auth::{PlayerRole, name::PlayerName, password::Password, secret::Secret},
    store::accounts::{self as rows, NewPlayer, Player},
};

/// How long an invitation is good, in milliseconds.
const INVITE: i64 = 7 * DAY;

impl Accounts {
    /// An invitation for one Player, and when it ends.
    ///
    /// # Errors
    /// When the store can't be written.
    pub async fn add_invite(&self, by: PlayerId) -> Result<(Secret, Timestamp), AuthError> {
        let secret = Secret::generate()?;
        let (hash, expires_at) = (secret.hash(), Timestamp::now().plus_millis(INVITE));
        self.change(move |conn| Ok(rows::add_invite(conn, by, hash, expires_at)?)).await?;
        Ok((secret, expires_at))
    }

    /// Makes a Player as an admin.
    ///
    /// # Errors
    /// What is wrong with name or password; `NameTaken`.
    pub async fn add_player(
        &self,
        name: &str,
        password: Option<SecretString>,
        role: PlayerRole,
    ) -> Result<Player, AuthError> {
        let name = PlayerName::new(name)?;
        let password_hash = self.hash(password).await?;
        let new = NewPlayer { password_hash, ..new_player(name, role) };
        Ok(self.change(move |conn| rows::add(conn, &new)).await?)
    }

    /// Changes a Player as an admin.
    ///
    /// # Errors
    /// What is wrong with the password; `NoSuchPlayer`; `LastAdmin`.
    pub async fn change_player(
        &self,
        id: PlayerId,
        role: Option<PlayerRole>,
        disabled: Option<bool>,
        password: Option<SecretString>,
    ) -> Result<Player, AuthError> {
        let password_hash = self.hash(password).await?;
        let change = rows::Change { role, disabled, password_hash };
        Ok(self.change(move |conn| rows::change(conn, id, &change)).await?)
    }

    async fn hash(&self, password: Option<SecretString>) -> Result<Option<String>, AuthError> {
        match password.map(Password::new).transpose()? {
            Some(password) => Ok(Some(self.inner.hasher.hash(password).await?)),
            None => Ok(None),
        }
    }
}
