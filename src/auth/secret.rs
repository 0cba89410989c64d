//! Random credentials: 32 bytes, shown once as text, kept as SHA-256. A fast hash is enough, because nobody can guess
//! 256 random bits.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

/// What API tokens begin with, so that secret scanners and people know one when they see it.
const TOKEN_PREFIX: &str = "hamlet_";

/// The machine gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes: {0}")]
pub struct NoRandomness(#[from] getrandom::Error);

/// 32 random bytes. Its `Debug` is silent: it must not reach a log.
pub struct Secret([u8; 32]);

/// SHA-256 of a [`Secret`]: what the store keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretHash(pub [u8; 32]);

impl Secret {
    /// # Errors
    /// When the machine has no source of randomness.
    pub fn generate() -> Result<Self, NoRandomness> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// Reads what [`Secret::text`] wrote; anything else is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        match URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) {
            Ok(32) => Some(Self(bytes)),
            Ok(_) | Err(_) => None,
        }
    }

    /// Reads an API token.
    pub fn parse_token(text: &str) -> Option<Self> {
        text.strip_prefix(TOKEN_PREFIX).and_then(Self::parse)
    }

    /// 43 characters that need no escaping in a cookie or a URL.
    pub fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    pub fn token_text(&self) -> String {
        format!("{TOKEN_PREFIX}{}", self.text())
    }

    pub fn hash(&self) -> SecretHash {
        SecretHash(Sha256::digest(self.0).into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_reads_back_from_its_text_and_from_nothing_else() {
        let secret = Secret::generate().unwrap();
        let text = secret.text();
        assert_eq!(Secret::parse(&text).unwrap().hash(), secret.hash());
        assert_eq!(Secret::parse_token(&secret.token_text()).unwrap().hash(), secret.hash());
        for other in ["", "short", &text[1..], &format!("{text}A"), &secret.token_text(), "é"] {
            assert!(Secret::parse(other).is_none(), "{other}");
        }
        assert!(Secret::parse_token(&text).is_none());
    }

    #[test]
    fn a_secret_is_silent_in_a_log_and_its_hash_is_not_it() {
        let secret = Secret::generate().unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert_ne!(secret.hash().0, secret.0);
    }
}
