//! The one writer: a thread that drains everything that is queued into one transaction (group commit, no lingering) and
//! answers each job after the commit. A job that fails, fails alone; if SQLite left the transaction, the whole group is
//! rolled back. The queue holds at most one job a Conversation, plus the requests that wait for theirs.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, unbounded};
use rusqlite::Connection;
use tokio::sync::{Semaphore, oneshot};

use super::{StoreError, housekeeping, journal::Claims};
use crate::metrics::store::StoreMetrics;

/// Jobs in one transaction at most: keeps the wait of the first one bounded.
const GROUP: usize = 4096;
/// Requests of routes that wait for their change; the next one waits in its own task.
const WAITING: usize = 1024;

/// Between two lines about a store that can't commit.
const COMPLAIN_EVERY: Duration = Duration::from_secs(10);

/// One unit of change. `run` may be called once, `done` is called once, after the commit or its failure.
pub trait Job: Send {
    fn run(&mut self, conn: &Connection, claims: &mut Claims) -> Result<(), StoreError>;

    fn done(self: Box<Self>, outcome: Result<(), StoreError>);

    /// Whether `run` is one statement, which fails as a whole by itself: no savepoint is needed around it.
    fn is_one_statement(&self) -> bool {
        false
    }
}

#[derive(Debug)]
pub struct Writer {
    jobs: Sender<Box<dyn Job>>,
    /// Bounds how many requests wait; Conversations are bound by their one batch in flight.
    waiting: Semaphore,
    /// Held by nobody else: when it is gone, the housekeeping thread lets go of the queue.
    _alive: Arc<()>,
}

impl Writer {
    pub fn start(conn: Connection, path: &Path, metrics: StoreMetrics) -> Result<Self, StoreError> {
        let (jobs, queue) = unbounded::<Box<dyn Job>>();
        let commits = Arc::new(AtomicU64::new(0));
        // The housekeeper moves pages out of the log in the background; a commit never waits for that.
        conn.pragma_update(None, "wal_autocheckpoint", 0)?;
        let (alive, restart) = (Arc::new(()), Arc::new(AtomicBool::new(false)));
        housekeeping::start(path, Arc::downgrade(&alive), Arc::clone(&commits), Arc::clone(&restart), jobs.clone())?;
        thread::Builder::new()
            .name("store-write".to_owned())
            .spawn(move || write_all(&conn, &queue, &commits, &restart, &metrics))
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self { jobs, waiting: Semaphore::new(WAITING), _alive: alive })
    }

    pub fn submit(&self, job: Box<dyn Job>) {
        if let Err(refused) = self.jobs.send(job) {
            refused.into_inner().done(Err(closed()));
        }
    }

    pub async fn run<T, F>(&self, change: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let _permit = self.waiting.acquire().await.map_err(|_| closed())?;
        let (answer, answered) = oneshot::channel();
        self.submit(Box::new(Change { change: Some(change), value: None, answer }));
        answered.await.map_err(|_| closed())?
    }
}

/// A change given as a closure, answered with its value.
struct Change<T, F> {
    change: Option<F>,
    value: Option<T>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Change<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, conn: &Connection, _claims: &mut Claims) -> Result<(), StoreError> {
        if let Some(change) = self.change.take() {
            self.value = Some(change(conn)?);
        }
        Ok(())
    }

    fn done(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { value, answer, .. } = *self;
        // The asker may have gone: the change stands all the same.
        drop(answer.send(outcome.and_then(|()| value.ok_or_else(closed))));
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}

fn write_all(
    conn: &Connection,
    queue: &Receiver<Box<dyn Job>>,
    commits: &AtomicU64,
    restart: &AtomicBool,
    metrics: &StoreMetrics,
) {
    let mut claims = Claims::default();
    let mut complaints = Complaints::default();
    // Ends when the last sender is gone.
    while let Ok(first) = queue.recv() {
        if restart.swap(false, Ordering::AcqRel) {
            housekeeping::begin_log_anew(conn);
        }
        let mut group = vec![first];
        group.extend(queue.try_iter().take(GROUP - 1));
        let (started, rows) = (Instant::now(), conn.total_changes());
        let outcomes = commit_group(conn, &mut claims, &mut group);
        metrics.committed(started.elapsed(), group.len(), conn.total_changes() - rows);
        if let Some(reason) = unavailable(&outcomes) {
            metrics.failed();
            complaints.hear(reason);
        }
        commits.fetch_add(1, Ordering::Relaxed);
        for (job, outcome) in group.into_iter().zip(outcomes) {
            if catch_unwind(AssertUnwindSafe(|| job.done(outcome))).is_err() {
                tracing::error!("a job's answer panicked");
            }
        }
    }
}

