//! Several Conversations read from one stream, as the page reads them: an event's id tells whose frame it is and moves that
//! Conversation's cursor.

#![expect(clippy::unwrap_used, reason = "a test support that fails, fails the test")]

use std::{collections::BTreeMap, time::Duration};

use futures_util::StreamExt;
use hamlet_actors::vocabulary::{Frame, Part, Transcript};
use reqwest::{Method, StatusCode};

use crate::Client;

/// What a reader keeps when its connection is cut.
#[derive(Clone, Default)]
pub struct Several {
    /// By the Conversation's id.
    pub transcripts: BTreeMap<String, Transcript>,
    pub cursors: BTreeMap<String, u64>,
    pub last_event_id: Option<String>,
    /// Whose frames came, in order.
    pub order: Vec<String>,
    pub gone: Vec<String>,
    /// The server asked to be left alone for so many milliseconds.
    pub retry: Option<u32>,
}

/// A connection that it reads from.
pub struct Connection {
    pub reader: Several,
    bytes: futures_util::stream::BoxStream<'static, reqwest::Result<Vec<u8>>>,
    buffer: Vec<u8>,
    /// Everything as it came.
    pub raw: Vec<u8>,
}

impl Several {
    /// The query that goes on from here.
    pub fn watch(&self) -> String {
        self.cursors.iter().map(|(id, cursor)| format!("{id}:{cursor}")).collect::<Vec<_>>().join(",")
    }

    pub fn text(&self, id: &str) -> String {
        let entry = self.transcripts.get(id).and_then(|transcript| transcript.entries().last());
        let text = |part: &Part| if let Part::Text { text } = part { Some(text.clone()) } else { None };
        entry.map(|entry| entry.parts.iter().filter_map(text).collect()).unwrap_or_default()
    }

    /// One whole event, as a browser takes it.
    pub fn hear(&mut self, event: &str) {
        let (mut name, mut data) = ("message", None);
        for line in event.lines() {
            if let Some(id) = line.strip_prefix("id: ") {
                self.last_event_id = Some(id.to_owned());
                let (id, cursor) = id.split_once(':').unwrap();
                self.cursors.insert(id.to_owned(), cursor.parse().unwrap());
            } else if let Some(event) = line.strip_prefix("event: ") {
                name = event;
            } else if let Some(retry) = line.strip_prefix("retry: ") {
                self.retry = retry.parse().ok();
            } else if let Some(line) = line.strip_prefix("data: ") {
                data = Some(line);
            }
        }
        match (name, data) {
            ("gone", Some(data)) => {
                let data: serde_json::Value = serde_json::from_str(data).unwrap();
                let id = data["conversationId"].as_str().unwrap();
                self.cursors.remove(id);
                self.gone.push(id.to_owned());
            }
            (_, Some(data)) => {
                let (id, _) = self.last_event_id.as_deref().and_then(|id| id.split_once(':')).unwrap();
                let frame: Frame = serde_json::from_str(data).unwrap();
                self.transcripts.entry(id.to_owned()).or_default().fold(frame);
                self.order.push(id.to_owned());
            }
            (_, None) => {}
        }
    }

    /// Hears what is whole of a piece that was cut somewhere.
    pub fn hear_cut(&mut self, raw: &[u8]) {
        let text = String::from_utf8_lossy(raw);
        let whole = text.rfind("\n\n").map_or("", |at| &text[..at]);
        for event in whole.split("\n\n") {
            self.hear(event);
        }
    }
}

impl Connection {
    /// `last`: what a browser that reconnects by itself brings.
    pub async fn open(client: &Client, reader: Several, watch: &str, last: Option<&str>) -> Self {
        let mut request = client.request(Method::GET, &format!("/api/frames?watch={watch}"));
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let bytes = response.bytes_stream().map(|chunk| chunk.map(|chunk| chunk.to_vec())).boxed();
        Self { reader, bytes, buffer: Vec::new(), raw: Vec::new() }
    }

    /// Reads until the condition holds; false when the stream ended before.
    pub async fn until(&mut self, condition: impl Fn(&Several) -> bool) -> bool {
        let reading = async {
            loop {
                if condition(&self.reader) {
                    return true;
                }
                let Some(Ok(chunk)) = self.bytes.next().await else { return condition(&self.reader) };
                self.raw.extend_from_slice(&chunk);
                self.buffer.extend(chunk);
                while let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                    let event: Vec<u8> = self.buffer.drain(..end + 2).collect();
                    self.reader.hear(std::str::from_utf8(&event).unwrap());
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(10), reading).await.unwrap()
    }

    pub async fn to_end(&mut self) {
        self.until(|_| false).await;
    }
}
