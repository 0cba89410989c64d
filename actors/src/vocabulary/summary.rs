//! What is still known of the part of a Conversation that fell out of the window.

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// One version of a Conversation's rolling summary. Versions are never changed; the newest that is in use counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Grows with each version of a Conversation.
    pub version: u64,
    pub text: String,
    /// The place of the first Message that it covers.
    pub from_position: i64,
    /// The place of the last Message that it covers. What is said word by word begins behind it.
    pub through_position: i64,
    pub made_by: SummaryMaker,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SummaryMaker {
    /// A model, in the `utility` role.
    Model,
    /// Who said what, picked out by rule, because no model had answered in time.
    Extract,
    /// The Player edited it.
    Player,
}
