//! The rolling summary: what is written of Messages that fall out of the window. A model writes it ahead of need; when none
//! has in time, an extract by rule stands in: who said what, the first sentence of each, those with numbers and names kept
//! longest. Both are bounded, whatever the history's length.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation;

use super::{
    said::{Said, Utterance},
    window::{CHARS_PER_TOKEN, Final, Window},
};

/// Characters of a summary at most.
pub const SUMMARY_LIMIT: usize = 8_000;
/// User-perceived characters of one line of an extract.
const LINE_LIMIT: usize = 200;
/// Stands for lines that were left out.
const GAP: &str = "- (…)";

/// An extract that grows line by line and never beyond its bound.
#[derive(Debug, Clone, Default)]
pub struct Extract {
    /// What an earlier summary said, as it was written.
    before: String,
    lines: Vec<Line>,
    chars: usize,
    left_out: bool,
}

#[derive(Debug, Clone)]
struct Line {
    text: String,
    chars: usize,
    /// How much it tells: numbers and names.
    weight: usize,
}

impl Extract {
    /// Goes on from an earlier summary. One written by a rule is taken apart again; another one stays as it is, up to half of
    /// the bound.
    pub fn after(earlier: Option<&str>) -> Self {
        let mut extract = Self::default();
        let Some(earlier) = earlier.map(str::trim).filter(|text| !text.is_empty()) else { return extract };
        if earlier.lines().all(|line| line.starts_with("- ")) {
            for line in earlier.lines() {
                if line == GAP {
                    extract.left_out = true;
                } else {
                    extract.push_line(line.to_owned());
                }
            }
        } else {
            extract.before = cut(earlier, SUMMARY_LIMIT / 2);
            extract.chars = extract.before.chars().count() + 1;
        }
        extract
    }

    pub fn add(&mut self, said: &Said) {
        let name = &said.author.name;
        for sentence in tellings(said) {
            self.push_line(format!("- {name}: {sentence}"));
        }
    }

    pub fn text(&self) -> String {
        let mut lines: Vec<&str> = Vec::with_capacity(self.lines.len() + 2);
        lines.extend(Some(self.before.as_str()).filter(|before| !before.is_empty()));
        lines.extend(self.left_out.then_some(GAP));
        lines.extend(self.lines.iter().map(|line| line.text.as_str()));
        lines.join("\n")
    }

    fn push_line(&mut self, text: String) {
        let (chars, weight) = (text.chars().count() + 1, weight(&text));
        self.lines.push(Line { text, chars, weight });
        self.chars += chars;
        while self.chars + GAP.len() > SUMMARY_LIMIT && self.lines.len() > 1 {
            self.drop_least();
        }
    }

    /// Of the older half, the line that tells least; of equals the oldest.
    fn drop_least(&mut self) {
        let older = self.lines.len().div_ceil(2);
        let least = (0..older).min_by_key(|&at| (self.lines[at].weight, at)).unwrap_or(0);
        self.chars -= self.lines.remove(least).chars;
        self.left_out = true;
    }
}

/// What a Message comes to: its first sentence, and whom it passed the turn on to.
fn tellings(said: &Said) -> Vec<String> {
    let mut told = Vec::new();
    let line = said.text.split_whitespace().collect::<Vec<_>>().join(" ");
    if !line.is_empty() {
        told.push(cut(first_sentence(&line), LINE_LIMIT));
    }
    for part in said.parts.iter() {
        if let Utterance::HandOver { to, message } = part {
            let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
            told.push(cut(&format!("(to {to}) {line}"), LINE_LIMIT));
        }
    }
    told
}

/// The first sentence that is more than an opening word or two.
fn first_sentence(line: &str) -> &str {
    let mut end = 0;
    for sentence in line.unicode_sentences() {
        end += sentence.len();
        if line[..end].unicode_words().count() > 2 {
            break;
        }
    }
    line[..end.max(line.chars().next().map_or(0, char::len_utf8))].trim_end()
}

fn cut(text: &str, limit: usize) -> String {
    let mut characters = text.graphemes(true);
    let kept: String = characters.by_ref().take(limit).collect();
    if characters.next().is_some() { format!("{}…", kept.trim_end()) } else { kept }
}

/// Words with a digit count most, then those that are written with a capital in mid-sentence.
fn weight(line: &str) -> usize {
    let told = line.split_once(": ").map_or(line, |(_, told)| told);
    told.unicode_words()
        .enumerate()
        .map(|(at, word)| {
            let digit = word.chars().any(char::is_numeric);
            let name = at > 0 && word.chars().next().is_some_and(char::is_uppercase);
            usize::from(digit) * 3 + usize::from(name)
        })
        .sum()
}

/// What should be summarised ahead of need: nothing while the window has room; else the exchanges that would fall off next.
pub fn due(window: &Window, budget_tokens: usize) -> Vec<Arc<Said>> {
    if window.chars() / CHARS_PER_TOKEN < budget_tokens / 8 * 7 {
        return Vec::new();
    }
    let mut ahead = window.clone();
    ahead.cut_down(budget_tokens, 0, Final::Inside)
}

/// What a model is asked for a summary.
pub fn instructions(names: &str) -> String {
    format!(
        "You keep the minutes of a conversation between {names}. Write down what somebody must know who goes on with it: what \
         was decided and promised, open questions, names, numbers, dates, wishes and dislikes, in plain sentences, without \
         an introduction and without comment. Leave out small talk. At most 300 words. Keep what the earlier minutes say \
         unless it was superseded."
    )
}

/// What it is asked about: the earlier summary and what was said since.
pub fn material(earlier: Option<&str>, said: &[Arc<Said>]) -> String {
    let mut text = String::new();
    if let Some(earlier) = earlier {
        text.push_str("Earlier minutes:\n");
        text.push_str(earlier.trim());
        text.push_str("\n\n");
    }
    text.push_str("Said since:");
    for one in said {
        let mut words = one.text.trim().to_owned();
        for part in one.parts.iter() {
            if let Utterance::HandOver { to, message } = part {
                words.push_str(&format!("\n(to {to}) {message}"));
            }
        }
        if !words.is_empty() {
            text.push_str(&format!("\n\n{}: {words}", one.author.name));
        }
    }
    text
}

/// A model's summary within the bound.
pub fn bounded(text: &str) -> String {
    cut(text.trim(), SUMMARY_LIMIT)
}
