//! One stream for several Conversations, as a browser holds it for all its tabs: each of them is a reader of its own.

use std::collections::{HashMap, HashSet};

use hamlet_actors::vocabulary::ConversationId;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    ask::Door,
    events::{Event, Events, Read},
    now::Now,
    patience::joined,
    reader::{Over, Pace, Reader, Way},
};

/// How it comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// With all cursors that it holds.
    AllCursors,
    /// As a browser does by itself: with the old URL and the one id that came last.
    LastEventId,
}

pub struct Shared {
    returns: Return,
    rng: fastrand::Rng,
    pub readers: HashMap<ConversationId, Reader>,
    /// What it asked for, and the last id that came since.
    asked: String,
    last: Option<String>,
    over: Over,
}

/// Where each Conversation is to have come.
pub type Cursors = HashMap<ConversationId, u64>;

/// One that reads on while other things happen.
pub struct FollowingAll {
    cursors: watch::Sender<Cursors>,
    task: JoinHandle<Shared>,
}

impl FollowingAll {
    pub fn begin(shared: Shared, door: &Door) -> Self {
        let (cursors, named) = watch::channel(Cursors::new());
        Self { cursors, task: tokio::spawn(shared.follow(door.clone(), named)) }
    }

    /// Waits until it has all of these, or has lost its stream.
    pub async fn end(self, cursors: Cursors) -> Shared {
        self.cursors.send_replace(cursors);
        joined("a stream of several", self.task).await
    }
}

impl Shared {
    pub fn new(returns: Return, rng: &mut fastrand::Rng) -> Self {
        let rng = rng.fork();
        Self { returns, rng, readers: HashMap::new(), asked: String::new(), last: None, over: Over::Cut }
    }

    /// Watches these from now on; a new one from its beginning.
    pub fn watch(&mut self, conversations: &[ConversationId]) {
        self.readers.retain(|id, _| conversations.contains(id));
        for id in conversations {
            let new = || Reader::new(*id, Way::Shared, Pace::Steady, &mut self.rng);
            self.readers.entry(*id).or_insert_with(new);
        }
        let cursor = |reader: &Reader| reader.cursor.unwrap_or(0);
        let asked: Vec<String> = self.readers.iter().map(|(id, reader)| format!("{id}:{}", cursor(reader))).collect();
        self.asked = asked.join(",");
        self.last = None;
    }

    async fn follow(mut self, door: Door, mut until: watch::Receiver<Cursors>) -> Self {
        self.readers.values_mut().for_each(Reader::remember);
        self.over = loop {
            match self.open(&door).await {
                Err(over) => break over,
                Ok(events) => {
                    if let Some(over) = self.read(events, &door, &mut until).await {
                        break over;
                    }
                }
            }
        };
        self
    }

    async fn open(&mut self, door: &Door) -> Result<Events, Over> {
        if self.returns == Return::AllCursors {
            self.watch(&self.readers.keys().copied().collect::<Vec<_>>());
        }
        let request = door.client.request(Method::GET, &format!("/api/frames?watch={}", self.asked));
        let request = match &self.last {
            Some(last) => request.header("last-event-id", last),
            None => request,
        };
        let response = request.send().await.map_err(|_| Over::Cut)?;
        match response.status() {
            StatusCode::OK => Ok(Events::of(response)),
            status => Err(Over::Refused(status)),
        }
    }

    async fn read(&mut self, mut events: Events, door: &Door, until: &mut watch::Receiver<Cursors>) -> Option<Over> {
        let mut farewell = false;
        let mut left = if self.rng.bool() { self.rng.u32(1..2000) } else { u32::MAX };
        let mut begun: Vec<ConversationId> = Vec::new();
        loop {
            if self.has_reached(&begun, &until.borrow_and_update()) {
                return Some(Over::Reached);
            }
            let read = tokio::select! {
                read = events.read() => read,
                Ok(()) = until.changed() => continue,
            };
            let events = match read {
                Read::Events(events) => events,
                Read::End => return Some(Over::Closed { farewell }),
                Read::Cut => return Some(Over::Cut),
            };
            for event in events {
                farewell |= event.farewell;
                self.take(event, &mut begun, door);
                left -= 1;
                if left == 0 {
                    return None;
                }
            }
        }
    }

    fn has_reached(&self, begun: &[ConversationId], until: &Cursors) -> bool {
        let has = |id, cursor| self.readers.get(id).is_some_and(|reader: &Reader| reader.cursor >= Some(cursor));
        !until.is_empty() && until.iter().all(|(id, cursor)| begun.contains(id) && has(id, *cursor))
    }

    fn take(&mut self, event: Event, begun: &mut Vec<ConversationId>, door: &Door) {
        let Event { id, name, data, .. } = event;
        if name == "gone" {
            let gone: Value = serde_json::from_str(&data.unwrap()).unwrap();
            let id = gone["conversationId"].as_str().unwrap().parse().unwrap();
            self.readers.get_mut(&id).unwrap().over = Over::Refused(StatusCode::NOT_FOUND);
            return;
        }
        let Some(id) = id else { return assert!(data.is_none(), "nobody knows whose frame this is: {data:?}") };
        let (conversation, seq) = id.rsplit_once(':').unwrap();
        let (conversation, seq) = (conversation.parse().unwrap(), seq.parse().unwrap());
        let reader = self.readers.get_mut(&conversation).unwrap();
        match data {
            // An id that is told again moves nothing.
            Some(data) => reader.take(Some(seq).filter(|seq| reader.cursor != Some(*seq)), &data, &door.fate),
            None => {
                // Who comes back with one id of several is told some things again.
                let exactly = self.returns == Return::AllCursors || self.last.is_none();
                let asked = reader.cursor.unwrap_or(0);
                if seq > asked {
                    reader.wrong(&format!("the stream begins at {seq}, and the cursor was {asked}"));
                }
                reader.begin(exactly.then_some(asked), seq);
                begun.push(conversation);
            }
        }
        self.last = Some(id);
    }

    /// Whether the stream was cut, and not ended, unless nothing was left to be watched: then it ends, and whoever opens it anew
    /// is refused.
    pub fn was_cut(&self, deleted: &HashSet<ConversationId>) {
        let ended = match self.over {
            Over::Closed { .. } => self.readers.values().all(|reader| matches!(reader.over, Over::Refused(_))),
            Over::Refused(StatusCode::NOT_FOUND) => self.readers.keys().all(|id| deleted.contains(id)),
            _ => false,
        };
        if !ended {
            assert_eq!(self.over, Over::Cut, "the stream of several was over before the kill");
        }
    }

    /// It has come as far as there is something, in each Conversation that is there, and knows which ones are not.
    pub fn check(&mut self, there: &HashMap<ConversationId, Now>) {
        if there.is_empty() {
            return;
        }
        assert_eq!(self.over, Over::Reached, "the stream of several, which comes back with {:?}", self.returns);
        for (id, reader) in &mut self.readers {
            match there.get(id) {
                Some(_) if matches!(reader.over, Over::Refused(_)) => {
                    reader.wrong("it was told to be gone, and is there")
                }
                Some(now) => now.check_reader(reader),
                None => assert_eq!(reader.over, Over::Refused(StatusCode::NOT_FOUND), "{id} is deleted"),
            }
        }
    }
}
