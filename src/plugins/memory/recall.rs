//! `recall`: looks something up.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use hamlet_actors::{
    policy::recall::RecallLimits,
    ports::{Clock, Invocation, Memory, Tool, ToolOutcome, ToolSpec},
};
use serde_json::{Value, json};

use super::{failed, listed, text, whose};

pub const KEY: &str = "recall";
const FOUND_LIMIT: u64 = 50;
/// Of all that one call brings.
const TOKENS: usize = 4_000;

pub struct Recall {
    memory: Arc<dyn Memory>,
    clock: Arc<dyn Clock>,
    spec: ToolSpec,
}

impl Recall {
    pub fn new(memory: Arc<dyn Memory>, clock: Arc<dyn Clock>) -> Self {
        let spec = ToolSpec {
            name: KEY.to_owned(),
            description: "Looks up what you remember of the person you talk with, from this and earlier conversations, by \
                          the words in it. What fits their last message is in your instructions already; use this to look \
                          for something else. Each memory comes with its id in square brackets and its date."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "Words that the memory holds, for example: allergy nuts food.",
                        "minLength": 1,
                        "maxLength": 1_000,
                    },
                    "limit": {
                        "type": "integer",
                        "description": "How many to bring, 8 when left out.",
                        "minimum": 1,
                        "maximum": FOUND_LIMIT,
                    },
                },
                "required": ["query"],
                "additionalProperties": false,
            }),
        };
        Self { memory, clock, spec }
    }
}

impl Tool for Recall {
    fn key(&self) -> &str {
        KEY
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, call: Invocation) -> BoxFuture<'static, ToolOutcome> {
        let query: Arc<str> = text(&call.arguments, "query").into();
        let asked = call.arguments.get("limit").and_then(Value::as_u64);
        let memories = asked.map_or(RecallLimits::default().memories, |limit| limit.clamp(1, FOUND_LIMIT) as usize);
        let limits = RecallLimits { memories, tokens: TOKENS };
        let found = self.memory.recall(whose(&call.scene), query, limits, self.clock.now());
        Box::pin(async move {
            match found.await {
                Ok(found) if found.is_empty() => {
                    ToolOutcome::text("Nothing that you remember holds these words. Other words may find it.")
                }
                Ok(found) => ToolOutcome::text(listed(&found)),
                Err(error) => failed("not looked up", &error),
            }
        })
    }
}
