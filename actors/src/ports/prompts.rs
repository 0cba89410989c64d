//! What was sent to a model, step by step, so that nobody has to guess later what it was told. Kept as a recipe: the texts
//! of the prompt, and which stored Messages followed.

use serde::{Deserialize, Serialize};

use super::ToolSpec;
use crate::{
    policy::prompt::Place,
    vocabulary::{ConversationId, MessageId, ModelParams, NpcId, ProviderId},
};

pub trait Prompts: Send + Sync + 'static {
    /// Queues the record. Nobody waits for it: it is no part of the transcript, and one that can't be stored is logged.
    fn keep(&self, record: PromptRecord);
}

/// One request, as it is rebuilt from what is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptRecord {
    pub conversation: ConversationId,
    /// The reply that it was for.
    pub message: MessageId,
    /// From 1.
    pub step: u32,
    pub sections: Vec<(Place, String)>,
    pub tools: Vec<ToolSpec>,
    pub recipe: Recipe,
}

/// What followed the prompt, and how it was told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recipe {
    pub provider_id: ProviderId,
    pub model: String,
    #[serde(default)]
    pub params: ModelParams,
    pub speaker: NpcId,
    pub in_party: bool,
    /// The places of the Messages, in runs of places without a gap: first and last.
    pub history: Vec<(i64, i64)>,
    /// What was asked, where it was not in the history.
    pub question: Option<String>,
    /// So many Parts of the reply itself.
    pub parts: usize,
    pub summary_version: Option<u64>,
}

/// Places in ascending order as runs.
pub fn runs(places: impl IntoIterator<Item = i64>) -> Vec<(i64, i64)> {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for place in places {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == place => *last = place,
            _ => runs.push((place, place)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    #[test]
    fn places_become_runs() {
        assert_eq!(super::runs([]), []);
        assert_eq!(super::runs([3, 4, 5, 8, 10, 11]), [(3, 5), (8, 8), (10, 11)]);
    }
}
