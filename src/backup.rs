//! One file with everything that makes a Village: the store, the key file, the uploads, the skills. Written while the
//! server runs, read back only when it does not.

use std::{
    fs::{self, File},
    io,
    path::{Component, Path, PathBuf},
};

use hamlet_actors::vocabulary::Timestamp;
use tar::{Archive, Builder, EntryType};

use crate::{
    config::{
        DataFolder,
        data_folder::{DataFolderError, KEY, SKILLS, STORE, UPLOADS},
    },
    store::{
        StoreError,
        backup::{Secrets, check, copy},
    },
};

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{0} is there already; a backup overwrites nothing")]
    TargetExists(String),
    #[error("there is no store in {0}")]
    NoStore(String),
    #[error("a store is in {0} already; --force moves it aside")]
    StoreExists(String),
    #[error("{file} is no backup of Hamlet: {why}")]
    NotABackup { file: String, why: &'static str },
    #[error("{what}: {why}")]
    Io { what: String, why: io::Error },
    #[error(transparent)]
    Folder(#[from] DataFolderError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether a restore may move an existing store aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Refuse,
    MoveAside,
}

/// Packs the data folder into `target`, which appears only when it is complete.
///
/// # Errors
/// `TargetExists`, `NoStore`, or what could not be read or written.
pub fn write(data: &DataFolder, target: &Path, secrets: Secrets) -> Result<(), BackupError> {
    if target.exists() {
        return Err(BackupError::TargetExists(target.display().to_string()));
    }
    if !data.store().exists() {
        return Err(BackupError::NoStore(data.path().display().to_string()));
    }
    let working = Working::new(&beside(target))?;
    let store = working.0.join(STORE);
    copy(&data.store(), &store, secrets)?;
    let packed = working.0.join("backup.tar");
    pack(data, &store, &packed, secrets).map_err(io_error("the backup could not be written"))?;
    fs::rename(&packed, target).map_err(io_error("the backup could not be put in its place"))?;
    Ok(())
}

fn pack(data: &DataFolder, store: &Path, packed: &Path, secrets: Secrets) -> io::Result<()> {
    let mut options = File::options();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut archive = Builder::new(options.open(packed)?);
    archive.follow_symlinks(false);
    archive.append_path_with_name(store, STORE)?;
    if secrets == Secrets::With && data.key_file().exists() {
        archive.append_path_with_name(data.key_file(), KEY)?;
    }
    // After the store: a file that the copy names was there before the copy was made.
    if data.uploads().is_dir() {
        archive.append_dir_all(UPLOADS, data.uploads())?;
    }
    // A store without the folder that its skills come from would lose them at the next start.
    if data.skills().is_dir() {
        append_plain(&mut archive, &data.skills(), Path::new(SKILLS))?;
    }
    archive.into_inner()?.sync_all()
}

/// Folders and regular files only: an operator's folder may hold links, which no backup has.
fn append_plain(archive: &mut Builder<File>, folder: &Path, name: &Path) -> io::Result<()> {
    archive.append_dir(name, folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, name) = (entry.file_type()?, name.join(entry.file_name()));
        if kind.is_dir() {
            append_plain(archive, &entry.path(), &name)?;
        } else if kind.is_file() {
            archive.append_path_with_name(entry.path(), name)?;
        }
    }
    Ok(())
}

