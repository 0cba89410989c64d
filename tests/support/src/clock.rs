//! The runtime's clock, which moves when the test says so and not by itself: sockets and the store's threads take their own
//! time meanwhile.

use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// Holds the clock of a runtime with one thread.
pub struct StoppedClock {
    _held: std::sync::mpsc::Sender<()>,
}

impl StoppedClock {
    #[expect(clippy::new_without_default, reason = "it stops a clock: nothing to do by default")]
    pub fn new() -> Self {
        let (held, end) = std::sync::mpsc::channel::<()>();
        // While a blocking task runs, a clock that is paused does not go on by itself. A test that waits in vain gets its clock
        // back, and with it its time limits.
        drop(tokio::task::spawn_blocking(move || end.recv_timeout(PATIENCE)));
        tokio::time::pause();
        Self { _held: held }
    }

    pub async fn advance(&self, by: Duration) {
        tokio::time::advance(by).await;
    }
}

impl Drop for StoppedClock {
    /// What comes after takes its real time: a clock left paused would leap over every limit as soon as nothing is to do.
    fn drop(&mut self) {
        tokio::time::resume();
    }
}
