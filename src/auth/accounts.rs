//! What can be done with accounts, for the server: signing up and in, and by its children what Players do with their own
//! account and admins with others'. It joins the store's plain functions with hashing and with the limits on trying; it
//! knows no route.

mod admin;
mod own;

use std::{net::IpAddr, sync::Arc, time::Duration};

use hamlet_actors::vocabulary::{PlayerId, Timestamp};
use ipnet::IpNet;
use rusqlite::Connection;
use secrecy::SecretString;
use tokio::sync::oneshot;
use url::Url;

use super::{
    PlayerRole, SignUp,
    cookie::Transport,
    limits::Limits,
    name::{InvalidName, PlayerName},
    password::{Hasher, Password, PasswordError, WeakPassword},
    secret::{NoRandomness, Secret, SecretHash},
};
use crate::store::{
    Store, StoreError,
    accounts::{self as rows, AccountError, NewPlayer, Player},
};

const DAY: i64 = 24 * 3600 * 1000;
/// A session that is used lives on: it is renewed when less than half of this is left.
pub const SESSION: i64 = 30 * DAY;
/// The link that the first start prints.
pub const FIRST_LINK: i64 = DAY;
pub const LOGIN_LINK: i64 = 15 * 60 * 1000;
/// The name of the admin that the first start makes.
const FIRST_NAME: &str = "admin";

pub use own::SelfChange;

/// Why somebody was not let in, or an account was not changed.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// Which of name and password is wrong is not told, nor whether the Player is disabled.
    #[error("the name and password do not fit")]
    InvalidCredentials,
    #[error("too many tries")]
    TooManyTries(Duration),
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error(transparent)]
    Weak(#[from] WeakPassword),
    #[error(transparent)]
    Password(#[from] PasswordError),
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    #[error(transparent)]
    Account(#[from] AccountError),
}

impl From<StoreError> for AuthError {
    fn from(error: StoreError) -> Self {
        Self::Account(AccountError::Store(error))
    }
}

#[derive(Debug, Clone, Default)]
pub struct AccountsOptions {
    /// Where browsers reach the server; https makes the cookie `Secure`.
    pub public_url: Option<Url>,
    pub trusted_proxies: Vec<IpNet>,
    /// Set from outside, before what the page stored.
    pub sign_up: Option<SignUp>,
}

/// The accounts of the Village. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Accounts {
    store: Store,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: AccountsOptions,
    hasher: Hasher,
    limits: Limits,
}

/// A session that began just now, with the secret that its cookie carries.
#[derive(Debug)]
pub struct Entered {
    pub player: Player,
    pub secret: Secret,
}

/// Who may make an account now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignUpState {
    /// Nobody has an account: the next one becomes the admin.
    pub first: bool,
    pub policy: SignUp,
}

impl Accounts {
    pub fn new(store: Store, options: AccountsOptions) -> Self {
        let inner = Inner { options, hasher: Hasher::default(), limits: Limits::default() };
        Self { store, inner: Arc::new(inner) }
    }

    pub fn transport(&self) -> Transport {
        match &self.inner.options.public_url {
            Some(url) if url.scheme() == "https" => Transport::Secure,
            Some(_) | None => Transport::Plain,
        }
    }

    pub fn trusted_proxies(&self) -> &[IpNet] {
        &self.inner.options.trusted_proxies
    }

    /// # Errors
    /// When the store can't be read.
    pub async fn sign_up_state(&self) -> Result<SignUpState, AuthError> {
        let pinned = self.inner.options.sign_up;
        Ok(self
            .read(move |conn| {
                let policy = pinned.map_or_else(|| rows::sign_up_policy(conn), Ok)?;
                Ok(SignUpState { first: !rows::is_claimed(conn)?, policy })
            })
            .await?)
    }

    /// Makes an account and signs it in.
    ///
    /// # Errors
    /// `TooManyTries`, what is wrong with name or password, `SignUpClosed`, `InvalidInvite`, `NameTaken`.
    pub async fn sign_up(
        &self,
        from: IpAddr,
        name: &str,
        password: SecretString,
        invite: Option<&str>,
    ) -> Result<Entered, AuthError> {
        self.inner.limits.try_address(from).map_err(AuthError::TooManyTries)?;
        let name = PlayerName::new(name)?;
        let password = Password::new(password)?;
        let invite = invite.map(|text| Secret::parse(text).ok_or(AccountError::InvalidInvite)).transpose()?;
        let SignUpState { first, policy } = self.sign_up_state().await?;
        let admits = first || policy == SignUp::Open || (policy == SignUp::Invite && invite.is_some());
        if !admits {
            // Asked again inside the transaction; here it saves the hashing.
            return Err(AccountError::SignUpClosed.into());
        }
        let hash = self.inner.hasher.hash(password).await?;
        let new = NewPlayer { password_hash: Some(hash), ..new_player(name, PlayerRole::Player) };
        let secret = Secret::generate()?;
        let (invite, session) = (invite.map(|invite| invite.hash()), secret.hash());
        let player = self
            .change(move |conn| {
                let player = rows::sign_up(conn, &new, invite, policy)?;
                begin_session(conn, player.id, session)?;
                Ok(player)
            })
            .await?;
        Ok(Entered { player, secret })
    }

