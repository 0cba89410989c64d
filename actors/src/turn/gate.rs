//! One report of a turn is on its way at a time. The gate closes with a report and opens when it is durable; the turn is
//! woken for that only when it has more to report.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Debug)]
pub struct Gate {
    open: AtomicBool,
    opened: Notify,
}

impl Default for Gate {
    fn default() -> Self {
        Self { open: AtomicBool::new(true), opened: Notify::new() }
    }
}

impl Gate {
    /// Passes if the gate is open, and closes it behind.
    pub fn pass(&self) -> bool {
        self.open.swap(false, Ordering::AcqRel)
    }

    pub fn open(&self) {
        self.open.store(true, Ordering::Release);
        self.opened.notify_one();
    }

    /// Resolves when the gate may be open: try again.
    pub async fn opened(&self) {
        self.opened.notified().await;
    }
}
