//! One tab: it reads the frames of a Conversation, folds them, and comes back with its cursor after whatever cut it off.
//! What it was shown is kept apart before anything can take it away, so that it can be held against the store.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    time::Duration,
};

use hamlet_actors::vocabulary::{
    Body, ConversationId, Entry, Finish, Frame, MessageId, MessageStatus, Transcript, TurnId, TurnState,
};
use hamlet_test_support::Client;
use reqwest::{Method, StatusCode};
use tokio::sync::watch;

use crate::{
    ask::{Ask, Door, load, path},
    events::{Events, Read},
    fate::{Fate, Moment},
};

/// How a reader opens its stream, the first time and again.
#[derive(Debug, Clone)]
pub enum Way {
    /// With `Last-Event-ID`.
    Header,
    /// With `?after=`.
    Query,
    /// Over a WebSocket.
    Socket,
    /// Like a page that is loaded anew: the transcript first, then what follows it.
    Reload,
    /// From the very beginning each time.
    Afresh,
    /// Without a cursor: the running turn, else what comes from now on.
    Late,
    /// As the answer to a send, and to its repeat under the same key.
    Turn(Ask),
    /// In a stream of several Conversations, which is another's to open.
    Shared,
}

/// How it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    Steady,
    /// Leaves the stream alone for a while after each read.
    Slow,
    /// Cuts its own stream after some events, often in the middle of a Message, and comes back.
    Restless,
}

/// How far it reads.
#[derive(Debug, Clone)]
pub enum Until {
    /// To the end of the stream.
    Over,
    /// Behind the turn's terminal frame.
    Ended(TurnId),
    /// To the cursor that is named in time.
    Cursor(watch::Receiver<u64>),
}

/// Why it stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// It has all that it was to have.
    Reached,
    /// The server ended the stream; with a word on when to come back, or without.
    Closed {
        farewell: bool,
    },
    /// The stream broke off, or could not be opened.
    Cut,
    Refused(StatusCode),
}

pub struct Reader {
    conversation: ConversationId,
    pub way: Way,
    pace: Pace,
    rng: fastrand::Rng,
    pub transcript: Transcript,
    /// The last id that came.
    pub cursor: Option<u64>,
    /// The turn of the first Message that it was ever told of.
    pub first: Option<TurnId>,
    /// Whether it has the Conversation from its beginning.
    pub whole: bool,
    /// Messages as they were shown, before they were emptied, left, or the reader began anew.
    seen: Vec<Entry>,
    /// Messages of which it has the finish that ends their turn.
    ends: HashMap<TurnId, Vec<MessageId>>,
    /// Turns that had ended with a Message that has left.
    left: HashSet<TurnId>,
    pub over: Over,
}

impl Reader {
    pub fn new(conversation: ConversationId, way: Way, pace: Pace, rng: &mut fastrand::Rng) -> Self {
        let whole = !matches!(way, Way::Late | Way::Turn(_));
        Self {
            conversation,
            way,
            pace,
            rng: rng.fork(),
            transcript: Transcript::default(),
            cursor: None,
            first: None,
            whole,
            seen: Vec::new(),
            ends: HashMap::new(),
            left: HashSet::new(),
            over: Over::Cut,
        }
    }

    /// One that begins at a cursor that it was told.
    pub fn from(conversation: ConversationId, cursor: u64, rng: &mut fastrand::Rng) -> Self {
        Self { cursor: Some(cursor), whole: false, ..Self::new(conversation, Way::Query, Pace::Steady, rng) }
    }

    /// Reads so far; comes back by itself as long as the server is there and the reader is restless.
    pub async fn follow(mut self, door: Door, mut until: Until) -> Self {
        self.remember();
        self.over = loop {
            match self.open(&door.client).await {
                Err(over) => break over,
                Ok((expected, events)) => {
                    if let Some(over) = self.read(events, expected, &door.fate, &mut until).await {
                        break over;
                    }
                }
            }
        };
        self
    }

    /// Whether this turn's terminal frame came, or the word that what it ended has left.
    pub fn has_end_of(&self, turn: TurnId) -> bool {
        self.left.contains(&turn) || self.ends.get(&turn).is_some_and(|ends| !ends.is_empty())
    }

