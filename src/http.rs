//! The server's edge: one resource a file, the route table on one screen.

pub mod accounts;
pub mod assets;
pub mod conversations;
pub mod error;
pub mod extract;
pub mod frames;
pub mod grants;
pub mod health;
pub mod memories;
pub mod messages;
pub mod metrics;
pub mod npcs;
pub mod page;
mod prompt;
mod provider_test;
pub mod providers;
mod replay;
pub mod request_id;
pub mod settings;
pub mod skills;
mod socket;
mod summary;
pub mod tool_servers;
pub mod tools;
pub mod transcript;
pub mod turns;
pub mod village;
pub mod watch;

use std::sync::Arc;

use axum::{Router, middleware};
use http::{HeaderValue, header};
use tower::util::option_layer;
use tower_http::{catch_panic::CatchPanicLayer, set_header::SetResponseHeaderLayer};

use crate::{
    admin,
    app::App,
    gates::origin::{self, Origin, OriginRules},
    metrics::http::count,
};

/// All routes, and what stands around them. A request passes the layers from the last one up.
pub fn router(app: Arc<App>, rules: OriginRules) -> Router {
    let cors: Vec<Origin> = rules.cors.clone();
    let no_sniffing =
        SetResponseHeaderLayer::overriding(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let no_referrer =
        SetResponseHeaderLayer::if_not_present(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    Router::new()
        .merge(health::routes())
        .merge(metrics::routes())
        .merge(accounts::routes())
        .merge(grants::routes())
        .merge(memories::routes())
        .merge(npcs::routes())
        .merge(providers::routes())
        .merge(provider_test::routes())
        .merge(settings::routes())
        .merge(skills::routes())
        .merge(tool_servers::routes())
        .merge(conversations::routes())
        .merge(frames::routes())
        .merge(socket::routes())
        .merge(transcript::routes())
        .merge(tools::routes())
        .merge(turns::routes())
        .merge(messages::routes())
        .merge(prompt::routes())
        .merge(summary::routes())
        .merge(admin::routes())
        .merge(assets::routes())
        .layer(CatchPanicLayer::custom(error::of_panic))
        .layer(middleware::from_fn_with_state(Arc::new(rules), origin::guard))
        .layer(option_layer(origin::cors(&cors)))
        .layer(no_sniffing)
        .layer(no_referrer)
        .layer(middleware::from_fn(error::render))
        .layer(middleware::from_fn_with_state(Arc::clone(&app.metrics), count))
        .layer(middleware::from_fn(request_id::assign))
        .with_state(app)
}
