//! Promise 9 over sockets: who reads slowly harms nobody, and loses nothing.

use std::time::Duration;

use hamlet_actors::vocabulary::{Frame, Part, Transcript, TurnState};
use hamlet_test_support::{Connection, Events, Script, Several, Socket, TestServer};
use reqwest::StatusCode;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

/// Pieces of a reply that is longer than the buffers of two sockets hold.
const PIECES: usize = 500;

fn piece(n: usize) -> String {
    format!("{n:08}").repeat(2048)
}

/// Says it all, piece by piece as a quick reader gets it.
async fn flood(script: &Script, quick: &mut Events) {
    let mut said = 0;
    for n in 0..PIECES {
        script.text(&piece(n));
        said += piece(n).len();
        let read = |events: &Events| events.frames.iter().map(|(_, frame)| text_of(frame).len()).sum::<usize>() >= said;
        assert!(quick.until(read).await);
    }
    script.finish();
    assert!(quick.until(|events| events.terminal_frames() == 1).await);
}

fn text_of(frame: &Frame) -> &str {
    match frame {
        Frame::Part { part: Part::Text { text }, .. } => text,
        _ => "",
    }
}

/// What came to who did not read while it was said: everything, in fewer frames, some of them larger. When the turn has ended
/// the rest may come from the store, as a whole Message.
fn assert_merged(slow: &[Frame], quick: &Events) {
    let mut transcript = Transcript::default();
    slow.iter().cloned().for_each(|frame| transcript.fold(frame));
    assert!(transcript.entries() == quick.transcript.entries(), "the slow one has another transcript");
    let longest = slow.iter().map(|frame| text_of(frame).len()).max().unwrap();
    assert!(longest > piece(0).len(), "the longest has {longest} bytes");
    assert!(slow.len() < quick.frames.len() * 4 / 5, "{} of {}", slow.len(), quick.frames.len());
}

fn is_terminal(frame: &Frame) -> bool {
    matches!(frame, Frame::Finish(finish) if finish.turn.state == TurnState::Ended)
}

/// A connection with a small buffer, which nobody reads before the test does.
async fn unread(server: &TestServer, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    let mut socket = socket.connect(server.address).await.unwrap();
    // The answer to HTTP/1.0 is not cut into chunks.
    let cookie = server.admin.cookie.as_deref().unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nhost: localhost\r\ncookie: {cookie}\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut start = [0; 12];
    socket.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.0 200");
    socket
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_9_a_stream_that_nobody_reads_holds_up_nobody_and_gets_the_rest_merged() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let script = server.provider.expect();
    let mut slow = unread(&server, &format!("/api/conversations/{id}/frames?after=0")).await;
    let mut quick = server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"})).await;
    flood(&script, &mut quick).await;
    let (mut raw, mut frames) = (Vec::new(), Vec::<Frame>::new());
    while !frames.last().is_some_and(is_terminal) {
        let read = tokio::time::timeout(Duration::from_secs(10), slow.read_buf(&mut raw)).await.unwrap().unwrap();
        assert_ne!(read, 0, "the stream goes on");
        let Some(end) = memchr::memmem::rfind(&raw, b"\n\n") else { continue };
        let whole: Vec<u8> = raw.drain(..end + 2).collect();
        let events = std::str::from_utf8(&whole).unwrap().lines().filter_map(|line| line.strip_prefix("data: "));
        frames.extend(events.map(|data| serde_json::from_str::<Frame>(data).unwrap()));
    }
    assert_merged(&frames, &quick);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_9_a_socket_that_does_not_read_holds_up_nobody_and_gets_the_rest_merged() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let script = server.provider.expect();
    let mut slow = Socket::open(&server.admin, &format!("/api/conversations/{id}/ws?after=0")).await.unwrap();
    assert!(slow.until(|socket| socket.cursor == Some(0)).await);
    let mut quick = server.admin.stream(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"})).await;
    flood(&script, &mut quick).await;
    assert!(slow.until(|socket| socket.frames.last().is_some_and(|(_, frame)| is_terminal(frame))).await);
    let frames: Vec<Frame> = slow.frames.into_iter().map(|(_, frame)| frame).collect();
    assert_merged(&frames, &quick);
}

/// A Conversation that was away for 30 MB does not make the one that speaks now wait for all of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_9_in_one_stream_a_long_replay_does_not_hold_up_the_others() {
    let server = TestServer::start().await;
    let (long, live) = (server.conversation().await, server.conversation().await);
    let messages = 1_500;
    let key = long.parse::<hamlet_actors::vocabulary::ConversationId>().unwrap();
    server
        .app
        .store
        .write(move |conn| {
            let find = "SELECT key FROM conversations WHERE id = ?1";
            let key: i64 = conn.query_row(find, [key.0.as_bytes()], |row| row.get(0))?;
            let text = "lorem ipsum ".repeat(1_700);
            for n in 1..=messages {
                let id = uuid::Uuid::now_v7();
                conn.execute(
                    "INSERT INTO messages (id, conversation_key, turn_id, role, author_kind, author_id, author_name, position, \
                     status, text, terminal, first_seq, last_seq, created_at) \
                     VALUES (?1, ?2, ?1, 'npc', 'npc', 'a', 'Ada', ?3, 'complete', ?4, 1, ?3, ?3, 0)",
                    (id.as_bytes(), key, n, &text),
                )?;
            }
            Ok(conn.execute("UPDATE conversations SET last_seq = ?2 WHERE key = ?1", (key, messages))?)
        })
        .await
        .unwrap();
    let mut connection = Connection::open(&server.admin, Several::default(), &format!("{long}:0,{live}:0"), None).await;
    assert!(connection.until(|reader| reader.order.len() > 3).await);
    // While it is not read: sockets and their buffers fill with the replay.
    let script = server.provider.expect();
    let path = format!("/api/conversations/{live}/messages");
    server.admin.post(&path, json!({"text": "Hi"})).await.expect(StatusCode::ACCEPTED).await;
    script.text("Now.");
    script.finish();
    assert!(connection.until(|reader| reader.text(&live) == "Now.").await);
    let still = connection.reader.transcripts[&long].entries().len();
    assert!(still < 1_000, "only {still} of {messages} came before it");
    assert!(connection.until(|reader| reader.transcripts[&long].entries().len() == messages).await);
}
