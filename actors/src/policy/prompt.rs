//! The system prompt: sections in a fixed order, each absent when it has nothing to say. One section a file.

pub mod identity;
pub mod instructions;
pub mod memory;
pub mod roster;
pub mod skills;
pub mod summary;
pub mod unreachable;

use serde::{Deserialize, Serialize};

use super::window::CHARS_PER_TOKEN;

/// Characters of one section at most: no capability may push the Conversation out of its own prompt.
pub const SECTION_LIMIT: usize = 24_000;

/// Where a section stands: in this order. Sections of one place stand in the order of their capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// First and unconditional: instructions then elaborate on an identity instead of competing with one, and it is the last
    /// thing that a Provider which trims a prompt would drop.
    Identity,
    Instructions,
    Skills,
    Unreachable,
    Memory,
    Roster,
    Summary,
    Plugins,
}

/// A piece of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub place: Place,
    /// With its own heading. Blank: it has nothing to say.
    pub text: String,
}

/// The sections that have something to say, in their order, none longer than [`SECTION_LIMIT`]; the maker's own
/// instructions were bounded when they were stored.
pub fn ordered(mut sections: Vec<Section>) -> Vec<Section> {
    sections.retain(|section| !section.text.trim().is_empty());
    sections.sort_by_key(|section| section.place);
    for section in &mut sections {
        if section.place > Place::Instructions {
            cut(&mut section.text);
        }
    }
    sections
}

/// The prompt as it is sent.
pub fn assemble(sections: &[Section]) -> String {
    let texts: Vec<&str> = sections.iter().map(|section| section.text.trim_end()).collect();
    texts.join("\n\n")
}

/// As everything is estimated here: four characters a token.
pub fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(CHARS_PER_TOKEN)
}

fn cut(text: &mut String) {
    if let Some((at, _)) = text.char_indices().nth(SECTION_LIMIT) {
        text.truncate(at);
        text.push_str("\n(cut here: there is more than fits)");
    }
}

#[cfg(test)]
mod tests;
