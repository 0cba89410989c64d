//! One reader of a Conversation's frames over SSE: a cursor that moves through the store and then along the log. Every
//! write takes all that is due at that moment.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use hamlet_actors::{
    conversation::frame_log::{FrameLog, Line, Look, Watcher},
    vocabulary::{ConversationId, ConversationStamp, TurnId},
};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::replay;
use crate::{
    auth::{Accounts, SignedIn, extract::is_still_in},
    store::{Store, StoreError, Stored, conversations, messages},
};

/// Between comments that keep proxies and dead connections honest.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Finished Messages in one read; no statement is open while a socket is written.
const PAGE: usize = 200;

/// What a watch is opened with.
pub struct Watching {
    pub store: Store,
    pub accounts: Accounts,
    pub log: Arc<FrameLog>,
    pub conversation: ConversationId,
    pub signed_in: SignedIn,
    pub cursor: u64,
    /// The watch ends behind this turn's terminal frame.
    pub until: Option<TurnId>,
    /// The reader has that frame already: the watch only says where it stands.
    pub seen: bool,
}

/// The cursor of `Last-Event-ID`, which a browser sends by itself: junk is ignored.
pub fn last_event_id(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id").and_then(|value| value.to_str().ok()).and_then(|id| id.trim().parse().ok())
}

impl Watching {
    pub fn into_response(self) -> Response {
        let watcher = self.log.watch();
        // One timer for the whole stream: a comment every so often, whatever else is written.
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // Boxed: the stream moves its state in and out for each write.
        let reader = Box::new(Reader { watcher, heartbeat, opened: false, rested: false, done: false, watching: self });
        let body = Body::from_stream(stream::unfold(reader, |mut reader| async move {
            let bytes = reader.next().await?;
            Some((Ok::<_, StoreError>(bytes), reader))
        }));
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform")),
            (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
        ];
        (headers, body).into_response()
    }
}

struct Reader {
    watching: Watching,
    watcher: Watcher,
    heartbeat: Interval,
    opened: bool,
    /// Nobody was awake and the store had nothing more: only a change makes it worth reading again.
    rested: bool,
    done: bool,
}

impl Reader {
    /// The next bytes to write; None when the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        if self.done {
            return None;
        }
        let mut out = Vec::new();
        if !self.opened {
            self.opened = true;
            // An id without data: a tab that drops before its first frame can come back.
            out.extend_from_slice(format!("id: {}\n\n", self.watching.cursor).as_bytes());
            if self.watching.seen {
                self.done = true;
                return Some(out.into());
            }
        }
        loop {
            match self.watcher.look(self.watching.cursor) {
                Look::Frames(lines) => self.write_lines(&mut out, lines),
                // Boxed: a stream that only waits does not keep room for a read.
                Look::Behind { floor } => Box::pin(self.replay(&mut out, Some(floor))).await,
                Look::Dormant if self.rested && !self.watcher.is_closed() => {}
                Look::Dormant => {
                    Box::pin(self.replay(&mut out, None)).await;
                    self.rested = out.is_empty();
                    if out.is_empty() && !self.done && self.watcher.is_closed() {
                        return Some(self.farewell());
                    }
                }
                Look::UpToDate => {}
                Look::Closed => return Some(self.farewell()),
            }
            if !out.is_empty() {
                return Some(out.into());
            }
            if self.done {
                return None;
            }
            tokio::select! {
                changed = self.watcher.changed() => {
                    self.rested = false;
                    if !changed {
                        return None;
                    }
                }
                _ = self.heartbeat.tick() => return Box::pin(self.comment()).await,
            }
        }
    }

    /// The end of the stream, not of the Conversation: tabs come back at different times, not all at once.
    fn farewell(&mut self) -> Bytes {
        self.done = true;
        format!("retry: {}\n\n", fastrand::u32(1000..4000)).into()
    }

    fn write_lines(&mut self, out: &mut Vec<u8>, lines: Vec<Line>) {
        for line in lines {
            replay::event(out, line.seq, &line.json);
            self.watching.cursor = line.seq.unwrap_or(self.watching.cursor);
            if line.ends.is_some() && line.ends == self.watching.until {
                self.done = true;
                return;
            }
        }
    }

    /// A page of what ended behind the cursor; without a floor, up to the store's own end.
    async fn replay(&mut self, out: &mut Vec<u8>, floor: Option<u64>) {
        let (id, who, cursor) = (self.watching.conversation, self.watching.signed_in.who.id, self.watching.cursor);
        let read = self
            .watching
            .store
            .read(move |conn| {
                let row = conversations::of_player(conn, id, who)?;
                let upto = match floor {
                    Some(floor) => floor,
                    None => messages::settled_seq(conn, &row)?,
                };
                let ended = messages::ended_between(conn, row.key, cursor, upto, PAGE)?;
                Ok((ended, upto, ConversationStamp { title: row.title, updated_at: row.updated_at }))
            })
            .await;
        match read {
            Ok((ended, upto, stamp)) => {
                self.write_page(out, ended.messages, &stamp);
                if !ended.more && !self.done {
                    self.watching.cursor = self.watching.cursor.max(upto);
                }
            }
            Err(StoreError::NotFound) => self.done = true,
            Err(error) => {
                // The tab comes back with its cursor, and then reads again.
                tracing::error!(%error, "a replay could not be read");
                self.done = true;
            }
        }
    }

    fn write_page(&mut self, out: &mut Vec<u8>, page: Vec<Stored>, stamp: &ConversationStamp) {
        for stored in page {
            let (last_seq, turn, terminal) = (stored.last_seq, stored.message.turn_id, stored.terminal);
            let frames = replay::frames(stored, stamp);
            let last = frames.len().saturating_sub(1);
            for (at, frame) in frames.iter().enumerate() {
                // A frame is plain data: writing it to memory does not fail.
                let json = serde_json::to_vec(frame).unwrap_or_default();
                replay::event(out, (at == last).then_some(last_seq), &json);
            }
            self.watching.cursor = last_seq;
            if terminal && Some(turn) == self.watching.until {
                self.done = true;
                return;
            }
        }
    }

    /// A comment; the end for one who has been signed out meanwhile.
    async fn comment(&mut self) -> Option<Bytes> {
        if !is_still_in(&self.watching.accounts, self.watching.signed_in.credential).await {
            return None;
        }
        Some(Bytes::from_static(b":\n\n"))
    }
}
