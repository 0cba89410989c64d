//! The changes of a page of actors as they come (SSE). What changes while a reader is slow is merged: it is told how
//! things are, not how they came to be so. The stream ends when the reader is no admin any more and when Hamlet stops.

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    extract::State,
    response::Response,
};
use futures_util::stream;
use hamlet_actors::{
    engine::EngineError,
    village::{ActorChanges, ActorFeed},
    vocabulary::{ConversationId, Timestamp},
};
use serde::Serialize;

use super::{
    list::with_stored,
    live::{Live, Update},
    query::{ActorsQuery, Owned},
    row::{Counts, Row},
};
use crate::{
    app::App,
    auth::{Admin, SignedIn},
    http::{
        error::ApiError,
        extract::Query,
        watch::{Heartbeat, sse},
    },
    store::oversight,
};

/// Owners in one read at most: others wait for it.
const LOOKED_UP: usize = 1_000;

/// One event: how the page is different. Applying the same one twice changes nothing.
#[derive(Debug, Serialize)]
struct ActorsEvent {
    /// All on the page, in order, when that is different; who is not named has left it.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<Vec<ConversationId>>,
    /// Rows that are new on the page, or different.
    items: Vec<Row>,
    next: Option<String>,
    counts: Counts,
    now: Timestamp,
}

pub async fn watch(
    _: Admin,
    signed_in: SignedIn,
    State(app): State<Arc<App>>,
    Query(query): Query<ActorsQuery>,
) -> Result<Response, ApiError> {
    let wanted = query.understand(&app.store).await?;
    let (heartbeat, feed) = (Heartbeat::new(&app, &signed_in), app.engine.watch_actors());
    let reader = Box::new(Reader { app, feed, live: Live::new(wanted), heartbeat, done: false });
    let body = Body::from_stream(stream::unfold(reader, |mut reader| async move {
        let bytes = reader.next().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), reader))
    }));
    Ok(sse::response(body))
}

struct Reader {
    app: Arc<App>,
    feed: ActorFeed,
    live: Live,
    heartbeat: Heartbeat,
    done: bool,
}

impl Reader {
    /// The next bytes to write; None when the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        while !self.done {
            let changes = tokio::select! {
                changes = self.feed.next() => changes,
                () = self.app.closing.cancelled() => Err(EngineError::ShuttingDown),
                () = self.heartbeat.due() => {
                    return self.heartbeat.is_still_admin().await.then_some(sse::SIGN_OF_LIFE);
                }
            };
            let Ok(changes) = changes else {
                self.done = true;
                return Some(sse::farewell());
            };
            match self.event(changes).await {
                Ok(Some(event)) => return written(&event),
                Ok(None) => {}
                Err(error) => {
                    // The reader comes back, and begins with everything.
                    tracing::warn!(code = %error.code, "a stream of actors ended");
                    return None;
                }
            }
        }
        None
    }

    async fn event(&mut self, changes: ActorChanges) -> Result<Option<ActorsEvent>, ApiError> {
        self.learn_owners(&changes).await?;
        let Some((update, missing)) = self.live.apply(changes) else { return Ok(None) };
        let Update { page, mut changed, counts } = update;
        for id in missing {
            changed.extend(self.app.engine.actor(id).await?);
        }
        let items = with_stored(&self.app.store, changed).await?;
        let next = self.live.next();
        Ok(Some(ActorsEvent { page, items, next, counts, now: Timestamp::now() }))
    }

    /// Conversations that came into being since the stream was opened may be the wanted Player's.
    async fn learn_owners(&mut self, changes: &ActorChanges) -> Result<(), ApiError> {
        let new = self.live.new_ones(changes);
        let Owned::By(player, owned) = &mut self.live.wanted().owned else { return Ok(()) };
        let unknown: Vec<ConversationId> = new.into_iter().filter(|id| !owned.contains(id)).collect();
        for some in unknown.chunks(LOOKED_UP) {
            let some = some.to_vec();
            let owners = self.app.store.read(move |conn| oversight::owners(conn, &some)).await?;
            owned.extend(owners.into_iter().filter(|(_, owner)| owner.id == *player).map(|(id, _)| id));
        }
        Ok(())
    }
}

/// Plain data: writing it to memory does not fail.
fn written(event: &ActorsEvent) -> Option<Bytes> {
    let json = serde_json::to_string(event).ok()?;
    Some(format!("data: {json}\n\n").into())
}
