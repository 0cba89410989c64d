//! Who the NPC is. First and unconditional: instructions then elaborate on an identity instead of competing with one.

use super::Scene;

pub fn section(scene: Scene<'_>) -> Option<String> {
    let npc = scene.npc;
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
    Some(text)
}
