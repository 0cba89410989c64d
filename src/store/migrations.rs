//! The schema's version is the file's `user_version`. An empty file gets schema.sql; an older one is copied beside itself
//! and then taken step by step; a newer one is refused with a sentence.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::StoreError;

const SCHEMA: &str = include_str!("../../schema.sql");

/// The version that this build writes.
pub const SCHEMA_VERSION: i64 = 1;

/// `STEPS[n]` takes a file of version n + 1 to n + 2. A step never changes once it is released.
const STEPS: &[&str] = &[];

pub fn apply(conn: &mut Connection, path: &Path) -> Result<(), StoreError> {
    migrate(conn, path, SCHEMA_VERSION, STEPS)
}

fn migrate(conn: &mut Connection, path: &Path, known: i64, steps: &[&str]) -> Result<(), StoreError> {
    let found = version(conn)?;
    if found > known {
        return Err(StoreError::Newer { file: path.display().to_string(), found, known });
    }
    if found == known {
        return Ok(());
    }
    if found > 0 {
        copy_before(conn, path, found)?;
    }
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if found == 0 {
        let tables: i64 =
            tx.query_row("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", [], |row| row.get(0))?;
        if tables > 0 {
            return Err(StoreError::Damaged(format!("{} is a database of another program", path.display())));
        }
        tx.execute_batch(SCHEMA)?;
    } else {
        for step in steps.iter().skip(usize::try_from(found - 1).unwrap_or(0)) {
            tx.execute_batch(step)?;
        }
    }
    tx.pragma_update(None, "user_version", known)?;
    tx.commit()?;
    Ok(())
}

fn version(conn: &Connection) -> Result<i64, StoreError> {
    Ok(conn.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// A copy of the file as it was, named after its version; an existing copy is left alone.
fn copy_before(conn: &Connection, path: &Path, version: i64) -> Result<(), StoreError> {
    let copy = path.with_extension(format!("v{version}.db"));
    if !copy.exists() {
        conn.execute("VACUUM INTO ?1", [copy.to_string_lossy()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hamlet.db");
        (dir, path)
    }

    #[test]
    fn an_empty_file_gets_the_whole_schema() {
        let (_dir, path) = file();
        let mut conn = Connection::open(&path).unwrap();
        apply(&mut conn, &path).unwrap();
        assert_eq!(version(&conn).unwrap(), SCHEMA_VERSION);
        apply(&mut conn, &path).unwrap();
    }

    #[test]
    fn an_older_file_is_copied_and_then_taken_step_by_step() {
        let (_dir, path) = file();
        let mut conn = Connection::open(&path).unwrap();
        apply(&mut conn, &path).unwrap();
        conn.execute("INSERT INTO settings (name, value) VALUES ('kept', '1')", []).unwrap();
        let steps = ["ALTER TABLE settings ADD COLUMN note TEXT", "CREATE TABLE later (a INTEGER)"];
        migrate(&mut conn, &path, 3, &steps).unwrap();
        assert_eq!(version(&conn).unwrap(), 3);
        conn.query_row("SELECT note, (SELECT count(*) FROM later) FROM settings WHERE name = 'kept'", [], |row| {
            row.get::<_, Option<String>>(0)
        })
        .unwrap();
        let copy = Connection::open(path.with_extension("v1.db")).unwrap();
        assert_eq!(version(&copy).unwrap(), 1);
        assert_eq!(copy.query_row("SELECT value FROM settings", [], |row| row.get::<_, String>(0)).unwrap(), "1");
    }

    #[test]
    fn a_failing_step_leaves_the_file_as_it_was() {
        let (_dir, path) = file();
        let mut conn = Connection::open(&path).unwrap();
        apply(&mut conn, &path).unwrap();
        let steps = ["CREATE TABLE first (a INTEGER)", "no such statement"];
        assert!(migrate(&mut conn, &path, 3, &steps).is_err());
        assert_eq!(version(&conn).unwrap(), 1);
        assert!(conn.prepare("SELECT * FROM first").is_err());
    }

    #[test]
    fn a_newer_file_is_refused_with_a_sentence() {
        let (_dir, path) = file();
        let mut conn = Connection::open(&path).unwrap();
        conn.pragma_update(None, "user_version", 99).unwrap();
        let error = apply(&mut conn, &path).unwrap_err().to_string();
        assert!(error.contains("written by a newer Hamlet"), "{error}");
    }

    #[test]
    fn a_database_of_another_program_is_left_alone() {
        let (_dir, path) = file();
        let mut conn = Connection::open(&path).unwrap();
        conn.execute_batch("CREATE TABLE theirs (a)").unwrap();
        assert!(matches!(apply(&mut conn, &path), Err(StoreError::Damaged(_))));
    }
}
