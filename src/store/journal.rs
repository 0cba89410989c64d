//! The engine's Journal over the writer: batches, claims, and the trimming of rows that no running Message needs. The
//! writer keeps key and epoch of the Conversations it writes in memory and refuses a stale epoch.

use std::collections::HashMap;

use crossbeam_channel::Sender;
use futures_util::future::BoxFuture;
use hamlet_actors::{
    conversation::queue::STEERING_POSITION,
    policy::said::Said,
    ports::journal::{Batch, Claimed, Done, Journal, JournalError, Leftover, Told, Write},
    vocabulary::{ConversationId, MessageId, Timestamp},
};
use rusqlite::Connection;

use super::{
    Store, StoreError, batch, history, queue,
    recovery::{self, EndedLeft},
    writer::Job,
};
use crate::metrics::store::StoreMetrics;

/// Conversations that the writer remembers at most; others are read again.
const REMEMBERED: usize = 100_000;
/// Journal rows deleted in one transaction at most.
const TRIM_CHUNK: i64 = 5_000;
/// How long a repeat joins its first send.
const KEYS_KEPT_MS: i64 = 48 * 3600 * 1000;

/// What the writer knows of the Conversations it writes and the Messages that are running. What a job learns counts once
/// its group is committed, and not at all when it is rolled back: rows are deleted by this knowledge.
#[derive(Debug, Default)]
pub struct Claims {
    conversations: HashMap<ConversationId, Claim>,
    running: HashMap<MessageId, Running>,
    /// Of the job that runs now.
    learning: Vec<Lesson>,
    /// Of the jobs of this group that went well.
    learnt: Vec<Lesson>,
}

#[derive(Debug, Clone, Copy)]
pub struct Claim {
    pub key: i64,
    pub epoch: u64,
}

/// A Message whose pieces are in the journal.
#[derive(Debug, Clone, Copy)]
struct Running {
    key: i64,
    /// The first journal row that the Message still needs.
    first_row: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
enum Lesson {
    Began(MessageId, Running),
    /// A row was appended; the first one counts.
    Row(MessageId, i64),
    /// The fold is stored: no row is needed any more.
    Folded(MessageId),
    Ended(MessageId),
}

impl Claims {
    /// What a writer has to know that begins while Messages run: each with the first row that it may need.
    pub fn read(conn: &Connection) -> Result<Self, StoreError> {
        let mut first_rows: HashMap<i64, i64> = HashMap::new();
        let mut statement = conn.prepare("SELECT message_key, min(id) FROM journal GROUP BY message_key")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            first_rows.insert(row.get(0)?, row.get(1)?);
        }
        let mut claims = Self::default();
        let mut statement = conn.prepare("SELECT id, key FROM messages WHERE status = 'running'")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let key = row.get(1)?;
            let running = Running { key, first_row: first_rows.get(&key).copied() };
            claims.running.insert(MessageId(super::rows::id(row, 0)?), running);
        }
        Ok(claims)
    }

    /// The Conversation as the writer knows it, read once.
    pub fn of(&mut self, conn: &Connection, id: ConversationId) -> Result<Claim, StoreError> {
        if let Some(claim) = self.conversations.get(&id) {
            return Ok(*claim);
        }
        let claim = conn
            .prepare_cached("SELECT key, epoch FROM conversations WHERE id = ?1 AND deleted_at IS NULL")?
            .query_row([id.0.as_bytes()], |row| Ok(Claim { key: row.get(0)?, epoch: row.get(1)? }))?;
        if self.conversations.len() >= REMEMBERED {
            self.conversations.clear();
        }
        self.conversations.insert(id, claim);
        Ok(claim)
    }

    /// A raised epoch is never taken back, also when its transaction is: the next claim is higher still.
    pub fn raise(&mut self, id: ConversationId, claim: Claim) {
        self.conversations.insert(id, claim);
    }

    /// The Conversation was deleted: whoever writes it next finds nothing.
    pub fn forget(&mut self, id: ConversationId) {
        self.conversations.remove(&id);
    }

    pub fn begin(&mut self, message: MessageId, key: i64) {
        self.learning.push(Lesson::Began(message, Running { key, first_row: None }));
    }

    /// The running Message's key.
    pub fn key_of(&mut self, conn: &Connection, message: MessageId) -> Result<i64, StoreError> {
        if let Some(running) = self.running.get(&message) {
            return Ok(running.key);
        }
        let key = conn
            .prepare_cached("SELECT key FROM messages WHERE id = ?1 AND status = 'running'")?
            .query_row([message.0.as_bytes()], |row| row.get(0))?;
        // Unknown to this writer: whatever rows it has are needed.
        let first_row = conn
            .prepare_cached("SELECT min(id) FROM journal WHERE message_key = ?1")?
            .query_row([key], |row| row.get(0))?;
        self.running.insert(message, Running { key, first_row });
        Ok(key)
    }

    pub fn row(&mut self, message: MessageId, row: i64) {
        self.learning.push(Lesson::Row(message, row));
    }

    pub fn fold(&mut self, message: MessageId) {
        self.learning.push(Lesson::Folded(message));
    }

    pub fn end(&mut self, message: MessageId) {
        self.learning.push(Lesson::Ended(message));
    }

    /// The first journal row that may belong to one of these Messages.
    pub fn first_row_of(&self, messages: impl Iterator<Item = MessageId>) -> i64 {
        messages
            .map(|message| self.running.get(&message).and_then(|running| running.first_row).unwrap_or(0))
            .min()
            .unwrap_or(0)
    }

    /// The job went well: its lessons count when the group does.
    pub fn keep(&mut self) {
        self.learnt.append(&mut self.learning);
    }

    /// The job failed.
    pub fn drop_lessons(&mut self) {
        self.learning.clear();
    }

    /// The group is rolled back.
    pub fn drop_group(&mut self) {
        self.learning.clear();
        self.learnt.clear();
    }

    /// The group is committed.
    pub fn settle(&mut self) {
        for lesson in self.learnt.drain(..) {
            match lesson {
                Lesson::Began(message, running) => {
                    self.running.insert(message, running);
                }
                Lesson::Row(message, row) => {
                    if let Some(running) = self.running.get_mut(&message) {
                        running.first_row.get_or_insert(row);
                    }
                }
                Lesson::Folded(message) => {
                    if let Some(running) = self.running.get_mut(&message) {
                        running.first_row = None;
                    }
                }
                Lesson::Ended(message) => {
                    self.running.remove(&message);
                }
            }
        }
    }

    /// The lowest journal row that a running Message needs, those of this very group included.
    fn watermark(&self) -> Option<i64> {
        let appended = self.learnt.iter().chain(&self.learning).filter_map(|lesson| match lesson {
            Lesson::Row(_, row) => Some(*row),
            Lesson::Began(..) | Lesson::Folded(_) | Lesson::Ended(_) => None,
        });
        self.running.values().filter_map(|running| running.first_row).chain(appended).min()
    }
}

