//! Who only watches: what an idle one costs, and what it takes to tell a thousand of one turn.

use std::{
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Router, body::Body, extract::State, response::IntoResponse, routing::get};
use bytes::Bytes;
use futures_util::{StreamExt, future::join_all, stream};
use hamlet_actors::{ports::Provider, vocabulary::ProviderId};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::broadcast,
};

use crate::{
    durable::{Clockwork, PACE, TOKENS, cpu, hear, in_milliseconds},
    idle::resident_of,
    served::{Served, durable},
};

/// Set for the process that serves idle watchers, so that their own side of the connections is not measured too.
pub const SERVES: &str = "HAMLET_BENCH_SERVES";
const WARM: usize = 64;
const IDLE: [usize; 2] = [1_000, 10_000];
const SETTLE: Duration = Duration::from_secs(2);
const FANOUT: [usize; 4] = [1, 10, 100, 1_000];

/// Resident bytes of the server for each connection that watches a Conversation of its own in which nothing happens.
pub async fn idle() {
    for count in IDLE {
        let (mut child, address, requests) = serving(count + WARM);
        let mut held = open(address, &requests[..WARM]).await;
        tokio::time::sleep(SETTLE).await;
        let before = resident_of(child.id());
        held.extend(open(address, &requests[WARM..]).await);
        tokio::time::sleep(SETTLE).await;
        let each = (resident_of(child.id()) - before) as f64 / count as f64 / 1024.0;
        println!("idle watcher, {count} of them: {each:.2} KiB resident");
        drop((child.stdin.take(), held));
        child.wait().unwrap();
    }
}

/// This bench again, as a server with so many Conversations; the requests that watch them.
fn serving(count: usize) -> (Child, SocketAddr, Vec<String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .env(SERVES, count.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.next().unwrap().unwrap().parse().unwrap();
    let requests = lines.take(count).map(|path| path.unwrap().replace("\\n", "\r\n")).collect();
    (child, address, requests)
}

/// What the process does that is called so.
pub async fn serve(count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let server = Served::start(folder.path(), clock(Instant::now()), durable()).await;
    let mut out = String::new();
    for id in server.conversations(count).await {
        out.push_str(&server.watch_request(&id).replace("\r\n", "\\n"));
        out.push('\n');
    }
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("{}\n{out}", server.address()).as_bytes()).unwrap();
    stdout.flush().unwrap();
    // Until whoever asked for it lets go.
    tokio::task::spawn_blocking(|| std::io::stdin().lines().count()).await.unwrap();
    server.end().await;
}

/// Connections on which the first event has come.
async fn open(address: SocketAddr, requests: &[String]) -> Vec<TcpStream> {
    stream::iter(requests).map(|request| connect(address, request)).buffered(WARM).collect().await
}

async fn connect(address: SocketAddr, request: &str) -> TcpStream {
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(request.as_bytes()).await.unwrap();
    let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
    while !seen.windows(4).any(|four| four == b"id: ") {
        let read = connection.read(&mut bytes).await.unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&bytes[..read]);
    }
    connection
}

/// Latency and CPU of one turn of 50 tokens a second told to many, beside a relay that broadcasts the same bytes.
pub async fn told_of_a_turn() {
    for count in FANOUT {
        let relay = relayed(count).await;
        let hamlet = watched(count).await;
        println!("{count} watchers, latency p50 / p99, CPU a delivery of both ends: {hamlet}; relay {relay}");
    }
}

fn clock(begun: Instant) -> Arc<dyn Provider> {
    Arc::new(Clockwork(ProviderId::generate(), begun))
}

async fn watched(count: usize) -> String {
    let begun = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let server = Served::start(folder.path(), clock(begun), durable()).await;
    let conversation = server.conversations(1).await.remove(0);
    let requests = vec![server.watch_request(&conversation); count];
    let held = open(server.address(), &requests).await;
    let before = cpu();
    server.say(&conversation).await;
    let figures = read(held, begun, before).await;
    server.end().await;
    figures
}

async fn relayed(count: usize) -> String {
    let begun = Instant::now();
    let (said, _) = broadcast::channel::<Bytes>(TOKENS);
    let router = Router::new().route("/", get(relay)).with_state(said.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let held = open(address, &vec!["GET / HTTP/1.1\r\nhost: relay\r\n\r\n".to_owned(); count]).await;
    let before = cpu();
    let saying = tokio::spawn(async move {
        for _ in 0..TOKENS {
            said.send(format!("data: <{}>\n\n", begun.elapsed().as_micros()).into()).unwrap();
            tokio::time::sleep(PACE).await;
        }
    });
    let figures = read(held, begun, before).await;
    saying.await.unwrap();
    serving.abort();
    figures
}

async fn relay(State(said): State<broadcast::Sender<Bytes>>) -> impl IntoResponse {
    let opening = stream::iter([Ok::<_, std::convert::Infallible>(Bytes::from_static(b"id: 0\n\n"))]);
    let rest = stream::unfold(said.subscribe(), |mut heard| async move { Some((Ok(heard.recv().await.ok()?), heard)) });
    Body::from_stream(opening.chain(rest))
}

/// Reads until each has heard all; each token says when it was said.
async fn read(connections: Vec<TcpStream>, begun: Instant, before: Duration) -> String {
    let readers = connections.into_iter().map(|mut connection| {
        tokio::spawn(async move {
            let (mut late, mut rest, mut bytes) = (Vec::with_capacity(TOKENS), String::new(), vec![0; 16 << 10]);
            while late.len() < TOKENS {
                let read = connection.read(&mut bytes).await.unwrap();
                assert_ne!(read, 0, "the stream ended early");
                hear(&mut late, &mut rest, &bytes[..read], begun);
            }
            late
        })
    });
    let late: Vec<u64> = join_all(readers).await.into_iter().flat_map(Result::unwrap).collect();
    let each = (cpu() - before).as_micros() as f64 / late.len() as f64;
    format!("{}, {each:.1} us", in_milliseconds(late))
}
