//! Parts: what a Message is made of. New kinds of content are new Parts, never new frames.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ProviderId, Timestamp};

/// One piece of a Message's content as stored and as sent to a browser.
///
/// A Part of a type that this build does not know is kept as it is and ignored by readers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Part {
    Text {
        text: String,
    },
    Reasoning {
        text: String,
        /// The Provider kept the thought to itself; only its opaque state exists.
        #[serde(default, skip_serializing_if = "is_false")]
        redacted: bool,
    },
    ToolCall(ToolCall),
    ToolResult(ToolResult),
    File {
        file_id: String,
        media_type: String,
        filename: String,
    },
    Source {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    Notice {
        code: String,
        text: String,
    },
    #[serde(untagged)]
    Unknown(Map<String, Value>),
}

impl Part {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    pub fn reasoning(text: impl Into<String>) -> Self {
        Self::Reasoning { text: text.into(), redacted: false }
    }
}

/// A model's wish to run a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Unique in its Message: the Provider's id where it gave a usable one, else ours.
    pub tool_call_id: String,
    pub name: String,
    /// The arguments: a JSON object once they are whole, else the raw text that arrived, as a JSON string.
    pub input: Value,
    pub state: CallState,
    pub executor: Executor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
}

/// The one tab that runs a client tool, until when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    pub client_id: String,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallState {
    Streaming,
    Ready,
    Running,
    AwaitingClient,
    AwaitingApproval,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Executor {
    Server,
    Client,
    Subagent,
}

/// What came of a call; also what stands in for one that never ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    pub tool_call_id: String,
    pub name: String,
    pub output: Value,
    pub is_error: bool,
    /// Milliseconds from the start of the call to its result; 0 for a call that never ran.
    pub elapsed_ms: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
}

/// State of a Provider that belongs to one Part: stored beside it, replayed to the same Provider and model only, and
/// never part of a frame.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opaque {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<ProviderId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<String>,
    /// A call's arguments byte for byte, where writing `input` again would give other bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// The field in which reasoning came, for Providers that want it back under the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl Opaque {
    /// Takes over what `later` knows and leaves what it is silent about.
    pub fn absorb(&mut self, later: Opaque) {
        fn take<T>(mine: &mut Option<T>, theirs: Option<T>) {
            if theirs.is_some() {
                *mine = theirs;
            }
        }
        take(&mut self.provider_id, later.provider_id);
        take(&mut self.model, later.model);
        take(&mut self.signature, later.signature);
        take(&mut self.redacted, later.redacted);
        take(&mut self.encrypted, later.encrypted);
        take(&mut self.arguments, later.arguments);
        take(&mut self.field, later.field);
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
