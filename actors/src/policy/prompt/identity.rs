//! Who the NPC is.

use super::{Place, Section};
use crate::vocabulary::Npc;

pub fn section(npc: &Npc) -> Section {
    let mut text = format!("# Who you are\nYou are {}", npc.name);
    if !npc.job_title.trim().is_empty() {
        text.push_str(", ");
        text.push_str(npc.job_title.trim());
    }
    text.push('.');
    if !npc.description.trim().is_empty() {
        text.push('\n');
        text.push_str(npc.description.trim());
    }
    Section { place: Place::Identity, text }
}
