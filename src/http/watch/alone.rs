//! SSE of one Conversation.

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    response::Response,
};
use futures_util::stream;
use hamlet_actors::{
    conversation::frame_log::{Form, FrameLog},
    vocabulary::{ConversationId, MessageId, TurnId},
};

use super::{
    Heartbeat,
    reader::{Ended, Reader, Step},
    sse,
};
use crate::{
    auth::{Accounts, SignedIn},
    store::{Store, StoreError},
};

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
    /// Where that turn's end stands, if it has ended: a reader that has come so far is only told where it stands.
    pub end: Option<u64>,
    /// The reply that the watch is for, where the turn may end without it.
    pub following: Option<MessageId>,
}

impl Watching {
    pub fn into_response(self) -> Response {
        // An id without data: a tab that drops before its first frame can come back.
        let opening = Bytes::from(format!("id: {}\n\n", self.cursor));
        if self.following.is_none() && self.end.is_some_and(|end| self.cursor >= end) {
            return sse::response(Body::from(opening));
        }
        let reader = Reader::new(self.store, &self.log, self.conversation, self.signed_in.who.id, self.cursor);
        let reader = match self.until {
            Some(turn) => reader.until(turn, self.end),
            None => reader,
        };
        let reader = match self.following {
            Some(reply) => reader.following(reply),
            None => reader,
        };
        let heartbeat = Heartbeat::of(self.accounts, self.signed_in.credential);
        // Boxed: the stream moves its state in and out for each write.
        let alone = Box::new(Alone { reader, heartbeat, opening: Some(opening), done: false });
        sse::response(Body::from_stream(stream::unfold(alone, |mut alone| async move {
            let bytes = alone.next().await?;
            Some((Ok::<_, StoreError>(bytes), alone))
        })))
    }
}

struct Alone {
    reader: Reader,
    heartbeat: Heartbeat,
    opening: Option<Bytes>,
    done: bool,
}

impl Alone {
    /// The next bytes to write; None when the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(opening) = self.opening.take() {
            return Some(opening);
        }
        if self.done {
            return None;
        }
        tokio::select! {
            step = self.reader.next() => match step {
                Step::Frames(stretch) => Some(stretch.written(Form::Alone, sse::alone)),
                Step::Ended(Ended::Stopping) => {
                    self.done = true;
                    Some(sse::farewell())
                }
                Step::Ended(Ended::Turn | Ended::Gone | Ended::Unreadable) => None,
            },
            () = self.heartbeat.due() => self.heartbeat.is_still_in().await.then_some(sse::SIGN_OF_LIFE),
        }
    }
}
