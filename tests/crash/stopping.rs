//! Asked to stop: running turns have until the deadline, everything is stored, streams end with a word on when to come
//! back, and nothing is lost.

use std::time::Duration;

use hamlet_actors::vocabulary::{ConversationId, Entry, ErrorCode, MessageStatus};
use hamlet_test_support::{Client, Events};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::{
    ask::{Door, converse, load, path},
    house::House,
    line::{Curtain, Line},
    now::fingerprint,
    program::{Home, Program},
};

/// A reply that is said to its last word and not to its end, a tab that streams it, and one that watches.
struct Held {
    house: House,
    home: Home,
    program: Program,
    client: Client,
    conversation: ConversationId,
    line: Line,
    sender: Events,
    watcher: Events,
}

impl Held {
    async fn under_way(deadline: u32) -> Self {
        let house = House::open().await;
        let home = Home::new(&house, deadline);
        let program = home.start().await;
        let client = program.admin().await;
        let conversation = converse(&client).await.unwrap();
        let line = Line { curtain: Curtain::Hold, thoughts: 3, ..Line::short(1) };
        let mut watcher = client.watch(&path(conversation, "frames?after=0")).await;
        let mut sender = client.stream(&path(conversation, "messages"), json!({"text": line.to_string()})).await;
        house.holds(1).await;
        watcher.until_text(&line.all_words()).await;
        sender.until_text(&line.all_words()).await;
        Self { house, home, program, client, conversation, line, sender, watcher }
    }

    async fn say(&self, text: &str) -> (StatusCode, Value) {
        let answer = self.client.post(&path(self.conversation, "messages"), json!({"text": text})).await.0;
        (answer.status(), answer.json().await.unwrap())
    }

    /// Waits until the signal has been heard: whoever asks now is told so.
    async fn until_nothing_is_admitted(&self) {
        for _ in 0..500 {
            let (status, body) = self.say("One more").await;
            if status == StatusCode::SERVICE_UNAVAILABLE {
                assert_eq!(body["error"]["code"], "SHUTTING_DOWN");
                return;
            }
            assert_eq!(body["error"]["code"], "TURN_IN_PROGRESS");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the signal is not heard");
    }

    /// Both streams to their end, and the process to its own.
    async fn until_stopped(mut self) -> Stopped {
        self.sender.to_end().await;
        assert_eq!(self.sender.terminal_frames(), 1);
        self.watcher.to_end().await;
        assert!(ends_with_farewell(&self.watcher));
        assert_eq!(self.watcher.terminal_frames(), 1);
        assert_eq!(self.program.ended().await, Some(0));
        let Self { house, home, client, conversation, sender, watcher, .. } = self;
        let shown = watcher.transcript.entries().to_vec();
        assert_eq!(sender.transcript.entries(), shown);
        Stopped { _house: house, home, client, conversation, shown, cursor: watcher.last_id }
    }
}

fn ends_with_farewell(events: &Events) -> bool {
    let text = String::from_utf8(events.raw.clone()).unwrap();
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or_default();
    last.strip_prefix("retry: ").is_some_and(|wait| wait.parse::<u32>().is_ok())
}

struct Stopped {
    _house: House,
    home: Home,
    client: Client,
    conversation: ConversationId,
    /// What every tab had at the end.
    shown: Vec<Entry>,
    cursor: Option<u64>,
}

impl Stopped {
    /// The next start finds exactly what was shown, and has nothing to add to it.
    async fn starts_again_unchanged(mut self) {
        let program = self.home.start().await;
        self.client.address = program.address;
        let loaded = load(&self.client, self.conversation).await.unwrap();
        let entries: Vec<Entry> = loaded.messages.into_iter().map(Entry::from).collect();
        assert_eq!(entries, self.shown);
        assert_eq!(Some(loaded.cursor), self.cursor);
        fingerprint(self.conversation, &Door::calm(&self.client)).await;
        program.kill().await;
    }
}

#[tokio::test]
async fn a_turn_that_ends_before_the_deadline_ends_complete_and_nothing_new_is_admitted() {
    let held = Held::under_way(20).await;
    held.program.terminate();
    held.until_nothing_is_admitted().await;
    held.house.release();
    let stopped = held.until_stopped().await;
    let loaded = &stopped.shown[1];
    assert_eq!((loaded.status, &loaded.error), (MessageStatus::Complete, &None));
    stopped.starts_again_unchanged().await;
}

#[tokio::test]
async fn a_turn_past_the_deadline_is_stored_with_all_that_it_had_and_ended() {
    let held = Held::under_way(1).await;
    held.program.terminate();
    let stopped = held.until_stopped().await;
    let reply = &stopped.shown[1];
    assert_eq!(reply.status, MessageStatus::Interrupted);
    assert_eq!(reply.error.as_ref().map(|error| error.code), Some(ErrorCode::Interrupted));
    assert_eq!(reply.parts.len(), 2);
    stopped.starts_again_unchanged().await;
}

#[tokio::test]
async fn a_second_signal_stops_at_once_and_loses_nothing_either() {
    let mut held = Held::under_way(20).await;
    held.program.terminate();
    held.until_nothing_is_admitted().await;
    held.program.terminate();
    held.watcher.to_end().await;
    let words = held.line.all_words();
    assert_eq!(held.watcher.last_text(), words);
    assert_eq!(held.program.ended().await, Some(130));
    let program = held.home.start().await;
    held.client.address = program.address;
    let loaded = load(&held.client, held.conversation).await.unwrap();
    assert_eq!(
        (loaded.messages[1].status, loaded.messages[1].text.as_str()),
        (MessageStatus::Interrupted, words.as_str())
    );
    assert!(Some(loaded.cursor) > held.watcher.last_id);
    program.kill().await;
}

#[tokio::test]
async fn tabs_of_a_conversation_that_sleeps_are_told_when_to_come_back_too() {
    let held = Held::under_way(20).await;
    held.house.release();
    held.program.kill().await;
    let program = held.home.start().await;
    let mut client = held.client.clone();
    client.address = program.address;
    let mut watcher = client.watch(&path(held.conversation, "frames?after=0")).await;
    assert!(watcher.until(|events| events.terminal_frames() == 1).await);
    program.terminate();
    watcher.to_end().await;
    assert!(ends_with_farewell(&watcher));
    assert_eq!(program.ended().await, Some(0));
}
