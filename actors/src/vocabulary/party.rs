//! What a Conversation with several NPCs is set to.

use serde::{Deserialize, Serialize};

/// Who answers a text that addresses nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpeakerPolicy {
    /// Who spoke last, else the first of the Party.
    #[default]
    Addressed,
    /// The one who comes after who spoke last, in the Party's order.
    RoundRobin,
    /// Everybody, one after the other, in the Party's order.
    EveryoneOnce,
}

/// What an NPC that joined later is told of what was said before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NewcomersKnow {
    #[default]
    FromJoining,
    All,
}
