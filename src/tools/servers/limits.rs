//! What a tool server may cost: time, bytes, attempts.

use std::time::Duration;

use super::backoff::Backoff;

/// Tests shorten the times.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// To start (a package may be fetched first) and to introduce itself; then again to list its tools.
    pub begin: Duration,
    /// For one page of tools.
    pub page: Duration,
    /// For one call; less than what the engine allows, so that the words are ours.
    pub call: Duration,
    /// How long after its making a turn waits for a server that has not been reached yet.
    pub first: Duration,
    /// How often a quiet connection is looked after: its tools are asked for again.
    pub look: Duration,
    /// Between two lists, however often a server says that its tools changed.
    pub relist: Duration,
    /// A connection that lasted so long was a good one: the next pause is the shortest again.
    pub settled: Duration,
    pub backoff: Backoff,
    /// For one connection to end, its process included.
    pub close: Duration,
    /// Bytes of one message of a server.
    pub message: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            begin: Duration::from_secs(60),
            page: Duration::from_secs(10),
            call: Duration::from_secs(55),
            first: Duration::from_secs(2),
            look: Duration::from_secs(60),
            relist: Duration::from_secs(1),
            settled: Duration::from_secs(30),
            backoff: Backoff::default(),
            close: Duration::from_millis(1_800),
            message: 8 * 1024 * 1024,
        }
    }
}
