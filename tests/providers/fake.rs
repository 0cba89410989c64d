//! A Provider's server on the loopback that does what it is told, connection by connection, in raw HTTP: status,
//! headers, pieces of a body, silence; and that notes what it was asked and when the other side left.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    time::timeout,
};
use url::Url;

/// What the server does with one request.
#[derive(Debug, Clone)]
pub enum Act {
    /// Writes bytes as they are.
    Write(Vec<u8>),
    /// Waits until the other side has closed the connection.
    AwaitClose,
    /// Closes it without a further word.
    Close,
}

/// What the server saw.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen {
    /// The head of a request, and its body.
    Asked(String, String),
    /// The client closed the connection while the server waited.
    Left,
}

pub struct Fake {
    pub address: SocketAddr,
    seen: mpsc::UnboundedReceiver<Seen>,
    task: tokio::task::JoinHandle<()>,
}

impl Fake {
    /// Plays one script a connection, in order; refuses further ones by closing them.
    pub async fn playing(scripts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, seen) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut scripts = scripts.into_iter();
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                play(socket, scripts.next().unwrap_or_default(), &tell).await;
            }
        });
        Self { address, seen, task }
    }

    pub fn base_url(&self) -> Url {
        Url::parse(&format!("http://{}/v1", self.address)).unwrap()
    }

    /// The next thing that the server saw, within two seconds.
    pub async fn seen(&mut self) -> Seen {
        timeout(Duration::from_secs(2), self.seen.recv()).await.expect("the server saw nothing").unwrap()
    }

    /// How many further requests there were.
    pub fn more(&mut self) -> usize {
        std::iter::from_fn(|| self.seen.try_recv().ok()).count()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn play(mut socket: TcpStream, script: Vec<Act>, tell: &mpsc::UnboundedSender<Seen>) {
    let Some((head, body)) = request(&mut socket).await else { return };
    let _ = tell.send(Seen::Asked(head, body));
    for act in script {
        match act {
            Act::Write(bytes) => {
                if socket.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Act::AwaitClose => {
                let mut rest = [0; 64];
                while matches!(socket.read(&mut rest).await, Ok(1..)) {}
                let _ = tell.send(Seen::Left);
            }
            Act::Close => return,
        }
    }
}

async fn request(socket: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..at].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
            if bytes.len() >= at + 4 + length {
                return Some((head, String::from_utf8(bytes[at + 4..].to_vec()).unwrap()));
            }
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// The head of a stream that ends with the connection.
pub fn stream_head() -> Act {
    Act::Write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_vec())
}

pub fn body(text: impl Into<Vec<u8>>) -> Act {
    Act::Write(text.into())
}

/// A whole answer.
pub fn answer(status: &str, headers: &str, body: &str) -> Vec<Act> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n", body.len());
    vec![Act::Write((head + body).into_bytes()), Act::Close]
}
