//! Who is asking: cookie, API token; accounts behind them.

use axum::{extract::{FromRef, FromRequestParts}, http::request::Parts};
use hamlet_actors::vocabulary::{ErrorCode, PlayerId};
use serde::{Deserialize, Serialize};

use crate::http::error::ApiError;

/// The Player that a request was made by. As an extractor it answers 401 when nobody is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    pub id: PlayerId,
    pub name: String,
    pub role: PlayerRole,
}

/// The same, for routes that are an admin's only; answers 403 to everybody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin(pub Who);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlayerRole {
    Player,
    Admin,
}

/// Looks up who a request's cookie or token belongs to.
#[derive(Debug, Clone)]
pub struct Accounts;

impl<S: Send + Sync> FromRequestParts<S> for Who
where
    Accounts: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(_parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        Err(ApiError::new(ErrorCode::Unauthenticated, "Sign in first."))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Admin
where
    Accounts: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        Who::from_request_parts(parts, state).await?;
        Err(ApiError::forbidden())
    }
}
