//! What operators see of actors and do with them: the routes under `/admin`, for the role admin. Nothing here asks an
//! actor what it is at: the engine hands out what actors have published. Text of a Conversation (its title too) is
//! answered only when it is asked for, and asking is written down before anything is answered.

mod actions;
mod audit;
mod detail;
mod events;
mod list;
mod live;
mod query;
mod row;
mod text;

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};
use http::{HeaderValue, header};
use tower_http::set_header::SetResponseHeaderLayer;

use crate::app::App;

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/admin/actors", get(list::list))
        .route("/admin/actors/{id}", get(detail::show))
        .route("/admin/actors/{id}/abort", post(actions::abort))
        .route("/admin/actors/{id}/restart", post(actions::restart))
        .route("/admin/actors/{id}/retire", post(actions::retire))
        .route("/admin/actors/{id}/release", post(actions::release))
        .route("/admin/events", get(events::watch))
        .route("/admin/audit", get(audit::list))
        .layer(SetResponseHeaderLayer::if_not_present(header::CACHE_CONTROL, HeaderValue::from_static("no-store")))
}
