//! Passwords: argon2id, off the runtime's threads, and never more than two at a time: each takes 19 MiB and tens of
//! milliseconds, so a flood of sign-ins must not become a flood of those.

use std::{sync::Arc, time::Duration};

use argon2::{Argon2, PasswordHasher, PasswordVerifier, password_hash};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;
use unicode_segmentation::UnicodeSegmentation;

pub const SHORTEST: usize = 8;
/// Bytes; beyond this, hashing would be somebody's lever.
pub const LONGEST_BYTES: usize = 1024;

const AT_ONCE: usize = 2;
/// How long a sign-in waits for its place before it is told to come again.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeakPassword {
    #[error("a password has at least {SHORTEST} characters")]
    TooShort,
    #[error("a password has at most {LONGEST_BYTES} bytes")]
    TooLong,
}

#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    #[error("too many passwords are being checked")]
    Busy,
    #[error("a password could not be hashed: {0}")]
    Hash(#[from] password_hash::Error),
    #[error("the hashing task ended early: {0}")]
    Ended(#[from] tokio::task::JoinError),
}

/// A password that may be set. Silent in logs, wiped when dropped.
#[derive(Debug, Clone)]
pub struct Password(SecretString);

impl Password {
    /// # Errors
    /// What is wrong with it.
    pub fn new(text: SecretString) -> Result<Self, WeakPassword> {
        if text.expose_secret().len() > LONGEST_BYTES {
            return Err(WeakPassword::TooLong);
        }
        if text.expose_secret().graphemes(true).count() < SHORTEST {
            return Err(WeakPassword::TooShort);
        }
        Ok(Self(text))
    }

    /// Hashes on this thread: for programs that serve nobody meanwhile.
    ///
    /// # Errors
    /// When the machine has no randomness or memory.
    pub fn hash(&self) -> Result<String, PasswordError> {
        Ok(Argon2::default().hash_password(self.0.expose_secret().as_bytes())?.to_string())
    }
}

/// Hashes and checks passwords, two at a time for the whole server.
#[derive(Debug, Clone)]
pub struct Hasher {
    places: Arc<Semaphore>,
}

impl Default for Hasher {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Hasher {
    /// # Errors
    /// When no place came free, or hashing failed.
    pub async fn hash(&self, password: Password) -> Result<String, PasswordError> {
        self.run(move || password.hash()).await?
    }

    /// Whether this is the password. Without a hash to compare with it takes as long and answers no, so that the time
    /// does not tell which names are there.
    ///
    /// # Errors
    /// When no place came free, or the stored hash can't be read.
    pub async fn verify(&self, given: SecretString, stored: Option<String>) -> Result<bool, PasswordError> {
        if given.expose_secret().len() > LONGEST_BYTES {
            return Ok(false);
        }
        self.run(move || match stored {
            Some(stored) => matches(given.expose_secret(), &stored),
            None => waste(given.expose_secret()),
        })
        .await?
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, PasswordError> {
        let place = tokio::time::timeout(PATIENCE, Arc::clone(&self.places).acquire_owned())
            .await
            .map_err(|_| PasswordError::Busy)?
            .map_err(|_| PasswordError::Busy)?;
        let task = tokio::task::spawn_blocking(move || {
            let value = work();
            // Held until here even when the asker has gone: the work goes on all the same.
            drop(place);
            value
        });
        Ok(task.await?)
    }
}

fn matches(given: &str, stored: &str) -> Result<bool, PasswordError> {
    match Argon2::default().verify_password(given.as_bytes(), stored) {
        Ok(()) => Ok(true),
        Err(password_hash::Error::PasswordInvalid) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The work of a check, for nothing.
fn waste(given: &str) -> Result<bool, PasswordError> {
    Argon2::default().hash_password_with_salt(given.as_bytes(), b"nobody is called")?;
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn password(text: &str) -> Result<Password, WeakPassword> {
        Password::new(text.into())
    }

    #[test]
    fn a_password_has_at_least_eight_characters_and_at_most_1024_bytes() {
        assert_eq!(password("1234567").unwrap_err(), WeakPassword::TooShort);
        assert_eq!(password("éé").unwrap_err(), WeakPassword::TooShort);
        assert!(password("12345678").is_ok());
        assert!(password(&"x".repeat(1024)).is_ok());
        assert_eq!(password(&"x".repeat(1025)).unwrap_err(), WeakPassword::TooLong);
    }

    #[tokio::test]
    async fn only_the_password_itself_is_right() {
        let hasher = Hasher::default();
        let stored = hasher.hash(password("correct horse").unwrap()).await.unwrap();
        assert!(stored.starts_with("$argon2id$"), "{stored}");
        assert!(hasher.verify("correct horse".into(), Some(stored.clone())).await.unwrap());
        assert!(!hasher.verify("correct hors".into(), Some(stored.clone())).await.unwrap());
        assert!(!hasher.verify("x".repeat(5000).into(), Some(stored)).await.unwrap());
        assert!(!hasher.verify("correct horse".into(), None).await.unwrap());
    }

    #[tokio::test]
    async fn a_damaged_hash_is_an_error_and_not_a_wrong_password() {
        let answer = Hasher::default().verify("correct horse".into(), Some("$argon2id$nonsense".to_owned())).await;
        assert!(matches!(answer, Err(PasswordError::Hash(_))), "{answer:?}");
    }

    #[tokio::test]
    async fn two_hashes_run_at_once_and_never_three() {
        use std::sync::{
            Barrier,
            atomic::{AtomicUsize, Ordering},
        };

        let hasher = Hasher::default();
        // Each waits for a second one, so two do run at once; three would be counted.
        let pair = Arc::new(Barrier::new(AT_ONCE));
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..AT_ONCE * 4)
            .map(|_| {
                let (hasher, pair) = (hasher.clone(), Arc::clone(&pair));
                let (running, most) = (Arc::clone(&running), Arc::clone(&most));
                tokio::spawn(async move {
                    let work = move || {
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        pair.wait();
                        running.fetch_sub(1, Ordering::SeqCst);
                    };
                    hasher.run(work).await.is_ok()
                })
            })
            .collect();
        for task in tasks {
            assert!(task.await.unwrap());
        }
        assert_eq!(most.load(Ordering::SeqCst), AT_ONCE);
    }

    #[tokio::test]
    async fn a_place_stays_taken_until_the_work_ends_though_the_asker_has_gone() {
        let hasher = Hasher::default();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let asker = tokio::spawn({
            let hasher = hasher.clone();
            async move { hasher.run(move || held.recv().is_ok()).await.is_ok() }
        });
        while hasher.places.available_permits() == AT_ONCE {
            tokio::task::yield_now().await;
        }
        asker.abort();
        assert!(asker.await.is_err());
        assert_eq!(hasher.places.available_permits(), AT_ONCE - 1);
        drop(release);
        while hasher.places.available_permits() < AT_ONCE {
            tokio::task::yield_now().await;
        }
    }
}
