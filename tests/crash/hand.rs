//! A Player's hand in one Conversation: says, stops, asks again, changes its mind, deletes, as the seed has it, until the
//! server is gone; and keeps book of what it was told.

use std::{
    ops::ControlFlow::{self, Break, Continue},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hamlet_actors::vocabulary::{ConversationId, Message, MessageId, MessageStatus, Role, TurnId};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    ask::{Ask, Door, What, answer, newest, path},
    book::{Book, Deletion, Told, Try},
    fate::Moment,
    line::Line,
    patience::joined,
    reader::{Over, Pace, Reader, Until, Way},
};

pub struct Hand {
    pub conversation: ConversationId,
    pub rng: fastrand::Rng,
    /// Of lines and keys, in the whole Village.
    numbers: Arc<AtomicU64>,
    pub book: Book,
    /// Readers of single turns, of this life.
    pub readers: Vec<Reader>,
    /// They read on while the hand does other things.
    listening: Vec<JoinHandle<Reader>>,
}

/// Break: the server is gone or going, or the Conversation is.
pub type Going = ControlFlow<()>;

impl Hand {
    pub fn new(conversation: ConversationId, numbers: Arc<AtomicU64>, rng: &mut fastrand::Rng) -> Self {
        Self { conversation, rng: rng.fork(), numbers, book: Book::new(), readers: Vec::new(), listening: Vec::new() }
    }

    pub async fn play(mut self, door: Door) -> Self {
        while self.act(&door).await.is_continue() {
            tokio::time::sleep(Duration::from_millis(self.rng.u64(0..40))).await;
        }
        for reader in std::mem::take(&mut self.listening) {
            let reader = joined("who listens to a turn", reader).await;
            if let Way::Turn(ask) = &reader.way {
                let at = self.book.tries.iter().position(|tried| tried.ask == *ask).unwrap();
                self.heard(at, &reader);
            }
            self.readers.push(reader);
        }
        self
    }

    async fn act(&mut self, door: &Door) -> Going {
        let deletes = if door.fate.is_of_a_deletion() { 40 } else { 3 };
        match self.rng.u32(0..100 + deletes) {
            0..24 => self.say_and_listen(door).await,
            24..62 => self.say(door).await,
            62..68 => self.say_twice(door).await,
            68..80 => self.regenerate(door).await,
            80..96 => self.revise(door).await,
            96..100 => self.resume(door).await,
            _ => self.delete(door).await,
        }
    }

    /// The answer is the turn's stream.
    async fn say_and_listen(&mut self, door: &Door) -> Going {
        let on_busy = if self.rng.bool() { "interrupt" } else { "reject" };
        let at = self.new_line(on_busy);
        let ask = self.book.tries[at].ask.clone();
        let reader = Reader::new(self.conversation, Way::Turn(ask), Pace::Steady, &mut self.rng);
        self.listening.push(tokio::spawn(reader.follow(door.clone(), Until::Over)));
        tokio::task::yield_now().await;
        door.fate.saw(Moment::Said);
        Continue(())
    }

    /// The answer is 202; then somebody may listen, stop it, or say the next thing on top of it.
    async fn say(&mut self, door: &Door) -> Going {
        let on_busy = ["reject", "reject", "enqueue", "enqueue", "interrupt", "steer"][self.rng.usize(0..6)];
        let at = self.new_line(on_busy);
        self.begin(at, Moment::Said, door).await
    }

    /// The same under the same key at the same time is one turn.
    async fn say_twice(&mut self, door: &Door) -> Going {
        let at = self.new_line("reject");
        let ask = &self.book.tries[at].ask;
        let request = || door.ask(Moment::Said, ask.request(&door.client, "application/json"));
        let (one, other) = tokio::join!(request(), request());
        if let (Some((StatusCode::ACCEPTED, one)), Some((StatusCode::ACCEPTED, other))) = (&one, &other) {
            assert_eq!(one, other, "the same key began two turns");
        }
        let answers: Vec<_> = [one, other].into_iter().flatten().collect();
        let accepted = answers.iter().find(|(status, _)| *status == StatusCode::ACCEPTED);
        // One may have been admitted behind the other's refusal, and its answer lost.
        let refused = answers.first().filter(|_| answers.len() == 2);
        let Some((status, body)) = accepted.or(refused) else { return Break(()) };
        self.hear(at, *status, body, door)?;
        self.go_on(at, body, door).await
    }

    async fn regenerate(&mut self, door: &Door) -> Going {
        let at = self.new_try(What::Regenerate, json!({}), None, None);
        self.begin(at, Moment::RegenerateAsked, door).await
    }

    async fn begin(&mut self, at: usize, moment: Moment, door: &Door) -> Going {
        self.book.chosen = None;
        let request = self.book.tries[at].ask.request(&door.client, "application/json");
        let Some((status, body)) = door.ask(moment, request).await else { return Break(()) };
        self.hear(at, status, &body, door)?;
        self.go_on(at, &body, door).await
    }

