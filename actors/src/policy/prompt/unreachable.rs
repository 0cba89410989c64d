//! What the NPC usually has and has not this turn, so that it can say so instead of pretending.

use super::{Place, Section};

pub fn section(names: &[String]) -> Option<Section> {
    if names.is_empty() {
        return None;
    }
    let text = format!(
        "# Not available now\nThese could not be reached, and their tools are missing this time: {}. If the task needs one of \
         them, say so.",
        names.join(", ")
    );
    Some(Section { place: Place::Unreachable, text })
}
