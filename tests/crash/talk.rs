//! One Conversation of a Village, with its hand and its tabs: what must be true of it after each restart.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{Arc, atomic::AtomicU64},
};

use hamlet_actors::vocabulary::{ConversationId, Entry, Message, MessageId, MessageStatus, Role, Transcript, TurnId};
use reqwest::{Method, StatusCode};
use sha2::{Digest, Sha256};
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    ask::{Door, Loaded, answer, load, path},
    file::{self, Row},
    hand::{Deletion, Hand, Told},
    kept::{is_kept, parts_are_kept},
    line::Line,
    patience::joined,
    reader::{Over, Pace, Reader, Until, Way},
};

/// Turns after which a Conversation is left alone, so that none grows for ever.
const TURNS: usize = 12;

pub struct Talk {
    pub conversation: ConversationId,
    pub hand: Hand,
    pub readers: Vec<Reader>,
}

/// A transcript to the last byte.
pub type Fingerprint = [u8; 32];

/// Tabs that read on while other things happen.
pub struct Following {
    cursor: watch::Sender<u64>,
    tasks: Vec<JoinHandle<Reader>>,
}

impl Following {
    pub fn begin(readers: Vec<Reader>, door: &Door) -> Self {
        let (cursor, named) = watch::channel(u64::MAX);
        let follow = |reader: Reader| tokio::spawn(reader.follow(door.clone(), Until::Cursor(named.clone())));
        Self { cursor, tasks: readers.into_iter().map(follow).collect() }
    }

    /// Waits until all of them have this cursor, or have lost their streams.
    pub async fn end(self, cursor: u64) -> Vec<Reader> {
        self.cursor.send_replace(cursor);
        let mut readers = Vec::new();
        for task in self.tasks {
            readers.push(joined("a tab that reads", task).await);
        }
        readers
    }
}

impl Talk {
    pub fn new(conversation: ConversationId, numbers: Arc<AtomicU64>, rng: &mut fastrand::Rng) -> Self {
        let tabs = [
            (Way::Header, Pace::Steady),
            (Way::Query, Pace::Slow),
            (Way::Header, Pace::Restless),
            (Way::Reload, Pace::Steady),
            (Way::Afresh, Pace::Slow),
            (Way::Late, Pace::Steady),
        ];
        let readers = tabs.map(|(way, pace)| Reader::new(conversation, way, pace, rng)).into();
        Self { conversation, hand: Hand::new(conversation, numbers, rng), readers }
    }

    /// Whether it has had enough turns.
    pub fn is_full(&self) -> bool {
        self.hand.tries.iter().filter(|tried| matches!(tried.told, Told::Begun(_))).count() >= TURNS
    }

    /// Whether the Conversation is deleted: for certain when that was answered, and everywhere when it is.
    pub async fn is_gone(&self, door: &Door) -> bool {
        let id = self.conversation;
        let ask = async |method: Method, path: String| {
            let request = door.client.request(method.clone(), &path);
            let request = if method == Method::POST { request.json(&serde_json::json!({})) } else { request };
            answer(request).await.expect("the server is there").0
        };
        let gone = ask(Method::GET, format!("/api/conversations/{id}")).await == StatusCode::NOT_FOUND;
        match self.hand.deletion {
            Deletion::None => assert!(!gone, "{id} is gone, and nobody deleted it"),
            Deletion::Asked => {}
            Deletion::Done => assert!(gone, "{id} was deleted, and is there"),
        }
        if gone {
            for (method, what) in [
                (Method::GET, "messages"),
                (Method::GET, "frames"),
                (Method::POST, "abort"),
                (Method::POST, "regenerate"),
            ] {
                assert_eq!(ask(method, path(id, what)).await, StatusCode::NOT_FOUND, "{what} of {id}");
            }
        }
        gone
    }

    /// Holds all that anybody was shown or told against what there is now, while no turn runs.
    pub async fn compare(&mut self, following: Following, store: &Path, door: &Door) -> Fingerprint {
        let loaded = load(&door.client, self.conversation).await.unwrap_or_else(|status| panic!("{status:?}"));
        assert!(!loaded.running, "a zombie in {}", self.conversation);
        let mut readers = following.end(loaded.cursor).await;
        let mut fresh = fresh(self.conversation, loaded.cursor, door).await;
        let now = Now::of(self.conversation, &loaded, &fresh, store);
        for reader in readers.iter_mut().chain([&mut fresh]) {
            if reader.over != Over::Reached {
                reader.wrong(&format!("the stream is over before {}: {:?}", loaded.cursor, reader.over));
            }
            now.check_reader(reader);
        }
        for reader in &self.hand.readers {
            now.check_shown(reader);
        }
        let high = readers.iter().filter_map(|reader| reader.cursor).fold(self.hand.high, u64::max);
        assert!(loaded.cursor >= high, "the cursor of {} fell from {high} to {}", self.conversation, loaded.cursor);
        self.hand.high = loaded.cursor;
        now.check_told(&self.hand);
        self.readers = readers;
        now.fingerprint()
    }
}

/// A tab that has the whole of it from its frames alone.
async fn fresh(conversation: ConversationId, cursor: u64, door: &Door) -> Reader {
    let reader = Reader::new(conversation, Way::Afresh, Pace::Steady, &mut fastrand::Rng::with_seed(0));
    Following::begin(vec![reader], door).end(cursor).await.remove(0)
}