    async fn go_on(&mut self, at: usize, begun: &Value, door: &Door) -> Going {
        let Try { told, ask, .. } = &self.book.tries[at];
        let waits = !matches!(ask.body["onBusy"].as_str(), None | Some("reject" | "interrupt"));
        let turn = match *told {
            Told::Begun(turn) => turn,
            Told::Refused => return self.in_the_way(door).await,
            Told::Reworded => return Continue(()),
            Told::Nothing => return Break(()),
        };
        match self.rng.u32(0..10) {
            0..3 => {
                tokio::time::sleep(Duration::from_millis(self.rng.u64(0..80))).await;
                self.stop(turn, door).await
            }
            3..7 if !waits => {
                let reader = Reader::from(self.conversation, begun["cursor"].as_u64().unwrap(), &mut self.rng);
                self.listening.push(tokio::spawn(reader.follow(door.clone(), Until::Ended(turn))));
                Continue(())
            }
            _ => Continue(()),
        }
    }

    /// Something else runs: it is stopped, or left a moment.
    async fn in_the_way(&mut self, door: &Door) -> Going {
        match self.book.named.last().copied() {
            Some(turn) if self.rng.bool() => self.stop(turn, door).await,
            _ => {
                tokio::time::sleep(Duration::from_millis(self.rng.u64(1..40))).await;
                Continue(())
            }
        }
    }

    pub async fn stop(&mut self, turn: TurnId, door: &Door) -> Going {
        let body = if self.rng.u32(0..8) == 0 { json!({}) } else { json!({"turnId": turn}) };
        let request = door.client.request(Method::POST, &path(self.conversation, "abort")).json(&body);
        let Some((status, body)) = door.ask(Moment::AbortAsked, request).await else { return Break(()) };
        match (status, body["aborted"].as_bool(), body["error"]["code"].as_str()) {
            (StatusCode::OK, Some(true), _) => {
                door.fate.saw(Moment::Aborted);
                // None: a text was about to be taken up, and waits on.
                self.book.stopped.extend(body["turnId"].as_str().map(|id| id.parse::<TurnId>().unwrap()));
                Continue(())
            }
            (StatusCode::OK, Some(false), _) | (StatusCode::CONFLICT, _, Some("TURN_MISMATCH")) => Continue(()),
            (StatusCode::SERVICE_UNAVAILABLE, _, Some("SHUTTING_DOWN")) => Break(()),
            _ => panic!("a Stop was answered with {status} {body}"),
        }
    }

    /// Something that stands there is said otherwise, is withdrawn, or gives way to what stood there before.
    async fn revise(&mut self, door: &Door) -> Going {
        let Ok(loaded) = newest(&door.client, self.conversation).await else { return Break(()) };
        self.book.high = self.book.high.max(loaded.cursor);
        if loaded.messages.is_empty() {
            return Continue(());
        }
        let one = &loaded.messages[self.rng.usize(0..loaded.messages.len())];
        match (one.status, one.role) {
            (MessageStatus::Queued, _) if self.rng.bool() => self.withdraw(one.id, door).await,
            (_, Role::Player) if self.rng.bool() => self.reword(one, door).await,
            (MessageStatus::Queued | MessageStatus::Running, _) => Continue(()),
            _ if one.variant_count > 1 => self.choose(one, door).await,
            _ => Continue(()),
        }
    }

    /// Another text: in its place while it waits, else in a branch of its own.
    pub async fn reword(&mut self, message: &Message, door: &Door) -> Going {
        let line = Line::drawn(self.number(), &mut self.rng);
        let body = json!({"text": line.to_string()});
        let at = self.new_try(What::Edit(message.id), body, Some(line), message.text.parse().ok());
        self.begin(at, Moment::Said, door).await
    }

    pub async fn withdraw(&mut self, message: MessageId, door: &Door) -> Going {
        let request = door.client.request(Method::DELETE, &format!("/api/messages/{message}"));
        match door.ask(Moment::AbortAsked, request).await {
            None => return Break(()),
            Some((StatusCode::NO_CONTENT, _)) => {
                self.book.withdrawn.insert(message);
                door.fate.saw(Moment::Aborted);
            }
            Some((status, body)) => {
                let code = body["error"]["code"].as_str().unwrap();
                assert!(
                    matches!(code, "NOT_QUEUED" | "SHUTTING_DOWN"),
                    "a withdrawal was answered with {status} {body}"
                );
            }
        }
        Continue(())
    }

