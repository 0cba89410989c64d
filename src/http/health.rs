//! Whether the process lives, whether it can serve, and what it is.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use hamlet_actors::vocabulary::ErrorCode;
use serde_json::json;

use super::error::ApiError;
use crate::{app::App, store::SCHEMA_VERSION};

/// A disk that hangs answers nothing at all: whoever asks is not to wait for it.
const PATIENCE: Duration = Duration::from_secs(5);

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/healthz", get(alive)).route("/readyz", get(ready)).route("/api/version", get(version))
}

async fn alive() -> &'static str {
    "ok\n"
}

/// Ready: not being stopped, and the store commits.
async fn ready(State(app): State<Arc<App>>) -> Result<Response, ApiError> {
    if app.stopping.is_cancelled() {
        return Err(ApiError::new(ErrorCode::ShuttingDown, "Hamlet is being stopped."));
    }
    let mut last = app.readiness.lock().await;
    // Anybody may ask, and each look is a commit: one look a second answers all who ask meanwhile.
    let fresh = last.as_ref().is_some_and(|(at, _)| at.elapsed() < Duration::from_secs(1));
    if !fresh {
        let looked = look(&app).await;
        *last = Some((Instant::now(), looked));
    }
    match last.as_ref() {
        Some((_, Err(error))) => Err(error.clone()),
        _ => Ok("ready\n".into_response()),
    }
}

async fn look(app: &App) -> Result<(), ApiError> {
    match tokio::time::timeout(PATIENCE, app.store.check()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(unready(&error.to_string())),
        Err(_late) => Err(unready(&format!("no commit came through within {} s", PATIENCE.as_secs()))),
    }
}

fn unready(reason: &str) -> ApiError {
    tracing::warn!(%reason, "the store does not commit");
    ApiError::new(ErrorCode::StoreUnavailable, "Hamlet's store can't be written now.").after(Duration::from_secs(5))
}

async fn version() -> Json<serde_json::Value> {
    Json(json!({"name": "hamlet", "version": env!("CARGO_PKG_VERSION"), "schema": SCHEMA_VERSION}))
}