/// What a Conversation is for whoever loads it, and for whoever reads its frames: the same.
pub async fn fingerprint(conversation: ConversationId, door: &Door) -> Fingerprint {
    let loaded = load(&door.client, conversation).await.unwrap_or_else(|status| panic!("{status:?}"));
    let entries = bytes(Transcript::of(loaded.messages).entries());
    let fresh = fresh(conversation, loaded.cursor, door).await;
    assert!(bytes(fresh.transcript.entries()) == entries, "{conversation} is one thing loaded and another read");
    Sha256::digest(entries).into()
}

/// A Conversation as everything says it is now.
struct Now<'a> {
    conversation: ConversationId,
    messages: &'a [Message],
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    title: Option<String>,
    rows: HashMap<MessageId, Row>,
}

fn bytes(entries: &[Entry]) -> Vec<u8> {
    serde_json::to_vec(entries).unwrap()
}

impl<'a> Now<'a> {
    fn of(conversation: ConversationId, loaded: &'a Loaded, fresh: &Reader, store: &Path) -> Self {
        let entries = Transcript::of(loaded.messages.iter().cloned()).entries().to_vec();
        let rows = file::messages(store, conversation).into_iter().map(|row| (row.id, row)).collect();
        let title = fresh.transcript.title().map(str::to_owned);
        Self { conversation, messages: &loaded.messages, bytes: bytes(&entries), entries, title, rows }
    }

    fn fingerprint(&self) -> Fingerprint {
        Sha256::digest(&self.bytes).into()
    }

    /// What the reader has folded is what there is, and what it was shown before is in it.
    fn check_reader(&self, reader: &mut Reader) {
        let has = reader.transcript.entries();
        if reader.whole && bytes(has) != self.bytes {
            reader.wrong(&format!("folds to\n{has:#?}\nand there is\n{:#?}", self.entries));
        }
        if let Some(other) = has.iter().find(|entry| !self.entries.contains(entry)) {
            reader.wrong(&format!("folds to {other:?}, and there is {:?}", self.entry(other.id)));
        }
        if reader.transcript.title().is_some_and(|title| Some(title) != self.title.as_deref()) {
            reader.wrong(&format!("has the title {:?}, not {:?}", reader.transcript.title(), self.title));
        }
        self.check_shown(reader);
        reader.settle();
    }

    fn check_shown(&self, reader: &Reader) {
        for shown in reader.shown() {
            let kept = match (self.entry(shown.id), self.rows.get(&shown.id)) {
                (Some(entry), _) => is_kept(shown, entry),
                (None, Some(row)) if row.status == MessageStatus::Superseded => {
                    parts_are_kept(&shown.parts, &row.parts)
                }
                (None, row) => Err(format!("is gone, and stored as {row:?}")),
            };
            if let Err(why) = kept {
                reader.wrong(&format!("{} {why}", shown.id));
            }
        }
    }

    fn entry(&self, id: MessageId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// What a client was told is so, what it asked for happened once, and nothing else did.
    fn check_told(&self, hand: &Hand) {
        let id = self.conversation;
        let begun = |told| if let Told::Begun(turn) = told { Some(turn) } else { None };
        let told: HashSet<TurnId> = hand.tries.iter().filter_map(|tried| begun(tried.told)).collect();
        let unanswered = hand.tries.iter().filter(|tried| tried.told == Told::Nothing).count();
        let stored: HashSet<TurnId> = self.rows.values().map(|row| row.turn).collect();
        assert!(told.is_subset(&stored), "turns of {id} that were told and are not stored: {:?}", &told - &stored);
        assert!(
            (&stored - &told).len() <= unanswered,
            "turns of {id} that nobody asked for: {:?}, with {unanswered} requests unanswered",
            &stored - &told
        );
        for named in &hand.named {
            assert!(stored.contains(named), "{named} of {id} was named as running and is not stored");
        }
        for tried in &hand.tries {
            let Some(line) = &tried.line else { continue };
            let text = line.to_string();
            let said: Vec<&Message> =
                self.messages.iter().filter(|m| m.role == Role::Player && m.text == text).collect();
            match tried.told {
                Told::Begun(turn) => assert!(
                    matches!(said[..], [one] if one.turn_id == turn),
                    "{text:?} was said in {turn}, and there is {said:?}"
                ),
                Told::Refused => assert!(said.is_empty(), "{text:?} was refused, and there is {said:?}"),
                Told::Nothing => assert!(said.len() <= 1, "{text:?} was said twice: {said:?}"),
            }
        }
        for row in self.rows.values().filter(|row| row.terminal && hand.stopped.contains(&row.turn)) {
            let stopped = matches!(row.status, MessageStatus::Aborted | MessageStatus::Superseded);
            assert!(stopped, "{} was told to be stopped, and is {:?}", row.turn, row.status);
        }
        self.check_replies();
    }

    /// Each reply is what the house said to the line before it.
    fn check_replies(&self) {
        let mut line: Option<Line> = None;
        for message in self.messages {
            if message.role == Role::Player {
                line = Some(message.text.parse().unwrap());
            } else {
                let line = line.as_ref().expect("a reply to nothing");
                line.fits(message).unwrap_or_else(|why| panic!("{}, the reply to {line}, {why}", message.id));
            }
        }
    }
}
