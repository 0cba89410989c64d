//! A Player's hand in one Conversation: says, stops, asks again, deletes, as the seed has it, until the server is gone; and
//! keeps book of what it was told. After the restart it repeats what went unanswered.

use std::{
    collections::HashSet,
    ops::ControlFlow::{self, Break, Continue},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hamlet_actors::vocabulary::{ConversationId, TurnId};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    ask::{Ask, Door, What, path},
    fate::Moment,
    line::{Curtain, Line},
    reader::{Over, Pace, Reader, Until, Way},
};

/// A request that was to begin a turn, and what came of it.
#[derive(Debug)]
pub struct Try {
    pub ask: Ask,
    /// What is said; None where an earlier Message is answered anew.
    pub line: Option<Line>,
    pub told: Told,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The server was gone before it answered.
    Nothing,
    Begun(TurnId),
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    None,
    Asked,
    Done,
}

pub struct Hand {
    conversation: ConversationId,
    rng: fastrand::Rng,
    /// Of lines and keys, in the whole Village.
    numbers: Arc<AtomicU64>,
    pub tries: Vec<Try>,
    /// Turns of which `aborted: true` was told.
    pub stopped: HashSet<TurnId>,
    /// Turns that a refusal named as running.
    pub named: Vec<TurnId>,
    pub deletion: Deletion,
    /// The highest cursor that was ever told.
    pub high: u64,
    /// Readers of single turns, of this life.
    pub readers: Vec<Reader>,
}

/// Break: the server is gone or going, or the Conversation is.
type Going = ControlFlow<()>;

impl Hand {
    pub fn new(conversation: ConversationId, numbers: Arc<AtomicU64>, rng: &mut fastrand::Rng) -> Self {
        Self {
            conversation,
            rng: rng.fork(),
            numbers,
            tries: Vec::new(),
            stopped: HashSet::new(),
            named: Vec::new(),
            deletion: Deletion::None,
            high: 0,
            readers: Vec::new(),
        }
    }

    pub async fn play(mut self, door: Door) -> Self {
        while self.act(&door).await.is_continue() {}
        self
    }

    async fn act(&mut self, door: &Door) -> Going {
        let deletes = if door.fate.is_of_a_deletion() { 40 } else { 3 };
        match self.rng.u32(0..97 + deletes) {
            0..40 => self.say_and_listen(door).await,
            40..70 => self.say(door).await,
            70..78 => self.say_twice(door).await,
            78..97 => self.regenerate(door).await,
            _ => self.delete(door).await,
        }
    }

    /// The answer is the turn's stream.
    async fn say_and_listen(&mut self, door: &Door) -> Going {
        let at = self.new_line();
        let ask = self.tries[at].ask.clone();
        let reader = Reader::new(self.conversation, Way::Turn(ask), Pace::Steady, &mut self.rng);
        door.fate.saw(Moment::Said);
        let reader = reader.follow(door.clone(), Until::Over).await;
        let going = self.heard(at, &reader);
        self.readers.push(reader);
        if going.is_continue() && self.tries[at].told == Told::Refused { self.in_the_way(door).await } else { going }
    }

    /// The answer is 202; then somebody may listen, stop it, or say the next thing on top of it.
    async fn say(&mut self, door: &Door) -> Going {
        let at = self.new_line();
        self.begin(at, Moment::Said, door).await
    }

    /// The same under the same key at the same time is one turn.
    async fn say_twice(&mut self, door: &Door) -> Going {
        let at = self.new_line();
        let ask = &self.tries[at].ask;
        let request = || door.ask(Moment::Said, ask.request(&door.client, "application/json"));
        let (one, other) = tokio::join!(request(), request());
        if let (Some((StatusCode::ACCEPTED, one)), Some((StatusCode::ACCEPTED, other))) = (&one, &other) {
            assert_eq!(one, other, "the same key began two turns");
        }
        let accepted = |answer: &&(StatusCode, Value)| answer.0 == StatusCode::ACCEPTED;
        let answers: Vec<_> = [one, other].into_iter().flatten().collect();
        let Some((status, body)) = answers.iter().find(accepted).or(answers.first()) else { return Break(()) };
        // One of the two may have been admitted behind the other's refusal, when that one's answer was lost.
        if answers.len() < 2 && *status != StatusCode::ACCEPTED {
            return Break(());
        }
        self.hear(at, *status, body, door)?;
        self.go_on(at, body, door).await
    }

    async fn regenerate(&mut self, door: &Door) -> Going {
        let at = self.new_try(What::Regenerate, json!({}), None);
        self.begin(at, Moment::RegenerateAsked, door).await
    }

