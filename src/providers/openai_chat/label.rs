//! The `finish_reason` in the spellings of many servers, and what it comes to together with what the reply holds. What
//! came decides, not the label: calls count as calls under any label but a cut or a block.

use hamlet_actors::vocabulary::FinishReason;

/// What a label says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    Stop,
    Calls,
    Length,
    Filter,
    /// The Provider itself calls the end a failure.
    Failure,
    Other,
}

impl Label {
    /// `None` for the blank labels that some servers put into every chunk.
    pub fn of(label: &str) -> Option<Self> {
        Some(match label.trim().to_ascii_lowercase().as_str() {
            "" | "null" | "none" => return None,
            "stop" | "eos" | "eos_token" | "end_turn" | "end" | "stop_sequence" | "complete" => Self::Stop,
            "tool_calls" | "function_call" | "tool_use" | "tool_call" => Self::Calls,
            "length" | "max_tokens" | "model_length" | "max_output_tokens" | "model_context_window_exceeded" => {
                Self::Length
            }
            "content_filter" | "content_filtered" | "safety" | "sensitive" | "refusal" | "blocked" | "recitation"
            | "prohibited_content" => Self::Filter,
            "error"
            | "abort"
            | "aborted"
            | "cancelled"
            | "canceled"
            | "network_error"
            | "malformed_function_call"
            | "insufficient_system_resource" => Self::Failure,
            _ => Self::Other,
        })
    }

    /// A graver word is not taken back by a later one: a reply that was cut stays cut.
    pub fn after(self, earlier: Option<Self>) -> Self {
        let gravity = |label: Self| match label {
            Self::Failure => 3,
            Self::Filter => 2,
            Self::Length => 1,
            Self::Stop | Self::Calls | Self::Other => 0,
        };
        earlier.filter(|earlier| gravity(*earlier) > gravity(self)).unwrap_or(self)
    }
}

/// Why the model stopped. `label` is absent when only the stream's own end mark came.
pub fn finish_reason(label: Option<Label>, has_calls: bool, refused: bool) -> FinishReason {
    match label {
        Some(Label::Length) => FinishReason::Length,
        Some(Label::Filter) => FinishReason::ContentFilter,
        _ if refused => FinishReason::ContentFilter,
        _ if has_calls => FinishReason::ToolCalls,
        Some(Label::Stop | Label::Calls) => FinishReason::Stop,
        Some(Label::Other | Label::Failure) | None => FinishReason::Other,
    }
}
