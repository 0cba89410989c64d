//! API tokens of the Player who asks, and invitations. A secret is shown in the answer that made it and never again.

use axum::extract::{FromRef, State};
use hamlet_actors::vocabulary::Timestamp;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    auth::{Accounts, Admin, Who},
    http::{
        error::ApiError,
        extract::{Id, Json},
        page::Page,
    },
    store::{accounts as rows, accounts::ApiToken},
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    name: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenView {
    id: Uuid,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    created_at: Timestamp,
}

impl TokenView {
    fn new(token: ApiToken, text: Option<String>) -> Self {
        Self { id: token.id, name: token.name, token: text, created_at: token.created_at }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InviteView {
    invite: String,
    expires_at: Timestamp,
}

/// All of them: a Player has at most a hundred.
pub async fn list<S>(State(accounts): State<Accounts>, who: Who) -> Result<axum::Json<Page<TokenView>>, ApiError>
where
    Accounts: FromRef<S>,
{
    let tokens = accounts.read(move |conn| rows::tokens(conn, who.id)).await?;
    let items = tokens.into_iter().map(|token| TokenView::new(token, None)).collect();
    Ok(axum::Json(Page::whole(items)))
}

pub async fn add<S>(
    State(accounts): State<Accounts>,
    who: Who,
    Json { value: new, .. }: Json<NewToken>,
) -> Result<(StatusCode, axum::Json<TokenView>), ApiError>
where
    Accounts: FromRef<S>,
{
    let (token, secret) = accounts.add_token(who.id, &new.name).await?;
    Ok((StatusCode::CREATED, axum::Json(TokenView::new(token, Some(secret.token_text())))))
}

pub async fn delete<S>(State(accounts): State<Accounts>, who: Who, Id(id): Id<Uuid>) -> Result<StatusCode, ApiError>
where
    Accounts: FromRef<S>,
{
    accounts.change(move |conn| Ok(rows::delete_token(conn, who.id, id)?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn invite<S>(
    State(accounts): State<Accounts>,
    Admin(admin): Admin,
) -> Result<(StatusCode, axum::Json<InviteView>), ApiError>
where
    Accounts: FromRef<S>,
{
    let (secret, expires_at) = accounts.add_invite(admin.id).await?;
    Ok((StatusCode::CREATED, axum::Json(InviteView { invite: secret.text(), expires_at })))
}
