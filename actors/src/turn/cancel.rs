//! A turn's cancellation, with its reason: whoever asks first decides how the Message ends. A oneshot, because the turn
//! looks at it each time that it wakes.

use tokio::sync::oneshot;

use crate::{policy::outcome::Ending, reply::reply};

/// Held by the actor.
#[derive(Debug)]
pub struct Cancel(Option<oneshot::Sender<Ending>>);

/// Held by the turn's task.
#[derive(Debug)]
pub struct Cancelled(oneshot::Receiver<Ending>);

pub fn cancellation() -> (Cancel, Cancelled) {
    let (ask, asked) = oneshot::channel();
    (Cancel(Some(ask)), Cancelled(asked))
}

impl Cancel {
    /// Asks the turn to end so. Takes effect at once, also when the Provider is silent; a second reason comes too late.
    pub fn ask(&mut self, ending: Ending) {
        if let Some(ask) = self.0.take() {
            reply(ask, ending);
        }
    }
}

impl Cancelled {
    /// Resolves when asked.
    pub async fn asked(&mut self) -> Ending {
        match (&mut self.0).await {
            Ok(ending) => ending,
            // The actor is gone, and the task with it.
            Err(_) => std::future::pending().await,
        }
    }
}
