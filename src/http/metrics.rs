//! What Prometheus scrapes, for admins and for whoever brings the scraper's own token: that token is good for nothing
//! else, and it works while the store does not.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderMap, HeaderValue, header};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use super::error::ApiError;
use crate::{
    app::App,
    auth::{
        PlayerRole,
        extract::{bearer, identify},
    },
    metrics::{self, Metrics},
    store::{Store, oversight},
};

/// How long a scrape waits for a count.
const COUNTING: Duration = Duration::from_millis(500);

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/metrics", get(show))
}

/// The scraper's token as its SHA-256: comparing those tells nothing of where two tokens differ.
#[derive(Debug)]
pub struct ScraperToken([u8; 32]);

impl ScraperToken {
    pub fn new(token: &SecretString) -> Self {
        Self(Sha256::digest(token.expose_secret()).into())
    }

    fn is_in(&self, headers: &HeaderMap) -> bool {
        bearer(headers).is_some_and(|given| Sha256::digest(given)[..] == self.0)
    }
}

async fn show(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, ApiError> {
    let scraper = app.scraper.as_ref().is_some_and(|token| token.is_in(&headers));
    if !scraper && identify(&app.accounts, &headers).await?.who.role != PlayerRole::Admin {
        return Err(ApiError::forbidden());
    }
    measure_files(&app.metrics, &app.store).await;
    match app.engine.roll(|roll| roll.totals()).await {
        Ok(totals) => app.metrics.village.set(&totals),
        // The last scrape before the end shows what was counted; who is awake is not asked any more.
        Err(error) => tracing::debug!(%error, "the village is not counted any more"),
    }
    count_waiting(&app.metrics, &app.store).await;
    let text = app.metrics.text().map_err(|error| ApiError::internal(&error))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, text).into_response())
}

/// A store that can't be read, or is slow, keeps no scraper waiting: what was counted last stands.
async fn count_waiting(metrics: &Metrics, store: &Store) {
    if !metrics.village.is_count_due() {
        return;
    }
    match tokio::time::timeout(COUNTING, store.read(oversight::all_waiting)).await {
        Ok(Ok(count)) => drop(metrics.village.stored.set(count)),
        Ok(Err(error)) => tracing::debug!(%error, "texts that wait could not be counted"),
        Err(_) => tracing::debug!("texts that wait could not be counted in time"),
    }
}

/// A file that is not there has no bytes.
async fn measure_files(metrics: &Metrics, store: &Store) {
    let mut log = store.path().as_os_str().to_owned();
    log.push("-wal");
    for (gauge, path) in [(&metrics.store.file, store.path().as_os_str()), (&metrics.store.log, log.as_os_str())] {
        let bytes = tokio::fs::metadata(path).await.map_or(0, |file| file.len());
        gauge.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}
