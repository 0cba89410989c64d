//! What a hand does after the restart: repeats what went unanswered, hears every stream to its end, lets go on what waits,
//! and says the next thing.

use std::time::Duration;

use hamlet_actors::vocabulary::{MessageStatus, Role};
use serde_json::json;

use crate::{
    ask::{Ask, Door, What, answer, newest},
    book::Told,
    hand::Hand,
    line::{Curtain, Line},
    patience::within_patience,
    reader::{Over, Pace, Reader, Until, Way},
};

impl Hand {
    /// Repeats what went unanswered under its own key, until nothing runs and nothing waits.
    pub async fn repeat(&mut self, door: &Door) {
        for at in 0..self.book.tries.len() {
            if self.book.tries[at].told == Told::Nothing {
                self.repeat_one(at, door).await;
            }
        }
        within_patience("that nothing runs and waits", self.come_to_rest(door)).await;
        for reader in std::mem::take(&mut self.readers) {
            let reader = match reader.way.clone() {
                Way::Turn(ask) => self.hear_out(reader, &ask, door).await,
                _ => reader,
            };
            self.readers.push(reader);
        }
    }

    async fn repeat_one(&mut self, at: usize, door: &Door) {
        let ask = self.book.tries[at].ask.clone();
        let request = || answer(ask.request(&door.client, "application/json"));
        let (status, body) = request().await.expect("the server is there");
        let going = self.hear(at, status, &body, door);
        assert!(going.is_continue(), "{status} {body}");
        if let Told::Begun(_) = self.book.tries[at].told {
            let again = request().await.expect("the server is there");
            assert_eq!(again, (status, body), "the same key began another turn");
        }
    }

    async fn hear_out(&self, mut stream: Reader, ask: &Ask, door: &Door) -> Reader {
        let told = self.book.tries.iter().find(|tried| tried.ask == *ask).map(|tried| tried.told);
        let Some(Told::Begun(turn)) = told else { return stream };
        if stream.has_end_of(turn) {
            return stream;
        }
        stream = stream.follow(door.clone(), Until::Over).await;
        let loaded = newest(&door.client, self.conversation).await.unwrap_or_else(|status| panic!("{status:?}"));
        // An end that has left is not told to who has not seen it. Of a turn that was steered the last reply may have left alone.
        let steered = self.book.tries.iter().any(|tried| tried.steers && tried.told == Told::Begun(turn));
        let there = !steered && loaded.messages.iter().any(|one| one.turn_id == turn && one.role == Role::Npc);
        if there && !stream.has_end_of(turn) || !matches!(stream.over, Over::Closed { .. }) {
            stream.wrong(&format!("the stream of {turn} is over without its end: {:?}", stream.over));
        }
        stream
    }

    /// What waits is taken up, changed or withdrawn, one after the other, and what runs comes to its end.
    async fn come_to_rest(&mut self, door: &Door) {
        let mut stopped = None;
        loop {
            let loaded = newest(&door.client, self.conversation).await.unwrap_or_else(|status| panic!("{status:?}"));
            let waits = loaded.waiting.first().copied();
            let going = match (loaded.running, waits) {
                (Some(turn), _) => {
                    let said = |message: &&hamlet_actors::vocabulary::Message| {
                        message.role == Role::Player && message.status != MessageStatus::Queued
                    };
                    let line = loaded.messages.iter().rfind(said).map(|said| said.text.parse::<Line>());
                    // What is held is never said to its end here.
                    let held = line.is_none_or(|line| line.unwrap().curtain == Curtain::Hold);
                    if stopped != Some(turn) && (held || self.rng.u32(0..20) == 0) {
                        stopped = Some(turn);
                        self.stop(turn, door).await
                    } else {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                        std::ops::ControlFlow::Continue(())
                    }
                }
                (None, Some(message)) => match self.rng.u32(0..10) {
                    0..6 => self.resume(door).await,
                    6..8 => self.withdraw(message, door).await,
                    _ => {
                        let message = loaded.messages.iter().find(|one| one.id == message).unwrap();
                        self.reword(message, door).await
                    }
                },
                // A text that was taken up this moment has its reply behind the cursor still.
                (None, None) if loaded.messages.last().is_some_and(|last| last.role == Role::Player) => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    std::ops::ControlFlow::Continue(())
                }
                (None, None) => return,
            };
            assert!(going.is_continue(), "the server is gone");
        }
    }

    /// A turn from its beginning to its end.
    pub async fn probe(&mut self, door: &Door) {
        let line = Line::short(self.number());
        let at = self.new_try(What::Say, json!({"text": line.to_string()}), Some(line.clone()), None);
        let way = Way::Turn(self.book.tries[at].ask.clone());
        let reader = Reader::new(self.conversation, way, Pace::Steady, &mut self.rng);
        let reader = reader.follow(door.clone(), Until::Over).await;
        self.heard(at, &reader);
        let Told::Begun(turn) = self.book.tries[at].told else {
            reader.wrong(&format!("the next turn did not begin: {:?}", reader.over))
        };
        if !reader.has_end_of(turn) || reader.last_text() != line.all_words() {
            reader.wrong(&format!("the next turn ended with {:?}", reader.last_text()));
        }
        self.readers.push(reader);
    }
}
