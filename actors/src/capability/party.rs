//! The Party: who else is there, and the tool that lets another go on.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use serde_json::{Value, json};

use super::{Capability, CapabilityError, Contribution, Offer, Scene};
use crate::{
    policy::{prompt::roster, speaker::named},
    ports::{Handoff, Invocation, Tool, ToolOutcome, ToolSpec},
};

/// The key, and the name, of the tool that hands over.
pub const MESSAGE_NPC: &str = "message_npc";

/// Characters of a hand-over's message at most.
const MESSAGE_LIMIT: usize = 16_000;

#[derive(Debug, Default)]
pub struct Party;

impl Capability for Party {
    fn name(&self) -> &'static str {
        "party"
    }

    fn catalog(&self) -> Vec<Offer> {
        vec![Offer { key: MESSAGE_NPC.to_owned(), spec: spec(&[]) }]
    }

    fn gather(&self, scene: Arc<Scene>) -> BoxFuture<'static, Result<Contribution, CapabilityError>> {
        Box::pin(ready(Ok(contribution(&scene))))
    }
}

fn contribution(scene: &Scene) -> Contribution {
    if !scene.in_party() {
        return Contribution::default();
    }
    let granted = scene.grants.iter().any(|grant| grant.tool == MESSAGE_NPC);
    let section = roster::section(&scene.party, scene.npc.id, scene.passing, granted.then_some(MESSAGE_NPC));
    Contribution {
        sections: section.into_iter().collect(),
        tools: vec![Arc::new(MessageNpc::among(scene))],
        unreachable: Vec::new(),
    }
}

/// Lets another NPC of the Party go on.
#[derive(Debug)]
struct MessageNpc {
    spec: ToolSpec,
}

impl MessageNpc {
    fn among(scene: &Scene) -> Self {
        let names: Vec<Value> = scene
            .party
            .iter()
            .filter(|npc| npc.id != scene.npc.id)
            .map(|npc| Value::String(npc.name.clone()))
            .collect();
        Self { spec: spec(&names) }
    }
}

/// As it is when these may be named; anybody, while nobody is known.
fn spec(names: &[Value]) -> ToolSpec {
    let mut npc = json!({"type": "string", "description": "Who goes on."});
    if !names.is_empty() {
        npc["enum"] = names.into();
    }
    ToolSpec {
        name: MESSAGE_NPC.to_owned(),
        description:
            "Hands the conversation over to another participant, who answers next. Your own part ends with it."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "npc": npc,
                "message": {
                    "type": "string",
                    "description": "What they need to know and are to do.",
                    "minLength": 1,
                    "maxLength": MESSAGE_LIMIT,
                },
            },
            "required": ["npc", "message"],
            "additionalProperties": false,
        }),
    }
}

impl Tool for MessageNpc {
    fn key(&self) -> &str {
        MESSAGE_NPC
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, call: Invocation) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(ready(hand_over(&call)))
    }
}

fn hand_over(call: &Invocation) -> ToolOutcome {
    let text = |field: &str| call.arguments.get(field).and_then(Value::as_str).map(str::trim).unwrap_or_default();
    let scene = &call.scene;
    let (asked, message) = (text("npc"), text("message"));
    if message.is_empty() {
        return ToolOutcome::error("not handed over: the message is blank");
    }
    match named(&scene.party, asked) {
        Some(npc) if npc.id == scene.npc.id => {
            ToolOutcome::error("not handed over: that is yourself; answer in your own words instead")
        }
        Some(npc) => ToolOutcome::HandOver(Handoff { to: npc.id, message: message.to_owned() }),
        None => {
            let here: Vec<&str> =
                scene.party.iter().filter(|npc| npc.id != scene.npc.id).map(|npc| npc.name.as_str()).collect();
            ToolOutcome::error(format!(
                "not handed over: nobody here is called {asked:?}; here are {}",
                here.join(", ")
            ))
        }
    }
}
