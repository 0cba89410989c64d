//! The one writer's queue. A thread of its own (`desk`) drains everything that is queued into one transaction (`group`:
//! group commit, no lingering) and answers each job after the commit. The queue holds at most one job a Conversation, plus
//! the requests that wait for theirs.

mod desk;
mod group;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
    thread,
};

use crossbeam_channel::{Sender, unbounded};
use rusqlite::Connection;
use tokio::sync::{Semaphore, oneshot};

use self::desk::{Beside, Desk};
use super::{StoreError, housekeeping, journal::Claims, presence::Presence};
use crate::metrics::store::StoreMetrics;

/// Requests of routes that wait for their change; the next one waits in its own task.
const WAITING: usize = 1024;

/// One unit of change. `run` is called once at most. `done` is called exactly once: after the commit or its failure, or when
/// the writer itself failed.
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
        let (alive, restart) = (Arc::new(()), Arc::new(AtomicBool::new(false)));
        let presence = Presence::of(&conn, path)?;
        housekeeping::start(path, Arc::downgrade(&alive), Arc::clone(&commits), Arc::clone(&restart), jobs.clone())?;
        let desk = Desk::new(conn, path, presence, Beside { commits, restart_log: restart, metrics })?;
        thread::Builder::new()
            .name("store-write".to_owned())
            .spawn(move || desk.write_all(&queue))
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
        answered.await.map_err(|_| StoreError::Unknown("the answer to a change was lost".to_owned()))?
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

#[cfg(test)]
mod tests;
