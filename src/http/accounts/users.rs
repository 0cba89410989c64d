//! The administration of Players, for admins.

use axum::extract::{FromRef, State};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hamlet_actors::vocabulary::{PlayerId, Timestamp};
use http::StatusCode;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{
    auth::{Accounts, Admin, PlayerRole},
    http::{
        error::ApiError,
        extract::{Id, Json, Query},
    },
    store::{accounts as rows, accounts::Player},
};

const PAGE: u32 = 50;
const LARGEST_PAGE: u32 = 200;

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

#[derive(Debug, Serialize)]
pub struct UserList {
    items: Vec<UserView>,
    next: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Page {
    limit: Option<u32>,
    after: Option<String>,
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
    Query(page): Query<Page>,
) -> Result<axum::Json<UserList>, ApiError>
where
    Accounts: FromRef<S>,
{
    let limit = page.limit.unwrap_or(PAGE);
    if !(1..=LARGEST_PAGE).contains(&limit) {
        return Err(ApiError::invalid(format!("The limit is a number from 1 to {LARGEST_PAGE}.")));
    }
    let after = page.after.as_deref().map(read_cursor).transpose()?.unwrap_or_default();
    // One more than asked for tells whether there is another page.
    let mut players = accounts.read(move |conn| rows::list(conn, &after, limit + 1)).await?;
    let more = players.len() > limit as usize;
    players.truncate(limit as usize);
    let next = players.last().filter(|_| more).map(|last| URL_SAFE_NO_PAD.encode(last.list_key()));
    Ok(axum::Json(UserList { items: players.into_iter().map(Into::into).collect(), next }))
}

/// The opaque `next`: the key of the last name.
fn read_cursor(text: &str) -> Result<String, ApiError> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let key = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    key.ok_or_else(|| ApiError::invalid("The value of `after` is what an earlier page gave as `next`."))
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
