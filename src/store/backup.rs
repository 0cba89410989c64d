//! Copies of the store's file while it is in use, and what tells whether such a file is sound.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{SCHEMA_VERSION, StoreError};

/// What a copy takes along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    With,
    /// Sealed Provider keys are left out; hashes of passwords and tokens stay, they open nothing by themselves.
    Without,
}

/// Writes one consistent copy, with everything that was committed when it began. Writers go on meanwhile.
///
/// # Errors
/// When the store can't be read or the copy can't be written; the target must not exist.
pub fn copy(store: &Path, target: &Path, secrets: Secrets) -> Result<(), StoreError> {
    let conn = open(store, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    conn.execute("VACUUM INTO ?1", [target.to_string_lossy()])?;
    if secrets == Secrets::Without {
        let conn = open(target, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        conn.execute("UPDATE providers SET api_key = NULL", [])?;
        // The old bytes stand in free pages until the file is written anew.
        conn.execute_batch("VACUUM")?;
    }
    Ok(())
}

/// Reads the whole file.
///
/// # Errors
/// `Newer` or `Damaged` when this program could not work with it; `Unavailable` when it can't be read.
pub fn check(store: &Path) -> Result<(), StoreError> {
    let conn = open(store, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found > SCHEMA_VERSION {
        return Err(StoreError::Newer { file: store.display().to_string(), found, known: SCHEMA_VERSION });
    }
    if found == 0 {
        return Err(StoreError::Damaged(format!("{} is no store of Hamlet", store.display())));
    }
    let verdict: String = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    match verdict.as_str() {
        "ok" => Ok(()),
        _ => Err(StoreError::Damaged(verdict)),
    }
}

fn open(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(conn)
}
