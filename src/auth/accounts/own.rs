//! What Players do with their own account.

use hamlet_actors::vocabulary::{PlayerId, Timestamp};
use secrecy::SecretString;

use super::{Accounts, AuthError};
use crate::{
    auth::{
        name::PlayerName,
        password::Password,
        secret::{Secret, SecretHash},
    },
    store::accounts::{self as rows, AccountError, ApiToken, Player},
};

/// What Players may change of themselves.
#[derive(Debug, Default)]
pub struct SelfChange {
    pub name: Option<String>,
    pub password: Option<SecretString>,
    pub current_password: Option<SecretString>,
}

impl Accounts {
    /// Changes one's own name or password; a new password ends all sessions but `keep`.
    ///
    /// # Errors
    /// `InvalidCredentials` when the current password is needed and wrong; `NameTaken`; what is wrong with the new ones.
    pub async fn change_self(
        &self,
        id: PlayerId,
        change: SelfChange,
        keep: Option<SecretHash>,
    ) -> Result<Player, AuthError> {
        let name = change.name.as_deref().map(PlayerName::new).transpose()?;
        let hash = match change.password {
            Some(new) => {
                let new = Password::new(new)?;
                self.require_current(id, change.current_password).await?;
                Some(self.inner.hasher.hash(new).await?)
            }
            None => None,
        };
        Ok(self
            .change(move |conn| {
                if let Some(name) = &name {
                    rows::rename(conn, id, name)?;
                }
                if let Some(hash) = &hash {
                    rows::set_password(conn, id, hash, keep)?;
                }
                rows::find(conn, id)?.ok_or(AccountError::NoSuchPlayer)
            })
            .await?)
    }

    async fn require_current(&self, id: PlayerId, current: Option<SecretString>) -> Result<(), AuthError> {
        let Some(stored) = self.read(move |conn| rows::password_hash(conn, id)).await? else { return Ok(()) };
        // A stolen session must not become a place to guess the password.
        self.inner.limits.try_account(&id.to_string()).map_err(AuthError::TooManyTries)?;
        let current = current.ok_or(AuthError::InvalidCredentials)?;
        match self.inner.hasher.verify(current, Some(stored)).await? {
            true => Ok(()),
            false => Err(AuthError::InvalidCredentials),
        }
    }

    /// A new API token; its text is not stored and never shown again.
    ///
    /// # Errors
    /// What is wrong with the name; `TooManyTokens`.
    pub async fn add_token(&self, id: PlayerId, name: &str) -> Result<(ApiToken, Secret), AuthError> {
        let name = PlayerName::new(name)?.to_string();
        let secret = Secret::generate()?;
        let token = ApiToken { id: uuid::Uuid::now_v7(), name, created_at: Timestamp::now() };
        let (hash, row) = (secret.hash(), token.clone());
        self.change(move |conn| rows::add_token(conn, id, hash, &row)).await?;
        Ok((token, secret))
    }
}
