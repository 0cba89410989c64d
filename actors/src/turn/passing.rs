//! Finds out who goes on in a turn, and with what: Party, settings and keys may be others by now than when it began.

use std::sync::Arc;

use super::{Planned, Task, TurnPlan, Unanswered, plan};
use crate::{conversation::event::Pass, ports::Handoff, vocabulary::MessageId};

/// The wish to pass the turn, with whoever can answer then, or why that one can't.
pub async fn passed(task: &Task, call: Option<String>, handoff: Handoff) -> (Pass, Option<Box<TurnPlan>>) {
    let Handoff { to, message } = handoff;
    let topic = if message.is_empty() { Arc::clone(&task.site.plan.topic) } else { message.as_str().into() };
    let text = Unanswered {
        conversation: task.site.conversation,
        author: task.site.plan.player.clone(),
        text: topic,
        to: Some(to),
    };
    let (cast, plan) = match plan(Arc::clone(&task.site.ports.world.planner), text).await {
        Ok(Planned { cast, plan }) => (Ok(cast), Some(Box::new(plan))),
        Err(error) => (Err(error), None),
    };
    let known = task.site.plan.party.iter().find(|npc| npc.id == to);
    let to_name = known.map_or_else(|| to.to_string(), |npc| npc.name.clone());
    (Pass { call, to, to_name, message, reply: MessageId::generate(), cast }, plan)
}