/// Unpacks a backup into the data folder. Nothing in the folder is touched before the whole archive has been read and
/// its store been checked; what was there is moved into a folder whose path is answered.
///
/// # Errors
/// `InUse` while a server runs on the folder, `StoreExists`, `NotABackup`, or what could not be read or written.
pub fn restore(data: &DataFolder, from: &Path, existing: Existing) -> Result<Option<PathBuf>, BackupError> {
    let _lock = data.lock()?;
    let occupied = data.store().exists();
    if occupied && existing == Existing::Refuse {
        return Err(BackupError::StoreExists(data.path().display().to_string()));
    }
    let unpacked = data.path().join("restoring");
    if unpacked.exists() {
        // Left by a restore that was killed; under the lock it is nobody else's.
        fs::remove_dir_all(&unpacked).map_err(io_error("what an earlier restore left could not be removed"))?;
    }
    let working = Working::new(&unpacked)?;
    unpack(from, &working.0)?;
    let store = working.0.join(STORE);
    if !store.exists() {
        return Err(BackupError::NotABackup { file: from.display().to_string(), why: "it has no store" });
    }
    check(&store)?;
    // An operator may have put skills there before the first start: they are in the way, and not to be lost.
    let in_the_way = occupied || data.skills().exists();
    let aside = in_the_way.then(|| data.path().join(format!("before-restore-{}", Timestamp::now().as_millis())));
    put_in_place(data, &working.0, aside.as_deref()).map_err(io_error("the backup could not be put in its place"))?;
    Ok(aside)
}

fn unpack(from: &Path, into: &Path) -> Result<(), BackupError> {
    let unreadable = || io_error("the backup could not be read");
    let not_a_backup = |why| BackupError::NotABackup { file: from.display().to_string(), why };
    let mut archive = Archive::new(File::open(from).map_err(unreadable())?);
    archive.set_preserve_mtime(true);
    for entry in archive.entries().map_err(unreadable())? {
        let mut entry = entry.map_err(|_| not_a_backup("it is no tar archive, or it is cut off"))?;
        let path = entry.path().map_err(unreadable())?.into_owned();
        let plain = matches!(entry.header().entry_type(), EntryType::Regular | EntryType::Directory);
        if !plain || !is_ours(&path) {
            return Err(not_a_backup("it has an entry that no backup has"));
        }
        // Refuses to leave the folder by itself, too.
        entry.unpack_in(into).map_err(unreadable())?;
    }
    Ok(())
}

/// The store, the key file, or something below the uploads or the skills.
fn is_ours(path: &Path) -> bool {
    let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    let whole = [STORE, KEY].into_iter().any(|name| path == Path::new(name));
    inside && (whole || [UPLOADS, SKILLS].into_iter().any(|folder| path.starts_with(folder)))
}

fn put_in_place(data: &DataFolder, unpacked: &Path, aside: Option<&Path>) -> io::Result<()> {
    let log = |suffix: &str| format!("{STORE}{suffix}");
    if let Some(aside) = aside {
        fs::create_dir(aside)?;
        // The log belongs to its store: under another one it would be written into it.
        for name in [STORE.to_owned(), log("-wal"), log("-shm"), UPLOADS.to_owned(), SKILLS.to_owned()] {
            move_when_there(&data.path().join(&name), &aside.join(&name))?;
        }
    }
    if unpacked.join(KEY).exists() {
        if let Some(aside) = aside {
            move_when_there(&data.key_file(), &aside.join(KEY))?;
        }
        fs::rename(unpacked.join(KEY), data.key_file())?;
    }
    move_when_there(&unpacked.join(UPLOADS), &data.uploads())?;
    move_when_there(&unpacked.join(SKILLS), &data.skills())?;
    // Last: a folder with a store is a whole one.
    fs::rename(unpacked.join(STORE), data.store())
}

fn move_when_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        moved => moved,
    }
}

/// A name of its own: two backups at the same time don't meet.
fn beside(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(format!(".partial-{}", uuid::Uuid::now_v7()));
    PathBuf::from(name)
}

fn io_error(what: &'static str) -> impl Fn(io::Error) -> BackupError {
    move |why| BackupError::Io { what: what.to_owned(), why }
}

/// A folder for what is not complete yet, on the same file system as its target; goes when it is dropped.
struct Working(PathBuf);

impl Working {
    fn new(path: &Path) -> Result<Self, BackupError> {
        DataFolder::new(path.to_owned()).create()?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, folder = %self.0.display(), "a working folder could not be removed");
        }
    }
}

#[cfg(test)]
mod tests;