    /// # Errors
    /// `TooManyTries`, `InvalidCredentials`.
    pub async fn sign_in(&self, from: IpAddr, name: &str, password: SecretString) -> Result<Entered, AuthError> {
        self.inner.limits.try_address(from).map_err(AuthError::TooManyTries)?;
        let found = match PlayerName::new(name) {
            Ok(name) => {
                self.inner.limits.try_account(&name.key()).map_err(AuthError::TooManyTries)?;
                self.read(move |conn| {
                    let Some(player) = rows::find_by_name(conn, &name)? else { return Ok(None) };
                    Ok(rows::password_hash(conn, player.id)?.map(|hash| (player, hash)))
                })
                .await?
            }
            Err(_) => None,
        };
        let (player, stored) = found.unzip();
        let fits = self.inner.hasher.verify(password, stored).await?;
        match player {
            Some(player) if fits && !player.disabled => self.enter(player.id).await,
            Some(_) | None => Err(AuthError::InvalidCredentials),
        }
    }

    async fn enter(&self, id: PlayerId) -> Result<Entered, AuthError> {
        let secret = Secret::generate()?;
        let session = secret.hash();
        let player = self
            .change(move |conn| {
                // Disabled or deleted while the password was being checked.
                let player =
                    rows::find(conn, id)?.filter(|player| !player.disabled).ok_or(AccountError::NoSuchPlayer)?;
                begin_session(conn, id, session)?;
                Ok(player)
            })
            .await;
        match player {
            Ok(player) => Ok(Entered { player, secret }),
            Err(AccountError::NoSuchPlayer) => Err(AuthError::InvalidCredentials),
            Err(error) => Err(error.into()),
        }
    }

    /// # Errors
    /// When the store can't be written.
    pub async fn sign_out(&self, session: SecretHash) -> Result<(), AuthError> {
        Ok(self.change(move |conn| Ok(rows::end_session(conn, session)?)).await?)
    }

    /// Uses a one-time link up.
    ///
    /// # Errors
    /// `TooManyTries`; `InvalidCredentials` when it was used or has expired.
    pub async fn enter_by_link(&self, from: IpAddr, token: &str) -> Result<Entered, AuthError> {
        self.inner.limits.try_address(from).map_err(AuthError::TooManyTries)?;
        let link = Secret::parse(token).ok_or(AuthError::InvalidCredentials)?.hash();
        let secret = Secret::generate()?;
        let session = secret.hash();
        let player = self
            .change(move |conn| {
                let player = rows::use_login_link(conn, link, Timestamp::now())?;
                if let Some(player) = &player {
                    begin_session(conn, player.id, session)?;
                }
                Ok(player)
            })
            .await?;
        player.map(|player| Entered { player, secret }).ok_or(AuthError::InvalidCredentials)
    }

    /// A link for the admin of a Village that nobody has entered yet, else nothing. Makes that admin when needed.
    ///
    /// # Errors
    /// When the store can't be written.
    pub async fn first_link(&self) -> Result<Option<Secret>, AuthError> {
        let new = new_player(PlayerName::new(FIRST_NAME)?, PlayerRole::Admin);
        let link = Secret::generate()?;
        let hash = link.hash();
        let first = self
            .change(move |conn| {
                let first = rows::add_first(conn, &new)?;
                if let Some(id) = first {
                    rows::add_login_link(conn, id, hash, Timestamp::now().plus_millis(FIRST_LINK))?;
                }
                Ok(first)
            })
            .await?;
        Ok(first.map(|_| link))
    }

    /// A short read of the store.
    ///
    /// # Errors
    /// What the read answers.
    pub async fn read<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.store.read(read).await
    }

    /// A change in the writer's next commit; when it is refused, nothing of it is kept.
    ///
    /// # Errors
    /// What the change answers.
    pub async fn change<T, F>(&self, change: F) -> Result<T, AccountError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, AccountError> + Send + 'static,
    {
        let (refuse, refused) = oneshot::channel();
        let outcome = self.store.write(move |conn| match change(conn) {
            Ok(value) => Ok(value),
            Err(AccountError::Store(error)) => Err(error),
            Err(refusal) => {
                // An error takes the change back; which refusal it was goes beside it.
                let why = StoreError::Conflict(refusal.to_string());
                drop(refuse.send(refusal));
                Err(why)
            }
        });
        match outcome.await {
            Ok(value) => Ok(value),
            Err(error) => Err(refused.await.unwrap_or(AccountError::Store(error))),
        }
    }
}

/// A Player without a password, made now.
pub fn new_player(name: PlayerName, role: PlayerRole) -> NewPlayer {
    NewPlayer { id: PlayerId::generate(), name, password_hash: None, role, created_at: Timestamp::now() }
}

fn begin_session(conn: &Connection, player: PlayerId, session: SecretHash) -> Result<(), StoreError> {
    let now = Timestamp::now();
    rows::start_session(conn, player, session, now, now.plus_millis(SESSION))
}