/// One outcome a job, in order.
fn commit_group(conn: &Connection, claims: &mut Claims, group: &mut [Box<dyn Job>]) -> Vec<Result<(), StoreError>> {
    let outcomes = run_group(conn, claims, group);
    let outcomes = outcomes.and_then(|outcomes| execute(conn, "COMMIT").map(|()| outcomes));
    match outcomes {
        Ok(outcomes) => {
            claims.settle();
            outcomes
        }
        Err(error) => {
            claims.drop_group();
            if !conn.is_autocommit() && execute(conn, "ROLLBACK").is_err() {
                tracing::error!("a transaction could neither be committed nor rolled back");
            }
            refuse_all(group.len(), &error)
        }
    }
}

/// Runs each job by itself. An error of the whole: nothing of the group may be committed.
fn run_group(
    conn: &Connection,
    claims: &mut Claims,
    group: &mut [Box<dyn Job>],
) -> Result<Vec<Result<(), StoreError>>, StoreError> {
    execute(conn, "BEGIN IMMEDIATE")?;
    let mut outcomes = Vec::with_capacity(group.len());
    for job in group.iter_mut() {
        let outcome = run_alone(conn, claims, job.as_mut())?;
        match &outcome {
            Ok(()) => claims.keep(),
            Err(_) => claims.drop_lessons(),
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// The job's own outcome; the outer error is one that takes the whole group with it.
fn run_alone(conn: &Connection, claims: &mut Claims, job: &mut dyn Job) -> Result<Result<(), StoreError>, StoreError> {
    let alone = !job.is_one_statement();
    if alone {
        execute(conn, "SAVEPOINT job")?;
    }
    let result = catch_unwind(AssertUnwindSafe(|| job.run(conn, claims)))
        .unwrap_or_else(|_| Err(StoreError::Damaged("a change panicked".to_owned())));
    if conn.is_autocommit() {
        // SQLite gave the whole transaction up (disk full, I/O error): nothing of this group is stored.
        result?;
        return Err(StoreError::Unavailable("the transaction was given up".to_owned()));
    }
    if alone {
        if result.is_err() {
            execute(conn, "ROLLBACK TO job")?;
        }
        execute(conn, "RELEASE job")?;
    }
    Ok(result)
}

fn execute(conn: &Connection, sql: &str) -> Result<(), StoreError> {
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}

fn refuse_all(jobs: usize, why: &StoreError) -> Vec<Result<(), StoreError>> {
    let reason = match why {
        StoreError::Unavailable(reason) => reason.clone(),
        other => other.to_string(),
    };
    (0..jobs).map(|_| Err(StoreError::Unavailable(reason.clone()))).collect()
}

/// Why the store could not be used, when that is what became of a job.
fn unavailable(outcomes: &[Result<(), StoreError>]) -> Option<&str> {
    outcomes.iter().find_map(|outcome| match outcome {
        Err(StoreError::Unavailable(reason)) => Some(reason.as_str()),
        _ => None,
    })
}

/// Tells of trouble once and again at intervals, not with each try: the log may be on the same full disk.
#[derive(Default)]
struct Complaints {
    told: Option<Instant>,
    untold: u64,
}

impl Complaints {
    fn hear(&mut self, reason: &str) {
        if self.told.is_some_and(|told| told.elapsed() < COMPLAIN_EVERY) {
            self.untold += 1;
            return;
        }
        tracing::error!(reason, before = self.untold, "a group of changes could not be committed");
        (self.told, self.untold) = (Some(Instant::now()), 0);
    }
}
