//! Leaving is not stopping (promise 7), unless the Village says that a turn nobody watches any more is to end.

use std::{sync::Arc, time::Duration};

use crate::conversation::frame_log::FrameLog;

/// What becomes of a turn whose last watcher has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenUnwatched {
    Finish,
    /// Abort when nobody has come back within this time.
    AbortAfter(Duration),
}

/// Resolves when the turn is to end for want of watchers. Only a leaving counts: a turn that nobody ever watched runs on.
pub async fn left(log: Arc<FrameLog>, when: WhenUnwatched) {
    let WhenUnwatched::AbortAfter(delay) = when else { return std::future::pending().await };
    loop {
        log.watched().await;
        log.unwatched().await;
        tokio::select! {
            () = tokio::time::sleep(delay) => return,
            () = log.watched() => {}
        }
    }
}
