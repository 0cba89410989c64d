//! What a turn hands to its Conversation: content without a place yet.

use super::{Opaque, Part};

/// A piece of a reply as decoded from the Provider. The Conversation gives it its index among the Parts.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    Text(String),
    Reasoning(String),
    /// A call that opened, or became whole. The same id again replaces what was known of it.
    Call(CallDelta),
    /// State that belongs to the Part before it.
    Opaque(Opaque),
    /// Any other whole Part, placed behind what is there.
    Part(Part),
}

impl Delta {
    /// What it holds in memory, about.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::Reasoning(text) => text.len(),
            Self::Call(call) => call.arguments.len() + 64,
            Self::Opaque(_) | Self::Part(_) => 256,
        }
    }
}

/// A tool call as the stream gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDelta {
    pub id: String,
    pub name: String,
    /// The raw text of the arguments, joined; `"{}"` for a call whose arguments were empty.
    pub arguments: String,
    /// False while the call is still streaming.
    pub closed: bool,
}

/// Joins neighbouring pieces of text (and of reasoning), so that a burst of tokens costs one row and one frame.
pub fn merge(into: &mut Vec<Delta>, more: impl IntoIterator<Item = Delta>) {
    for delta in more {
        match (into.last_mut(), delta) {
            (Some(Delta::Text(text)), Delta::Text(next)) | (Some(Delta::Reasoning(text)), Delta::Reasoning(next)) => {
                text.push_str(&next);
            }
            (_, delta) => into.push(delta),
        }
    }
}
