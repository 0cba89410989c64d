//! Seals the secrets that the store keeps, so that its file alone gives none away. A value is bound to the id of its row
//! and opens nowhere else. The key comes from HAMLET_SECRET or from a private file beside the store; the vault knows
//! neither what it seals nor where that is kept.

use std::{
    fmt, fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use argon2::Argon2;
use chacha20poly1305::{
    Key, KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use secrecy::{ExposeSecret, SecretString};

/// The key file's name in the data folder.
pub const KEY_FILE: &str = "hamlet.key";
/// Characters that HAMLET_SECRET has at least.
pub const SECRET_MIN: usize = 16;

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
/// First byte of every sealed value: another one means another format.
const FORMAT: u8 = 1;
/// Fixed, because the same text must give the same key on every machine that a backup is brought to.
const DERIVATION_SALT: &[u8] = b"hamlet: sealing key, version 1";

/// Seals and opens with one key (XChaCha20-Poly1305, a random nonce a value).
pub struct Vault {
    cipher: XChaCha20Poly1305,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Vault")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("HAMLET_SECRET has {0} characters and needs at least {SECRET_MIN}")]
    ShortSecret(usize),
    #[error("HAMLET_SECRET gives no key: {0}")]
    Derivation(argon2::Error),
    #[error("{} can be read by others (mode {mode:03o}), and so can every key sealed with it; make it private: chmod 600 {}", path.display(), path.display())]
    Exposed { path: PathBuf, mode: u32 },
    #[error("{} is no key file of Hamlet: it has {bytes} bytes instead of {KEY_BYTES}; bring it back from a backup", path.display())]
    NotAKey { path: PathBuf, bytes: usize },
    #[error("the key file {} cannot be used: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the system gives no random bytes: {0}")]
    NoRandomness(getrandom::Error),
    #[error("the value is too long to be sealed")]
    TooLong,
    /// Sealed with another key, for another row, or changed since.
    #[error("the sealed value does not open with this key")]
    Unopenable,
}

impl Vault {
    pub fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self { cipher: XChaCha20Poly1305::new(&Key::from(*key)) }
    }

    /// A key from a text. A text that a person made up can be guessed, and whoever holds the store's file can try without
    /// end: argon2id makes each guess cost 19 MiB and some ten milliseconds, which a plain hash would not.
    ///
    /// # Errors
    /// A text of fewer than [`SECRET_MIN`] characters.
    pub fn from_secret(secret: &SecretString) -> Result<Self, VaultError> {
        let text = secret.expose_secret();
        let length = text.chars().count();
        if length < SECRET_MIN {
            return Err(VaultError::ShortSecret(length));
        }
        let mut key = [0; KEY_BYTES];
        Argon2::default()
            .hash_password_into(text.as_bytes(), DERIVATION_SALT, &mut key)
            .map_err(VaultError::Derivation)?;
        Ok(Self::new(&key))
    }

    /// The key of `hamlet.key` in the data folder, which is made when it is not there. Blocks; called once, at start, by
    /// the only process that uses the folder.
    ///
    /// # Errors
    /// A file that others can read, that has another length, or that can't be read or written.
    pub fn from_data_folder(folder: &Path) -> Result<Self, VaultError> {
        let path = folder.join(KEY_FILE);
        let at = |source| VaultError::File { path: path.clone(), source };
        match fs::symlink_metadata(&path) {
            Ok(_) => Ok(Self::new(&read_key(&path)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut key = [0; KEY_BYTES];
                getrandom::fill(&mut key).map_err(VaultError::NoRandomness)?;
                write_key(folder, &path, &key).map_err(at)?;
                Ok(Self::new(&key))
            }
            Err(error) => Err(at(error)),
        }
    }

    /// The secret, sealed for the row `id`: the format's byte, the nonce, the sealed text with its tag.
    ///
    /// # Errors
    /// When the system gives no random bytes, or for texts of gigabytes.
    pub fn seal(&self, id: &[u8], secret: &SecretString) -> Result<Vec<u8>, VaultError> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(VaultError::NoRandomness)?;
        let payload = Payload { msg: secret.expose_secret().as_bytes(), aad: id };
        let text = self.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| VaultError::TooLong)?;
        let mut sealed = Vec::with_capacity(1 + NONCE_BYTES + text.len());
        sealed.push(FORMAT);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&text);
        Ok(sealed)
    }

    /// What [`Vault::seal`] sealed for the same `id`.
    ///
    /// # Errors
    /// [`VaultError::Unopenable`] for everything else.
    pub fn open(&self, id: &[u8], sealed: &[u8]) -> Result<SecretString, VaultError> {
        let rest = sealed.strip_prefix(&[FORMAT]).ok_or(VaultError::Unopenable)?;
        let (nonce, text) = rest.split_first_chunk::<NONCE_BYTES>().ok_or(VaultError::Unopenable)?;
        let opened = self
            .cipher
            .decrypt(&XNonce::from(*nonce), Payload { msg: text, aad: id })
            .map_err(|_| VaultError::Unopenable)?;
        String::from_utf8(opened).map(SecretString::from).map_err(|_| VaultError::Unopenable)
    }
}

fn read_key(path: &Path) -> Result<[u8; KEY_BYTES], VaultError> {
    let at = |source| VaultError::File { path: path.to_owned(), source };
    refuse_exposed(path, &fs::metadata(path).map_err(at)?)?;
    let bytes = fs::read(path).map_err(at)?;
    bytes.as_slice().try_into().map_err(|_| VaultError::NotAKey { path: path.to_owned(), bytes: bytes.len() })
}

