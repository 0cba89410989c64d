//! Signing up, in and out, and entering by a one-time link.

use axum::{
    extract::{FromRef, State},
    response::{IntoResponse, Redirect, Response},
};
use hamlet_actors::vocabulary::ErrorCode;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::me::Me;
use crate::{
    auth::{
        Accounts, Credential, SignUp, SignedIn,
        accounts::{AuthError, Entered},
        extract::ClientAddress,
    },
    http::{
        error::ApiError,
        extract::{Json, Query},
    },
};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SignUpView {
    /// Whether an account can be made without an invitation.
    open: bool,
    policy: SignUp,
    /// Nobody has an account yet: the next one becomes the admin.
    first: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewAccount {
    name: String,
    password: SecretString,
    invite: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NameAndPassword {
    name: String,
    password: SecretString,
}

#[derive(Debug, Deserialize)]
pub struct Link {
    token: String,
}

pub async fn sign_up_state<S>(State(accounts): State<Accounts>) -> Result<axum::Json<SignUpView>, ApiError>
where
    Accounts: FromRef<S>,
{
    let state = accounts.sign_up_state().await?;
    let open = state.first || state.policy == SignUp::Open;
    Ok(axum::Json(SignUpView { open, policy: state.policy, first: state.first }))
}

pub async fn sign_up<S>(
    State(accounts): State<Accounts>,
    ClientAddress(from): ClientAddress,
    Json { value: new, .. }: Json<NewAccount>,
) -> Result<Response, ApiError>
where
    Accounts: FromRef<S>,
{
    let entered = accounts.sign_up(from, &new.name, new.password, new.invite.as_deref()).await?;
    Ok(welcome(&accounts, StatusCode::CREATED, entered))
}

pub async fn sign_in<S>(
    State(accounts): State<Accounts>,
    ClientAddress(from): ClientAddress,
    Json { value: given, .. }: Json<NameAndPassword>,
) -> Result<Response, ApiError>
where
    Accounts: FromRef<S>,
{
    let entered = accounts.sign_in(from, &given.name, given.password).await?;
    Ok(welcome(&accounts, StatusCode::OK, entered))
}

/// Ends the session that asks, and clears the cookie of one that has ended already. An API token ends by being deleted.
pub async fn sign_out<S>(
    State(accounts): State<Accounts>,
    asking: Result<SignedIn, ApiError>,
) -> Result<Response, ApiError>
where
    Accounts: FromRef<S>,
{
    match asking {
        Ok(SignedIn { credential: Credential::Session(hash), .. }) => accounts.sign_out(hash).await?,
        Ok(SignedIn { credential: Credential::Token(_), .. }) => {}
        Err(error) if error.code == ErrorCode::Unauthenticated => {}
        Err(error) => return Err(error),
    }
    Ok((StatusCode::NO_CONTENT, with_cookie(accounts.transport().clear())).into_response())
}

pub async fn enter_by_link<S>(
    State(accounts): State<Accounts>,
    ClientAddress(from): ClientAddress,
    headers: HeaderMap,
    Query(link): Query<Link>,
) -> Result<Response, ApiError>
where
    Accounts: FromRef<S>,
{
    if is_prefetch(&headers) {
        return Ok(look_at_link().await.into_response());
    }
    match accounts.enter_by_link(from, &link.token).await {
        Ok(entered) => Ok((with_cookie(accounts.transport().set(&entered.secret)), Redirect::to("/")).into_response()),
        Err(AuthError::InvalidCredentials) => Ok(Redirect::to("/?sign-in=expired").into_response()),
        Err(error) => Err(error.into()),
    }
}

/// Mail scanners and chat previews ask by HEAD, browsers prefetch: the link must still be good for the person.
pub async fn look_at_link() -> StatusCode {
    StatusCode::NO_CONTENT
}

fn is_prefetch(headers: &HeaderMap) -> bool {
    ["sec-purpose", "purpose"]
        .iter()
        .filter_map(|name| headers.get(*name))
        .any(|purpose| purpose.to_str().is_ok_and(|purpose| purpose.starts_with("prefetch")))
}

fn welcome(accounts: &Accounts, status: StatusCode, entered: Entered) -> Response {
    let cookie = with_cookie(accounts.transport().set(&entered.secret));
    (status, cookie, axum::Json(Me::from(entered.player))).into_response()
}

fn with_cookie(cookie: Option<HeaderValue>) -> HeaderMap {
    cookie.map(|cookie| (header::SET_COOKIE, cookie)).into_iter().collect()
}