    /// One of those that stood in this place comes back. What runs is in its way, and may be stopped for it.
    async fn choose(&mut self, one: &Message, door: &Door) -> Going {
        self.book.chosen = None;
        let variants = door.client.request(Method::GET, &format!("/api/messages/{}/variants", one.id));
        let Some((StatusCode::OK, variants)) = answer(variants).await else { return Break(()) };
        let variants: Vec<Message> = serde_json::from_value(variants["items"].clone()).unwrap();
        let chosen = variants[self.rng.usize(0..variants.len())].id;
        for _ in 0..2 {
            let request = door.client.request(Method::POST, &format!("/api/messages/{chosen}/select")).json(&json!({}));
            let Some((status, body)) = door.ask(Moment::RegenerateAsked, request).await else { return Break(()) };
            match (status, body["error"]["code"].as_str()) {
                (StatusCode::NO_CONTENT, _) => {
                    self.book.chosen = Some(chosen);
                    door.fate.saw(Moment::Accepted);
                    break;
                }
                (_, Some("TURN_IN_PROGRESS")) => {
                    let running = body["error"]["details"]["turnId"].as_str().unwrap().parse().unwrap();
                    self.stop(running, door).await?;
                }
                (_, Some("CONFLICT" | "SHUTTING_DOWN")) => break,
                _ => panic!("a choice was answered with {status} {body}"),
            }
        }
        Continue(())
    }

    /// What waits goes on, if nothing runs.
    pub async fn resume(&mut self, door: &Door) -> Going {
        self.book.chosen = None;
        let request = door.client.request(Method::POST, &path(self.conversation, "queue/resume")).json(&json!({}));
        let Some((status, body)) = door.ask(Moment::Said, request).await else { return Break(()) };
        match (status, body["error"]["code"].as_str()) {
            (StatusCode::ACCEPTED, _) => {
                door.fate.saw(Moment::Accepted);
                self.book.resumed.push(body["turnId"].as_str().unwrap().parse().unwrap());
                Continue(())
            }
            (StatusCode::OK, _) => Continue(()),
            (StatusCode::SERVICE_UNAVAILABLE, Some("SHUTTING_DOWN")) => Break(()),
            _ => panic!("a resume was answered with {status} {body}"),
        }
    }

    async fn delete(&mut self, door: &Door) -> Going {
        self.book.deletion = Deletion::Asked;
        let request = door.client.request(Method::DELETE, &format!("/api/conversations/{}", self.conversation));
        if let Some((status, body)) = door.ask(Moment::DeleteAsked, request).await {
            assert_eq!(status, StatusCode::NO_CONTENT, "{body}");
            door.fate.saw(Moment::Deleted);
            self.book.deletion = Deletion::Done;
        }
        Break(())
    }

    pub fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn new_line(&mut self, on_busy: &str) -> usize {
        let line = Line::drawn(self.number(), &mut self.rng);
        let mut body = json!({"text": line.to_string(), "onBusy": on_busy});
        if self.rng.bool() {
            body["clientId"] = json!(format!("tab-{}", line.number));
        }
        self.new_try(What::Say, body, Some(line), None)
    }

    pub fn new_try(&mut self, what: What, body: Value, line: Option<Line>, instead_of: Option<Line>) -> usize {
        let steers = body["onBusy"] == "steer";
        let ask = Ask { conversation: self.conversation, what, key: format!("key-{}", self.number()), body };
        self.book.tries.push(Try { ask, line, instead_of, steers, told: Told::Nothing });
        self.book.tries.len() - 1
    }

    /// What a stream told of its try.
    pub fn heard(&mut self, at: usize, reader: &Reader) {
        self.book.high = self.book.high.max(reader.cursor.unwrap_or_default());
        let told = &mut self.book.tries[at].told;
        if let Some(turn) = reader.first {
            *told = Told::Begun(turn);
        }
        match reader.over {
            Over::Closed { .. } | Over::Cut => {}
            Over::Refused(StatusCode::CONFLICT | StatusCode::SERVICE_UNAVAILABLE) => *told = Told::Refused,
            Over::Refused(StatusCode::NOT_FOUND) if self.book.deletion != Deletion::None => {}
            over => reader.wrong(&format!("a send was answered with {over:?}")),
        }
    }

    /// What an answer told of its try.
    pub fn hear(&mut self, at: usize, status: StatusCode, body: &Value, door: &Door) -> Going {
        let code = body["error"]["code"].as_str().unwrap_or_default();
        let told = match (status, code) {
            (StatusCode::ACCEPTED, _) => {
                door.fate.saw(Moment::Accepted);
                self.book.high = self.book.high.max(body["cursor"].as_u64().unwrap());
                Told::Begun(body["turnId"].as_str().unwrap().parse().unwrap())
            }
            (StatusCode::NO_CONTENT, _) => {
                door.fate.saw(Moment::Accepted);
                self.book.reword(at);
                Told::Reworded
            }
            (StatusCode::CONFLICT, "TURN_IN_PROGRESS") => {
                self.book.named.push(body["error"]["details"]["turnId"].as_str().unwrap().parse().unwrap());
                Told::Refused
            }
            (StatusCode::CONFLICT, "CONFLICT")
            | (StatusCode::BAD_REQUEST, "NOTHING_TO_REGENERATE")
            | (StatusCode::TOO_MANY_REQUESTS, "QUEUE_FULL")
            | (StatusCode::SERVICE_UNAVAILABLE, "SHUTTING_DOWN") => Told::Refused,
            _ => panic!("{:?} was answered with {status} {body}", self.book.tries[at].ask),
        };
        self.book.tries[at].told = told;
        if code == "SHUTTING_DOWN" { Break(()) } else { Continue(()) }
    }
}