#[cfg(unix)]
fn refuse_exposed(path: &Path, metadata: &fs::Metadata) -> Result<(), VaultError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(VaultError::Exposed { path: path.to_owned(), mode }) }
}

/// Other systems keep a data folder private by the folder's own access list.
#[cfg(not(unix))]
fn refuse_exposed(_path: &Path, _metadata: &fs::Metadata) -> Result<(), VaultError> {
    Ok(())
}

/// A crash at any instant leaves either no key file or a whole one: nothing is sealed before the name is on the disk.
fn write_key(folder: &Path, path: &Path, key: &[u8; KEY_BYTES]) -> io::Result<()> {
    let draft = folder.join(format!("{KEY_FILE}.new"));
    if draft.exists() {
        fs::remove_file(&draft)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&draft)?;
    file.write_all(key)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    #[cfg(unix)]
    fs::File::open(folder)?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SecretString {
        SecretString::from(text)
    }

    fn opened(vault: &Vault, id: &[u8], sealed: &[u8]) -> Option<String> {
        vault.open(id, sealed).ok().map(|secret| secret.expose_secret().to_owned())
    }

    #[test]
    fn what_was_sealed_for_a_row_opens_for_that_row_only() {
        let vault = Vault::new(&[7; 32]);
        let sealed = vault.seal(b"row a", &secret("sk-näïve")).unwrap();
        assert_eq!(opened(&vault, b"row a", &sealed).as_deref(), Some("sk-näïve"));
        assert_eq!(opened(&vault, b"row b", &sealed), None);
    }

    #[test]
    fn a_sealed_value_shows_nothing_of_the_secret_and_differs_each_time() {
        let vault = Vault::new(&[7; 32]);
        let (one, two) =
            (vault.seal(b"a", &secret("sk-secret")).unwrap(), vault.seal(b"a", &secret("sk-secret")).unwrap());
        assert_ne!(one, two);
        assert!(!one.windows(9).any(|window| window == b"sk-secret"));
    }

    #[test]
    fn another_key_opens_nothing_and_says_so() {
        let sealed = Vault::new(&[7; 32]).seal(b"a", &secret("sk")).unwrap();
        let error = Vault::new(&[8; 32]).open(b"a", &sealed).unwrap_err();
        assert!(matches!(error, VaultError::Unopenable), "{error}");
    }

    #[test]
    fn a_value_that_was_cut_or_changed_anywhere_does_not_open() {
        let vault = Vault::new(&[7; 32]);
        let sealed = vault.seal(b"a", &secret("sk")).unwrap();
        for length in 0..sealed.len() {
            assert_eq!(opened(&vault, b"a", &sealed[..length]), None, "cut to {length}");
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(opened(&vault, b"a", &changed), None, "changed at {at}");
        }
    }

    #[test]
    fn the_same_text_gives_the_same_key_and_another_text_another() {
        let (one, again) = (secret("a text of the operator"), secret("a text of the operator"));
        let sealed = Vault::from_secret(&one).unwrap().seal(b"a", &secret("sk")).unwrap();
        assert_eq!(opened(&Vault::from_secret(&again).unwrap(), b"a", &sealed).as_deref(), Some("sk"));
        let other = Vault::from_secret(&secret("a text of the operatos")).unwrap();
        assert_eq!(opened(&other, b"a", &sealed), None);
    }

    #[test]
    fn a_short_text_is_refused_without_being_shown() {
        let error = Vault::from_secret(&secret("fifteen letters")).unwrap_err().to_string();
        assert_eq!(error, "HAMLET_SECRET has 15 characters and needs at least 16");
    }

    #[test]
    fn the_key_file_is_made_once_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("hamlet.key.new"), "left by a crash").unwrap();
        let sealed = Vault::from_data_folder(folder.path()).unwrap().seal(b"a", &secret("sk")).unwrap();
        let again = Vault::from_data_folder(folder.path()).unwrap();
        assert_eq!(opened(&again, b"a", &sealed).as_deref(), Some("sk"));
        assert!(!folder.path().join("hamlet.key.new").exists());
    }

    #[test]
    fn a_file_of_another_length_is_no_key_and_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        Vault::from_data_folder(folder.path()).unwrap();
        let path = folder.path().join(KEY_FILE);
        fs::write(&path, "short").unwrap();
        let error = Vault::from_data_folder(folder.path()).unwrap_err();
        assert!(matches!(error, VaultError::NotAKey { bytes: 5, .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"short");
    }

    #[cfg(unix)]
    #[test]
    fn the_key_file_is_private_and_refused_when_it_no_longer_is() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        Vault::from_data_folder(folder.path()).unwrap();
        let path = folder.path().join(KEY_FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = Vault::from_data_folder(folder.path()).unwrap_err().to_string();
        assert!(error.contains("can be read by others (mode 640)") && error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn neither_a_vault_nor_its_errors_print_a_key() {
        let vault = Vault::new(&[7; 32]);
        assert_eq!(format!("{vault:?}"), "Vault");
        let error = vault.open(b"a", b"sk-secret").unwrap_err();
        assert_eq!(format!("{error:?} {error}"), "Unopenable the sealed value does not open with this key");
    }
}