impl Journal for Store {
    fn submit(&self, batch: Batch, done: Done<()>) {
        self.inner.writer.submit(Box::new(BatchJob { batch, done }));
    }

    fn claim(&self, conversation: ConversationId, cause: Leftover, done: Done<Claimed>) {
        self.inner.writer.submit(Box::new(ClaimJob {
            conversation,
            cause,
            metrics: self.inner.metrics.clone(),
            ended: 0,
            claimed: None,
            done,
        }));
    }

    fn history(
        &self,
        conversation: ConversationId,
        before_position: i64,
        max_chars: usize,
    ) -> BoxFuture<'static, Result<Told, JournalError>> {
        let store = self.clone();
        Box::pin(async move {
            store
                .read(move |conn| history::told(conn, conversation, before_position, max_chars))
                .await
                .map_err(journal_error)
        })
    }

    fn sketches(
        &self,
        conversation: ConversationId,
        after_position: i64,
        before_position: i64,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Said>, JournalError>> {
        let store = self.clone();
        Box::pin(async move {
            store
                .read(move |conn| history::sketches(conn, conversation, after_position, before_position, limit))
                .await
                .map_err(journal_error)
        })
    }
}

struct BatchJob {
    batch: Batch,
    done: Done<()>,
}

impl Job for BatchJob {
    fn run(&mut self, conn: &Connection, claims: &mut Claims) -> Result<(), StoreError> {
        batch::apply(conn, claims, &self.batch)
    }

    fn done(self: Box<Self>, outcome: Result<(), StoreError>) {
        (self.done)(outcome.map_err(journal_error));
    }

    fn is_one_statement(&self) -> bool {
        matches!(self.batch.writes.as_slice(), [Write::Pieces { pieces, .. }] if pieces.len() == 1)
    }
}

struct ClaimJob {
    conversation: ConversationId,
    cause: Leftover,
    metrics: StoreMetrics,
    /// Turns that this claim ended.
    ended: u64,
    claimed: Option<Claimed>,
    done: Done<Claimed>,
}

