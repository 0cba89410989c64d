//! What a socket tells: frames, answers, pings. The next frames are asked for when the last ones have been taken, so that a
//! peer that does not read costs no memory.

use axum::extract::ws::{Message, Utf8Bytes, WebSocket};
use bytes::Bytes;
use futures_util::{SinkExt, stream::SplitSink};
use hamlet_actors::conversation::frame_log::Line;
use tokio::sync::mpsc;

use super::{
    super::watch::{
        Heartbeat,
        reader::{Reader, Step},
    },
    Parting,
};

pub struct Telling {
    pub sink: SplitSink<WebSocket, Message>,
    pub reader: Reader,
    pub heartbeat: Heartbeat,
    pub answered: mpsc::Receiver<String>,
}

impl Telling {
    pub async fn run(&mut self, cursor: u64) -> Parting {
        match self.tell_all(cursor).await {
            Ok(parting) => parting,
            Err(error) => {
                tracing::debug!(%error, "a socket can't be written any more");
                Parting::Lost
            }
        }
    }

    async fn tell_all(&mut self, cursor: u64) -> Result<Parting, axum::Error> {
        // A peer that drops before its first frame can come back.
        self.sink.send(Message::text(format!("{{\"cursor\":{cursor}}}"))).await?;
        loop {
            tokio::select! {
                step = self.reader.next() => match step {
                    Step::Frames(stretch) => {
                        for line in stretch.lines() {
                            self.sink.feed(Message::Text(message(line))).await?;
                        }
                        self.sink.flush().await?;
                    }
                    Step::Ended(ended) => return Ok(ended.into()),
                },
                Some(answer) = self.answered.recv() => self.sink.send(Message::text(answer)).await?,
                () = self.heartbeat.due() => {
                    if !self.heartbeat.is_still_in().await {
                        return Ok(Parting::SignedOut);
                    }
                    self.sink.send(Message::Ping(Bytes::new())).await?;
                }
            }
        }
    }
}

/// A frame with the cursor behind it, where it moves it.
fn message(line: &Line) -> Utf8Bytes {
    let mut out = Vec::with_capacity(line.json.len() + 40);
    match line.seq {
        Some(seq) => out.extend_from_slice(format!("{{\"cursor\":{seq},\"frame\":").as_bytes()),
        None => out.extend_from_slice(b"{\"frame\":"),
    }
    out.extend_from_slice(&line.json);
    out.push(b'}');
    // JSON is UTF-8.
    Utf8Bytes::try_from(out).unwrap_or_default()
}
