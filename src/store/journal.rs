//! The engine's Journal over the writer: batches, claims, and the trimming of rows that no running Message needs. The
//! writer keeps key and epoch of the Conversations it writes in memory and refuses a stale epoch.

use std::{collections::HashMap, sync::Arc};

use futures_util::future::BoxFuture;
use hamlet_actors::{
    policy::window::Said,
    ports::journal::{Batch, Claimed, Done, Journal, JournalError, Leftover, Write},
    vocabulary::{ConversationId, MessageId},
};
use rusqlite::{Connection, OptionalExtension};

use super::{Store, StoreError, batch, messages, recovery, writer::Job};

/// Conversations that the writer remembers at most; others are read again.
const REMEMBERED: usize = 100_000;
/// Journal rows deleted in one transaction at most.
const TRIM_CHUNK: usize = 5_000;

/// What the writer knows of the Conversations it writes and the Messages that are running.
#[derive(Debug, Default)]
pub struct Claims {
    conversations: HashMap<ConversationId, Claim>,
    running: HashMap<MessageId, Running>,
}

#[derive(Debug, Clone, Copy)]
pub struct Claim {
    pub key: i64,
    pub epoch: u64,
}

/// A Message whose pieces are in the journal.
#[derive(Debug, Clone, Copy)]
pub struct Running {
    pub key: i64,
    /// The first journal row that the Message still needs.
    pub first_row: Option<i64>,
}

impl Claims {
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
        self.running.insert(message, Running { key, first_row: None });
    }

    /// The running Message's key, read once.
    pub fn running(&mut self, conn: &Connection, message: MessageId) -> Result<&mut Running, StoreError> {
        match self.running.entry(message) {
            std::collections::hash_map::Entry::Occupied(known) => Ok(known.into_mut()),
            std::collections::hash_map::Entry::Vacant(unknown) => {
                let key = conn
                    .prepare_cached("SELECT key FROM messages WHERE id = ?1 AND status = 'running'")?
                    .query_row([message.0.as_bytes()], |row| row.get(0))?;
                Ok(unknown.insert(Running { key, first_row: None }))
            }
        }
    }

    pub fn end(&mut self, message: MessageId) {
        self.running.remove(&message);
    }

    /// The lowest journal row that a running Message needs.
    fn watermark(&self) -> Option<i64> {
        self.running.values().filter_map(|running| running.first_row).min()
    }
}

impl Journal for Store {
    fn submit(&self, batch: Batch, done: Done<()>) {
        self.inner.writer.submit(Box::new(BatchJob { batch, done }));
    }

    fn claim(&self, conversation: ConversationId, cause: Leftover, done: Done<Claimed>) {
        self.inner.writer.submit(Box::new(ClaimJob { conversation, cause, claimed: None, done }));
    }

    fn history(
        &self,
        conversation: ConversationId,
        before_position: i64,
        max_chars: usize,
    ) -> BoxFuture<'static, Result<Vec<Arc<Said>>, JournalError>> {
        let store = self.clone();
        Box::pin(async move {
            store
                .read(move |conn| messages::history(conn, conversation, before_position, max_chars))
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
    claimed: Option<Claimed>,
    done: Done<Claimed>,
}

impl Job for ClaimJob {
    fn run(&mut self, conn: &Connection, claims: &mut Claims) -> Result<(), StoreError> {
        let known = claims.of(conn, self.conversation)?;
        let claim = Claim { epoch: known.epoch + 1, ..known };
        claims.raise(self.conversation, claim);
        let last_seq = recovery::end_running(conn, claims, claim.key, self.cause)?;
        let title = conn
            .prepare_cached("UPDATE conversations SET epoch = ?2, last_seq = max(last_seq, ?3) WHERE key = ?1 RETURNING title, last_seq")?
            .query_row((claim.key, claim.epoch, last_seq), |row| Ok((row.get(0)?, row.get(1)?)))?;
        let next_position = conn
            .prepare_cached("SELECT coalesce(max(position), -1) + 1 FROM messages WHERE conversation_key = ?1")?
            .query_row([claim.key], |row| row.get(0))?;
        self.claimed = Some(Claimed { epoch: claim.epoch, last_seq: title.1, next_position, title: title.0 });
        Ok(())
    }

    fn done(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { claimed, done, .. } = *self;
        done(outcome.and_then(|()| claimed.ok_or(StoreError::NotFound)).map_err(journal_error));
    }
}

fn journal_error(error: StoreError) -> JournalError {
    match error {
        StoreError::Unavailable(reason) => JournalError::Unavailable(reason),
        StoreError::Fenced => JournalError::Fenced,
        StoreError::NotFound => JournalError::Gone,
        error @ (StoreError::Conflict(_)
        | StoreError::Newer { .. }
        | StoreError::Damaged(_)
        | StoreError::Sqlite(_)) => JournalError::Refused(error.to_string()),
    }
}

/// Deletes journal rows below the first one that a running Message needs: by range, a chunk a transaction.
#[derive(Debug, Default)]
pub struct Trim;

impl Job for Trim {
    fn run(&mut self, conn: &Connection, claims: &mut Claims) -> Result<(), StoreError> {
        let lowest: Option<i64> =
            conn.prepare_cached("SELECT min(id) FROM journal")?.query_row([], |row| row.get(0)).optional()?.flatten();
        let Some(lowest) = lowest else { return Ok(()) };
        let chunk = lowest.saturating_add(i64::try_from(TRIM_CHUNK).unwrap_or(i64::MAX));
        let below = claims.watermark().map_or(chunk, |needed| needed.min(chunk));
        conn.prepare_cached("DELETE FROM journal WHERE id < ?1")?.execute([below])?;
        Ok(())
    }

    fn done(self: Box<Self>, outcome: Result<(), StoreError>) {
        if let Err(error) = outcome {
            tracing::warn!(%error, "journal rows could not be deleted; tried again in a moment");
        }
    }
}
