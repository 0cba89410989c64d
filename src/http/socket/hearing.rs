//! What a socket hears: requests, each answered under its own id, several at a time; and that the peer is still there.

use std::{panic::AssertUnwindSafe, sync::Arc};

use axum::extract::ws::{Message, WebSocket};
use futures_util::{
    FutureExt, StreamExt,
    stream::{FuturesUnordered, SplitStream},
};
use hamlet_actors::vocabulary::{ConversationId, ErrorCode};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout, timeout_at},
};

use super::{
    IN_FLIGHT, Parting, SILENCE,
    request::{Answer, Request},
};
use crate::{app::App, auth::SignedIn, http::error::ApiError};

pub struct Hearing {
    pub stream: SplitStream<WebSocket>,
    pub app: Arc<App>,
    pub signed_in: SignedIn,
    pub conversation: ConversationId,
    /// Bounded: when the peer does not take its answers, its requests are not heard any more.
    pub answers: mpsc::Sender<String>,
}

impl Hearing {
    pub async fn run(&mut self) -> Parting {
        let mut in_flight = FuturesUnordered::new();
        let mut silent_at = Instant::now() + SILENCE;
        loop {
            let answer = tokio::select! {
                Some(answer) = in_flight.next() => answer,
                heard = timeout_at(silent_at, self.stream.next()) => {
                    silent_at = Instant::now() + SILENCE;
                    let request = match heard {
                        Err(_silent) => return Parting::Lost,
                        Ok(None) | Ok(Some(Ok(Message::Close(_)))) => return Parting::Left,
                        Ok(Some(Err(error))) => {
                            tracing::debug!(%error, "a socket said what can't be read");
                            return Parting::Unfit;
                        }
                        Ok(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => continue,
                        Ok(Some(Ok(Message::Binary(_)))) => Err(Answer::unread("A request is text.")),
                        Ok(Some(Ok(Message::Text(text)))) => Request::read(&text),
                    };
                    match request {
                        Err(answer) => answer,
                        Ok(request) if in_flight.len() >= IN_FLIGHT => {
                            let full = format!("This socket has {IN_FLIGHT} requests going on already.");
                            request.refused(ApiError::new(ErrorCode::MailboxFull, full))
                        }
                        Ok(request) => {
                            // Boxed: a socket that is idle keeps no room for requests.
                            in_flight.push(Box::pin(perform(&self.app, &self.signed_in, self.conversation, request)));
                            continue;
                        }
                    }
                }
            };
            match timeout(SILENCE, self.answers.send(answer.text())).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return Parting::Lost,
            }
        }
    }
}

/// A request that panics is answered like any other failure of our own; the panic itself is in the log.
async fn perform(app: &App, signed_in: &SignedIn, conversation: ConversationId, request: Request) -> Answer {
    let id = request.id.clone();
    let performed = AssertUnwindSafe(request.perform(app, signed_in, conversation)).catch_unwind().await;
    performed.unwrap_or_else(|_| Answer::failed(id))
}
