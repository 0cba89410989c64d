//! `POST /api/providers/{id}/test`: asks a Provider for its models, so that an admin learns at once whether address and key
//! are right. That it can't be reached is an answer too, not an error of this server.

use std::sync::Arc;

use axum::{Json, Router, extract::State, routing::post};
use hamlet_actors::vocabulary::{ErrorCode, ErrorKind, ProviderId};
use serde::Serialize;

use super::{error::ApiError, extract::Id};
use crate::{app::App, auth::Admin, providers::models::ListedModel};

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/providers/{id}/test", post(test))
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Tested {
    Good { ok: bool, models: Vec<ListedModel> },
    Bad { ok: bool, error: Trouble },
}

#[derive(Debug, Serialize)]
struct Trouble {
    code: ErrorCode,
    message: String,
    kind: ErrorKind,
    /// The Provider's HTTP status, where there was one.
    status: Option<u16>,
    retryable: bool,
}

async fn test(
    _admin: Admin,
    Id(id): Id<ProviderId>,
    State(app): State<Arc<App>>,
) -> Result<Json<impl Serialize>, ApiError> {
    let known = app.village.provider(id).await?;
    Ok(Json(match app.providers.models(&known).await {
        Ok(models) => Tested::Good { ok: true, models },
        Err(failure) => Tested::Bad {
            ok: false,
            error: Trouble {
                code: failure.code,
                message: failure.message,
                kind: failure.kind,
                status: failure.status,
                retryable: failure.retryable,
            },
        },
    }))
}
