//! Housekeeping beside the writer: moves committed pages from the log into the file and deletes journal rows that no
//! running Message needs. Both in small steps, so that no token waits behind one.

use std::{
    path::Path,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use crossbeam_channel::Sender;
use rusqlite::Connection;

use super::{BUSY, StoreError, connect, journal::Trim, panics::contained, writer::Job};

const PAUSE: Duration = Duration::from_secs(1);
/// Pages of the log (of 4 KiB) beyond which it is begun anew: under steady load there is never a moment at which all of it
/// is in the file, so that it would grow for as long as the load lasts.
const LONG_LOG: i64 = 16_384;

/// Starts the thread; it ends within a pause of the writer's end.
pub fn start(
    path: &Path,
    owner: Weak<()>,
    commits: Arc<AtomicU64>,
    restart: Arc<AtomicBool>,
    jobs: Sender<Box<dyn Job>>,
) -> Result<(), StoreError> {
    let conn = connect(path)?;
    thread::Builder::new()
        .name("store-checkpoint".to_owned())
        .spawn(move || {
            while contained(|| keep_house(&conn, &owner, &commits, &restart, &jobs)).is_none() {
                tracing::error!("the store's housekeeping failed; it goes on");
            }
        })
        .map(drop)
        .map_err(|error| StoreError::Unavailable(error.to_string()))
}

fn keep_house(
    conn: &Connection,
    owner: &Weak<()>,
    commits: &AtomicU64,
    restart: &AtomicBool,
    jobs: &Sender<Box<dyn Job>>,
) {
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
        if jobs.send(Box::new(Trim::new(jobs.clone()))).is_err() {
            return;
        }
        match checkpoint(conn) {
            // What is left of the log now is what came during the checkpoint: the writer moves that and starts over.
            Ok(pages) => restart.store(pages > LONG_LOG, Ordering::Release),
            Err(error) => tracing::warn!(%error, "the log could not be moved into the file; tried again in a moment"),
        }
    }
}

/// Answers how many pages the log has.
fn checkpoint(conn: &Connection) -> Result<i64, StoreError> {
    Ok(conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1))?)
}

/// Begins the log anew, from the writer, between two groups. Readers that are at it keep it from happening this time.
pub fn begin_log_anew(conn: &Connection) {
    // Commits wait meanwhile, so that a long read must not be waited for.
    if let Err(error) = conn.busy_timeout(Duration::from_millis(10)) {
        tracing::warn!(%error, "the log is not begun anew");
        return;
    }
    let restarted = conn.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| row.get::<_, i64>(0));
    match restarted {
        Ok(0) => {}
        Ok(_busy) => tracing::debug!("the log is still being read; it is begun anew in a moment"),
        Err(error) => tracing::warn!(%error, "the log could not be begun anew"),
    }
    if let Err(error) = conn.busy_timeout(BUSY) {
        tracing::warn!(%error, "the writer's patience could not be set again");
    }
}
