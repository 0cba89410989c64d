//! One tab: a connection that may be slow or cut, the cursor that it holds, and the transcript that it has folded. It keeps
//! what it held at earlier moments, so that it can come back with any of them.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use axum::body::{BodyDataStream, Bytes};
use futures_util::StreamExt;
use hamlet_actors::vocabulary::{
    ConversationId, ErrorCode, Finish, Frame, MessageId, MessageStatus, Transcript, TurnId, TurnState,
};
use tokio::sync::Notify;

use crate::{
    broken::{Broken, Checked, ensure, must},
    sse::{self, Dispatched},
};

/// A stream that owes something gives it sooner than this, on any machine. It reads the store at most.
const PATIENCE: Duration = Duration::from_secs(2);
/// Earlier moments that a tab remembers.
const PAST: usize = 8;

/// What a tab has at one moment, between two events.
#[derive(Debug, Clone, Default)]
pub struct Held {
    pub cursor: u64,
    pub transcript: Transcript,
    /// The transcript is whole for all that changed behind this seq.
    pub since: u64,
}

pub struct Tab {
    pub name: &'static str,
    pub held: Held,
    pub past: Vec<Held>,
    pub connection: Option<Connection>,
    /// Turns of whose replies it saw the beginning, and how many of their ends.
    pub seen: HashMap<TurnId, usize>,
    /// It watches the turn of this reply alone, which was asked for under this key.
    pub until: Option<(MessageId, u8)>,
    /// The log's change that it has looked behind: while nobody is awake it is owed what is stored only where the log has
    /// changed since. None: a stream that was just opened looks by itself.
    pub looked_at: Option<u64>,
}

pub struct Connection {
    body: BodyDataStream,
    reader: sse::Reader,
    /// Set when the stream is one of several Conversations.
    among: Option<ConversationId>,
    /// The id of the newest event.
    last: Option<u64>,
    /// A Message that is being replayed: its start came without an id of its own.
    replayed: Option<MessageId>,
    ends: HashMap<TurnId, usize>,
    woken: Arc<Woken>,
}

/// Tells whether the stream has something new.
#[derive(Debug, Default)]
struct Woken {
    flag: AtomicBool,
    notify: Notify,
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.flag.store(true, Ordering::Release);
        self.notify.notify_one();
    }
}

enum Got {
    Bytes(Bytes),
    End,
    Nothing,
}

impl Connection {
    pub fn new(body: BodyDataStream, among: Option<ConversationId>) -> Self {
        Self {
            body,
            reader: sse::Reader::default(),
            among,
            last: None,
            replayed: None,
            ends: HashMap::new(),
            woken: Arc::default(),
        }
    }

    fn poll(&mut self) -> Checked<Got> {
        let waker = Waker::from(Arc::clone(&self.woken));
        self.woken.flag.store(false, Ordering::Release);
        match self.body.poll_next_unpin(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(bytes)) => must(bytes, "a stream").map(Got::Bytes),
            Poll::Ready(None) => Ok(Got::End),
            Poll::Pending => Ok(Got::Nothing),
        }
    }

    /// Waits until the stream has something new.
    async fn woken(&self) -> Checked {
        while !self.woken.flag.load(Ordering::Acquire) {
            let waited = tokio::time::timeout(PATIENCE, self.woken.notify.notified()).await;
            ensure!(waited.is_ok(), "a stream owes frames and does not give them");
        }
        Ok(())
    }
}

