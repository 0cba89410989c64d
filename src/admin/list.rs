//! A page of actors.

use std::{collections::HashMap, sync::Arc};

use axum::{extract::State, response::IntoResponse};
use hamlet_actors::{
    village::ActorView,
    vocabulary::{ConversationId, Timestamp},
};
use serde::Serialize;

use super::{
    query::{self, ActorsQuery},
    row::{Counts, Row},
};
use crate::{
    app::App,
    auth::Admin,
    http::{error::ApiError, extract::Query},
    store::{Store, StoreError, oversight},
};

#[derive(Debug, Serialize)]
struct ActorsOut {
    items: Vec<Row>,
    next: Option<String>,
    /// Of all actors, whatever was asked for.
    counts: Counts,
    /// The server's clock: ages are told by it.
    now: Timestamp,
}

pub async fn list(
    _: Admin,
    State(app): State<Arc<App>>,
    Query(query): Query<ActorsQuery>,
) -> Result<impl IntoResponse, ApiError> {
    let wanted = query.understand(&app.store).await?;
    let views = app.engine.actors().await?;
    let counts = Counts::of(views.iter().map(|view| view.state));
    let (ids, more) = wanted.page(views.iter().rev().map(|view| (view.conversation_id, view.state)));
    let mut found: HashMap<ConversationId, ActorView> =
        views.into_iter().filter(|view| ids.contains(&view.conversation_id)).map(|v| (v.conversation_id, v)).collect();
    let views = ids.iter().filter_map(|id| found.remove(id)).collect();
    let items = with_owners(&app.store, views).await?;
    Ok(axum::Json(ActorsOut { items, next: query::next(&ids, more), counts, now: Timestamp::now() }))
}

/// # Errors
/// What the store answers.
pub async fn with_owners(store: &Store, views: Vec<ActorView>) -> Result<Vec<Row>, StoreError> {
    let ids: Vec<ConversationId> = views.iter().map(|view| view.conversation_id).collect();
    let mut owners = store.read(move |conn| oversight::owners(conn, &ids)).await?;
    let row = |actor: ActorView| Row { player: owners.remove(&actor.conversation_id), actor };
    Ok(views.into_iter().map(row).collect())
}
