//! The administration of Players, for admins.

use axum::extract::{FromRef, State};
use hamlet_actors::vocabulary::{PlayerId, Timestamp};
use http::StatusCode;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{
    auth::{Accounts, Admin, PlayerRole},
    http::{
        error::ApiError,
        extract::{Id, Json, Query},
        page::{Asked, Page},
    },
    store::{accounts as rows, accounts::Player},
};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserView {
    id: PlayerId,
    name: String,
    role: PlayerRole,
    disabled: bool,
    has_password: bool,
    created_at: Timestamp,
}

impl From<Player> for UserView {
    fn from(player: Player) -> Self {
        let Player { id, name, role, disabled, has_password, created_at } = player;
        Self { id, name, role, disabled, has_password, created_at }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    name: String,
    password: Option<SecretString>,
    role: Option<PlayerRole>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    role: Option<PlayerRole>,
    disabled: Option<bool>,
    password: Option<SecretString>,
}

pub async fn list<S>(
    State(accounts): State<Accounts>,
    _: Admin,
    Query(asked): Query<Asked>,
) -> Result<axum::Json<Page<UserView>>, ApiError>
where
    Accounts: FromRef<S>,
{
    let limit = asked.limit()?;
    let after = asked.after::<String>()?.unwrap_or_default();
    let players = accounts.read(move |conn| rows::list(conn, &after, limit + 1)).await?;
    Ok(axum::Json(Page::of(players, limit, Player::list_key, UserView::from)))
}

pub async fn add<S>(
    State(accounts): State<Accounts>,
    _: Admin,
    Json { value: new, .. }: Json<NewUser>,
) -> Result<(StatusCode, axum::Json<UserView>), ApiError>
where
    Accounts: FromRef<S>,
{
    let player = accounts.add_player(&new.name, new.password, new.role.unwrap_or(PlayerRole::Player)).await?;
    Ok((StatusCode::CREATED, axum::Json(player.into())))
}

pub async fn change<S>(
    State(accounts): State<Accounts>,
    _: Admin,
    Id(id): Id<PlayerId>,
    Json { value: patch, .. }: Json<Patch>,
) -> Result<axum::Json<UserView>, ApiError>
where
    Accounts: FromRef<S>,
{
    let player = accounts.change_player(id, patch.role, patch.disabled, patch.password).await?;
    Ok(axum::Json(player.into()))
}

pub async fn delete<S>(State(accounts): State<Accounts>, _: Admin, Id(id): Id<PlayerId>) -> Result<StatusCode, ApiError>
where
    Accounts: FromRef<S>,
{
    accounts.change(move |conn| rows::delete(conn, id)).await?;
    Ok(StatusCode::NO_CONTENT)
}
