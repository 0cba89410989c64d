//! How a request says who it is: `Authorization: Bearer` with an API token, else the session cookie. A bearer token, good
//! or bad, decides alone: a program that brings one must not act as whoever's cookie happens to be there.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::extract::{ConnectInfo, FromRef, FromRequestParts};
use hamlet_actors::vocabulary::{ErrorCode, Timestamp};
use http::{HeaderMap, header, request::Parts};

use super::{
    Accounts, Credential, PlayerRole, Who,
    accounts::SESSION,
    client_address::client_address,
    secret::{Secret, SecretHash},
};
use crate::{
    http::error::ApiError,
    store::{accounts as rows, accounts::Player},
};

/// The Player together with what let the request in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    pub who: Who,
    pub credential: Credential,
}

/// A Player with the role admin; others get 403.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin(pub Who);

impl<S: Send + Sync> FromRequestParts<S> for SignedIn
where
    Accounts: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        // A gate before the handler may have asked already.
        if let Some(known) = parts.extensions.get::<Self>() {
            return Ok(known.clone());
        }
        let accounts = Accounts::from_ref(state);
        let signed_in = identify(&accounts, &parts.headers).await?;
        parts.extensions.insert(signed_in.clone());
        Ok(signed_in)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Who
where
    Accounts: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Ok(SignedIn::from_request_parts(parts, state).await?.who)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Admin
where
    Accounts: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let who = Who::from_request_parts(parts, state).await?;
        match who.role {
            PlayerRole::Admin => Ok(Self(who)),
            PlayerRole::Player => Err(ApiError::forbidden()),
        }
    }
}

/// The address that the request came from, seen through trusted proxies. Where the server gives no peer address (it is
/// asked in-process) all requests count as one client.
#[derive(Debug, Clone, Copy)]
pub struct ClientAddress(pub IpAddr);

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress
where
    Accounts: FromRef<S>,
{
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        Ok(Self(client_address(peer, &parts.headers, Accounts::from_ref(state).trusted_proxies())))
    }
}

/// Finds out who asks, by the headers alone.
///
/// # Errors
/// UNAUTHENTICATED when no credential is there or it lets nobody in; STORE_UNAVAILABLE.
pub async fn identify(accounts: &Accounts, headers: &HeaderMap) -> Result<SignedIn, ApiError> {
    if let Some(token) = bearer(headers) {
        return by_token(accounts, token).await;
    }
    match accounts.transport().read(headers) {
        Some(secret) => by_session(accounts, secret.hash()).await,
        None => Err(unauthenticated("Sign in, or send an API token as Authorization: Bearer.")),
    }
}

async fn by_token(accounts: &Accounts, token: &str) -> Result<SignedIn, ApiError> {
    let refused = || unauthenticated("This API token is not, or no longer, good.");
    let hash = Secret::parse_token(token).ok_or_else(refused)?.hash();
    let (player, id) = accounts.read(move |conn| rows::player_of_token(conn, hash)).await?.ok_or_else(refused)?;
    Ok(SignedIn { who: who(player), credential: Credential::Token(id) })
}

async fn by_session(accounts: &Accounts, hash: SecretHash) -> Result<SignedIn, ApiError> {
    let now = Timestamp::now();
    let session = accounts.read(move |conn| rows::session(conn, hash, now)).await?;
    let session = session.ok_or_else(|| unauthenticated("You are signed out. Sign in again."))?;
    if session.expires_at < now.plus_millis(SESSION / 2) {
        let until = now.plus_millis(SESSION);
        // One write in half a session's life. When it fails the session is good all the same, and the next request
        // tries again.
        if let Err(error) = accounts.change(move |conn| Ok(rows::renew_session(conn, hash, until)?)).await {
            tracing::warn!(%error, "a session could not be renewed");
        }
    }
    Ok(SignedIn { who: who(session.player), credential: Credential::Session(hash) })
}

/// Whether a credential that let somebody in still does; what an open stream asks at each heartbeat. A store that can't
/// answer now throws nobody out.
pub async fn is_still_in(accounts: &Accounts, credential: Credential) -> bool {
    let now = Timestamp::now();
    let found = match credential {
        Credential::Session(hash) => accounts.read(move |conn| Ok(rows::session(conn, hash, now)?.is_some())).await,
        Credential::Token(id) => accounts.read(move |conn| rows::is_token_good(conn, id)).await,
    };
    found.unwrap_or_else(|error| {
        tracing::warn!(%error, "a stream's credential could not be checked");
        true
    })
}

/// Whether a credential that let an admin in still lets an admin in; as [`is_still_in`].
pub async fn is_still_admin(accounts: &Accounts, credential: Credential) -> bool {
    let now = Timestamp::now();
    let found = match credential {
        Credential::Session(hash) => {
            accounts.read(move |conn| Ok(rows::session(conn, hash, now)?.map(|session| session.player))).await
        }
        Credential::Token(id) => accounts.read(move |conn| rows::player_of_token_id(conn, id)).await,
    };
    match found {
        Ok(player) => player.is_some_and(|player| player.role == PlayerRole::Admin),
        Err(error) => {
            tracing::warn!(%error, "a stream's credential could not be checked");
            true
        }
    }
}

/// The token of `Authorization: Bearer`; `Basic` and others are a proxy's business, not ours.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn who(player: Player) -> Who {
    Who { id: player.id, name: player.name, role: player.role }
}

fn unauthenticated(message: &str) -> ApiError {
    ApiError::new(ErrorCode::Unauthenticated, message)
}
