//! Ids are UUID v7: they sort by the time of their making and are unique across machines.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A text that is not a UUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an id: {0:?}")]
pub struct InvalidId(pub String);

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl $name {
            /// A new id. Made at the edges only: rules get their ids with the event.
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Uuid::try_parse(text).map(Self).map_err(|_| InvalidId(text.chars().take(64).collect()))
            }
        }
    )*};
}

ids! {
    /// One talk between a Player and one or more NPCs.
    ConversationId,
    /// One stored Message; known to every tab from its start frame on.
    MessageId,
    /// From a Player's Message (or a regenerate) to its one terminal frame.
    TurnId,
    NpcId,
    PlayerId,
    ProviderId,
    SkillId,
    MemoryId,
    ToolServerId,
}
