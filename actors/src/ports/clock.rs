//! Time and new ids, so that tests can hold both still.

use crate::vocabulary::{MessageId, Timestamp, TurnId};

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    fn message_id(&self) -> MessageId;

    fn turn_id(&self) -> TurnId;
}

/// The machine's clock and UUID v7.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn message_id(&self) -> MessageId {
        MessageId::generate()
    }

    fn turn_id(&self) -> TurnId {
        TurnId::generate()
    }
}
