//! One report of a turn is on its way at a time. The gate closes with a report and opens when it is durable; the turn is
//! woken for that only when it has more to report.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

#[derive(Debug)]
pub struct Gate {
    open: AtomicBool,
    opened: Notify,
    made: Instant,
    /// Nanoseconds from `made` to the decoding of the report that is on its way; 0 for one that is not timed.
    decoded: AtomicU64,
}

impl Default for Gate {
    fn default() -> Self {
        Self { open: AtomicBool::new(true), opened: Notify::new(), made: Instant::now(), decoded: AtomicU64::new(0) }
    }
}

impl Gate {
    /// Passes if the gate is open, and closes it behind.
    pub fn pass(&self) -> bool {
        self.open.swap(false, Ordering::AcqRel)
    }

    /// The report that goes through the gate was decoded then.
    pub fn time(&self, decoded: Instant) {
        let since = decoded.duration_since(self.made).as_nanos();
        self.decoded.store(u64::try_from(since).unwrap_or(0), Ordering::Relaxed);
    }

    /// Answers how long ago the report was decoded, if it is timed.
    pub fn open(&self) -> Option<Duration> {
        let decoded = self.decoded.swap(0, Ordering::Relaxed);
        self.open.store(true, Ordering::Release);
        self.opened.notify_one();
        (decoded > 0).then(|| self.made.elapsed().saturating_sub(Duration::from_nanos(decoded)))
    }

    /// Resolves when the gate may be open: try again.
    pub async fn opened(&self) {
        self.opened.notified().await;
    }
}
