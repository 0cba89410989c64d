//! SQLite in one file: one writer thread with group commit, a bounded pool of readers. Nothing outside this module and
//! its children knows SQL.

pub mod accounts;
pub mod audit;
pub mod backup;
mod batch;
pub mod branches;
pub mod conversations;
mod error;
pub mod grants;
pub mod history;
mod housekeeping;
mod journal;
mod keeping;
pub mod memories;
pub mod messages;
mod migrations;
pub mod npcs;
pub mod oversight;
mod panics;
mod presence;
pub mod prompts;
pub mod providers;
pub mod queue;
mod readers;
mod recovery;
mod rows;
pub mod settings;
pub mod skills;
pub mod summaries;
pub mod tool_servers;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use hamlet_actors::ports::journal::Leftover;
use rusqlite::{Connection, OpenFlags};

use crate::metrics::store::StoreMetrics;
pub use error::StoreError;
pub use migrations::{SCHEMA_VERSION, inspect};
use readers::Readers;
pub use rows::Stored;
use writer::Writer;

/// The open store. Cheap to clone; the last clone to go ends the threads.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    metrics: StoreMetrics,
    writer: Writer,
    readers: Readers,
}

impl Store {
    /// Opens (or makes) the file, brings its schema up to date and ends what an earlier process left running. Blocks;
    /// called once, at start.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_counted(path, StoreMetrics::default())
    }

    /// As [`Self::open`], for a server that shows what the store counts.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_counted(path: &Path, metrics: StoreMetrics) -> Result<Self, StoreError> {
        inspect(path)?;
        let mut conn = connect(path)?;
        migrations::apply(&mut conn, path)?;
        let interrupted = recovery::end_interrupted(&mut conn)?;
        metrics.recovered(Leftover::Interrupted, interrupted);
        let readers = Readers::open(path)?;
        let writer = Writer::start(conn, path, metrics.clone())?;
        Ok(Self { inner: Arc::new(Inner { path: path.to_owned(), metrics, writer, readers }) })
    }

    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Runs a short read on a reader's thread; all that it sees is of one moment.
    ///
    /// # Errors
    /// What the read answers, or [`StoreError::Unavailable`] when the store is closing.
    pub async fn read<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.inner.readers.run(read).await
    }

    /// Runs a change in the next group commit and answers once it is durable. A change that fails, fails alone.
    ///
    /// # Errors
    /// What the change answers, or what kept the group from committing.
    pub async fn write<T, F>(&self, change: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        self.inner.writer.run(change).await
    }

    /// Whether the store can commit now: what `/readyz` asks.
    ///
    /// # Errors
    /// Why it can't.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.write(|conn| {
            conn.execute(
                "INSERT INTO settings (name, value) VALUES ('_probe', 'null') ON CONFLICT (name) DO NOTHING",
                [],
            )?;
            conn.execute("DELETE FROM settings WHERE name = '_probe'", [])?;
            Ok(())
        })
        .await
    }
}

/// How long a connection waits for another one's lock.
const BUSY: std::time::Duration = std::time::Duration::from_secs(5);

/// What is said here is nobody else's: a new file is its owner's alone, and SQLite gives its companions the same mode.
fn make_private(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::OpenOptionsExt;
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::Unavailable(format!("{} can't be made: {error}", path.display()))),
    }
}

/// A connection to the file, which is made when there is none.
fn connect(path: &Path) -> Result<Connection, StoreError> {
    make_private(path)?;
    set_up(Connection::open(path)?)
}

/// Another connection to a file that is in use: one that has gone is not made again, empty.
fn reconnect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    set_up(Connection::open_with_flags(path, flags)?)
}

/// The settings that every user of the file needs.
fn set_up(conn: Connection) -> Result<Connection, StoreError> {
    conn.busy_timeout(BUSY)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    // FULL: a commit that was answered survives a power cut.
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    // A log that grew under load gives its room back when it begins anew.
    conn.pragma_update(None, "journal_size_limit", 64 << 20)?;
    conn.set_prepared_statement_cache_capacity(128);
    Ok(conn)
}
