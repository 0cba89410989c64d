//! Skills out of a tree of files, be it an archive or a folder: which file is what, and how much of it is taken. What
//! lies under `references/` is read as text; scripts and assets are named and left where they are: nothing of a skill is
//! ever run.

use super::form::{self, FORM_MAX, FormError};
use crate::{store::skills::SkillFiles, village::skill::SkillBundle};

/// The file that makes a folder a skill.
pub const FORM: &str = "SKILL.md";
const REFERENCES: &str = "references/";
/// Texts of one skill at most, the bytes of each, and of all.
const FILES: usize = 100;
const FILE_MAX: usize = 256 * 1024;
const FILES_MAX: usize = 2 * 1024 * 1024;
/// Characters of a path at most.
const PATH_MAX: usize = 255;

/// Files by their paths, with `/` between the names.
pub trait Tree {
    /// Of all regular files, in order.
    fn paths(&self) -> &[String];

    /// One file's bytes.
    ///
    /// # Errors
    /// It has more than `max` bytes, or can't be read.
    fn read(&mut self, path: &str, max: usize) -> Result<Vec<u8>, Unread>;
}

/// Why a file is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    #[error("has more than {0} bytes")]
    TooLarge(usize),
    #[error("is more than an archive of this size should hold")]
    OverBudget,
    #[error("can't be read: {0}")]
    Damaged(String),
}

/// Why a folder is no skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    #[error(transparent)]
    Form(#[from] FormError),
    #[error("{path} {why}")]
    Unread { path: String, why: Unread },
    #[error("there are more than {FILES} files under references/")]
    TooMany,
    #[error("the files under references/ have more than {FILES_MAX} bytes together")]
    TooMuch,
    #[error("the path {0} is no place inside a folder")]
    BadPath(String),
}

/// One skill, and the paths that were left out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    pub bundle: SkillBundle,
    pub not_imported: Vec<String>,
}

/// The skill in the folder `root` of the tree: "" or a path that ends with `/`. `folder` is how that folder is called,
/// where it has a name.
pub fn read(tree: &mut dyn Tree, root: &str, folder: Option<&str>) -> Result<Read, BundleError> {
    let form = fetch(tree, &format!("{root}{FORM}"), FORM_MAX)?;
    let text = form::parse(&form, folder)?;
    let paths: Vec<String> =
        tree.paths().iter().filter_map(|path| path.strip_prefix(root)).map(str::to_owned).collect();
    let (mut files, mut not_imported, mut bytes) = (SkillFiles::new(), Vec::new(), 0);
    for path in paths.into_iter().filter(|path| path != FORM) {
        if !is_inside(&path) {
            return Err(BundleError::BadPath(shown(&path)));
        }
        if !path.starts_with(REFERENCES) || is_hidden(&path) {
            not_imported.push(path);
            continue;
        }
        if files.len() == FILES {
            return Err(BundleError::TooMany);
        }
        let body = fetch(tree, &format!("{root}{path}"), FILE_MAX)?;
        bytes += body.len();
        if bytes > FILES_MAX {
            return Err(BundleError::TooMuch);
        }
        match String::from_utf8(body) {
            Ok(text) if !text.contains('\0') => {
                files.insert(path, text.trim_start_matches('\u{feff}').to_owned());
            }
            // A picture among the references is no reason to refuse the rest.
            _ => not_imported.push(path),
        }
    }
    Ok(Read { bundle: SkillBundle { text, files }, not_imported })
}

fn fetch(tree: &mut dyn Tree, path: &str, max: usize) -> Result<Vec<u8>, BundleError> {
    tree.read(path, max).map_err(|why| BundleError::Unread { path: shown(path), why })
}

/// Whether the path leads to a place below where it begins, and nowhere else, on every system.
pub fn is_inside(path: &str) -> bool {
    path.chars().count() <= PATH_MAX
        && !path.chars().any(|char| char.is_control() || char == '\\')
        && !path.split('/').next().is_some_and(|first| first.ends_with(':'))
        && path.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

fn is_hidden(path: &str) -> bool {
    path.split('/').any(|name| name.starts_with('.'))
}

/// A path of somebody else's, short and harmless enough for a message.
pub fn shown(path: &str) -> String {
    let short: String = path.chars().take(120).collect();
    format!("{short:?}")
}
