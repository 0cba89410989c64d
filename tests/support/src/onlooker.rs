//! A tab that reads by itself, as a stream does: from the store and then along the log, through restarts of its actor.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test support that fails, fails the test")]

use std::time::Duration;

use hamlet::http::watch::reader::{Reader, Step};
use hamlet_actors::vocabulary::{Finish, Frame, Part, Transcript, TurnId, TurnState};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// What a reader has so far.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    pub transcript: Transcript,
    pub frames: Vec<Frame>,
    /// The cursor that it would come back with.
    pub cursor: u64,
    /// The stream is over.
    pub over: bool,
}

pub struct Onlooker {
    seen: watch::Receiver<Seen>,
    _reading: AbortOnDropHandle<()>,
}

impl Onlooker {
    pub fn new(mut reader: Reader, cursor: u64) -> Self {
        let (telling, seen) = watch::channel(Seen { cursor, ..Seen::default() });
        let reading = async move {
            while let Step::Frames(stretch) = reader.next().await {
                telling.send_modify(|seen| {
                    for line in stretch.lines() {
                        seen.take(serde_json::from_slice(&line.json).unwrap(), line.seq);
                    }
                });
            }
            telling.send_modify(|seen| seen.over = true);
        };
        Self { seen, _reading: AbortOnDropHandle::new(tokio::spawn(reading)) }
    }

    /// What it has once the condition holds.
    pub async fn until(&mut self, condition: impl Fn(&Seen) -> bool) -> Seen {
        let waiting = async { self.seen.wait_for(|seen| condition(seen)).await.unwrap().clone() };
        match tokio::time::timeout(Duration::from_secs(20), waiting).await {
            Ok(seen) => seen,
            Err(_) => panic!("it waited in vain; it saw {:#?}", self.seen.borrow().frames),
        }
    }

    pub async fn until_text(&mut self, text: &str) -> Seen {
        self.until(|seen| seen.last_text() == text).await
    }

    pub async fn until_end_of(&mut self, turn: TurnId) -> Seen {
        self.until(|seen| seen.ends_of(turn) > 0).await
    }
}

impl Seen {
    fn take(&mut self, frame: Frame, seq: Option<u64>) {
        self.cursor = seq.unwrap_or(self.cursor);
        self.transcript.fold(frame.clone());
        self.frames.push(frame);
    }

    /// How many terminal frames of this turn came.
    pub fn ends_of(&self, turn: TurnId) -> usize {
        let ends = |finish: &Finish| finish.turn.id == turn && finish.turn.state == TurnState::Ended;
        self.frames.iter().filter(|frame| matches!(frame, Frame::Finish(finish) if ends(finish))).count()
    }

    /// The text of the newest Message.
    pub fn last_text(&self) -> String {
        let Some(entry) = self.transcript.entries().last() else { return String::new() };
        let text = |part: &Part| if let Part::Text { text } = part { Some(text.clone()) } else { None };
        entry.parts.iter().filter_map(text).collect()
    }
}