    pub fn last_text(&self) -> String {
        let parts = self.transcript.entries().last().map(|entry| entry.parts.clone());
        Body { parts: parts.unwrap_or_default(), ..Body::default() }.text()
    }

    /// Everything that it was ever shown and that was not settled.
    pub fn shown(&self) -> impl Iterator<Item = &Entry> {
        self.seen.iter().chain(self.transcript.entries())
    }

    /// What is shown from now on must hold what is shown now.
    pub fn remember(&mut self) {
        self.seen.extend(self.transcript.entries().iter().cloned());
    }

    /// What was shown so far has been held against the store.
    pub fn settle(&mut self) {
        self.seen.clear();
    }

    /// The stream, and the cursor that its first event must tell.
    async fn open(&mut self, client: &Client) -> Result<(Option<u64>, Events), Over> {
        let held = self.cursor.filter(|_| !matches!(self.way, Way::Reload | Way::Afresh));
        if held.is_none() {
            self.remember();
            self.transcript = Transcript::default();
            self.cursor = None;
            self.ends.clear();
        }
        let frames = |query: &str| client.request(Method::GET, &path(self.conversation, &format!("frames{query}")));
        let (expected, request) = match (&self.way, held) {
            (Way::Header, Some(cursor)) => (held, frames("").header("last-event-id", cursor.to_string())),
            (Way::Query | Way::Late, Some(cursor)) => (held, frames(&format!("?after={cursor}"))),
            (Way::Header | Way::Query | Way::Afresh, _) => (Some(0), frames("?after=0")),
            (Way::Late, None) => (None, frames("")),
            (Way::Reload, _) => {
                let loaded = load(client, self.conversation).await.map_err(refused)?;
                self.transcript = Transcript::of(loaded.messages);
                self.cursor = Some(loaded.cursor);
                (self.cursor, frames(&format!("?after={}", loaded.cursor)))
            }
            (Way::Socket, _) => {
                let after = held.unwrap_or(0);
                let path = path(self.conversation, &format!("ws?after={after}"));
                return Ok((Some(after), Events::of_socket(client, &path).await.map_err(refused)?));
            }
            (Way::Turn(ask), Some(cursor)) => {
                (held, ask.request(client, "text/event-stream").header("last-event-id", cursor.to_string()))
            }
            (Way::Turn(ask), None) => (None, ask.request(client, "text/event-stream")),
            (Way::Shared, _) => self.wrong("a stream of several is opened by who has them all"),
        };
        let response = request.send().await.map_err(|_| Over::Cut)?;
        match response.status() {
            StatusCode::OK => Ok((expected, Events::of(response))),
            StatusCode::INTERNAL_SERVER_ERROR => self.wrong("the stream answers with an error of our own"),
            status => Err(Over::Refused(status)),
        }
    }

    /// Why the stream is over for good; None: the reader opens another one.
    async fn read(
        &mut self,
        mut events: Events,
        expected: Option<u64>,
        fate: &Fate,
        until: &mut Until,
    ) -> Option<Over> {
        let (mut opened, mut farewell) = (false, false);
        let mut left = if self.pace == Pace::Restless { self.rng.u32(1..150) } else { u32::MAX };
        loop {
            if opened && self.has_reached(until) {
                return Some(Over::Reached);
            }
            let read = tokio::select! {
                read = events.read() => read,
                () = changed(until) => continue,
            };
            let events = match read {
                Read::Events(events) => events,
                Read::End => return Some(Over::Closed { farewell }),
                Read::Cut => return Some(Over::Cut),
            };
            for event in events {
                farewell |= event.farewell;
                opened |= event.id.is_some();
                let id = event.id.map(|id| id.parse().unwrap());
                match event.data {
                    Some(data) => self.take(id, &data, fate),
                    None => id.into_iter().for_each(|id| self.begin(expected, id)),
                }
                left -= 1;
                if left == 0 {
                    return None;
                }
            }
            if self.pace == Pace::Slow {
                // Being slow is what this reader is for.
                tokio::time::sleep(Duration::from_millis(self.rng.u64(1..6))).await;
            }
        }
    }

