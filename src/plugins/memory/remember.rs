//! `remember`: writes something down.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use hamlet_actors::{
    ports::{
        Clock, Invocation, Memory, Tool, ToolOutcome, ToolSpec,
        memory::{NewMemory, Remembered, TEXT_LIMIT, Writer},
    },
    vocabulary::MemoryId,
};
use serde_json::json;

use super::{ending, failed, text, whose};
use crate::village::text::prose;

pub const KEY: &str = "remember";

pub struct Remember {
    memory: Arc<dyn Memory>,
    clock: Arc<dyn Clock>,
    spec: ToolSpec,
}

impl Remember {
    pub fn new(memory: Arc<dyn Memory>, clock: Arc<dyn Clock>) -> Self {
        let spec = ToolSpec {
            name: KEY.to_owned(),
            description: "Writes down one lasting fact about the person you talk with, so that you know it in later \
                          conversations: a preference, a plan, something about their life. One fact a call, as a whole \
                          sentence that is understood without this conversation. Not for what matters only now, and never \
                          for passwords or other secrets."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "text": {
                        "type": "string",
                        "description": "The fact, for example: Pia is allergic to nuts.",
                        "minLength": 1,
                        "maxLength": TEXT_LIMIT,
                    },
                },
                "required": ["text"],
                "additionalProperties": false,
            }),
        };
        Self { memory, clock, spec }
    }
}

impl Tool for Remember {
    fn key(&self) -> &str {
        KEY
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, call: Invocation) -> BoxFuture<'static, ToolOutcome> {
        let said = text(&call.arguments, "text").to_owned();
        if said.is_empty() {
            return Box::pin(async { ToolOutcome::error("not remembered: the text is blank") });
        }
        if let Err(invalid) = prose("text", &said, TEXT_LIMIT) {
            return Box::pin(async move { ToolOutcome::error(format!("not remembered: {invalid}")) });
        }
        let kept = self.memory.remember(NewMemory {
            id: MemoryId::generate(),
            whose: whose(&call.scene),
            text: said,
            writer: Writer::Npc,
            conversation: Some(call.scene.conversation),
            at: self.clock.now(),
        });
        Box::pin(async move {
            match kept.await {
                Ok(Remembered::New(memory)) => ToolOutcome::text(format!("Remembered as [{}].", ending(memory.id))),
                Ok(Remembered::Again(memory)) => ToolOutcome::text(format!(
                    "You knew that already, as [{}]: its date is now today's.",
                    ending(memory.id)
                )),
                Err(error) => failed("not remembered", &error),
            }
        })
    }
}
