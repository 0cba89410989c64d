//! Where rolling summaries are kept, in versions. A write says what it was made from, and is refused when that does not
//! hold any more: another version came first, or the branch that it covers was left.

use futures_util::future::BoxFuture;

use super::journal::JournalError;
use crate::vocabulary::{ConversationId, MessageId, Summary, SummaryMaker};

pub trait Summaries: Send + Sync + 'static {
    /// Stores another version. Answers once it is durable.
    fn keep(&self, conversation: ConversationId, draft: SummaryDraft)
    -> BoxFuture<'static, Result<Kept, JournalError>>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryDraft {
    /// The version that it goes on from.
    pub base: Option<u64>,
    /// What was said between that one's last place and `through_position`, all of it.
    pub messages: Vec<MessageId>,
    pub text: String,
    pub from_position: i64,
    pub through_position: i64,
    pub made_by: SummaryMaker,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    Kept(Summary),
    /// It was made from what does not hold any more: nothing was stored.
    Overtaken,
}
