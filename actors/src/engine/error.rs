//! Why the Engine did not do what it was asked, and the stable code of it.

use crate::{
    conversation::{AbortRefusal, BeginRefusal, ChangeRefusal},
    ports::journal::JournalError,
    vocabulary::ErrorCode,
};

/// Why the Engine did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Refused(#[from] BeginRefusal),
    #[error(transparent)]
    NotAborted(#[from] AbortRefusal),
    #[error(transparent)]
    NotChanged(#[from] ChangeRefusal),
    /// Too many requests wait for this Conversation.
    #[error("too many requests are waiting for this conversation")]
    MailboxFull,
    /// The Conversation's actor failed before it answered.
    #[error("the conversation did not answer")]
    NoAnswer,
    /// The answer waits for a commit that does not come through; it may come yet.
    #[error("the conversation has not answered yet")]
    Late,
    #[error("Hamlet is being stopped")]
    ShuttingDown,
    /// The Conversation's actor failed too often, and is not woken before an operator releases it.
    #[error("the conversation is quarantined")]
    Quarantined,
}

impl EngineError {
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(BeginRefusal::Busy { .. }) | Self::NotChanged(ChangeRefusal::Busy { .. }) => {
                ErrorCode::TurnInProgress
            }
            Self::NotAborted(AbortRefusal::Mismatch { .. }) => ErrorCode::TurnMismatch,
            Self::Refused(BeginRefusal::QueueFull) => ErrorCode::QueueFull,
            Self::Refused(BeginRefusal::KeyTaken) => ErrorCode::IdempotencyMismatch,
            Self::Refused(BeginRefusal::Unplanned(error)) => error.code,
            Self::NotChanged(ChangeRefusal::NotAwaiting) => ErrorCode::NotAwaiting,
            Self::NotChanged(ChangeRefusal::NotQueued) | Self::Refused(BeginRefusal::NothingWaits { .. }) => {
                ErrorCode::NotQueued
            }
            Self::Refused(BeginRefusal::Store(error))
            | Self::NotAborted(AbortRefusal::Store(error))
            | Self::NotChanged(ChangeRefusal::Store(error)) => match error {
                JournalError::Unavailable(_) | JournalError::Unsettled(_) | JournalError::Unknown(_) => {
                    ErrorCode::StoreUnavailable
                }
                JournalError::Gone => ErrorCode::NotFound,
                JournalError::Fenced | JournalError::Refused(_) => ErrorCode::Internal,
            },
            Self::Refused(BeginRefusal::Stale) | Self::NotChanged(ChangeRefusal::Stale) | Self::NoAnswer => {
                ErrorCode::Internal
            }
            Self::Late => ErrorCode::StoreUnavailable,
            Self::MailboxFull => ErrorCode::MailboxFull,
            Self::ShuttingDown => ErrorCode::ShuttingDown,
            Self::Quarantined => ErrorCode::Quarantined,
        }
    }
}
