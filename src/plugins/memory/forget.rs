//! `forget`: strikes one memory out.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use hamlet_actors::ports::{
    Clock, Invocation, Memory, Tool, ToolOutcome, ToolSpec,
    memory::{Forgotten, Which},
};
use serde_json::json;

use super::{SHOWN_DIGITS, failed, listed, text, whose};

pub const KEY: &str = "forget";

pub struct Forget {
    memory: Arc<dyn Memory>,
    clock: Arc<dyn Clock>,
    spec: ToolSpec,
}

impl Forget {
    pub fn new(memory: Arc<dyn Memory>, clock: Arc<dyn Clock>) -> Self {
        let spec = ToolSpec {
            name: KEY.to_owned(),
            description: "Forgets one memory for good: when the person asks for it, or when it is wrong or no longer so. Name \
                          it by its id, or by words that only this one holds; when several fit, none is forgotten and you \
                          are shown their ids."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "id": {
                        "type": "string",
                        "description": "As in square brackets before the memory, for example: 9f3a01c7.",
                        "minLength": 1,
                        "maxLength": 40,
                    },
                    "query": {
                        "type": "string",
                        "description": "Words that the memory holds, when you have no id.",
                        "minLength": 1,
                        "maxLength": 1_000,
                    },
                },
                "additionalProperties": false,
            }),
        };
        Self { memory, clock, spec }
    }
}

impl Tool for Forget {
    fn key(&self) -> &str {
        KEY
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, call: Invocation) -> BoxFuture<'static, ToolOutcome> {
        let which = match which(text(&call.arguments, "id"), text(&call.arguments, "query")) {
            Ok(which) => which,
            Err(why) => return Box::pin(async move { ToolOutcome::error(format!("nothing forgotten: {why}")) }),
        };
        let gone = self.memory.forget(whose(&call.scene), which, self.clock.now());
        Box::pin(async move {
            match gone.await {
                Ok(Forgotten::One(memory)) => {
                    let said = memory.text.split_whitespace().collect::<Vec<_>>().join(" ");
                    ToolOutcome::text(format!("Forgotten: {said}"))
                }
                Ok(Forgotten::Several(several)) => ToolOutcome::error(format!(
                    "nothing forgotten, since several memories fit; call again with the id of the right one:\n{}",
                    listed(&several)
                )),
                Ok(Forgotten::Nothing) => {
                    ToolOutcome::error("nothing forgotten: no memory fits that; look it up with other words first")
                }
                Err(error) => failed("nothing forgotten", &error),
            }
        })
    }
}

/// Exactly one of the two names a memory. Models copy an id with its brackets, and with hyphens when it is whole.
fn which(id: &str, query: &str) -> Result<Which, &'static str> {
    match (id.is_empty(), query.is_empty()) {
        (true, true) => Err("give the id of a memory, or words that it holds"),
        (false, false) => Err("give either an id or a query, not both"),
        (true, false) => Ok(Which::About(query.into())),
        (false, true) => {
            let digits: String = id.chars().filter(|char| !matches!(char, '[' | ']' | '-')).collect();
            let fits =
                (SHOWN_DIGITS..=32).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            if fits { Ok(Which::Ending(digits)) } else { Err("that is no id of a memory; it has 8 digits from 0 to f") }
        }
    }
}
