//! What a Provider said of its own stream's end.

use serde::{Deserialize, Serialize};

/// Tokens as the Provider reported them; a field it never named is null, never an estimate (promise 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    #[serde(default)]
    pub reasoning_tokens: Option<u64>,
    #[serde(default)]
    pub cached_input_tokens: Option<u64>,
}

impl Usage {
    /// Of several requests together; what none of them named stays unknown.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let both = |mine: Option<u64>, theirs: Option<u64>| match (mine, theirs) {
            (Some(mine), Some(theirs)) => Some(mine.saturating_add(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        Self {
            input_tokens: both(self.input_tokens, other.input_tokens),
            output_tokens: both(self.output_tokens, other.output_tokens),
            reasoning_tokens: both(self.reasoning_tokens, other.reasoning_tokens),
            cached_input_tokens: both(self.cached_input_tokens, other.cached_input_tokens),
        }
    }
}

/// Why the model stopped, in one set of words for all Providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    Stop,
    /// The output limit was reached: the text is kept, no tool call of this reply runs (promise 13).
    Length,
    ToolCalls,
    ContentFilter,
    /// A positive end with a reason that this build has no word for.
    Other,
}
