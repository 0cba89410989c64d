//! SSE of several Conversations in one stream, because a browser has six connections to a host for all its tabs together.
//! Each Conversation has its own reader; only those are looked at that have something to say, in the order in which they
//! said so.

use std::{pin::Pin, sync::Arc};

use axum::{
    body::{Body, Bytes},
    response::Response,
};
use futures_util::{
    Stream, StreamExt,
    stream::{self, SelectAll},
};
use hamlet_actors::{conversation::frame_log::Form, vocabulary::ConversationId};
use tokio::sync::Semaphore;

use super::{
    Heartbeat,
    begin::Place,
    reader::{Ended, Reader, Step},
    sse,
};
use crate::{
    app::App,
    auth::SignedIn,
    store::{Store, StoreError},
};

/// Watches them all until the last one has ended. `absent` are told as gone at once.
pub fn respond(app: &App, signed_in: &SignedIn, places: Vec<Place>, absent: &[ConversationId]) -> Response {
    let heartbeat = Heartbeat::new(app, signed_in);
    let among = Box::new(Among::new(&app.store, signed_in, heartbeat, places, absent));
    sse::response(Body::from_stream(stream::unfold(among, |mut among| async move {
        let bytes = among.next().await?;
        Some((Ok::<_, StoreError>(bytes), among))
    })))
}

type Steps = Pin<Box<dyn Stream<Item = (ConversationId, Step)> + Send>>;

struct Among {
    readers: SelectAll<Steps>,
    heartbeat: Heartbeat,
    opening: Option<Bytes>,
    stopping: bool,
    done: bool,
}

impl Among {
    fn new(
        store: &Store,
        signed_in: &SignedIn,
        heartbeat: Heartbeat,
        places: Vec<Place>,
        absent: &[ConversationId],
    ) -> Self {
        let mut opening = Vec::new();
        let turns = Arc::new(Semaphore::new(1));
        let mut readers = SelectAll::new();
        for Place { conversation, log, cursor } in places {
            opening.extend_from_slice(format!("id: {conversation}:{cursor}\n\n").as_bytes());
            let reader = Reader::new(store.clone(), &log, conversation, signed_in.who.id, cursor);
            readers.push(steps(reader.in_turns(Arc::clone(&turns))));
        }
        for conversation in absent {
            opening.extend_from_slice(&sse::gone(*conversation));
        }
        Self { readers, heartbeat, opening: Some(opening.into()), stopping: false, done: false }
    }

    /// The next bytes to write; None when the stream is over.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(opening) = self.opening.take() {
            return Some(opening);
        }
        while !self.done {
            let step = tokio::select! {
                step = self.readers.next() => step,
                () = self.heartbeat.due() => return self.heartbeat.is_still_in().await.then_some(sse::SIGN_OF_LIFE),
            };
            match step {
                Some((conversation, Step::Frames(stretch))) => {
                    return Some(stretch.written(Form::Among, |stretch| sse::among(conversation, stretch)));
                }
                Some((conversation, Step::Ended(Ended::Gone))) => return Some(sse::gone(conversation)),
                // The others may still have something to say.
                Some((_, Step::Ended(Ended::Stopping))) => self.stopping = true,
                Some((_, Step::Ended(Ended::Turn))) => {}
                Some((_, Step::Ended(Ended::Unreadable))) => self.done = true,
                None => {
                    self.done = true;
                    return self.stopping.then(sse::farewell);
                }
            }
        }
        None
    }
}

/// All steps of a reader, its end included.
fn steps(reader: Reader) -> Steps {
    Box::pin(stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        let (conversation, step) = (reader.conversation(), reader.next().await);
        let more = matches!(step, Step::Frames(_));
        Some(((conversation, step), more.then_some(reader)))
    }))
}
