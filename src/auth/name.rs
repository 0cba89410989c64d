//! Names of Players and labels of tokens: short, visible, and safe to show beside each other.

use std::fmt;

use unicode_segmentation::UnicodeSegmentation;

/// User-perceived characters at most.
pub const LONGEST: usize = 64;
/// One user-perceived character can carry any number of combining marks; this bounds the whole.
const LONGEST_BYTES: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    #[error("a name needs at least one visible character")]
    Empty,
    #[error("a name has at most {LONGEST} characters")]
    TooLong,
    #[error("a name has no control characters or line breaks")]
    Control,
}

/// A trimmed name of 1 to 64 user-perceived characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayerName(String);

impl PlayerName {
    /// # Errors
    /// What is wrong with the name.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        let name = text.trim();
        if name.is_empty() {
            return Err(InvalidName::Empty);
        }
        if name.chars().any(is_hidden) {
            return Err(InvalidName::Control);
        }
        if name.len() > LONGEST_BYTES || name.graphemes(true).count() > LONGEST {
            return Err(InvalidName::TooLong);
        }
        Ok(Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What makes a name taken: two names never differ by case alone.
    pub fn key(&self) -> String {
        self.0.to_lowercase()
    }
}

impl fmt::Display for PlayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Control characters, and the invisible ones that make one name look like another: breaks, zero width, direction
/// overrides. The zero-width joiner stays: emoji of families are made with it.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, InvalidName>) {
        assert_eq!(PlayerName::new(text).as_ref().map(PlayerName::as_str), expected.as_ref().copied());
    }

    #[test]
    fn a_name_is_trimmed_visible_and_short() {
        check("  Ada Lovelace ", Ok("Ada Lovelace"));
        check(" \t ", Err(InvalidName::Empty));
        check("a\nb", Err(InvalidName::Control));
        check("a\u{202e}b", Err(InvalidName::Control));
        check(&"x".repeat(64), Ok(&"x".repeat(64)));
        check(&"x".repeat(65), Err(InvalidName::TooLong));
        check(&format!("e{}", "\u{301}".repeat(2000)), Err(InvalidName::TooLong));
    }

    #[test]
    fn a_family_emoji_counts_as_one_character() {
        let family = "👨‍👩‍👧‍👦";
        check(&family.repeat(40), Ok(&family.repeat(40)));
        check(&family.repeat(65), Err(InvalidName::TooLong));
    }

    #[test]
    fn names_that_differ_by_case_alone_have_one_key() {
        assert_eq!(PlayerName::new("ÄDA").unwrap().key(), PlayerName::new("äda").unwrap().key());
    }
}
