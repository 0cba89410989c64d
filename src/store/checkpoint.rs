//! Housekeeping beside the writer: moves committed pages from the log into the file and deletes journal rows that no
//! running Message needs. Both in small steps, so that no token waits behind one.

use std::{
    path::Path,
    sync::{Arc, Weak, atomic::{AtomicU64, Ordering}},
    thread,
    time::Duration,
};

use crossbeam_channel::Sender;
use rusqlite::Connection;

use super::{StoreError, connect, journal::Trim, writer::Job};

const PAUSE: Duration = Duration::from_secs(1);

/// Starts the thread; it ends within a pause of the writer's end.
pub fn start(
    path: &Path,
    owner: Weak<()>,
    commits: Arc<AtomicU64>,
    jobs: Sender<Box<dyn Job>>,
) -> Result<(), StoreError> {
    let conn = connect(path)?;
    thread::Builder::new()
        .name("store-checkpoint".to_owned())
        .spawn(move || keep_house(&conn, &owner, &commits, &jobs))
        .map(drop)
        .map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn keep_house(conn: &Connection, owner: &Weak<()>, commits: &AtomicU64, jobs: &Sender<Box<dyn Job>>) {
    let mut seen = 0;
    loop {
        thread::sleep(PAUSE);
        // This thread's own sender must not keep the writer's queue open for ever.
        if owner.strong_count() == 0 {
            return;
        }
        let now = commits.load(Ordering::Relaxed);
        if now == seen {
            continue;
        }
        // Its own job is one commit: it alone is no reason to come again.
        seen = now + 1;
        if jobs.send(Box::new(Trim)).is_err() {
            return;
        }
        if let Err(error) = checkpoint(conn) {
            tracing::warn!(%error, "the log could not be moved into the file; tried again in a moment");
        }
    }
}

fn checkpoint(conn: &Connection) -> Result<(), StoreError> {
    conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
    Ok(())
}
