//! The stored Message and what it is made of.

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use super::{ConversationId, FinishReason, MessageError, MessageId, Part, Timestamp, TurnId, Usage};

/// User-perceived characters that a title takes from the first Message.
pub const TITLE_LIMIT: usize = 80;

/// Bytes of a title at most.
const TITLE_BYTES: usize = 2_048;

/// A Message as readers get it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    pub id: MessageId,
    pub conversation_id: ConversationId,
    pub turn_id: TurnId,
    pub role: Role,
    pub author: Author,
    pub position: i64,
    /// All text Parts joined; what lists, titles and search read.
    pub text: String,
    /// Empty in rows written before Parts existed: such a Message renders from `text`.
    pub parts: Vec<Part>,
    pub status: MessageStatus,
    pub finish_reason: Option<FinishReason>,
    pub usage: Option<Usage>,
    pub error: Option<MessageError>,
    pub hop: Hop,
    /// Earlier replies in this place that were kept when it was made anew, this one included.
    pub variant_count: u32,
    /// What leaves the transcript once this Message has its first Part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Player,
    Npc,
}

/// Who wrote it. The name is as it was then: a later rename leaves the transcript as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Author {
    pub kind: AuthorKind,
    pub id: String,
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthorKind {
    Player,
    Npc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageStatus {
    Queued,
    Running,
    Complete,
    Aborted,
    Interrupted,
    Failed,
    Withdrawn,
    Superseded,
}

impl MessageStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Aborted => "aborted",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Withdrawn => "withdrawn",
            Self::Superseded => "superseded",
        }
    }
}

/// How many hand-overs led to this Message, and how many the turn may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hop {
    pub count: u32,
    pub limit: u32,
}

/// A title from the first words of a Conversation: one line, at most [`TITLE_LIMIT`] user-perceived characters, cut
/// between two of them.
pub fn title_of(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut title = String::new();
    for character in line.graphemes(true).take(TITLE_LIMIT) {
        // One character can be a letter under thousands of marks.
        if title.len() + character.len() > TITLE_BYTES {
            break;
        }
        title.push_str(character);
    }
    title.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::title_of;

    #[test]
    fn a_title_never_ends_inside_a_character() {
        let family = "👨‍👩‍👧‍👦";
        let text = format!("{}{family} and more", "a".repeat(79));
        assert_eq!(title_of(&text), format!("{}{family}", "a".repeat(79)));
        let combining = format!("{}e\u{301}x", "a".repeat(79));
        assert_eq!(title_of(&combining), format!("{}e\u{301}", "a".repeat(79)));
    }

    #[test]
    fn a_title_is_bounded_even_where_one_character_is_not() {
        let heap = format!("ab{}", "c\u{301}".repeat(10) + &"\u{301}".repeat(9_000));
        assert!(title_of(&heap).len() < 100, "{}", title_of(&heap).len());
    }

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(title_of("  What\n\n is  this? "), "What is this?");
    }
}
