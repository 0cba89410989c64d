//! One Conversation over a WebSocket: frames down, requests up. Reading and writing go on side by side, so that a peer that
//! is slow to read still says that it lives; what it has not read stays where it is, and its cursor with it.

mod hearing;
mod request;
mod telling;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{
        State,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
    routing::get,
};
use futures_util::{SinkExt, StreamExt};
use hamlet_actors::vocabulary::ConversationId;
use serde::Deserialize;
use tokio::sync::mpsc;

use self::{hearing::Hearing, telling::Telling};
use super::{
    error::ApiError,
    extract::{BODY_LIMIT, Id, Query},
    watch::{
        Heartbeat,
        begin::{self, Place, Since},
        reader::{Ended, Reader},
    },
};
use crate::{app::App, auth::SignedIn};

/// Requests of one socket that are being worked on at most.
const IN_FLIGHT: usize = 8;
/// A peer that was not heard for so long, though it is pinged at each heartbeat, is not there any more.
const SILENCE: Duration = Duration::from_secs(45);
/// For the peer to answer a close with its own.
const PARTING: Duration = Duration::from_secs(2);
/// Bytes that are read and written at once; a socket that is idle keeps no more.
const BUFFER: usize = 4 * 1024;

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/conversations/{id}/ws", get(open))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SocketQuery {
    after: Option<u64>,
}

async fn open(
    signed_in: SignedIn,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Query(query): Query<SocketQuery>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let upgrade =
        upgrade.map_err(|error| ApiError::invalid(format!("This route is a WebSocket: {}.", error.body_text())))?;
    let since = query.after.map_or(Since::Now, Since::Cursor);
    let place = begin::one(&app, &signed_in.who, id, since).await?;
    // The server waits for it before it ends.
    let counted = app.sockets.token();
    let upgrade = upgrade
        .max_message_size(BODY_LIMIT)
        .max_frame_size(BODY_LIMIT)
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER)
        .on_failed_upgrade(|error| tracing::debug!(%error, "a connection did not become a WebSocket"));
    Ok(upgrade.on_upgrade(move |socket| async move {
        converse(socket, app, signed_in, place).await;
        drop(counted);
    }))
}

/// Why a socket is not gone on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parting {
    /// The peer has gone, or has not been heard for too long: there is nobody to tell anything.
    Lost,
    /// The peer closes.
    Left,
    /// What came is no WebSocket message of a size that is taken.
    Unfit,
    SignedOut,
    Deleted,
    Stopping,
    /// The store could not be read.
    Unreadable,
}

impl Parting {
    fn close(self) -> Option<CloseFrame> {
        let (code, reason) = match self {
            Self::Lost | Self::Left => return None,
            Self::Unfit => (1002, "PROTOCOL"),
            Self::SignedOut => (4401, "UNAUTHENTICATED"),
            Self::Deleted => (4404, "NOT_FOUND"),
            Self::Stopping => (1001, "SHUTTING_DOWN"),
            Self::Unreadable => (1011, "INTERNAL"),
        };
        Some(CloseFrame { code, reason: reason.into() })
    }
}

impl From<Ended> for Parting {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Gone => Self::Deleted,
            // A socket's reader follows all turns: it ends with none.
            Ended::Turn | Ended::Stopping => Self::Stopping,
            Ended::Unreadable => Self::Unreadable,
        }
    }
}

async fn converse(socket: WebSocket, app: Arc<App>, signed_in: SignedIn, place: Place) {
    let (sink, stream) = socket.split();
    let (answers, answered) = mpsc::channel(IN_FLIGHT);
    let heartbeat = Heartbeat::new(&app, &signed_in);
    let reader = Reader::new(app.store.clone(), &place.log, place.conversation, signed_in.who.id, place.cursor);
    let mut telling = Telling { sink, reader, heartbeat, answered };
    let mut hearing = Hearing { stream, app, signed_in, conversation: place.conversation, answers };
    let parting = tokio::select! {
        parting = telling.run(place.cursor) => parting,
        parting = hearing.run() => parting,
    };
    let Telling { mut sink, .. } = telling;
    let Hearing { mut stream, .. } = hearing;
    let farewell = async {
        // The peer has gone where this can't be written.
        if let Some(close) = parting.close()
            && sink.send(Message::Close(Some(close))).await.is_err()
        {
            return;
        }
        // The close is lost where the connection is cut while something of the peer's is unread.
        while let Some(Ok(_)) = stream.next().await {}
    };
    if parting != Parting::Lost && tokio::time::timeout(PARTING, farewell).await.is_err() {
        tracing::debug!(?parting, "a socket's peer did not answer its close");
    }
}