    async fn begin(&mut self, at: usize, moment: Moment, door: &Door) -> Going {
        let request = self.tries[at].ask.request(&door.client, "application/json");
        let Some((status, body)) = door.ask(moment, request).await else { return Break(()) };
        self.hear(at, status, &body, door)?;
        self.go_on(at, &body, door).await
    }

    async fn go_on(&mut self, at: usize, begun: &Value, door: &Door) -> Going {
        let turn = match self.tries[at].told {
            Told::Begun(turn) => turn,
            Told::Refused => return self.in_the_way(door).await,
            Told::Nothing => return Break(()),
        };
        match self.rng.u32(0..10) {
            0..4 => {
                tokio::time::sleep(Duration::from_millis(self.rng.u64(0..150))).await;
                self.stop(turn, door).await
            }
            4..8 => self.listen(turn, begun["cursor"].as_u64().unwrap(), door).await,
            _ => Continue(()),
        }
    }

    /// Something else runs: it is stopped, or left a moment.
    async fn in_the_way(&mut self, door: &Door) -> Going {
        match self.named.last().copied() {
            Some(turn) if self.rng.bool() => self.stop(turn, door).await,
            _ => {
                tokio::time::sleep(Duration::from_millis(self.rng.u64(1..40))).await;
                Continue(())
            }
        }
    }

    async fn listen(&mut self, turn: TurnId, cursor: u64, door: &Door) -> Going {
        let reader = Reader::from(self.conversation, cursor, &mut self.rng);
        let reader = reader.follow(door.clone(), Until::Ended(turn)).await;
        let over = reader.over;
        self.readers.push(reader);
        if over == Over::Reached { Continue(()) } else { Break(()) }
    }

    pub async fn stop(&mut self, turn: TurnId, door: &Door) -> Going {
        let body = if self.rng.u32(0..8) == 0 { json!({}) } else { json!({"turnId": turn}) };
        let request = door.client.request(Method::POST, &path(self.conversation, "abort")).json(&body);
        let Some((status, body)) = door.ask(Moment::AbortAsked, request).await else { return Break(()) };
        match (status, body["aborted"].as_bool(), body["error"]["code"].as_str()) {
            (StatusCode::OK, Some(true), _) => {
                door.fate.saw(Moment::Aborted);
                self.stopped.insert(body["turnId"].as_str().unwrap().parse().unwrap());
                Continue(())
            }
            (StatusCode::OK, Some(false), _) | (StatusCode::CONFLICT, _, Some("TURN_MISMATCH")) => Continue(()),
            (StatusCode::SERVICE_UNAVAILABLE, _, Some("SHUTTING_DOWN")) => Break(()),
            _ => panic!("a Stop was answered with {status} {body}"),
        }
    }

    async fn delete(&mut self, door: &Door) -> Going {
        self.deletion = Deletion::Asked;
        let request = door.client.request(Method::DELETE, &format!("/api/conversations/{}", self.conversation));
        if let Some((status, body)) = door.ask(Moment::DeleteAsked, request).await {
            assert_eq!(status, StatusCode::NO_CONTENT, "{body}");
            door.fate.saw(Moment::Deleted);
            self.deletion = Deletion::Done;
        }
        Break(())
    }

    /// Repeats what went unanswered, under its own key, and hears every stream to its end.
    pub async fn repeat(&mut self, door: &Door) {
        for at in 0..self.tries.len() {
            if self.tries[at].told == Told::Nothing {
                self.repeat_one(at, door).await;
            }
        }
        for reader in std::mem::take(&mut self.readers) {
            let reader = match reader.way.clone() {
                Way::Turn(ask) => self.hear_out(reader, &ask, door).await,
                _ => reader,
            };
            self.readers.push(reader);
        }
    }

    async fn hear_out(&self, mut stream: Reader, ask: &Ask, door: &Door) -> Reader {
        let told = self.tries.iter().find(|tried| tried.ask == *ask).map(|tried| tried.told);
        let Some(Told::Begun(turn)) = told else { return stream };
        if stream.ends_of(turn) == 0 {
            stream = stream.follow(door.clone(), Until::Over).await;
        }
        if stream.ends_of(turn) != 1 || !matches!(stream.over, Over::Closed { .. }) {
            stream.wrong(&format!("the stream of {turn} is over without its end: {:?}", stream.over));
        }
        stream
    }

