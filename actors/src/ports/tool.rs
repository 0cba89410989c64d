//! A tool that an NPC may be granted. The engine decides whether and when a call runs, bounds its time and what of its
//! answer is kept, and stores both; a tool knows its own work only.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::ToolSpec;
use crate::{
    capability::Scene,
    vocabulary::{MessageId, NpcId, TurnId},
};

pub trait Tool: Send + Sync + 'static {
    /// What a [`Grant`](crate::vocabulary::Grant) names it by; the same after every restart.
    fn key(&self) -> &str;

    /// As the model is told of it. A name that a Provider would not take is mapped to one that it takes, and back.
    fn spec(&self) -> &ToolSpec;

    /// Runs one call, whose arguments fit the schema. Dropping the future stops the call; an error is an answer that the
    /// model sees.
    fn call(&self, call: Invocation) -> BoxFuture<'static, ToolOutcome>;
}

/// One call, on its way to its tool.
#[derive(Debug, Clone)]
pub struct Invocation {
    pub scene: Arc<Scene>,
    pub turn: TurnId,
    /// The NPC's Message that the call is part of.
    pub message: MessageId,
    /// Unique in its Message.
    pub call_id: String,
    pub arguments: Map<String, Value>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    Answer(ToolAnswer),
    /// The speaker's part ends, and another NPC of the Party goes on with this.
    HandOver(Handoff),
}

#[derive(Debug, Clone, PartialEq)]
pub struct ToolAnswer {
    /// A JSON string for plain text.
    pub output: Value,
    pub is_error: bool,
    /// Something was left out already.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handoff {
    pub to: NpcId,
    pub message: String,
}

impl ToolOutcome {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Answer(ToolAnswer { output: Value::String(text.into()), is_error: false, truncated: false })
    }

    /// An error that the model sees, in words that help it on.
    pub fn error(text: impl Into<String>) -> Self {
        Self::Answer(ToolAnswer { output: Value::String(text.into()), is_error: true, truncated: false })
    }
}

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.key()).finish()
    }
}
