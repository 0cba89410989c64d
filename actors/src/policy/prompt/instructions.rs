//! The NPC's own instructions, as its maker wrote them.

use super::{Scene, Section};

pub fn section(scene: Scene<'_>) -> Option<Section> {
    let text = scene.npc.instructions.trim();
    (!text.is_empty()).then(|| Section { name: "instructions", text: format!("# Instructions\n{text}") })
}
