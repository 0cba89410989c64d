//! The data folder: what lies where in it, and the lock that keeps a second server out.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// The names inside the folder; a backup has them too.
pub const STORE: &str = "hamlet.db";
pub const KEY: &str = "hamlet.key";
pub const UPLOADS: &str = "uploads";
pub const SKILLS: &str = "skills";
const LOCK: &str = "hamlet.lock";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFolder(PathBuf);

/// Held as long as the server runs; the operating system lets go of it however the process ends.
#[derive(Debug)]
pub struct DataLock(#[expect(dead_code, reason = "held, not read: closing the file lets the lock go")] File);

#[derive(Debug, thiserror::Error)]
pub enum DataFolderError {
    #[error("another Hamlet runs on the data folder {0}; stop it first, or name another folder with --data")]
    InUse(String),
    #[error("the data folder {folder} cannot be used: {why}")]
    Unusable { folder: String, why: io::Error },
}

impl DataFolder {
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn store(&self) -> PathBuf {
        self.0.join(STORE)
    }

    /// The key that seals Provider keys, readable by its owner only.
    pub fn key_file(&self) -> PathBuf {
        self.0.join(KEY)
    }

    pub fn uploads(&self) -> PathBuf {
        self.0.join(UPLOADS)
    }

    /// Skills in their open form, a folder each; the operator's.
    pub fn skills(&self) -> PathBuf {
        self.0.join(SKILLS)
    }

    /// Makes the folder when it is absent, closed to other users of the machine.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn create(&self) -> Result<(), DataFolderError> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.0).map_err(|why| self.unusable(why))
    }

    /// Makes the folder and takes it for this process. Administrative commands don't: they work beside a server.
    ///
    /// # Errors
    /// `InUse` while another process holds it.
    pub fn lock(&self) -> Result<DataLock, DataFolderError> {
        self.create()?;
        let file = File::options().create(true).truncate(false).write(true).open(self.0.join(LOCK));
        let file = file.map_err(|why| self.unusable(why))?;
        match file.try_lock() {
            Ok(()) => Ok(DataLock(file)),
            Err(TryLockError::WouldBlock) => Err(DataFolderError::InUse(self.0.display().to_string())),
            Err(TryLockError::Error(why)) => Err(self.unusable(why)),
        }
    }

    fn unusable(&self, why: io::Error) -> DataFolderError {
        DataFolderError::Unusable { folder: self.0.display().to_string(), why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_server_is_kept_out_until_the_first_has_gone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = DataFolder::new(dir.path().join("new/data"));
        let lock = folder.lock().unwrap();
        assert!(matches!(folder.lock(), Err(DataFolderError::InUse(_))));
        drop(lock);
        folder.lock().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_new_folder_is_closed_to_other_users() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let folder = DataFolder::new(dir.path().join("data"));
        folder.create().unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