    async fn repeat_one(&mut self, at: usize, door: &Door) {
        let ask = self.tries[at].ask.clone();
        let request = || crate::ask::answer(ask.request(&door.client, "application/json"));
        let (status, body) = request().await.expect("the server is there");
        let going = self.hear(at, status, &body, door);
        assert!(going.is_continue(), "{status} {body}");
        let Told::Begun(turn) = self.tries[at].told else { return };
        // What is held is never said to its end here.
        let held = self.said_last().is_none_or(|line| line.curtain == Curtain::Hold);
        if held || self.rng.bool() {
            assert!(self.stop(turn, door).await.is_continue());
        }
        assert!(self.listen(turn, body["cursor"].as_u64().unwrap(), door).await.is_continue(), "{turn} has no end");
        let again = request().await.expect("the server is there");
        assert_eq!(again, (status, body), "the same key began another turn");
    }

    /// A turn from its beginning to its end.
    pub async fn probe(&mut self, door: &Door) {
        let line = Line::short(self.number());
        let at = self.new_try(What::Say, json!({"text": line.to_string()}), Some(line.clone()));
        let way = Way::Turn(self.tries[at].ask.clone());
        let reader = Reader::new(self.conversation, way, Pace::Steady, &mut self.rng);
        let reader = reader.follow(door.clone(), Until::Over).await;
        assert!(self.heard(at, &reader).is_continue(), "the next turn is refused: {:?}", reader.over);
        let Told::Begun(turn) = self.tries[at].told else { reader.wrong("the next turn did not begin") };
        if reader.ends_of(turn) != 1 || reader.last_text() != line.all_words() {
            reader.wrong(&format!("the next turn ended with {:?}", reader.last_text()));
        }
        self.readers.push(reader);
    }

    /// The line that a regenerate answers.
    fn said_last(&self) -> Option<&Line> {
        let begun = |tried: &&Try| matches!(tried.told, Told::Begun(_));
        self.tries.iter().filter(begun).filter_map(|tried| tried.line.as_ref()).next_back()
    }

    fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    fn new_line(&mut self) -> usize {
        let line = Line::drawn(self.number(), &mut self.rng);
        let mut body = json!({"text": line.to_string()});
        if self.rng.bool() {
            body["clientId"] = json!(format!("tab-{}", line.number));
        }
        self.new_try(What::Say, body, Some(line))
    }

    fn new_try(&mut self, what: What, body: Value, line: Option<Line>) -> usize {
        let ask = Ask { conversation: self.conversation, what, key: format!("key-{}", self.number()), body };
        self.tries.push(Try { ask, line, told: Told::Nothing });
        self.tries.len() - 1
    }

    /// What a stream told of its try.
    fn heard(&mut self, at: usize, reader: &Reader) -> Going {
        self.high = self.high.max(reader.cursor.unwrap_or_default());
        if let Some(entry) = reader.shown().next() {
            self.tries[at].told = Told::Begun(entry.turn_id);
        }
        match reader.over {
            Over::Closed { .. } => Continue(()),
            Over::Refused(StatusCode::CONFLICT) => {
                self.tries[at].told = Told::Refused;
                Continue(())
            }
            Over::Refused(StatusCode::SERVICE_UNAVAILABLE) => {
                self.tries[at].told = Told::Refused;
                Break(())
            }
            Over::Cut => Break(()),
            over => reader.wrong(&format!("a send was answered with {over:?}")),
        }
    }

    /// What an answer told of its try.
    fn hear(&mut self, at: usize, status: StatusCode, body: &Value, door: &Door) -> Going {
        let code = body["error"]["code"].as_str().unwrap_or_default();
        match (status, code) {
            (StatusCode::ACCEPTED, _) => {
                door.fate.saw(Moment::Accepted);
                self.tries[at].told = Told::Begun(body["turnId"].as_str().unwrap().parse().unwrap());
                self.high = self.high.max(body["cursor"].as_u64().unwrap());
                Continue(())
            }
            (StatusCode::CONFLICT, "TURN_IN_PROGRESS") => {
                self.named.push(body["error"]["details"]["turnId"].as_str().unwrap().parse().unwrap());
                self.tries[at].told = Told::Refused;
                Continue(())
            }
            (StatusCode::BAD_REQUEST, "NOTHING_TO_REGENERATE") => {
                self.tries[at].told = Told::Refused;
                Continue(())
            }
            (StatusCode::SERVICE_UNAVAILABLE, "SHUTTING_DOWN") => {
                self.tries[at].told = Told::Refused;
                Break(())
            }
            _ => panic!("{:?} was answered with {status} {body}", self.tries[at].ask),
        }
    }
}
