//! Who else is in the Party. A roster is paid for on every turn, so descriptions are cut to a sentence.

use unicode_segmentation::UnicodeSegmentation;

use super::{Place, Section};
pub use crate::policy::passing::Passing;
use crate::vocabulary::{Npc, NpcId};

/// User-perceived characters of a description at most.
const DESCRIPTION_LIMIT: usize = 160;

/// `hand_over` is the name of the tool that passes the turn on, when the speaker has it.
pub fn section(party: &[Npc], speaker: NpcId, passing: Passing, hand_over: Option<&str>) -> Option<Section> {
    if party.len() < 2 {
        return None;
    }
    let mut text =
        "# Who else is here\nEach answers in their own name; yours is never written before your words.".to_owned();
    for npc in party.iter().filter(|npc| npc.id != speaker) {
        text.push_str(&format!("\n- {}", npc.name));
        if !npc.job_title.trim().is_empty() {
            text.push_str(&format!(" ({})", npc.job_title.trim()));
        }
        let description = first_sentence(&npc.description);
        if !description.is_empty() {
            text.push_str(&format!(": {description}"));
        }
    }
    if let Some(tool) = hand_over {
        text.push('\n');
        text.push_str(&advice(passing, tool));
    }
    Some(Section { place: Place::Roster, text })
}

fn advice(Passing { hop, back_and_forth }: Passing, tool: &str) -> String {
    if hop.limit > 0 && hop.count >= hop.limit {
        return "No further hand-over is possible in this turn: bring it to a close yourself, with what is known."
            .to_owned();
    }
    if back_and_forth > 1 {
        return "You two have passed this back and forth: bring it to a close yourself instead of passing it on again."
            .to_owned();
    }
    format!(
        "To let one of them go on, call `{tool}` with their name and what they need to know; your part ends with it."
    )
}

/// The first sentence, or what fits, cut between two user-perceived characters.
pub fn first_sentence(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = line.unicode_sentences().next().unwrap_or_default().trim();
    let mut characters = sentence.graphemes(true);
    let cut: String = characters.by_ref().take(DESCRIPTION_LIMIT).collect();
    if characters.next().is_some() { format!("{}…", cut.trim_end()) } else { cut }
}
