//! Skills out of a zip archive that somebody sent. Nothing is unpacked to a disk: entries are read into memory, within a
//! budget that an honest archive never meets, whatever its headers say.

use std::{
    collections::HashMap,
    io::{Cursor, Read as _},
};

use zip::{ZipArchive, result::ZipError};

use super::bundle::{self, BundleError, FORM, Tree, Unread, is_inside, shown};

/// Bytes of an archive at most.
pub const ARCHIVE_MAX: usize = 4 * 1024 * 1024;
/// Entries of an archive at most, folders included.
const ENTRIES: usize = 2_000;
/// Skills of an archive at most.
const SKILLS: usize = 50;
/// What entries may inflate to: so many bytes in all, and so many times the archive's own, beyond a little that is free.
const INFLATED_MAX: usize = 16 * 1024 * 1024;
const INFLATED_RATIO: usize = 100;
const INFLATED_FREE: usize = 1024 * 1024;
/// Paths that an answer lists as left out, at most.
const LEFT_OUT: usize = 200;

/// Why an archive is refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    #[error("this is no zip archive that can be read: {0}")]
    NoArchive(String),
    #[error("the archive has more than {ENTRIES} entries")]
    TooMany,
    #[error("the archive has two entries of one name")]
    Duplicate,
    #[error("the entry {0} is encrypted")]
    Encrypted(String),
    #[error("the entry {0} is a link or a device and no file")]
    NoFile(String),
    #[error("the entry {0} leads out of the archive, or its name can't be used")]
    Escapes(String),
    #[error("the archive holds no SKILL.md")]
    NoSkill,
    #[error("the archive holds more than {SKILLS} skills")]
    TooManySkills,
    #[error("{folder}: {error}")]
    Skill { folder: String, error: BundleError },
}

/// All skills of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    pub skills: Vec<crate::village::skill::SkillBundle>,
    /// Paths inside the archive, at most 200.
    pub not_imported: Vec<String>,
}

/// Reads an archive: one skill at its top, or any number in folders. Takes CPU time; not for the runtime's threads.
pub fn unpack(bytes: &[u8]) -> Result<Unpacked, ArchiveError> {
    let mut tree = ZipTree::open(bytes)?;
    let roots = roots(&tree.paths);
    match roots.len() {
        0 => return Err(ArchiveError::NoSkill),
        1..=SKILLS => {}
        _ => return Err(ArchiveError::TooManySkills),
    }
    let of_none = |path: &&String| !roots.iter().any(|root| path.starts_with(root.as_str()));
    let mut not_imported: Vec<String> = tree.paths.iter().filter(of_none).cloned().collect();
    let mut skills = Vec::with_capacity(roots.len());
    for root in &roots {
        let folder = root.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty());
        let read = bundle::read(&mut tree, root, folder)
            .map_err(|error| ArchiveError::Skill { folder: shown(folder.unwrap_or("/")), error })?;
        not_imported.extend(read.not_imported.into_iter().map(|path| format!("{root}{path}")));
        skills.push(read.bundle);
    }
    not_imported.truncate(LEFT_OUT);
    Ok(Unpacked { skills, not_imported })
}

/// The folders with a SKILL.md in them; one inside another one is part of that.
fn roots(paths: &[String]) -> Vec<String> {
    let mut roots: Vec<String> = Vec::new();
    let mut found: Vec<&str> = paths
        .iter()
        .filter_map(|path| path.strip_suffix(FORM))
        .filter(|root| root.is_empty() || root.ends_with('/'))
        .collect();
    found.sort_by_key(|root| (root.matches('/').count(), root.to_owned()));
    for root in found {
        if !roots.iter().any(|outer| root.starts_with(outer.as_str())) {
            roots.push(root.to_owned());
        }
    }
    roots
}

struct ZipTree<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    paths: Vec<String>,
    places: HashMap<String, usize>,
    /// Bytes that may still be inflated.
    budget: usize,
}

impl<'a> ZipTree<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self, ArchiveError> {
        let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| ArchiveError::NoArchive(told(&error)))?;
        if archive.len() > ENTRIES {
            return Err(ArchiveError::TooMany);
        }
        if archive.has_duplicate_names() {
            return Err(ArchiveError::Duplicate);
        }
        let mut places = HashMap::with_capacity(archive.len());
        for place in 0..archive.len() {
            let Some(path) = file_path(&mut archive, place)? else { continue };
            if places.insert(path, place).is_some() {
                return Err(ArchiveError::Duplicate);
            }
        }
        let mut paths: Vec<String> = places.keys().cloned().collect();
        paths.sort();
        let by_ratio = bytes.len().saturating_mul(INFLATED_RATIO).saturating_add(INFLATED_FREE);
        Ok(Self { archive, paths, places, budget: INFLATED_MAX.min(by_ratio) })
    }
}

/// The path of an entry that is a file; None for folders, and for what a Mac adds by itself.
fn file_path(archive: &mut ZipArchive<Cursor<&[u8]>>, place: usize) -> Result<Option<String>, ArchiveError> {
    const KIND: u32 = 0o170_000;
    const FILE: u32 = 0o100_000;
    const FOLDER: u32 = 0o040_000;
    let entry = archive.by_index_raw(place).map_err(|error| ArchiveError::NoArchive(told(&error)))?;
    let raw = String::from_utf8_lossy(entry.name_raw()).into_owned();
    let name = entry.name().map_err(|_| ArchiveError::Escapes(shown(&raw)))?.into_owned();
    if !is_inside(name.strip_suffix('/').unwrap_or(&name)) {
        return Err(ArchiveError::Escapes(shown(&name)));
    }
    if entry.encrypted() {
        return Err(ArchiveError::Encrypted(shown(&name)));
    }
    if entry.unix_mode().is_some_and(|mode| !matches!(mode & KIND, 0 | FILE | FOLDER)) || entry.is_symlink() {
        return Err(ArchiveError::NoFile(shown(&name)));
    }
    let is_clutter = name.starts_with("__MACOSX/") || name.ends_with(".DS_Store");
    Ok((!entry.is_dir() && !is_clutter).then_some(name))
}

impl Tree for ZipTree<'_> {
    fn paths(&self) -> &[String] {
        &self.paths
    }

    fn read(&mut self, path: &str, max: usize) -> Result<Vec<u8>, Unread> {
        let place = *self.places.get(path).ok_or_else(|| Unread::Damaged("it is not there".to_owned()))?;
        let entry = self.archive.by_index(place).map_err(|error| Unread::Damaged(told(&error)))?;
        let most = max.min(self.budget);
        let mut bytes = Vec::new();
        // What the header says of the size is somebody's word: what comes is counted.
        entry
            .take(most as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Unread::Damaged(error.to_string().chars().take(120).collect()))?;
        if bytes.len() > most {
            return Err(if most < max { Unread::OverBudget } else { Unread::TooLarge(max) });
        }
        self.budget -= bytes.len();
        Ok(bytes)
    }
}

fn told(error: &ZipError) -> String {
    error.to_string().chars().take(120).collect()
}

#[cfg(test)]
mod tests;