impl Tab {
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            held: Held::default(),
            past: Vec::new(),
            connection: None,
            seen: HashMap::new(),
            until: None,
            looked_at: None,
        }
    }

    pub fn connect(&mut self, body: Option<BodyDataStream>, among: Option<ConversationId>) {
        self.connection = body.map(|body| Connection::new(body, among));
        self.looked_at = None;
    }

    /// What is remembered can be come back with.
    pub fn remember(&mut self) {
        if self.past.len() == PAST {
            self.past.remove(0);
        }
        self.past.push(self.held.clone());
    }

    /// Reads until it stands at the seq, or its stream ends; and whatever else there is at once.
    pub async fn read_to(&mut self, seq: u64) -> Checked {
        while let Some(connection) = &mut self.connection {
            match connection.poll()? {
                Got::Bytes(bytes) => self.take(&bytes)?,
                Got::End => self.end()?,
                Got::Nothing if self.held.cursor >= seq => return Ok(()),
                Got::Nothing => connection.woken().await?,
            }
        }
        Ok(())
    }

    /// Looks once at a stream that owes something. What it is given may be on its way still: then it comes with a later
    /// look, however much happens in between.
    pub async fn glance(&mut self) -> Checked {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        match connection.poll()? {
            Got::Bytes(bytes) => self.take(&bytes),
            Got::End => self.end(),
            Got::Nothing => connection.woken().await,
        }
    }

    /// Takes a part of the next piece, and is gone.
    pub async fn drop_in(&mut self, after: usize, owed: bool) -> Checked {
        while let Some(connection) = &mut self.connection {
            match connection.poll()? {
                Got::Bytes(bytes) => {
                    let cut = after % (bytes.len() + 1);
                    self.take(bytes.get(..cut).unwrap_or_default())?;
                    break;
                }
                Got::Nothing if owed => connection.woken().await?,
                Got::Nothing | Got::End => break,
            }
        }
        self.connection = None;
        self.remember();
        Ok(())
    }

    /// Reads to the end of the stream, which is near.
    pub async fn read_to_the_end(&mut self) -> Checked {
        while let Some(connection) = &mut self.connection {
            match connection.poll()? {
                Got::Bytes(bytes) => self.take(&bytes)?,
                Got::End => self.end()?,
                Got::Nothing => connection.woken().await?,
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Checked {
        self.connection = None;
        Ok(())
    }

    fn take(&mut self, bytes: &[u8]) -> Checked {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        for event in connection.reader.feed(bytes) {
            self.hear(event)?;
        }
        Ok(())
    }

    fn hear(&mut self, event: Dispatched) -> Checked {
        if event.name == "gone" {
            return Ok(());
        }
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let before = self.held.cursor;
        if event.has_id {
            let id = match connection.among {
                Some(id) => event.last_id.strip_prefix(&format!("{id}:")).unwrap_or("of another"),
                None => &event.last_id,
            };
            let seq: u64 = must(id.parse(), &format!("the id {:?}", event.last_id))?;
            let grows =
                connection.last.is_none_or(|last| if connection.among.is_some() { last <= seq } else { last < seq });
            ensure!(grows, "{} got the id {seq} behind {:?}", self.name, connection.last);
            connection.last = Some(seq);
            self.held.cursor = seq;
        }
        if event.data.is_empty() {
            return Ok(());
        }
        let frame: Frame = must(serde_json::from_str(&event.data), &event.data)?;
        let moves = event.has_id && (connection.among.is_none() || self.held.cursor > before);
        self.fold(frame, moves)
    }

    fn fold(&mut self, frame: Frame, moves: bool) -> Checked {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        match &frame {
            Frame::Start(start) => {
                connection.replayed = (!moves).then_some(start.message.id);
                // Told from its beginning once more.
                connection.ends.remove(&start.turn_id);
            }
            Frame::Finish(finish) => count_ends(self.name, &mut connection.ends, finish)?,
            // Not transcript. One that is told of a stored Message is within a replay.
            Frame::Error { message_id, error, .. }
                if !moves && error.code == ErrorCode::StoreUnavailable && connection.replayed != *message_id =>
            {
                return Ok(());
            }
            Frame::Error { .. } | Frame::Part { .. } => {}
        }
        note_turns(&mut self.seen, &frame);
        self.held.transcript.fold(frame);
        Ok(())
    }
}

/// No stream tells the end of a turn twice. That a Message leaves later is told by its finish once more, and is no end.
fn count_ends(name: &str, ends: &mut HashMap<TurnId, usize>, finish: &Finish) -> Checked {
    if finish.turn.state != TurnState::Ended || finish.status == MessageStatus::Superseded {
        return Ok(());
    }
    let count = ends.entry(finish.turn.id).or_default();
    *count += 1;
    if *count > 1 {
        return Err(Broken(format!("{name} was told twice that {} ended", finish.turn.id)));
    }
    Ok(())
}

fn note_turns(seen: &mut HashMap<TurnId, usize>, frame: &Frame) {
    match frame {
        Frame::Start(start) if start.message.role == hamlet_actors::vocabulary::Role::Npc => {
            seen.entry(start.turn_id).or_default();
        }
        Frame::Finish(finish) if finish.turn.state == TurnState::Ended => {
            *seen.entry(finish.turn.id).or_default() += 1;
        }
        _ => {}
    }
}
