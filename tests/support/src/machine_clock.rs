//! The clock that actors read.

#![expect(clippy::unwrap_used, reason = "a test support that fails, fails the test")]

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicI64, Ordering},
        mpsc,
    },
    time::Duration,
};

use hamlet_actors::{
    ports::{Clock, SystemClock},
    vocabulary::Timestamp,
};
use tokio::sync::oneshot;

/// The machine's clock, which panics in whoever asks it next, or holds him up, when the test says so.
#[derive(Debug, Default)]
pub struct TestClock {
    panics: AtomicBool,
    /// Milliseconds that it is ahead of the machine's.
    ahead: AtomicI64,
    holds: Mutex<Option<(oneshot::Sender<()>, mpsc::Receiver<()>)>>,
}

/// Someone who asked for the time and waits for it, with his whole thread.
pub struct HeldUp {
    held: oneshot::Receiver<()>,
    go_on: mpsc::Sender<()>,
}

impl HeldUp {
    /// Resolves when somebody is held up.
    pub async fn held(&mut self) {
        (&mut self.held).await.unwrap();
    }

    pub fn release(self) {
        self.go_on.send(()).unwrap();
    }
}

impl TestClock {
    /// The next one who asks for the time panics: an actor, in the middle of a message.
    pub fn panic_next(&self) {
        self.panics.store(true, Ordering::SeqCst);
    }

    /// From now on it is so far ahead of where it was.
    pub fn advance(&self, by: Duration) {
        self.ahead.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// The next one who asks for the time waits until the test lets him go. For runtimes with threads to spare.
    pub fn hold_next(&self) -> HeldUp {
        let (holding, held) = oneshot::channel();
        let (go_on, going_on) = mpsc::channel();
        *self.holds.lock().unwrap() = Some((holding, going_on));
        HeldUp { held, go_on }
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        assert!(!self.panics.swap(false, Ordering::SeqCst), "as the test asked");
        let held = self.holds.lock().unwrap().take();
        if let Some((holding, going_on)) = held {
            holding.send(()).unwrap();
            // The test may have failed meanwhile.
            let (Ok(()) | Err(_)) = going_on.recv();
        }
        SystemClock.now().plus_millis(self.ahead.load(Ordering::SeqCst))
    }
}
