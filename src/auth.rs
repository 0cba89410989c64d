//! Who is asking: cookie or API token, and the accounts behind them. Knows no route and no SQL; a credential is only ever
//! stored as its hash, so the store's file lets nobody in.

pub mod accounts;
pub mod client_address;
pub mod cookie;
pub mod extract;
pub mod limits;
pub mod name;
pub mod password;
pub mod secret;

use std::{fmt, str::FromStr};

use hamlet_actors::vocabulary::PlayerId;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use accounts::{Accounts, AccountsOptions};
pub use extract::{Admin, SignedIn};
use secret::SecretHash;

/// The Player that a request was made by. As an extractor it answers 401 when nobody is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    pub id: PlayerId,
    pub name: String,
    pub role: PlayerRole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlayerRole {
    Player,
    Admin,
}

impl PlayerRole {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Player => "player",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for PlayerRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a role is \"player\" or \"admin\", not {0:?}")]
pub struct UnknownRole(String);

impl FromStr for PlayerRole {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        match text {
            "player" => Ok(Self::Player),
            "admin" => Ok(Self::Admin),
            other => Err(UnknownRole(other.to_owned())),
        }
    }
}

/// What a request was let in by: signing out ends this session and no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    Session(SecretHash),
    Token(Uuid),
}

/// Who may make an account by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SignUp {
    Closed,
    /// Whoever brings an invitation of an admin.
    #[default]
    Invite,
    Open,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("sign-up is \"closed\", \"invite\" or \"open\", not {0:?}")]
pub struct UnknownSignUp(String);

impl FromStr for SignUp {
    type Err = UnknownSignUp;

    fn from_str(text: &str) -> Result<Self, UnknownSignUp> {
        match text {
            "closed" => Ok(Self::Closed),
            "invite" => Ok(Self::Invite),
            "open" => Ok(Self::Open),
            other => Err(UnknownSignUp(other.to_owned())),
        }
    }
}
