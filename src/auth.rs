//! Who is asking: cookie, API token; accounts behind them.

use hamlet_actors::vocabulary::PlayerId;
use serde::{Deserialize, Serialize};

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

/// The same, for routes that are an admin's only; answers 403 to everybody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin(pub Who);
