//! A small pool of reading threads, each with its own connection. How many reads wait is bounded by a semaphore, so that
//! the channel never blocks a runtime thread.

use std::{path::Path, sync::Arc, thread};

use crossbeam_channel::{Receiver, Sender, bounded};
use rusqlite::{Connection, OpenFlags};
use tokio::sync::{Semaphore, oneshot};

use super::{StoreError, panics::contained};

/// Enough to keep short reads from queueing behind one long one; more only cost caches.
const READERS: usize = 3;
/// Reads that may wait; the next one waits in its own task.
const WAITING: usize = 256;

type Read = Box<dyn FnOnce(&Connection) + Send>;

#[derive(Debug)]
pub struct Readers {
    reads: Sender<Read>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let (reads, queue) = bounded::<Read>(WAITING);
        for n in 0..READERS {
            let conn = reader(path)?;
            let queue: Receiver<Read> = queue.clone();
            thread::Builder::new()
                .name(format!("store-read-{n}"))
                .spawn(move || {
                    // Ends when the last sender is gone.
                    for read in queue {
                        // A read keeps its own panic; this is for one that panics again over that.
                        if contained(|| read(&conn)).is_none() {
                            tracing::error!("a read failed; its thread goes on");
                        }
                    }
                })
                .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        }
        Ok(Self { reads, permits: Arc::new(Semaphore::new(WAITING)) })
    }

    pub async fn run<T, F>(&self, read: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let closed = || StoreError::Unavailable("the store is closed".to_owned());
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| closed())?;
        let (answer, answered) = oneshot::channel();
        let job: Read = Box::new(move |conn| {
            let result = contained(|| in_snapshot(conn, read))
                .unwrap_or_else(|| Err(StoreError::Damaged("a read panicked".to_owned())));
            // The asker may have gone meanwhile: then nobody needs the answer.
            drop(answer.send(result));
            drop(permit);
        });
        self.reads.send(job).map_err(|_| closed())?;
        answered.await.map_err(|_| closed())?
    }
}

/// Everything that one read sees is of one moment. It also costs one lock for all its statements instead of one for each.
fn in_snapshot<T>(conn: &Connection, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
    if !conn.is_autocommit() {
        // An earlier read panicked in its snapshot.
        conn.execute_batch("ROLLBACK")?;
    }
    conn.prepare_cached("BEGIN")?.execute([])?;
    let result = read(conn);
    conn.prepare_cached("COMMIT")?.execute([])?;
    result
}

fn reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(std::time::Duration::from_secs(5))?;
    conn.pragma_update(None, "query_only", true)?;
    // SQLite opens the log with the first read. A thread that gets its first one much later might not find it any more, or
    // find another one in its place, when the folder was moved meanwhile.
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    conn.set_prepared_statement_cache_capacity(128);
    Ok(conn)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[tokio::test]
    async fn a_thread_that_first_reads_when_the_folder_was_moved_reads_what_is_open() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("here");
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("hamlet.db");
        let writer = super::super::connect(&path).unwrap();
        writer.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (7)").unwrap();
        let readers = Readers::open(&path).unwrap();
        std::fs::rename(&folder, outer.path().join("away")).unwrap();
        let together = Arc::new(Barrier::new(READERS));
        let reads = (0..READERS).map(|_| {
            let together = Arc::clone(&together);
            readers.run(move |conn| {
                // So that each thread gets one of them.
                together.wait();
                Ok(conn.query_row("SELECT a FROM t", [], |row| row.get::<_, i64>(0))?)
            })
        });
        let found: Vec<i64> = futures_util::future::join_all(reads).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(found, [7; READERS]);
    }
}
