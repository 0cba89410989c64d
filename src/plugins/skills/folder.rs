//! Skills out of `skills/` in the data folder: `skills/NAME/SKILL.md`. What lies there is the operator's; the store has a
//! copy, which follows the folder at each start and each rescan. A broken one stops nothing: it is told, and what was
//! stored of it before stays. Symbolic links are not followed, so that nothing outside the folder becomes a text here.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use super::bundle::{self, BundleError, Tree, Unread, shown};
use crate::village::skill::SkillBundle;

/// Folders, and entries of one skill's folder, that are looked at.
const FOLDERS: usize = 500;
const ENTRIES: usize = 1_000;
/// Bytes of texts that one reading takes in at most.
const TEXTS_MAX: usize = 32 * 1024 * 1024;
/// Folders inside one another.
const DEPTH: usize = 8;

/// What the folder holds now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scan {
    /// By the names of their folders.
    pub skills: Vec<(String, SkillBundle)>,
    pub problems: Vec<Problem>,
}

/// What keeps a folder from being a skill.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Its name; empty when it is about `skills/` itself.
    pub folder: String,
    pub message: String,
}

impl Problem {
    pub fn new(folder: impl Into<String>, message: impl ToString) -> Self {
        Self { folder: folder.into(), message: message.to_string() }
    }
}

#[derive(Debug, thiserror::Error)]
enum FolderError {
    #[error("it is a symbolic link, which is not followed")]
    Link,
    #[error("its name is no text")]
    Unnamed,
    #[error("it has no SKILL.md that is a file")]
    NoForm,
    #[error("it has more than {ENTRIES} files and folders")]
    TooMany,
    #[error("the folders before it have {TEXTS_MAX} bytes of texts, and no more is read")]
    TooMuch,
    #[error("it has folders more than {DEPTH} deep")]
    TooDeep,
    #[error("it can't be read: {0}")]
    Unreadable(io::ErrorKind),
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

impl From<io::Error> for FolderError {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error.kind())
    }
}

/// Reads everything below `root`; a folder that is not there holds nothing. Blocks.
///
/// # Errors
/// It is there and can't be looked at, which says nothing about what it holds.
pub fn scan(root: &Path) -> Result<Scan, Problem> {
    let unreadable = |error: io::Error| Problem::new("", format!("skills/ can't be read: {}", error.kind()));
    let listed = match fs::read_dir(root) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Scan::default()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut entries = Vec::new();
    for entry in listed {
        let entry = entry.map_err(unreadable)?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entries.len() == FOLDERS {
            return Err(Problem::new("", format!("skills/ has more than {FOLDERS} entries")));
        }
        entries.push(entry);
    }
    entries.sort_by_key(fs::DirEntry::file_name);
    let (mut scan, mut bytes) = (Scan::default(), 0);
    for entry in entries {
        let name = entry.file_name();
        match one(&entry, &mut bytes) {
            Ok(Some(skill)) => scan.skills.push(skill),
            Ok(None) => {}
            Err(error) => scan.problems.push(Problem::new(name.to_string_lossy(), error)),
        }
    }
    Ok(scan)
}

/// None for a file beside the folders.
fn one(entry: &fs::DirEntry, bytes: &mut usize) -> Result<Option<(String, SkillBundle)>, FolderError> {
    let kind = entry.file_type()?;
    if kind.is_symlink() {
        return Err(FolderError::Link);
    }
    if !kind.is_dir() {
        return Ok(None);
    }
    let name = entry.file_name().into_string().map_err(|_| FolderError::Unnamed)?;
    let mut tree = Folder { root: entry.path(), paths: Vec::new(), seen: 0 };
    tree.walk(&entry.path(), "", DEPTH)?;
    tree.paths.sort();
    if !tree.paths.iter().any(|path| path == bundle::FORM) {
        return Err(FolderError::NoForm);
    }
    let read = bundle::read(&mut tree, "", Some(&name))?;
    *bytes += read.bundle.text.instructions.len() + read.bundle.files.values().map(String::len).sum::<usize>();
    if *bytes > TEXTS_MAX {
        return Err(FolderError::TooMuch);
    }
    if !read.not_imported.is_empty() {
        tracing::debug!(
            skill = name,
            files = read.not_imported.len(),
            "files of a skill's folder are left where they are"
        );
    }
    Ok(Some((name, read.bundle)))
}

struct Folder {
    root: PathBuf,
    paths: Vec<String>,
    seen: usize,
}

impl Folder {
    /// Adds the regular files below `folder`; links and devices are as if they were not there.
    fn walk(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), FolderError> {
        if depth == 0 {
            return Err(FolderError::TooDeep);
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            self.seen += 1;
            if self.seen > ENTRIES {
                return Err(FolderError::TooMany);
            }
            let kind = entry.file_type()?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with('.') {
                continue;
            }
            if kind.is_dir() {
                self.walk(&entry.path(), &format!("{prefix}{name}/"), depth - 1)?;
            } else if kind.is_file() {
                self.paths.push(format!("{prefix}{name}"));
            }
        }
        Ok(())
    }
}

impl Tree for Folder {
    fn paths(&self) -> &[String] {
        &self.paths
    }

    fn read(&mut self, path: &str, max: usize) -> Result<Vec<u8>, Unread> {
        let damaged = |error: io::Error| Unread::Damaged(error.kind().to_string());
        let mut bytes = Vec::new();
        let file = fs::File::open(self.root.join(path)).map_err(damaged)?;
        file.take(max as u64 + 1).read_to_end(&mut bytes).map_err(damaged)?;
        if bytes.len() > max { Err(Unread::TooLarge(max)) } else { Ok(bytes) }
    }
}

/// A problem's folder as a log shows it.
pub fn named(problem: &Problem) -> String {
    shown(&problem.folder)
}

#[cfg(test)]
mod tests;
