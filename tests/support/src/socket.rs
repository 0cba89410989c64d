//! A WebSocket to one Conversation, read message by message and folded as it comes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test support that fails, fails the test")]

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hamlet_actors::vocabulary::{Frame, Part, Transcript};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message, client::IntoClientRequest},
};

use crate::Client;

pub struct Socket {
    stream: WebSocketStream<TcpStream>,
    pub cursor: Option<u64>,
    pub frames: Vec<(Option<u64>, Frame)>,
    pub transcript: Transcript,
    /// Answers that nobody waited for yet.
    pub answers: Vec<Value>,
    /// The code of the server's close.
    pub closed: Option<u16>,
    pub pings: usize,
}

impl Socket {
    /// The status of the refusal, where it is refused.
    pub async fn open(client: &Client, path: &str) -> Result<Self, u16> {
        Self::from_page(client, path, None).await
    }

    /// As a page of this origin.
    pub async fn from_page(client: &Client, path: &str, origin: Option<&str>) -> Result<Self, u16> {
        let mut request = format!("ws://{}{path}", client.address).into_client_request().unwrap();
        let headers = request.headers_mut();
        if let Some(cookie) = &client.cookie {
            headers.insert("cookie", cookie.parse().unwrap());
        }
        if let Some(origin) = origin {
            headers.insert("origin", origin.parse().unwrap());
        }
        let tcp = TcpSocket::new_v4().unwrap();
        // Small, so that a test which does not read is soon felt.
        tcp.set_recv_buffer_size(16 * 1024).unwrap();
        let tcp = tcp.connect(client.address).await.unwrap();
        match tokio::time::timeout(Duration::from_secs(10), client_async(request, tcp)).await.unwrap() {
            Ok((stream, _)) => Ok(Self {
                stream,
                cursor: None,
                frames: Vec::new(),
                transcript: Transcript::default(),
                answers: Vec::new(),
                closed: None,
                pings: 0,
            }),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    pub async fn send(&mut self, request: Value) {
        self.send_raw(Message::text(request.to_string())).await;
    }

    pub async fn send_raw(&mut self, message: Message) {
        assert!(self.try_send(message).await);
    }

    /// False: the server has closed before it had read it all.
    pub async fn try_send(&mut self, message: Message) -> bool {
        self.stream.send(message).await.is_ok()
    }

    /// Sends a request and waits for its answer.
    pub async fn ask(&mut self, request: Value) -> Value {
        let id = request["requestId"].clone();
        self.send(request).await;
        self.answer(&id).await
    }

    pub async fn answer(&mut self, id: &Value) -> Value {
        let found = |socket: &Self| socket.answers.iter().position(|answer| answer["requestId"] == *id);
        assert!(self.until(|socket| found(socket).is_some()).await, "the socket closed: {:?}", self.closed);
        let at = found(self).unwrap();
        self.answers.remove(at)
    }

    /// Reads until the condition holds; false when the socket ended before.
    pub async fn until(&mut self, condition: impl Fn(&Self) -> bool) -> bool {
        let reading = async {
            loop {
                if condition(self) {
                    return true;
                }
                match self.stream.next().await {
                    Some(Ok(Message::Text(text))) => self.hear(&serde_json::from_str(&text).unwrap()),
                    Some(Ok(Message::Close(close))) => {
                        self.closed = close.map(|close| close.code.into());
                    }
                    Some(Ok(Message::Ping(_))) => self.pings += 1,
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return condition(self),
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(10), reading).await.unwrap()
    }

    pub async fn to_end(&mut self) {
        self.until(|_| false).await;
    }

    pub fn text(&self) -> String {
        let Some(entry) = self.transcript.entries().last() else { return String::new() };
        let text = |part: &Part| if let Part::Text { text } = part { Some(text.clone()) } else { None };
        entry.parts.iter().filter_map(text).collect()
    }

    fn hear(&mut self, message: &Value) {
        if message.get("status").is_some() {
            self.answers.push(message.clone());
            return;
        }
        let cursor = message["cursor"].as_u64();
        self.cursor = cursor.or(self.cursor);
        if let Some(frame) = message.get("frame") {
            let frame: Frame = serde_json::from_value(frame.clone()).unwrap();
            self.transcript.fold(frame.clone());
            self.frames.push((cursor, frame));
        } else {
            assert_eq!(*message, json!({"cursor": cursor}));
        }
    }
}
