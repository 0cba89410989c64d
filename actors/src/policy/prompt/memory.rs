//! What the NPC remembers of this Player and what was just asked, found before it asks for it.

use super::{Place, Section};
use crate::vocabulary::Recollection;

/// The best first, as they were found.
pub fn section(player: &str, recollections: &[Recollection]) -> Option<Section> {
    if recollections.is_empty() {
        return None;
    }
    let mut text = format!("# What you remember\nFrom earlier talks with {player}:");
    for Recollection { text: remembered, updated_at, .. } in recollections {
        let day = updated_at.to_string().chars().take(10).collect::<String>();
        let remembered = remembered.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!("\n- ({day}) {remembered}"));
    }
    Some(Section { place: Place::Memory, text })
}
