//! The Player who asks.

use axum::extract::{FromRef, State};
use hamlet_actors::vocabulary::PlayerId;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::{
    auth::{Accounts, Credential, PlayerRole, SignedIn, Who, accounts::SelfChange},
    http::{error::ApiError, extract::Json},
    store::{StoreError, accounts as rows, accounts::Player},
};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Me {
    id: PlayerId,
    name: String,
    role: PlayerRole,
    has_password: bool,
}

impl From<Player> for Me {
    fn from(player: Player) -> Self {
        Self { id: player.id, name: player.name, role: player.role, has_password: player.has_password }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Patch {
    name: Option<String>,
    password: Option<SecretString>,
    current_password: Option<SecretString>,
}

pub async fn show<S>(State(accounts): State<Accounts>, who: Who) -> Result<axum::Json<Me>, ApiError>
where
    Accounts: FromRef<S>,
{
    let player = accounts.read(move |conn| rows::find(conn, who.id)?.ok_or(StoreError::NotFound)).await?;
    Ok(axum::Json(player.into()))
}

pub async fn change<S>(
    State(accounts): State<Accounts>,
    signed_in: SignedIn,
    Json { value: patch, .. }: Json<Patch>,
) -> Result<axum::Json<Me>, ApiError>
where
    Accounts: FromRef<S>,
{
    let keep = match signed_in.credential {
        Credential::Session(hash) => Some(hash),
        Credential::Token(_) => None,
    };
    let Patch { name, password, current_password } = patch;
    let player = accounts.change_self(signed_in.who.id, SelfChange { name, password, current_password }, keep).await?;
    Ok(axum::Json(player.into()))
}
