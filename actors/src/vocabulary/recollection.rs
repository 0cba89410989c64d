//! Something that an NPC remembers of a Player.

use serde::{Deserialize, Serialize};

use super::{MemoryId, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recollection {
    pub id: MemoryId,
    pub text: String,
    /// When it was written, or last changed.
    pub updated_at: Timestamp,
}
