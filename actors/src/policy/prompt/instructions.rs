//! The NPC's own instructions, as its maker wrote them.

use super::Scene;

pub fn section(scene: Scene<'_>) -> Option<String> {
    let text = scene.npc.instructions.trim();
    (!text.is_empty()).then(|| format!("# Instructions\n{text}"))
}
