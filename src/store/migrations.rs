//! The schema's version is the file's `user_version`. An empty file gets schema.sql; an older one is copied beside itself
//! and then taken step by step; a newer one is refused with a sentence.

use std::path::Path;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::StoreError;

const SCHEMA: &str = include_str!("../../schema.sql");

/// The version that this build writes.
pub const SCHEMA_VERSION: i64 = 3;

/// `STEPS[n]` takes a file of version n + 1 to n + 2. A step never changes once it is released.
const STEPS: &[&str] = &[
    "
ALTER TABLE messages ADD COLUMN left_with BLOB;
ALTER TABLE messages ADD COLUMN left_as TEXT;
CREATE TABLE queue (
  message_key      INTEGER PRIMARY KEY REFERENCES messages (key) ON DELETE CASCADE,
  conversation_key INTEGER NOT NULL,
  turn_id          BLOB NOT NULL,
  reply_id         BLOB NOT NULL,
  to_npc           BLOB
) STRICT;
CREATE INDEX queue_by_conversation ON queue (conversation_key);
CREATE TABLE audit (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  at              INTEGER NOT NULL,
  player_id       BLOB NOT NULL,
  player_name     TEXT NOT NULL,
  action          TEXT NOT NULL,
  conversation_id BLOB,
  outcome         TEXT NOT NULL,
  details         TEXT NOT NULL DEFAULT '{}'
) STRICT;
",
    r#"
ALTER TABLE conversations ADD COLUMN speaker_policy TEXT NOT NULL DEFAULT 'addressed';
ALTER TABLE conversations ADD COLUMN newcomers_know TEXT NOT NULL DEFAULT 'from-joining';
ALTER TABLE participants ADD COLUMN joined_position INTEGER NOT NULL DEFAULT 0;
CREATE TABLE grants (
  npc_id   BLOB NOT NULL REFERENCES npcs (id) ON DELETE CASCADE,
  tool     TEXT NOT NULL,
  approval TEXT NOT NULL CHECK (approval IN ('never', 'always')),
  PRIMARY KEY (npc_id, tool)
) STRICT, WITHOUT ROWID;
INSERT INTO grants (npc_id, tool, approval) SELECT npcs.id, value, 'never' FROM npcs, json_each(
  '["message_npc","load_skill","read_skill_file","remember","recall","forget","current_time","calculate"]');
CREATE TABLE skills (
  id            BLOB PRIMARY KEY,
  npc_id        BLOB REFERENCES npcs (id) ON DELETE CASCADE,
  name          TEXT NOT NULL,
  description   TEXT NOT NULL,
  instructions  TEXT NOT NULL,
  license       TEXT,
  compatibility TEXT,
  metadata      TEXT NOT NULL DEFAULT '{}',
  allowed_tools TEXT NOT NULL DEFAULT '[]',
  folder        TEXT,
  created_by    BLOB REFERENCES players (id) ON DELETE SET NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX skills_by_name ON skills (coalesce(npc_id, x''), name);
CREATE INDEX skills_by_npc ON skills (npc_id);
CREATE TABLE skill_files (
  skill_id BLOB NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
  path     TEXT NOT NULL,
  body     TEXT NOT NULL,
  PRIMARY KEY (skill_id, path)
) STRICT, WITHOUT ROWID;
CREATE TABLE memories (
  key             INTEGER PRIMARY KEY AUTOINCREMENT,
  id              BLOB NOT NULL UNIQUE,
  player_id       BLOB NOT NULL REFERENCES players (id) ON DELETE CASCADE,
  npc_id          BLOB NOT NULL REFERENCES npcs (id) ON DELETE CASCADE,
  text            TEXT NOT NULL,
  text_key        TEXT NOT NULL,
  written_by      TEXT NOT NULL CHECK (written_by IN ('npc', 'player')),
  conversation_id BLOB,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  UNIQUE (player_id, npc_id, text_key)
) STRICT;
CREATE INDEX memories_by_npc ON memories (npc_id);
CREATE VIRTUAL TABLE memories_fts USING fts5 (text, content='memories', content_rowid='key', tokenize='unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE memories_words USING fts5vocab (memories_fts, row);
CREATE TRIGGER memories_written AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts (rowid, text) VALUES (new.key, new.text);
END;
CREATE TRIGGER memories_changed AFTER UPDATE OF text ON memories BEGIN
  INSERT INTO memories_fts (memories_fts, rowid, text) VALUES ('delete', old.key, old.text);
  INSERT INTO memories_fts (rowid, text) VALUES (new.key, new.text);
END;
CREATE TRIGGER memories_deleted AFTER DELETE ON memories BEGIN
  INSERT INTO memories_fts (memories_fts, rowid, text) VALUES ('delete', old.key, old.text);
END;
CREATE TABLE tool_servers (
  id         BLOB PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  transport  TEXT NOT NULL CHECK (transport IN ('stdio', 'http')),
  config     TEXT NOT NULL,
  secrets    BLOB,
  enabled    INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE summaries (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_key INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
  version          INTEGER NOT NULL,
  text             TEXT NOT NULL,
  from_position    INTEGER NOT NULL,
  through_position INTEGER NOT NULL,
  made_by          TEXT NOT NULL CHECK (made_by IN ('model', 'extract', 'player')),
  in_use           INTEGER NOT NULL DEFAULT 1,
  created_at       INTEGER NOT NULL,
  UNIQUE (conversation_key, version)
) STRICT;
CREATE TABLE prompts (
  message_key INTEGER NOT NULL REFERENCES messages (key) ON DELETE CASCADE,
  step        INTEGER NOT NULL,
  record      TEXT NOT NULL,
  PRIMARY KEY (message_key, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE prompt_texts (
  conversation_key INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
  hash             BLOB NOT NULL,
  text             TEXT NOT NULL,
  PRIMARY KEY (conversation_key, hash)
) STRICT, WITHOUT ROWID;
"#,
];

/// "HAML" in the file's header: which program's database this is.
const APPLICATION: i64 = 0x4841_4D4C;

/// Looks at a file without changing it.
///
/// # Errors
/// When it is of another program, damaged, or of a newer Hamlet.
pub fn inspect(path: &Path) -> Result<(), StoreError> {
    match std::fs::metadata(path) {
        Ok(file) if file.len() > 0 => {}
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StoreError::Unavailable(format!("{}: {error}", path.display()))),
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(super::BUSY)?;
    judge(&conn.transaction()?, path, SCHEMA_VERSION).map(drop)
}

pub fn apply(conn: &mut Connection, path: &Path) -> Result<(), StoreError> {
    migrate(conn, path, SCHEMA_VERSION, STEPS)
}

/// Two processes may come to this at once: what was judged outside is judged again inside the transaction.
fn migrate(conn: &mut Connection, path: &Path, known: i64, steps: &[&str]) -> Result<(), StoreError> {
    loop {
        let before = judge(&conn.transaction()?, path, known)?;
        if before == known {
            return Ok(());
        }
        if before > 0 {
            copy_before(conn, path, before)?;
        }
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if judge(&tx, path, known)? != before {
            continue;
        }
        if before == 0 {
            tx.execute_batch(SCHEMA)?;
            tx.pragma_update(None, "application_id", APPLICATION)?;
        } else {
            for step in steps.iter().skip(usize::try_from(before - 1).unwrap_or(0)) {
                tx.execute_batch(step)?;
            }
        }
        tx.pragma_update(None, "user_version", known)?;
        tx.commit()?;
        return Ok(());
    }
}

/// The file's version; 0 for one that is empty. All that it reads must be of one moment: a file that another process just
/// makes would look like a foreign one.
fn judge(conn: &Transaction<'_>, path: &Path, known: i64) -> Result<i64, StoreError> {
    let (found, application) = (number(conn, "user_version")?, number(conn, "application_id")?);
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let empty = found == 0 && application == 0 && tables == 0;
    if application != APPLICATION && !empty {
        return Err(StoreError::Foreign(path.display().to_string()));
    }
    if found > known {
        return Err(StoreError::Newer { file: path.display().to_string(), found, known });
    }
    Ok(found)
}

fn number(conn: &Connection, pragma: &str) -> Result<i64, StoreError> {
    Ok(conn.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?)
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
        assert_eq!(number(&conn, "user_version").unwrap(), SCHEMA_VERSION);
        apply(&mut conn, &path).unwrap();
    }

    #[test]
    fn an_older_file_is_copied_and_then_taken_step_by_step() {
        let (_dir, path) = file();
        let mut conn = Connection::open(&path).unwrap();
        apply(&mut conn, &path).unwrap();
        conn.execute("INSERT INTO settings (name, value) VALUES ('kept', '1')", []).unwrap();
        conn.pragma_update(None, "user_version", 1).unwrap();
        let steps = ["ALTER TABLE settings ADD COLUMN note TEXT", "CREATE TABLE later (a INTEGER)"];
        migrate(&mut conn, &path, 3, &steps).unwrap();
        assert_eq!(number(&conn, "user_version").unwrap(), 3);
        conn.query_row("SELECT note, (SELECT count(*) FROM later) FROM settings WHERE name = 'kept'", [], |row| {
            row.get::<_, Option<String>>(0)
        })
        .unwrap();
        let copy = Connection::open(path.with_extension("v1.db")).unwrap();
        assert_eq!(number(&copy, "user_version").unwrap(), 1);
        assert_eq!(copy.query_row("SELECT value FROM settings", [], |row| row.get::<_, String>(0)).unwrap(), "1");
    }

    /// Every table and index with its columns.
    fn shape(conn: &Connection) -> Vec<(String, Vec<String>)> {
        let names = |sql: &str| -> Vec<String> {
            let mut statement = conn.prepare(sql).unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        names("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
            .into_iter()
            .map(|name| {
                let columns = names(&format!(
                    "SELECT name || ' ' || type || ' ' || \"notnull\" || ' ' || coalesce(dflt_value, '') \
                     FROM pragma_table_info('{name}') UNION SELECT coalesce(name, 'an expression') FROM pragma_index_info('{name}') ORDER BY 1"
                ));
                (name, columns)
            })
            .collect()
    }

    #[test]
    fn a_file_of_the_first_version_becomes_what_a_new_one_is() {
        let (_dir, path) = file();
        let mut old = Connection::open(&path).unwrap();
        old.execute_batch(include_str!("../../tests/schemas/v1.sql")).unwrap();
        old.pragma_update(None, "application_id", APPLICATION).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        apply(&mut old, &path).unwrap();
        let (_dir, path) = file();
        let mut new = Connection::open(&path).unwrap();
        apply(&mut new, &path).unwrap();
        assert_eq!(shape(&old), shape(&new));
    }

    #[test]
    fn a_failing_step_leaves_the_file_as_it_was() {
        let (_dir, path) = file();
        let mut conn = Connection::open(&path).unwrap();
        apply(&mut conn, &path).unwrap();
        conn.pragma_update(None, "user_version", 1).unwrap();
        let steps = ["CREATE TABLE first (a INTEGER)", "no such statement"];
        assert!(migrate(&mut conn, &path, 3, &steps).is_err());
        assert_eq!(number(&conn, "user_version").unwrap(), 1);
        assert!(conn.prepare("SELECT * FROM first").is_err());
    }

    #[test]
    fn a_newer_file_is_refused_with_a_sentence() {
        let (_dir, path) = file();
        let mut conn = Connection::open(&path).unwrap();
        apply(&mut conn, &path).unwrap();
        conn.pragma_update(None, "user_version", 99).unwrap();
        assert!(matches!(inspect(&path), Err(StoreError::Newer { .. })));
        let error = apply(&mut conn, &path).unwrap_err().to_string();
        assert!(error.contains("written by a newer Hamlet"), "{error}");
    }

    #[test]
    fn a_database_of_another_program_is_left_alone() {
        let (_dir, path) = file();
        let mut conn = Connection::open(&path).unwrap();
        conn.execute_batch("CREATE TABLE theirs (a); PRAGMA user_version = 1").unwrap();
        let before = std::fs::read(&path).unwrap();
        assert!(matches!(inspect(&path), Err(StoreError::Foreign(_))));
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert!(matches!(apply(&mut conn, &path), Err(StoreError::Foreign(_))));
    }

    #[test]
    fn a_file_that_several_open_at_once_is_made_once() {
        for _ in 0..20 {
            let (_dir, path) = file();
            let together = std::sync::Arc::new(std::sync::Barrier::new(8));
            let openers: Vec<_> = (0..8)
                .map(|_| {
                    let (path, together) = (path.clone(), std::sync::Arc::clone(&together));
                    std::thread::spawn(move || {
                        let mut conn = Connection::open(&path).unwrap();
                        conn.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
                        together.wait();
                        apply(&mut conn, &path).map(drop)
                    })
                })
                .collect();
            for opener in openers {
                opener.join().unwrap().unwrap();
            }
        }
    }
}
