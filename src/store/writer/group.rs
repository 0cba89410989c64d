//! Jobs of one transaction. A job that fails, fails alone; if SQLite left the transaction, the whole group is rolled back.
//! A group knows how far it has come, so that each of its jobs gets a true answer also when the writer fails in the middle.

use std::collections::VecDeque;

use crossbeam_channel::Receiver;
use rusqlite::{Connection, ErrorCode as Sqlite};

use super::Job;
use crate::store::{StoreError, journal::Claims, panics::contained};

/// Jobs in one transaction at most: keeps the wait of the first one bounded.
const LARGEST: usize = 4096;

/// How a transaction is committed. Tests bring one that fails.
pub type Commit = fn(&Connection) -> rusqlite::Result<()>;

#[derive(Default)]
pub struct Group {
    jobs: VecDeque<Box<dyn Job>>,
    /// One a job, in order, as far as they have run.
    pub outcomes: VecDeque<Result<(), StoreError>>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    /// Nothing can be committed yet, and no job is at work.
    #[default]
    Open,
    /// The next job without an outcome is at work.
    AtWork,
    /// Whoever looks from outside can't tell whether it is stored.
    Committing,
    /// The outcomes stand.
    Settled,
}

/// The transaction could not be ended: the connection is of no use any more.
#[derive(Debug, PartialEq, Eq)]
pub struct Stuck;

impl Group {
    /// This job and whatever waits behind it.
    pub fn of(first: Box<dyn Job>, queue: &Receiver<Box<dyn Job>>) -> Self {
        let mut jobs = VecDeque::from([first]);
        jobs.extend(queue.try_iter().take(LARGEST - 1));
        Self { jobs, ..Self::default() }
    }

    /// Runs and commits all of it, or nothing.
    pub fn commit(&mut self, conn: &Connection, claims: &mut Claims, commit: Commit) -> Result<(), Stuck> {
        let committed = self.run(conn, claims).and_then(|()| {
            self.stage = Stage::Committing;
            commit(conn).map_err(not_committed)
        });
        match committed {
            Ok(()) => {
                self.stage = Stage::Settled;
                claims.settle();
                Ok(())
            }
            Err(error) => {
                claims.drop_group();
                self.refuse(&error);
                // A statement that failed may have taken the transaction with it, or left it open.
                let ended = conn.is_autocommit() || execute(conn, "ROLLBACK").is_ok();
                ended.then_some(()).ok_or(Stuck)
            }
        }
    }

    /// Nothing of it is stored.
    pub fn refuse(&mut self, why: &StoreError) {
        self.outcomes = self.jobs.iter().map(|_| Err(of_all(why))).collect();
        self.stage = Stage::Settled;
    }

    /// The writer failed over it and lets go of its connection: what was not committed is rolled back.
    pub fn lose(&mut self) {
        let failed = || StoreError::Unavailable("the writer failed before the commit".to_owned());
        match self.stage {
            Stage::Settled => {}
            Stage::Committing => {
                for outcome in self.outcomes.iter_mut().filter(|outcome| outcome.is_ok()) {
                    *outcome = Err(StoreError::Unknown("the writer failed in the middle of the commit".to_owned()));
                }
            }
            Stage::Open => self.refuse(&failed()),
            Stage::AtWork => {
                let at = self.outcomes.len();
                self.refuse(&failed());
                // The others may be tried again; with this one the writer would fail again.
                if let Some(outcome) = self.outcomes.get_mut(at) {
                    *outcome = Err(StoreError::Damaged("the writer failed over a change".to_owned()));
                }
            }
        }
        self.stage = Stage::Settled;
    }

    /// Tells each job what became of it.
    pub fn answer(&mut self) {
        while let (Some(job), Some(outcome)) = (self.jobs.pop_front(), self.outcomes.pop_front()) {
            if contained(|| job.done(outcome)).is_none() {
                tracing::error!("a job's answer panicked");
            }
        }
    }

    /// Runs each job by itself. An error of the whole: nothing of the group may be committed.
    fn run(&mut self, conn: &Connection, claims: &mut Claims) -> Result<(), StoreError> {
        execute(conn, "BEGIN IMMEDIATE")?;
        for job in &mut self.jobs {
            self.stage = Stage::AtWork;
            let outcome = run_alone(conn, claims, job.as_mut())?;
            match &outcome {
                Ok(()) => claims.keep(),
                Err(_) => claims.drop_lessons(),
            }
            self.outcomes.push_back(outcome);
            self.stage = Stage::Open;
        }
        Ok(())
    }
}

/// The job's own outcome; the outer error is one that takes the whole group with it.
fn run_alone(conn: &Connection, claims: &mut Claims, job: &mut dyn Job) -> Result<Result<(), StoreError>, StoreError> {
    let alone = !job.is_one_statement();
    if alone {
        execute(conn, "SAVEPOINT job")?;
    }
    let result =
        contained(|| job.run(conn, claims)).unwrap_or_else(|| Err(StoreError::Damaged("a change panicked".to_owned())));
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

pub fn commit(conn: &Connection) -> rusqlite::Result<()> {
    conn.prepare_cached("COMMIT")?.execute([]).map(drop)
}

fn execute(conn: &Connection, sql: &str) -> Result<(), StoreError> {
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// What a failed COMMIT means (docs/decisions/store.md). The transaction is rolled back either way; but once its last page
/// was written to the log, a process that dies before the next commit may find it there.
fn not_committed(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        // No room for the last page, or not begun to write: it is not in the log.
        Some(Sqlite::DiskFull | Sqlite::DatabaseBusy | Sqlite::DatabaseLocked | Sqlite::ReadOnly) => error.into(),
        _ => StoreError::Unsettled(error.to_string()),
    }
}

/// What took the group with it, told to each of its jobs.
fn of_all(why: &StoreError) -> StoreError {
    match why {
        StoreError::Unsettled(reason) => StoreError::Unsettled(reason.clone()),
        StoreError::Unavailable(reason) => StoreError::Unavailable(reason.clone()),
        other => StoreError::Unavailable(other.to_string()),
    }
}
