//! A reply that echoes its own label ("[Ada]: ...") is stripped of it: in a Party models copy the form in which they are
//! told who said what. Only the very beginning is held back, and only while it may still become the label.

/// What is known of the beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Echo {
    /// The forms in which the speaker's own name may lead, in lower case.
    labels: Vec<String>,
    held: String,
    over: bool,
}

impl Echo {
    pub fn of(name: &str) -> Self {
        let name = name.trim().to_lowercase();
        let labels = [format!("[{name}]:"), format!("**{name}:**"), format!("**{name}**:"), format!("{name}:")];
        Self { labels: labels.to_vec(), held: String::new(), over: name.is_empty() }
    }

    /// Nothing is looked for.
    pub fn none() -> Self {
        Self { labels: Vec::new(), held: String::new(), over: true }
    }

    /// What of the text may be shown now.
    pub fn push(&mut self, text: String) -> String {
        if self.over {
            return text;
        }
        self.held.push_str(&text);
        let begun = self.held.trim_start().to_lowercase();
        if let Some(label) = self.labels.iter().find(|label| begun.starts_with(label.as_str())) {
            // Blanks behind the label are held until there is something to show.
            let rest = behind(&self.held, label).trim_start();
            if rest.is_empty() {
                return String::new();
            }
            let rest = rest.to_owned();
            self.over = true;
            self.held.clear();
            return rest;
        }
        if self.labels.iter().any(|label| label.starts_with(&begun)) {
            return String::new();
        }
        self.finish()
    }

    pub fn is_holding(&self) -> bool {
        !self.over && !self.held.is_empty()
    }

    /// The text is over, or something else follows: what was held is shown, unless it is the label.
    pub fn finish(&mut self) -> String {
        if std::mem::replace(&mut self.over, true) {
            return String::new();
        }
        let held = std::mem::take(&mut self.held);
        let begun = held.trim_start().to_lowercase();
        match self.labels.iter().find(|label| begun.starts_with(label.as_str())) {
            Some(label) => behind(&held, label).trim_start().to_owned(),
            None => held,
        }
    }
}

/// The text behind a label of so many characters. Lower case may have another number of bytes, not of characters, for the
/// letters that names are made of; where it has, the label did not match.
fn behind<'a>(held: &'a str, label: &str) -> &'a str {
    let text = held.trim_start();
    text.char_indices().nth(label.chars().count()).map_or("", |(at, _)| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that is shown, whatever the pieces in which it comes.
    fn check(text: &str, shown: &str) {
        for size in 1..=text.chars().count().max(1) {
            let mut echo = Echo::of("Ada B");
            let mut seen = String::new();
            let characters: Vec<char> = text.chars().collect();
            for piece in characters.chunks(size) {
                seen.push_str(&echo.push(piece.iter().collect()));
            }
            seen.push_str(&echo.finish());
            assert_eq!(seen, shown, "in pieces of {size}");
        }
    }

    #[test]
    fn an_own_label_is_stripped_in_whatever_pieces_it_comes() {
        check("[Ada B]: Hello.", "Hello.");
        check("\n [ada b]:\n\nHello.", "Hello.");
        check("Ada B: Hello.", "Hello.");
        check("**Ada B:** Hello.", "Hello.");
        check("**Ada B**: Hello.", "Hello.");
        check("[Ada B]:", "");
    }

    #[test]
    fn what_only_begins_like_it_is_shown_as_it_is() {
        for text in ["Ada", "Ada Byron: hm", "[Ada C]: hm", " [x]: y", "** bold **", "[Bo]: over to you", ""] {
            check(text, text);
        }
    }

    #[test]
    fn only_the_beginning_counts() {
        check("Well. [Ada B]: no", "Well. [Ada B]: no");
        check("[Ada B]: [Ada B]: twice", "[Ada B]: twice");
    }
}