impl Job for ClaimJob {
    fn run(&mut self, conn: &Connection, claims: &mut Claims) -> Result<(), StoreError> {
        let known = claims.of(conn, self.conversation)?;
        let claim = Claim { epoch: known.epoch + 1, ..known };
        claims.raise(self.conversation, claim);
        let EndedLeft { last_seq, turns } = recovery::end_running(conn, claims, claim.key, self.cause)?;
        self.ended = turns;
        let (title, last_seq) = conn
            .prepare_cached("UPDATE conversations SET epoch = ?2, last_seq = max(last_seq, ?3) WHERE key = ?1 RETURNING title, last_seq")?
            .query_row((claim.key, claim.epoch, last_seq), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let next_position = conn
            .prepare_cached(
                "SELECT coalesce(max(position), -1) + 1 FROM messages WHERE conversation_key = ?1 AND position < ?2",
            )?
            .query_row((claim.key, STEERING_POSITION), |row| row.get(0))?;
        let queue = queue::waiting(conn, claim.key)?;
        self.claimed = Some(Claimed { epoch: claim.epoch, last_seq, next_position, title, queue });
        Ok(())
    }

    fn done(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { claimed, done, cause, ended, metrics, .. } = *self;
        if outcome.is_ok() {
            metrics.recovered(cause, ended);
        }
        done(outcome.and_then(|()| claimed.ok_or(StoreError::NotFound)).map_err(journal_error));
    }
}

pub fn journal_error(error: StoreError) -> JournalError {
    match error {
        StoreError::Unavailable(reason) => JournalError::Unavailable(reason),
        StoreError::Unsettled(reason) => JournalError::Unsettled(reason),
        StoreError::Unknown(reason) => JournalError::Unknown(reason),
        StoreError::Fenced => JournalError::Fenced,
        StoreError::NotFound => JournalError::Gone,
        error @ (StoreError::Conflict(_)
        | StoreError::Newer { .. }
        | StoreError::Foreign(_)
        | StoreError::Damaged(_)
        | StoreError::Sqlite(_)) => JournalError::Refused(error.to_string()),
    }
}

/// Deletes journal rows below the first one that a running Message needs, by range, and forgotten idempotency keys: a chunk
/// a transaction, and again behind whatever waits meanwhile, until nothing is left.
#[derive(Debug)]
pub struct Trim {
    jobs: Sender<Box<dyn Job>>,
    more: bool,
}

impl Trim {
    pub fn new(jobs: Sender<Box<dyn Job>>) -> Self {
        Self { jobs, more: false }
    }
}

impl Job for Trim {
    fn run(&mut self, conn: &Connection, claims: &mut Claims) -> Result<(), StoreError> {
        let forgotten = Timestamp::now().plus_millis(-KEYS_KEPT_MS).as_millis();
        conn.prepare_cached("DELETE FROM idempotency WHERE created_at < ?1")?.execute([forgotten])?;
        let (lowest, highest): (Option<i64>, Option<i64>) = conn
            .prepare_cached("SELECT (SELECT min(id) FROM journal), (SELECT max(id) FROM journal)")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (Some(lowest), Some(highest)) = (lowest, highest) else { return Ok(()) };
        // The newest row stays, so that its number is not given again while older knowledge of it is about.
        let free = claims.watermark().map_or(highest, |needed| needed.min(highest));
        let below = free.min(lowest.saturating_add(TRIM_CHUNK));
        conn.prepare_cached("DELETE FROM journal WHERE id < ?1")?.execute([below])?;
        self.more = below < free;
        Ok(())
    }

    fn done(self: Box<Self>, outcome: Result<(), StoreError>) {
        match outcome {
            Ok(()) if self.more => {
                let next = Box::new(Self::new(self.jobs.clone()));
                if self.jobs.send(next).is_err() {
                    tracing::debug!("the store is closing; the next start deletes the rest");
                }
            }
            Ok(()) => {}
            Err(error) => tracing::warn!(%error, "journal rows could not be deleted; tried again in a moment"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_this_very_group_are_needed_too() {
        let mut claims = Claims::default();
        let message = MessageId::generate();
        claims.begin(message, 1);
        claims.keep();
        claims.settle();
        assert_eq!(claims.watermark(), None);
        claims.row(message, 7);
        claims.row(message, 8);
        claims.keep();
        assert_eq!(claims.watermark(), Some(7), "before the group is committed");
        claims.settle();
        assert_eq!(claims.watermark(), Some(7));
        claims.end(message);
        claims.keep();
        claims.settle();
        assert_eq!(claims.watermark(), None);
    }
}
