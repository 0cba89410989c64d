//! The Village's skills that come from the data folder, kept as the folder has them.

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use hamlet_actors::vocabulary::{SkillId, Timestamp};
use rusqlite::Connection;
use serde::Serialize;

use super::folder::{self, Problem, Scan};
use crate::{
    store::{
        Store, StoreError,
        skills::{self, SkillEntry, SkillRecord},
    },
    village::skill::{SkillBundle, no_room},
};

/// Where such skills lie, and what was wrong with them when they were read last. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Shelf {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    /// One reading at a time: a slow one must not write what a later one has replaced.
    reading: tokio::sync::Mutex<()>,
    problems: Mutex<Vec<Problem>>,
}

/// What a reading of the folder changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Changes {
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub removed: Vec<String>,
    pub problems: Vec<Problem>,
}

impl Shelf {
    /// `root` need not be there.
    pub fn new(root: PathBuf) -> Self {
        let reading = tokio::sync::Mutex::new(());
        Self { inner: Arc::new(Inner { root, reading, problems: Mutex::new(Vec::new()) }) }
    }

    /// What was wrong when the folder was read last.
    pub fn problems(&self) -> Vec<Problem> {
        self.inner.problems.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the folder and brings the store to what it holds.
    ///
    /// # Errors
    /// What the store answers; whatever is wrong with the folder is a problem of the answer.
    pub async fn read(&self, store: &Store) -> Result<Changes, StoreError> {
        let _reading = self.inner.reading.lock().await;
        let root = self.inner.root.clone();
        let scanned = tokio::task::spawn_blocking(move || folder::scan(&root)).await;
        let scanned = scanned.unwrap_or_else(|error| {
            tracing::error!(%error, "the reading of skills/ ended early");
            Err(Problem::new("", "skills/ could not be read; the log has more"))
        });
        let changes = match scanned {
            Ok(scan) => store.write(move |conn| take_over(conn, scan, Timestamp::now())).await?,
            // What could not be looked at is not gone.
            Err(problem) => Changes { problems: vec![problem], ..Changes::default() },
        };
        for problem in &changes.problems {
            tracing::warn!(folder = folder::named(problem), "no skill: {}", problem.message);
        }
        *self.inner.problems.lock().unwrap_or_else(PoisonError::into_inner) = changes.problems.clone();
        Ok(changes)
    }
}

/// Adds, changes and removes rows until they are what was scanned.
fn take_over(conn: &Connection, scan: Scan, now: Timestamp) -> Result<Changes, StoreError> {
    let mut changes = Changes { problems: scan.problems, ..Changes::default() };
    let there: BTreeSet<&str> = scan
        .skills
        .iter()
        .map(|(folder, _)| folder.as_str())
        .chain(changes.problems.iter().map(|problem| problem.folder.as_str()))
        .collect();
    let mut stored = skills::of_folders(conn)?;
    for gone in stored.extract_if(.., |record| !record.entry.folder.as_deref().is_some_and(|name| there.contains(name)))
    {
        skills::delete(conn, gone.entry.id)?;
        changes.removed.push(gone.entry.about.name);
    }
    for (folder, bundle) in scan.skills {
        let name = bundle.text.about.name.clone();
        match stored.iter().find(|record| record.entry.folder.as_ref() == Some(&folder)) {
            Some(record) => {
                if update(conn, record, bundle, now)? {
                    changes.changed.push(name);
                }
            }
            None => match no_room(conn, &name)? {
                Some(refusal) => changes.problems.push(Problem::new(folder, refusal)),
                None => {
                    insert(conn, folder, bundle, now)?;
                    changes.added.push(name);
                }
            },
        }
    }
    Ok(changes)
}

fn insert(conn: &Connection, folder: String, bundle: SkillBundle, now: Timestamp) -> Result<(), StoreError> {
    let id = SkillId::generate();
    let record = SkillRecord {
        entry: SkillEntry {
            id,
            npc_id: None,
            about: bundle.text.about,
            folder: Some(folder),
            created_by: None,
            created_at: now,
            updated_at: now,
        },
        instructions: bundle.text.instructions,
    };
    skills::insert(conn, &record)?;
    skills::replace_files(conn, id, &bundle.files)
}

/// Whether there was something to change.
fn update(conn: &Connection, record: &SkillRecord, bundle: SkillBundle, now: Timestamp) -> Result<bool, StoreError> {
    let id = record.entry.id;
    let is_same = record.entry.about == bundle.text.about
        && record.instructions == bundle.text.instructions
        && skills::files(conn, id)? == bundle.files;
    if is_same {
        return Ok(false);
    }
    let entry = SkillEntry { about: bundle.text.about, updated_at: now, ..record.entry.clone() };
    skills::update(conn, &SkillRecord { entry, instructions: bundle.text.instructions })?;
    skills::replace_files(conn, id, &bundle.files)?;
    Ok(true)
}

#[cfg(test)]
mod tests;
