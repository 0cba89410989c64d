//! What the engine keeps beside the transcript, over the same writer: rolling summaries, and what was sent to models.

use futures_util::future::BoxFuture;
use hamlet_actors::{
    ports::{Kept, PromptRecord, Prompts, Summaries, SummaryDraft, journal::JournalError},
    vocabulary::{ConversationId, Timestamp},
};
use rusqlite::Connection;

use super::{
    Store, StoreError,
    journal::{Claims, journal_error},
    prompts, summaries,
    writer::Job,
};

impl Summaries for Store {
    fn keep(
        &self,
        conversation: ConversationId,
        draft: SummaryDraft,
    ) -> BoxFuture<'static, Result<Kept, JournalError>> {
        let store = self.clone();
        let at = Timestamp::now();
        Box::pin(async move {
            store.write(move |conn| summaries::keep(conn, conversation, &draft, at)).await.map_err(journal_error)
        })
    }
}

impl Prompts for Store {
    fn keep(&self, record: PromptRecord) {
        self.inner.writer.submit(Box::new(PromptJob(record)));
    }
}

struct PromptJob(PromptRecord);

impl Job for PromptJob {
    fn run(&mut self, conn: &Connection, _claims: &mut Claims) -> Result<(), StoreError> {
        prompts::keep(conn, &self.0)
    }

    fn done(self: Box<Self>, outcome: Result<(), StoreError>) {
        if let Err(error) = outcome {
            tracing::warn!(%error, message = %self.0.message, "what was sent for a reply could not be kept");
        }
    }
}
