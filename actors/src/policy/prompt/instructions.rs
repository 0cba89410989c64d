//! The NPC's own instructions, as its maker wrote them.

use super::{Place, Section};
use crate::vocabulary::Npc;

pub fn section(npc: &Npc) -> Option<Section> {
    let text = npc.instructions.trim();
    (!text.is_empty()).then(|| Section { place: Place::Instructions, text: format!("# Instructions\n{text}") })
}
