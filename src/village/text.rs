//! What a text from outside may hold: how long it is, and that it shows what it is. Line breaks and control characters in
//! a name would forge lines of a prompt, and direction marks let one name look like another.

/// A field that does not fit, in words for the one who sent it. Never holds the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {reason}")]
pub struct Invalid {
    pub field: &'static str,
    pub reason: String,
}

impl Invalid {
    pub fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field, reason: reason.into() }
    }
}

/// One line without the space around it; it may be empty.
pub fn line(field: &'static str, text: &str, max: usize) -> Result<String, Invalid> {
    let text = text.trim();
    within(field, text, max)?;
    if text.chars().any(|char| char.is_control() || deceives(char)) {
        return Err(Invalid::new(field, "holds control characters, line breaks or direction marks"));
    }
    Ok(text.to_owned())
}

/// One line that says something.
pub fn name(field: &'static str, text: &str, max: usize) -> Result<String, Invalid> {
    let text = line(field, text, max)?;
    if text.is_empty() { Err(Invalid::new(field, "is empty")) } else { Ok(text) }
}

/// Any number of lines, kept as they are.
pub fn prose(field: &'static str, text: &str, max: usize) -> Result<(), Invalid> {
    within(field, text, max)?;
    if text.chars().any(|char| char.is_control() && !matches!(char, '\n' | '\r' | '\t')) {
        return Err(Invalid::new(field, "holds control characters"));
    }
    Ok(())
}

/// At most so many items.
pub fn at_most<T>(field: &'static str, items: &[T], max: usize) -> Result<(), Invalid> {
    if items.len() > max { Err(Invalid::new(field, format!("has more than {max} items"))) } else { Ok(()) }
}

fn within(field: &'static str, text: &str, max: usize) -> Result<(), Invalid> {
    if text.chars().count() > max {
        return Err(Invalid::new(field, format!("has more than {max} characters")));
    }
    Ok(())
}

/// Line and paragraph separators, and the marks that turn the direction of what follows.
fn deceives(char: char) -> bool {
    matches!(char, '\u{2028}' | '\u{2029}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_that_says_something() {
        assert_eq!(name("name", "  Ada Ö. 👩‍🍳 ", 80).as_deref(), Ok("Ada Ö. 👩‍🍳"));
        for bad in ["", " ", "\t", "\u{3000}", "A\nB", "A\0", "A\u{7f}", "A\u{85}B", "A\u{2028}B", "\u{202E}adA"] {
            assert!(name("name", bad, 80).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_length_is_counted_in_characters() {
        assert!(line("name", &"ö".repeat(80), 80).is_ok());
        assert_eq!(line("name", &"ö".repeat(81), 80), Err(Invalid::new("name", "has more than 80 characters")));
    }

    #[test]
    fn prose_keeps_its_lines_and_refuses_other_controls() {
        assert!(prose("description", "one\r\n\ttwo ", 20).is_ok());
        assert!(prose("description", "nul \0", 20).is_err());
        assert!(prose("description", "escape \u{1b}[2J", 20).is_err());
    }
}
