//! Answers to those who may have gone meanwhile.

use tokio::sync::oneshot;

/// Answers; one who has gone needs no answer.
pub fn reply<T>(to: oneshot::Sender<T>, answer: T) {
    if to.send(answer).is_err() {
        tracing::trace!("an answer came too late for its asker");
    }
}
