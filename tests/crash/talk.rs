//! One Conversation of a Village, with its hand and its tabs.

use std::{
    path::Path,
    sync::{Arc, atomic::AtomicU64},
};

use hamlet_actors::vocabulary::ConversationId;
use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    ask::{Door, answer, newest, path},
    book::Deletion,
    hand::Hand,
    now::Now,
    patience::joined,
    reader::{Pace, Reader, Until, Way},
};

/// Turns after which a Conversation is left alone, so that none grows for ever.
const TURNS: usize = 12;

pub struct Talk {
    pub conversation: ConversationId,
    pub hand: Hand,
    pub readers: Vec<Reader>,
}

/// Tabs that read on while other things happen.
pub struct Following {
    cursor: watch::Sender<u64>,
    /// Each with how it reads, for the report of one that does not come to an end.
    tasks: Vec<(String, JoinHandle<Reader>)>,
}

impl Following {
    pub fn begin(readers: Vec<Reader>, door: &Door) -> Self {
        let (cursor, named) = watch::channel(u64::MAX);
        let follow = |reader: Reader| {
            let reads = format!("a tab that reads, {reader}");
            (reads, tokio::spawn(reader.follow(door.clone(), Until::Cursor(named.clone()))))
        };
        Self { cursor, tasks: readers.into_iter().map(follow).collect() }
    }

    /// Waits until all of them have this cursor, or have lost their streams.
    pub async fn end(self, cursor: u64) -> Vec<Reader> {
        self.cursor.send_replace(cursor);
        let mut readers = Vec::new();
        for (reads, task) in self.tasks {
            readers.push(joined(&reads, task).await);
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
            (Way::Socket, Pace::Steady),
            (Way::Reload, Pace::Steady),
            (Way::Afresh, Pace::Slow),
            (Way::Late, Pace::Steady),
        ];
        let readers = tabs.map(|(way, pace)| Reader::new(conversation, way, pace, rng)).into();
        Self { conversation, hand: Hand::new(conversation, numbers, rng), readers }
    }

    /// Whether it has had enough turns.
    pub fn is_full(&self) -> bool {
        self.hand.book.turns().len() >= TURNS
    }

    /// Looks the Conversation over after a restart, and lets it go on. Calm: before anything new happens, too. Answers what
    /// there is now, and how many texts waited; None: it is deleted.
    pub async fn look_over(mut self, door: Door, store: &Path, calm: bool) -> Option<(Self, Now, usize)> {
        if self.is_gone(&door).await {
            return None;
        }
        self.hand.book.deletion = Deletion::None;
        let waited = newest(&door.client, self.conversation).await.map(|loaded| loaded.waiting.len());
        if calm {
            let following = Following::begin(std::mem::take(&mut self.readers), &door);
            self.compare(following, store, &door).await;
        }
        let following = Following::begin(std::mem::take(&mut self.readers), &door);
        self.hand.repeat(&door).await;
        self.hand.probe(&door).await;
        let now = self.compare(following, store, &door).await;
        assert!(now.loaded.waiting.is_empty(), "something waits in {}", self.conversation);
        self.hand.readers.clear();
        Some((self, now, waited.unwrap_or_else(|status| panic!("{status:?}"))))
    }

    /// Whether the Conversation is deleted: for certain when that was answered, and everywhere when it is.
    async fn is_gone(&self, door: &Door) -> bool {
        let id = self.conversation;
        let ask = async |method: Method, path: String| {
            let request = door.client.request(method.clone(), &path);
            let request = if method == Method::POST { request.json(&json!({})) } else { request };
            answer(request).await.expect("the server is there").0
        };
        let gone = ask(Method::GET, format!("/api/conversations/{id}")).await == StatusCode::NOT_FOUND;
        match self.hand.book.deletion {
            Deletion::None => assert!(!gone, "{id} is gone, and nobody deleted it"),
            Deletion::Asked => {}
            Deletion::Done => assert!(gone, "{id} was deleted, and is there"),
        }
        let get = ["messages", "frames"].map(|what| (Method::GET, what));
        let post = ["abort", "regenerate", "queue/resume"].map(|what| (Method::POST, what));
        for (method, what) in get.into_iter().chain(post).filter(|_| gone) {
            assert_eq!(ask(method, path(id, what)).await, StatusCode::NOT_FOUND, "{what} of {id}");
        }
        gone
    }

    /// Holds all that anybody was shown or told against what there is now.
    async fn compare(&mut self, following: Following, store: &Path, door: &Door) -> Now {
        let now = Now::of(self.conversation, store, door).await;
        self.readers = following.end(now.loaded.cursor).await;
        for reader in &mut self.readers {
            now.check_reader(reader);
        }
        for reader in &self.hand.readers {
            now.check_shown(reader);
        }
        let book = &mut self.hand.book;
        let high = self.readers.iter().filter_map(|reader| reader.cursor).fold(book.high, u64::max);
        assert!(
            now.loaded.cursor >= high,
            "the cursor of {} fell from {high} to {}",
            self.conversation,
            now.loaded.cursor
        );
        book.high = now.loaded.cursor;
        now.check_book(book);
        now
    }
}
