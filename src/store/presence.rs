//! Whether the file that is open is still the one of its name. SQLite goes on writing to a file that was deleted, moved
//! away or replaced: what is said to be stored then would be gone with the process.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::StoreError;

/// Between two looks. Looking costs as much as a small write; the first change after a pause always looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The open file and its log, as they were when they were opened.
#[derive(Debug)]
pub struct Presence {
    files: Vec<(PathBuf, Identity)>,
    looked: Option<Instant>,
    missing: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Presence {
    /// Of a connection that has written already, so that its log is there.
    pub fn of(conn: &Connection, path: &Path) -> Result<Self, StoreError> {
        // SQLite keeps the log beside the file itself, also where the path is a link to it.
        let mut log = conn.path().map_or_else(|| path.as_os_str().to_owned(), Into::into);
        log.push("-wal");
        let files = [path.to_owned(), log.into()].into_iter().map(|file| {
            let identity = Identity::of(&file).map_err(|error| unavailable(&file, &error))?;
            Ok((file, identity))
        });
        Ok(Self { files: files.collect::<Result<_, StoreError>>()?, looked: None, missing: None })
    }

    /// At most so often; in between the last answer stands.
    pub fn check(&mut self) -> Result<(), StoreError> {
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK_EVERY) {
            return self.look();
        }
        match &self.missing {
            Some(missing) => Err(StoreError::Unavailable(missing.clone())),
            None => Ok(()),
        }
    }

    pub fn look(&mut self) -> Result<(), StoreError> {
        self.looked = Some(Instant::now());
        self.missing = self.files.iter().find_map(|(file, identity)| match Identity::of(file) {
            Ok(found) if found == *identity => None,
            Ok(_) => Some(format!("{} is another file than the one that is open", file.display())),
            Err(error) => Some(format!("{} is not there any more: {error}", file.display())),
        });
        match &self.missing {
            Some(missing) => Err(StoreError::Unavailable(missing.clone())),
            None => Ok(()),
        }
    }
}

impl Identity {
    fn of(file: &Path) -> io::Result<Self> {
        let found = fs::metadata(file)?;
        Ok(Self { device: found.dev(), inode: found.ino() })
    }
}

fn unavailable(file: &Path, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("{} can't be looked at: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &Path) -> (Connection, Presence) {
        let path = folder.join("hamlet.db");
        let conn = super::super::connect(&path).unwrap();
        conn.execute_batch("CREATE TABLE t (a)").unwrap();
        let presence = Presence::of(&conn, &path).unwrap();
        (conn, presence)
    }

    #[test]
    fn a_file_that_is_moved_away_is_missed_until_it_is_back() {
        let folder = tempfile::tempdir().unwrap();
        let (path, aside) = (folder.path().join("hamlet.db"), folder.path().join("aside"));
        let (_conn, mut presence) = open(folder.path());
        assert!(presence.look().is_ok());
        fs::rename(&path, &aside).unwrap();
        assert!(presence.look().is_err());
        fs::copy(&aside, &path).unwrap();
        assert!(presence.look().is_err(), "a copy of it is another file");
        fs::rename(&aside, &path).unwrap();
        assert!(presence.look().is_ok());
    }

    #[test]
    fn a_log_that_is_deleted_is_missed_also_where_the_path_is_a_link() {
        let (folder, links) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        drop(open(folder.path()));
        std::os::unix::fs::symlink(folder.path().join("hamlet.db"), links.path().join("hamlet.db")).unwrap();
        let conn = super::super::connect(&links.path().join("hamlet.db")).unwrap();
        conn.execute_batch("CREATE TABLE u (a)").unwrap();
        let mut presence = Presence::of(&conn, &links.path().join("hamlet.db")).unwrap();
        assert!(presence.look().is_ok());
        fs::remove_file(folder.path().join("hamlet.db-wal")).unwrap();
        assert!(presence.look().is_err());
    }
}
