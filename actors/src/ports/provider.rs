//! A model behind a wire format. An adapter reads the full stream and tells it in these words.

use std::{fmt, pin::Pin, sync::Arc};

use futures_util::Stream;
use serde_json::Value;

use crate::vocabulary::{Delta, ErrorCode, ErrorKind, FinishReason, ModelParams, ProviderId, Usage};

/// One Provider with its key, ready to be asked.
pub trait Provider: Send + Sync + 'static {
    /// Which Provider this is: opaque state is replayed to the same one only.
    fn id(&self) -> ProviderId;

    /// The name that error frames show.
    fn name(&self) -> &str;

    /// Asks the model. Nothing is sent before the stream is polled; dropping the stream closes the connection at once.
    ///
    /// Each item is what one read from the network gave, never empty. The last event of the last item is an
    /// [`ProviderEvent::End`]; a stream that ends without one was cut off. The adapter keeps its own time limits (connect,
    /// first byte, idle) and retries only before the first byte.
    fn ask(&self, request: ModelRequest) -> ProviderEvents;
}

pub type ProviderEvents = Pin<Box<dyn Stream<Item = Vec<ProviderEvent>> + Send>>;

#[derive(Debug, Clone, PartialEq)]
pub enum ProviderEvent {
    Delta(Delta),
    /// As reported so far; a later one replaces it, field by field where it is silent.
    Usage(Usage),
    End(End),
}

/// How the stream ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The Provider's positive end mark came (promise 16).
    Complete(FinishReason),
    /// The bytes ended, or exceeded a bound, before an end mark.
    Truncated,
    Failed(ProviderFailure),
}

/// What went wrong at the Provider, in words for the Player. Holds no secret and no internals.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderFailure {
    pub code: ErrorCode,
    pub kind: ErrorKind,
    pub message: String,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// Whether the same request may go better later.
    pub retryable: bool,
}

/// One request to a model, complete: what is not in here is not sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    pub model: String,
    /// The assembled system prompt; never empty.
    pub system: Arc<str>,
    /// The history, oldest first, ending on the Player (or on tool results).
    pub items: Vec<RequestItem>,
    pub tools: Vec<ToolSpec>,
    pub params: ModelParams,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RequestItem {
    User { text: Arc<str> },
    Assistant { text: Arc<str>, reasoning: Option<ReplayedReasoning>, calls: Vec<RequestedCall> },
    ToolResult { id: String, name: String, output: String, is_error: bool },
}

/// Reasoning that goes back to the Provider and model that made it, with its state.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayedReasoning {
    pub text: String,
    pub opaque: crate::vocabulary::Opaque,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedCall {
    pub id: String,
    pub name: String,
    /// A JSON object as text, byte for byte what the model wrote where that was whole.
    pub arguments: String,
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

impl fmt::Debug for dyn Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider").field("id", &self.id()).field("name", &self.name()).finish()
    }
}
