//! The routes of accounts: oneself, signing up, in and out, API tokens, invitations, and the administration of Players.
//! Nothing of them may be cached, and no address of theirs (one has a secret in it) is told to another page.

mod me;
mod sessions;
mod tokens;
mod users;

use axum::{
    Router,
    extract::FromRef,
    routing::{delete, get, patch, post},
};
use hamlet_actors::vocabulary::ErrorCode;
use http::{HeaderValue, header};
use tower_http::set_header::SetResponseHeaderLayer;

use super::error::ApiError;
use crate::{
    auth::{Accounts, accounts::AuthError, password::PasswordError},
    store::accounts::AccountError,
};

pub fn routes<S>() -> Router<S>
where
    Accounts: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Router::new()
        .route("/api/me", get(me::show::<S>).patch(me::change::<S>))
        .route("/api/auth/sign-up", get(sessions::sign_up_state::<S>).post(sessions::sign_up::<S>))
        .route("/api/auth/sign-in", post(sessions::sign_in::<S>))
        .route("/api/auth/sign-out", post(sessions::sign_out::<S>))
        .route("/sign-in", get(sessions::enter_by_link::<S>).head(sessions::look_at_link))
        .route("/api/auth/tokens", get(tokens::list::<S>).post(tokens::add::<S>))
        .route("/api/auth/tokens/{id}", delete(tokens::delete::<S>))
        .route("/api/auth/invites", post(tokens::invite::<S>))
        .route("/api/users", get(users::list::<S>).post(users::add::<S>))
        .route("/api/users/{id}", patch(users::change::<S>).delete(users::delete::<S>))
        .layer(SetResponseHeaderLayer::overriding(header::CACHE_CONTROL, HeaderValue::from_static("no-store")))
        .layer(SetResponseHeaderLayer::overriding(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")))
}

impl From<AuthError> for ApiError {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::InvalidCredentials => {
                Self::new(ErrorCode::InvalidCredentials, "The name and password do not fit.")
            }
            AuthError::TooManyTries(wait) => {
                Self::new(ErrorCode::RateLimited, "Too many tries. Wait a little before the next one.").after(wait)
            }
            AuthError::Name(why) => Self::invalid(sentence(&why)),
            AuthError::Weak(why) => Self::invalid(sentence(&why)),
            AuthError::Password(PasswordError::Busy) => {
                Self::new(ErrorCode::RateLimited, "Too many people sign in at this moment.")
                    .after(std::time::Duration::from_secs(5))
            }
            AuthError::Password(error) => Self::internal(&error),
            AuthError::Randomness(error) => Self::internal(&error),
            AuthError::Account(error) => error.into(),
        }
    }
}

impl From<AccountError> for ApiError {
    fn from(error: AccountError) -> Self {
        let code = match error {
            AccountError::NameTaken(_)
            | AccountError::LastAdmin
            | AccountError::OwnsConversations(_)
            | AccountError::TooManyTokens => ErrorCode::Conflict,
            AccountError::InvalidInvite => ErrorCode::InvalidCredentials,
            AccountError::SignUpClosed => ErrorCode::SignUpClosed,
            AccountError::NoSuchPlayer => return Self::not_found(),
            AccountError::Store(error) => return error.into(),
        };
        Self::new(code, sentence(&error))
    }
}

/// Errors are worded for the middle of a line; people get a sentence.
fn sentence(error: &dyn std::error::Error) -> String {
    let text = error.to_string();
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).chain(['.']).collect()
}

#[cfg(test)]
mod tests;