    fn has_reached(&self, until: &Until) -> bool {
        match until {
            Until::Over => false,
            Until::Ended(turn) => self.has_end_of(*turn),
            Until::Cursor(named) => self.cursor >= Some(*named.borrow()),
        }
    }

    /// The first event tells where the stream begins.
    pub fn begin(&mut self, expected: Option<u64>, id: u64) {
        if expected.is_some_and(|expected| expected != id) {
            self.wrong(&format!("the stream begins at {id}, and the cursor was {expected:?}"));
        }
        self.cursor = Some(id);
    }

    pub fn take(&mut self, id: Option<u64>, data: &str, fate: &Fate) {
        let frame: Frame = serde_json::from_str(data).unwrap();
        fate.saw(match &frame {
            Frame::Start(_) => Moment::Start,
            Frame::Finish(finish) if finish.turn.state == TurnState::Ended => Moment::End,
            Frame::Part { .. } | Frame::Error { .. } | Frame::Finish(_) => Moment::Piece,
        });
        match &frame {
            Frame::Start(start) => {
                self.first.get_or_insert(start.turn_id);
                self.keep(&[start.message.id]);
            }
            Frame::Part { message_id, .. } => {
                let leaving = self.known(*message_id).map(|entry| entry.supersedes.clone());
                self.keep(&leaving.unwrap_or_default());
            }
            Frame::Error { message_id, .. } => drop(message_id.map(|id| self.known(id))),
            Frame::Finish(finish) => self.take_finish(finish),
        }
        self.transcript.fold(frame);
        if id.is_some() {
            if id <= self.cursor {
                self.wrong(&format!("{id:?} comes behind {:?}: {data}", self.cursor));
            }
            self.cursor = id;
        }
    }

    fn take_finish(&mut self, finish: &Finish) {
        if matches!(finish.status, MessageStatus::Superseded | MessageStatus::Withdrawn) {
            self.keep(&[finish.message_id]);
            self.left.extend(Some(finish.turn.id).filter(|_| finish.turn.state == TurnState::Ended));
            return;
        }
        self.known(finish.message_id);
        if finish.turn.state == TurnState::Ended {
            let ends = self.ends.entry(finish.turn.id).or_default();
            ends.push(finish.message_id);
            if ends.len() > 1 {
                let ends = ends.clone();
                self.wrong(&format!("{} has more than one terminal frame: {ends:?}", finish.turn.id));
            }
        }
    }

    /// A frame for a Message that never began for this reader is a gap, unless the reader itself began behind that.
    fn known(&self, message: MessageId) -> Option<&Entry> {
        let known = self.transcript.entries().iter().rev().find(|entry| entry.id == message);
        if known.is_none() && (self.whole || matches!(self.way, Way::Late)) {
            self.wrong(&format!("a frame comes for {message}, which never began"));
        }
        known
    }

    /// Keeps apart what the next frame takes away, or tells again.
    fn keep(&mut self, leaving: &[MessageId]) {
        let entries = self.transcript.entries().iter();
        self.seen.extend(entries.filter(|entry| leaving.contains(&entry.id)).cloned());
        for ends in self.ends.values_mut() {
            ends.retain(|message| !leaving.contains(message));
        }
    }

    /// A server that is killed has no time to end a stream; before that it had no reason to.
    pub fn was_cut(&self) {
        if self.over != Over::Cut {
            self.wrong(&format!("the stream was over before the kill: {:?}", self.over));
        }
    }

    pub fn wrong(&self, what: &str) -> ! {
        panic!("{what} ({self})")
    }
}

impl fmt::Display for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { conversation, way, pace, cursor, .. } = self;
        write!(f, "in {conversation}, read by {way:?} {pace:?}, which stands at {cursor:?}")
    }
}

fn refused(status: Option<StatusCode>) -> Over {
    status.map_or(Over::Cut, Over::Refused)
}

/// Resolves when the reader should look again whether it has come far enough.
async fn changed(until: &mut Until) {
    if let Until::Cursor(named) = until
        && named.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
