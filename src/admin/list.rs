//! A page of actors.

use std::sync::Arc;

use axum::{extract::State, response::IntoResponse};
use hamlet_actors::{
    village::{ActorView, Roll},
    vocabulary::{ConversationId, Timestamp},
};
use serde::Serialize;

use super::{
    query::{self, ActorsQuery, Wanted},
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
    let found = app.engine.roll(move |roll| Found::on(roll, &wanted)).await?;
    let items = with_stored(&app.store, found.views).await?;
    Ok(axum::Json(ActorsOut { items, next: found.next, counts: found.counts, now: Timestamp::now() }))
}

struct Found {
    views: Vec<ActorView>,
    next: Option<String>,
    counts: Counts,
}

impl Found {
    fn on(roll: &Roll, wanted: &Wanted) -> Self {
        let (ids, more) = wanted.page(roll.states().rev());
        Self {
            views: ids.iter().filter_map(|id| roll.view(*id)).collect(),
            next: query::next(&ids, more),
            counts: Counts::of(roll.states().map(|(_, state)| state)),
        }
    }
}

/// What actors do not know: whose they are, and what waits where nobody is awake.
///
/// # Errors
/// What the store answers.
pub async fn with_stored(store: &Store, views: Vec<ActorView>) -> Result<Vec<Row>, StoreError> {
    let ids: Vec<ConversationId> = views.iter().map(|view| view.conversation_id).collect();
    let asleep: Vec<ConversationId> =
        views.iter().filter(|view| !view.is_awake()).map(|view| view.conversation_id).collect();
    let read =
        move |conn: &rusqlite::Connection| Ok((oversight::owners(conn, &ids)?, oversight::waiting(conn, &asleep)?));
    let (mut owners, waiting) = store.read(read).await?;
    let row = |mut actor: ActorView| {
        actor.queue = waiting.get(&actor.conversation_id).copied().unwrap_or(actor.queue);
        Row { player: owners.remove(&actor.conversation_id), actor }
    };
    Ok(views.into_iter().map(row).collect())
}
