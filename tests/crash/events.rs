//! Frames as they come over the wire, by server-sent events or by WebSocket, cut into events.

use futures_util::{StreamExt, stream::BoxStream};
use hamlet_test_support::Client;
use reqwest::{Response, StatusCode};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message, client::IntoClientRequest},
};

/// One event: what it has of an id, of data, and of a word on when to come back.
#[derive(Debug, Default)]
pub struct Event {
    pub id: Option<String>,
    /// Empty for a frame.
    pub name: String,
    pub data: Option<String>,
    pub farewell: bool,
}

pub enum Events {
    Sse { chunks: BoxStream<'static, reqwest::Result<Vec<u8>>>, rest: Vec<u8> },
    Socket(Box<WebSocketStream<TcpStream>>),
}

/// What one read brought.
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
        Self::Sse { chunks, rest: Vec::new() }
    }

    /// # Errors
    /// The status of a refusal; None when the server was gone.
    pub async fn of_socket(client: &Client, path: &str) -> Result<Self, Option<StatusCode>> {
        let mut request = format!("ws://{}{path}", client.address).into_client_request().unwrap();
        request.headers_mut().insert("cookie", client.cookie.as_ref().unwrap().parse().unwrap());
        let connection = TcpStream::connect(client.address).await.map_err(|_| None)?;
        match client_async(request, connection).await {
            Ok((socket, _)) => Ok(Self::Socket(Box::new(socket))),
            Err(Error::Http(response)) => Err(Some(response.status())),
            Err(_) => Err(None),
        }
    }

    /// May be given up at any time: nothing is lost.
    pub async fn read(&mut self) -> Read {
        match self {
            Self::Sse { chunks, rest } => match chunks.next().await {
                Some(Ok(chunk)) => {
                    rest.extend(chunk);
                    Read::Events(take(rest))
                }
                Some(Err(_)) => Read::Cut,
                None => Read::End,
            },
            Self::Socket(socket) => match socket.next().await {
                Some(Ok(Message::Text(text))) => Read::Events(vec![told(&text)]),
                Some(Ok(Message::Close(close))) => {
                    let farewell = close.is_some_and(|close| u16::from(close.code) == 1001);
                    Read::Events(vec![Event { farewell, ..Event::default() }])
                }
                Some(Ok(_)) => Read::Events(Vec::new()),
                Some(Err(_)) => Read::Cut,
                None => Read::End,
            },
        }
    }
}

fn take(rest: &mut Vec<u8>) -> Vec<Event> {
    let Some(end) = rest.windows(2).rposition(|pair| pair == b"\n\n") else { return Vec::new() };
    let whole = String::from_utf8(rest.drain(..end + 2).collect()).unwrap();
    whole.split_terminator("\n\n").map(event).collect()
}

fn event(lines: &str) -> Event {
    let mut event = Event::default();
    for line in lines.lines() {
        match line.split_once(": ") {
            Some(("id", id)) => event.id = Some(id.to_owned()),
            Some(("event", name)) => event.name = name.to_owned(),
            Some(("data", data)) => event.data = Some(data.to_owned()),
            Some(("retry", _)) => event.farewell = true,
            _ => assert_eq!(line, ":", "neither a field that we know nor a heartbeat"),
        }
    }
    event
}

fn told(text: &str) -> Event {
    let told: Value = serde_json::from_str(text).unwrap();
    Event {
        id: told["cursor"].as_u64().map(|cursor| cursor.to_string()),
        data: told.get("frame").map(Value::to_string),
        ..Event::default()
    }
}
