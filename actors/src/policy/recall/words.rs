//! A text as what an index is asked for.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

/// Terms of one question at most: each costs the index a look-up.
pub const TERMS_LIMIT: usize = 32;
/// Characters of a question that are read, from its beginning; what a Player wants to know is not behind these.
const READ_LIMIT: usize = 16_000;
/// Characters of a term: what is longer is no word that somebody says twice.
const TERM_LIMIT: usize = 64;

/// The words of a text in lower case, in their order. `file:name.txt` is three of them, as it is for an index.
pub fn normalised(text: &str) -> impl Iterator<Item = String> {
    text.unicode_words()
        .flat_map(|word| word.split(|char: char| char.is_ascii_punctuation() && char != '\''))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// What says the same has the same key: in lower case, with single spaces and without the full stop. Other signs stay, since
/// -5 is not 5.
pub fn key(text: &str) -> String {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let said = words.join(" ");
    let bare = said.trim_end_matches(['.', '!', '。', ' ']);
    if bare.is_empty() { said } else { bare.to_owned() }
}

/// What to look for: distinct words, the longest where there are too many, since those are the rarest.
pub fn terms(question: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut terms: Vec<String> = normalised(beginning(question))
        .filter(|word| word.chars().count() <= TERM_LIMIT && seen.insert(word.clone()))
        .collect();
    terms.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    terms.truncate(TERMS_LIMIT);
    terms
}

/// Neighbouring characters of scripts that put no space between words: an index of words finds nothing in them.
pub fn pairs(text: &str) -> HashSet<(char, char)> {
    let chars: Vec<char> = beginning(text).chars().collect();
    chars
        .windows(2)
        .filter(|pair| pair.iter().copied().all(unspaced))
        .map(|pair| (pair[0], pair[1]))
        .take(TERMS_LIMIT * 8)
        .collect()
}

/// Thai to Khmer, kana, and the ideographs.
fn unspaced(char: char) -> bool {
    matches!(char,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3005}'..='\u{30FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

fn beginning(text: &str) -> &str {
    text.char_indices().nth(READ_LIMIT).map_or(text, |(at, _)| &text[..at])
}
