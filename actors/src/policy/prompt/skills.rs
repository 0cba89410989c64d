//! The skill index: names and descriptions only. What a skill says is loaded when it is needed, and paid for then.

use super::{Place, Section};
use crate::vocabulary::SkillHead;

/// `loader` is the name of the tool that loads one.
pub fn section(skills: &[SkillHead], loader: &str) -> Option<Section> {
    if skills.is_empty() {
        return None;
    }
    let mut text = format!("# Skills\nBefore a task that one of these fits, load its instructions with `{loader}`.");
    for SkillHead { name, description } in skills {
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!("\n- {name}: {description}"));
    }
    Some(Section { place: Place::Skills, text })
}
