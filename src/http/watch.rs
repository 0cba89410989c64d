//! Watching Conversations. The rules are in `reader`: one cursor that moves through the store and then along the log. What
//! is written of it, and when it is not worth going on, is each transport's own: SSE of one Conversation (`alone`), SSE of
//! several (`among`), a WebSocket (`socket`, beside this module).

pub mod alone;
pub mod among;
pub mod begin;
pub mod reader;
pub mod sse;

use std::time::Duration;

pub use alone::Watching;
use hamlet_actors::vocabulary::ConversationId;
use http::HeaderMap;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use crate::{
    app::App,
    auth::{
        Accounts, Credential, SignedIn,
        extract::{is_still_admin, is_still_in},
    },
};

/// Between signs of life that keep proxies and dead connections honest.
pub const HEARTBEAT: Duration = Duration::from_secs(15);

/// The cursor of `Last-Event-ID`, which a browser sends by itself: junk is ignored.
pub fn last_event_id(headers: &HeaderMap) -> Option<u64> {
    last_event(headers)?.parse().ok()
}

/// The same where several Conversations are watched: `ID:CURSOR`.
pub fn last_event_id_among(headers: &HeaderMap) -> Option<(ConversationId, u64)> {
    let (id, cursor) = last_event(headers)?.split_once(':')?;
    Some((id.parse().ok()?, cursor.parse().ok()?))
}

fn last_event(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id")?.to_str().ok().map(str::trim)
}

/// One timer for a whole stream, whatever else is written, and whether who opened it may still read.
pub struct Heartbeat {
    accounts: Accounts,
    credential: Credential,
    every: Interval,
}

impl Heartbeat {
    pub fn new(app: &App, signed_in: &SignedIn) -> Self {
        Self::of(app.accounts.clone(), signed_in.credential)
    }

    fn of(accounts: Accounts, credential: Credential) -> Self {
        let mut every = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { accounts, credential, every }
    }

    pub async fn due(&mut self) {
        self.every.tick().await;
    }

    /// Whether who opened the stream is still signed in.
    pub async fn is_still_in(&self) -> bool {
        // Boxed: a stream that only waits does not keep room for a read.
        Box::pin(is_still_in(&self.accounts, self.credential)).await
    }

    /// Whether who opened the stream is still signed in, and an admin.
    pub async fn is_still_admin(&self) -> bool {
        Box::pin(is_still_admin(&self.accounts, self.credential)).await
    }
}
