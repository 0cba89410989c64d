//! How long is waited for what must come.

use std::{future::Future, panic::resume_unwind, time::Duration};

use tokio::{task::JoinHandle, time::timeout};

/// A machine that builds something beside may be slow.
const PATIENCE: Duration = Duration::from_secs(30);

pub async fn within_patience<T>(what: &str, coming: impl Future<Output = T>) -> T {
    timeout(PATIENCE, coming).await.unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"))
}

/// What a task comes to; its panic is this one's.
pub async fn joined<T>(what: &str, task: JoinHandle<T>) -> T {
    within_patience(what, task).await.unwrap_or_else(|failed| resume_unwind(failed.into_panic()))
}
