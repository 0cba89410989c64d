//! A Conversation as it is now, by every way there is to it, while no turn runs: what readers and books are held against.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use hamlet_actors::vocabulary::{ConversationId, Entry, Message, MessageId, MessageStatus, Role, Transcript, TurnId};
use sha2::{Digest, Sha256};

use crate::{
    ask::{Door, Loaded, What, load},
    book::{Book, Told},
    file::{self, Row},
    kept::{is_kept, parts_are_kept},
    line::Line,
    reader::{Over, Pace, Reader, Way},
    talk::Following,
};

/// A transcript to the last byte.
pub type Fingerprint = [u8; 32];

pub struct Now {
    pub conversation: ConversationId,
    pub loaded: Loaded,
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    title: Option<String>,
    rows: HashMap<MessageId, Row>,
}

fn bytes(entries: &[Entry]) -> Vec<u8> {
    serde_json::to_vec(entries).unwrap()
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

impl Now {
    pub async fn of(conversation: ConversationId, store: &Path, door: &Door) -> Self {
        let loaded = load(&door.client, conversation).await.unwrap_or_else(|status| panic!("{status:?}"));
        assert_eq!(loaded.running, None, "a zombie in {conversation}");
        let entries = Transcript::of(loaded.messages.iter().cloned()).entries().to_vec();
        let waiting = |entry: &&Entry| entry.status == MessageStatus::Queued;
        let waiting: HashSet<MessageId> = entries.iter().filter(waiting).map(|entry| entry.id).collect();
        assert_eq!(waiting, loaded.waiting.iter().copied().collect(), "what waits in {conversation}");
        let mut fresh = fresh(conversation, loaded.cursor, door).await;
        let now = Self {
            conversation,
            bytes: bytes(&entries),
            entries,
            title: fresh.transcript.title().map(str::to_owned),
            rows: file::messages(store, conversation).into_iter().map(|row| (row.id, row)).collect(),
            loaded,
        };
        now.check_reader(&mut fresh);
        now
    }

    pub fn fingerprint(&self) -> Fingerprint {
        Sha256::digest(&self.bytes).into()
    }

    /// The reader has come as far as there is something, has folded it to what there is, and what it was shown before is in it.
    pub fn check_reader(&self, reader: &mut Reader) {
        if !matches!(reader.way, Way::Shared) && reader.over != Over::Reached {
            reader.wrong(&format!("the stream is over before {}: {:?}", self.loaded.cursor, reader.over));
        }
        let has = reader.transcript.entries();
        if reader.whole && bytes(has) != self.bytes {
            let ids = |entries: &[Entry]| entries.iter().map(|entry| (entry.id, entry.status)).collect::<Vec<_>>();
            let other = has.iter().find(|entry| !self.entries.contains(entry));
            reader.wrong(&format!("folds to\n{:?}\nand there is\n{:?}\n{other:#?}", ids(has), ids(&self.entries)));
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

    /// What the reader was ever shown is there.
    pub fn check_shown(&self, reader: &Reader) {
        for shown in reader.shown() {
            let kept = match (self.entry(shown.id), self.rows.get(&shown.id)) {
                (Some(entry), _) => is_kept(shown, entry),
                (None, Some(row)) if matches!(row.status, MessageStatus::Superseded | MessageStatus::Withdrawn) => {
                    parts_are_kept(shown, &row.parts)
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
    pub fn check_book(&self, book: &Book) {
        let id = self.conversation;
        let (told, stored) = (book.turns(), self.rows.values().map(|row| row.turn).collect::<HashSet<TurnId>>());
        assert!(told.is_subset(&stored), "turns of {id} that were told and are not stored: {:?}", &told - &stored);
        let unanswered = book.tries.iter().filter(|tried| tried.told == Told::Nothing || tried.steers).count();
        let unasked = &stored - &told;
        assert!(
            unasked.len() <= unanswered,
            "turns of {id} that nobody asked for: {unasked:?}, {unanswered} unanswered"
        );
        // One that was about to begin is named as running, too.
        let named = book.named.iter().filter(|_| unanswered == 0);
        for turn in book.resumed.iter().chain(named) {
            assert!(stored.contains(turn), "{turn} of {id} was told to run and is not stored");
        }
        self.check_texts(book);
        for row in self.rows.values() {
            let left = matches!(row.status, MessageStatus::Withdrawn | MessageStatus::Superseded);
            if row.terminal && book.stopped.contains(&row.turn) {
                let stopped = left || row.status == MessageStatus::Aborted;
                assert!(stopped, "{} was told to be stopped, and is {:?}", row.turn, row.status);
            }
            if book.withdrawn.contains(&row.id) {
                assert_eq!(row.status, MessageStatus::Withdrawn, "{} was told to be withdrawn", row.id);
            }
        }
        if let Some(chosen) = book.chosen {
            assert!(self.entry(chosen).is_some(), "{chosen} of {id} was told to be back, and is not there");
        }
        self.check_replies();
    }

    /// Each text is there once, where it was told to be.
    fn check_texts(&self, book: &Book) {
        let edits =
            |told: Told| book.tries.iter().any(|tried| tried.told == told && matches!(tried.ask.what, What::Edit(_)));
        // An edit that was not answered may have taken a text's place, or not.
        let unsure = edits(Told::Nothing);
        for tried in &book.tries {
            let Some(line) = &tried.line else { continue };
            let text = line.to_string();
            let said: Vec<&Row> =
                self.rows.values().filter(|row| row.role == Role::Player && row.text == text).collect();
            let fits = match tried.told {
                Told::Begun(turn) if !unsure => {
                    matches!(said[..], [one] if one.turn == turn || tried.steers)
                }
                Told::Refused | Told::Reworded => said.is_empty(),
                Told::Nothing | Told::Begun(_) => said.len() <= 1,
            };
            assert!(fits, "{text:?} was answered with {:?}, and there is {said:?}", tried.told);
        }
    }

    /// Each reply is what the house said to the line before it.
    fn check_replies(&self) {
        let mut line: Option<Line> = None;
        let said = |message: &&Message| message.status != MessageStatus::Queued;
        for message in self.loaded.messages.iter().filter(said) {
            if message.role == Role::Player {
                line = Some(message.text.parse().unwrap());
            } else {
                let line = line.as_ref().expect("a reply to nothing");
                line.fits(message).unwrap_or_else(|why| panic!("{}, the reply to {line}, {why}", message.id));
            }
        }
    }
}
