//! What a Provider said, made fit to be shown: without the key, should it be echoed, and cut to a length. Every text of
//! a Provider that becomes part of a failure goes through here, in this order.

use secrecy::{ExposeSecret, SecretString};

/// Characters of a Provider's own words that are passed on.
const MAX_CHARS: usize = 500;

/// Shorter keys are placeholders of local servers; cutting them out would only garble words.
const MIN_KEY: usize = 6;

#[derive(Clone, Default)]
pub struct Discretion {
    key: Option<SecretString>,
}

impl Discretion {
    pub fn about(key: Option<SecretString>) -> Self {
        Self { key }
    }

    /// `words` as they may be shown. The key goes first: cutting first could leave the half of it.
    pub fn fit(&self, words: &str) -> String {
        let words = words.trim();
        match self.key.as_ref().map(|key| key.expose_secret().trim()) {
            Some(key) if key.len() >= MIN_KEY && words.contains(key) => cut(&words.replace(key, "[key]")),
            _ => cut(words),
        }
    }
}

impl std::fmt::Debug for Discretion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Discretion")
    }
}

fn cut(words: &str) -> String {
    match words.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words.to_owned(),
    }
}
