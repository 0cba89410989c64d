//! What can go wrong with the store, in words that carry no SQL.

use rusqlite::ErrorCode as Sqlite;

/// An error of the store. `Unavailable`, `Unsettled` and `Unknown` are about the store itself (full, read-only, gone,
/// damaged, closing) and tell apart what is known of the change; the others are about one request.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the store cannot be used: {0}")]
    Unavailable(String),
    /// The commit failed. Nothing is stored now, and the same change may be tried again; but a process that ends before
    /// the next commit may find it stored.
    #[error("a commit failed: {0}")]
    Unsettled(String),
    /// Nobody can say whether the change is stored.
    #[error("it is not known whether a change is stored: {0}")]
    Unknown(String),
    /// Nothing of that id is there for the one who asks.
    #[error("not found")]
    NotFound,
    /// A unique name is taken, or something still refers to the row.
    #[error("{0}")]
    Conflict(String),
    /// The writer's epoch is older than the Conversation's.
    #[error("a newer instance of this Conversation has taken over")]
    Fenced,
    #[error(
        "the file {file} was written by a newer Hamlet (schema {found}, this one knows {known}); run that version, or restore a backup"
    )]
    Newer { file: String, found: i64, known: i64 },
    #[error("{0} is the database of another program; name another folder with --data")]
    Foreign(String),
    /// A stored value does not read as what it must be.
    #[error("a stored value cannot be read: {0}")]
    Damaged(String),
    #[error("the store failed: {0}")]
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match &error {
            rusqlite::Error::QueryReturnedNoRows => Self::NotFound,
            rusqlite::Error::SqliteFailure(failure, _) => match failure.code {
                Sqlite::ConstraintViolation => Self::Conflict(error.to_string()),
                Sqlite::DiskFull
                | Sqlite::ReadOnly
                | Sqlite::CannotOpen
                | Sqlite::SystemIoFailure
                | Sqlite::DatabaseCorrupt
                | Sqlite::NotADatabase
                | Sqlite::PermissionDenied
                | Sqlite::DatabaseBusy
                | Sqlite::DatabaseLocked
                | Sqlite::FileLockingProtocolFailed
                | Sqlite::OutOfMemory => Self::Unavailable(error.to_string()),
                _ => Self::Sqlite(error),
            },
            _ => Self::Sqlite(error),
        }
    }
}

impl From<serde_json::Error> for StoreError {
    fn from(error: serde_json::Error) -> Self {
        Self::Damaged(error.to_string())
    }
}
