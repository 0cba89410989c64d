//! An event stream as it comes over the wire, cut into events.

use futures_util::{StreamExt, stream::BoxStream};
use reqwest::Response;

/// One event: what it has of an id, of data, and of a word on when to come back.
#[derive(Debug, Default)]
pub struct Event {
    pub id: Option<u64>,
    pub data: Option<String>,
    pub retry: bool,
}

pub struct Events {
    chunks: BoxStream<'static, reqwest::Result<Vec<u8>>>,
    rest: Vec<u8>,
}

/// What one read of the socket brought.
pub enum Read {
    Events(Vec<Event>),
    /// The server ended the stream.
    End,
    /// The connection broke.
    Cut,
}

impl Events {
    pub fn of(response: Response) -> Self {
        let chunks = response.bytes_stream().map(|chunk| chunk.map(|chunk| chunk.to_vec())).boxed();
        Self { chunks, rest: Vec::new() }
    }

    pub async fn read(&mut self) -> Read {
        match self.chunks.next().await {
            Some(Ok(chunk)) => {
                self.rest.extend(chunk);
                Read::Events(self.take())
            }
            Some(Err(_)) => Read::Cut,
            None => Read::End,
        }
    }

    fn take(&mut self) -> Vec<Event> {
        let Some(end) = self.rest.windows(2).rposition(|pair| pair == b"\n\n") else { return Vec::new() };
        let whole: Vec<u8> = self.rest.drain(..end + 2).collect();
        let whole = String::from_utf8(whole).unwrap();
        whole.split_terminator("\n\n").map(event).collect()
    }
}

fn event(lines: &str) -> Event {
    let mut event = Event::default();
    for line in lines.lines() {
        match line.split_once(": ") {
            Some(("id", id)) => event.id = Some(id.parse().unwrap()),
            Some(("data", data)) => event.data = Some(data.to_owned()),
            Some(("retry", _)) => event.retry = true,
            _ => assert_eq!(line, ":", "neither a field that we know nor a heartbeat"),
        }
    }
    event
}
