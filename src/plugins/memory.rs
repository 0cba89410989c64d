//! Memory: what an NPC knows of a Player from earlier talks. It is recalled from the Player's words before the NPC could ask
//! for it, and three tools write it down, look it up and strike it out. An NPC that was not granted `recall` is told
//! nothing of its own accord either: the grant is the switch.

mod forget;
mod recall;
mod remember;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use hamlet_actors::{
    capability::{Capability, CapabilityError, Contribution, Offer, Scene},
    policy::{prompt::memory, recall::RecallLimits},
    ports::{
        Clock, Memory, Tool,
        memory::{MemoryError, Whose},
    },
    vocabulary::{MemoryId, Recollection},
};
use serde_json::Value;

use forget::Forget;
use recall::Recall;
use remember::Remember;

/// Hexadecimal digits of an id that a model is shown: enough to tell a few thousand apart, short enough to be copied.
const SHOWN_DIGITS: usize = 8;

/// The capability.
pub struct Remembering {
    memory: Arc<dyn Memory>,
    clock: Arc<dyn Clock>,
}

impl Remembering {
    pub fn new(memory: Arc<dyn Memory>, clock: Arc<dyn Clock>) -> Self {
        Self { memory, clock }
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let (memory, clock) = (&self.memory, &self.clock);
        vec![
            Arc::new(Remember::new(Arc::clone(memory), Arc::clone(clock))),
            Arc::new(Recall::new(Arc::clone(memory), Arc::clone(clock))),
            Arc::new(Forget::new(Arc::clone(memory), Arc::clone(clock))),
        ]
    }
}

impl Capability for Remembering {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn catalog(&self) -> Vec<Offer> {
        self.tools().iter().map(|tool| Offer { key: tool.key().to_owned(), spec: tool.spec().clone() }).collect()
    }

    fn gather(&self, scene: Arc<Scene>) -> BoxFuture<'static, Result<Contribution, CapabilityError>> {
        let (memory, now, tools) = (Arc::clone(&self.memory), self.clock.now(), self.tools());
        Box::pin(async move {
            let mut contribution = Contribution { tools, ..Contribution::default() };
            if scene.grants.iter().any(|grant| grant.tool == recall::KEY) {
                let asked = memory.recall(whose(&scene), Arc::clone(&scene.question), RecallLimits::default(), now);
                let found = asked.await.map_err(|error| CapabilityError(error.to_string()))?;
                contribution.sections.extend(memory::section(&scene.player_name, &found));
            }
            Ok(contribution)
        })
    }
}

fn whose(scene: &Scene) -> Whose {
    Whose { player: scene.player, npc: scene.npc.id }
}

fn text<'a>(arguments: &'a serde_json::Map<String, Value>, field: &str) -> &'a str {
    arguments.get(field).and_then(Value::as_str).map(str::trim).unwrap_or_default()
}

/// The end of an id, under which a memory is shown and forgotten. The beginning is the time, and alike for many.
fn ending(id: MemoryId) -> String {
    let digits = id.0.simple().to_string();
    digits[digits.len() - SHOWN_DIGITS..].to_owned()
}

/// One memory a line, with its id and its day.
fn listed(found: &[Recollection]) -> String {
    let line = |recollection: &Recollection| {
        let day: String = recollection.updated_at.to_string().chars().take(10).collect();
        let said = recollection.text.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("[{}] ({day}) {said}", ending(recollection.id))
    };
    found.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What the model is told when memory itself fails.
fn failed(deed: &str, error: &MemoryError) -> hamlet_actors::ports::ToolOutcome {
    let advice = match error {
        MemoryError::Full => "forget something that no longer matters first",
        MemoryError::Unavailable(_) => "go on without it, and try again later",
    };
    hamlet_actors::ports::ToolOutcome::error(format!("{deed}: {error}; {advice}"))
}

#[cfg(test)]
mod tests;
