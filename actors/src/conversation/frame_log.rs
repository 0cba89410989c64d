//! The running turn's frames, append-only and shared by all readers. A reader is a cursor and a wake-up, not a queue: it
//! never blocks the actor or another reader, and one that is behind gets adjacent pieces of a Part as one frame
//! (promise 9). What is older than the log is answered from the store by whoever reads.

use std::sync::Arc;

use tokio::sync::{Notify, watch};

use super::positions::{Position, Positions};
use crate::{
    village::Mark,
    vocabulary::{Frame, MessageId, Part, Piece, TurnId},
};

/// What the log tells a reader that stands at a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// Frames behind the cursor, each with its seq and its JSON.
    Frames(Vec<Line>),
    /// The log does not reach back that far: read the store up to `floor`, then look again.
    Behind {
        floor: u64,
    },
    /// Nobody is awake: read the store to its end, then wait.
    Dormant,
    UpToDate,
    /// The Conversation was deleted, or the process is being stopped.
    Closed,
}

/// One frame as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// None for what is no transcript.
    pub seq: Option<u64>,
    pub json: Vec<u8>,
    /// Set on the terminal frame of a turn.
    pub ends: Option<TurnId>,
}

/// Appended to by one actor at a time, read by any number of tabs.
#[derive(Debug)]
pub struct FrameLog {
    log: watch::Sender<Log>,
    positions: Positions,
    arrivals: Notify,
}

#[derive(Debug, Default)]
struct Log {
    /// The log holds every frame with a greater seq. None: nobody is awake.
    floor: Option<u64>,
    head: u64,
    turn: Option<TurnId>,
    /// The turn had ended when the Village looked last.
    stale: bool,
    /// Number and JSON of the last thing told without an id.
    told: u64,
    telling: Option<Arc<[u8]>>,
    closed: bool,
    /// JSON of whole frames, and JSON-escaped text of pieces, one behind the other: adjacent pieces of one run are one
    /// slice.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// What stands before a run's text.
    runs: Vec<Box<[u8]>>,
    run_of: Option<(MessageId, u32, Kind)>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    seq: u64,
    end: usize,
    /// Which run the text belongs to; None for a whole frame.
    run: Option<u32>,
    ends: Option<TurnId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
}

/// What stands behind a run's text.
const RUN_TAIL: &[u8] = b"\"}}";
/// Bytes of frames that one look gives at most, so that a reader far behind takes several.
const LOOK_LIMIT: usize = 1 << 20;

impl Default for FrameLog {
    fn default() -> Self {
        Self { log: watch::Sender::new(Log::default()), positions: Positions::default(), arrivals: Notify::new() }
    }
}

impl FrameLog {
    /// A log whose readers' coming and going is told to whoever inspects.
    pub fn marking(mark: Arc<Mark>) -> Self {
        Self { positions: Positions::marking(mark), ..Self::default() }
    }

    /// A reader that is woken by what comes from now on.
    pub fn watch(&self) -> Watcher {
        let told = self.log.borrow().told;
        let watcher = Watcher { log: self.log.subscribe(), position: self.positions.join(), told };
        self.arrivals.notify_waiters();
        watcher
    }

    pub fn watchers(&self) -> usize {
        self.log.receiver_count()
    }

    /// How many frames each reader is behind, the slowest first. While nobody is awake there is nothing to be behind of.
    pub fn lags(&self) -> Vec<u64> {
        let head = self.head().unwrap_or(0);
        self.positions.behind(head)
    }

    /// Bytes of frames held, about.
    pub fn weight(&self) -> usize {
        let log = self.log.borrow();
        log.bytes.capacity() + log.entries.capacity() * size_of::<Entry>()
    }

    /// Resolves when nobody watches (at once, when nobody does).
    pub async fn unwatched(&self) {
        self.log.closed().await;
    }

    /// Resolves when somebody watches (at once, when somebody does).
    pub async fn watched(&self) {
        loop {
            let arrived = self.arrivals.notified();
            if self.watchers() > 0 {
                return;
            }
            arrived.await;
        }
    }

    pub fn running_turn(&self) -> Option<TurnId> {
        self.log.borrow().turn
    }

    /// The seq before the running turn's first frame, else the newest seq; None when nobody is awake.
    pub fn start_of_turn(&self) -> Option<u64> {
        let log = self.log.borrow();
        log.floor.map(|floor| if log.turn.is_some() { floor } else { log.head })
    }

    /// The newest seq that was shown; None when nobody is awake.
    pub fn head(&self) -> Option<u64> {
        let log = self.log.borrow();
        log.floor.map(|_| log.head)
    }

    /// The running turn's frames, merged as far as possible, and the seq of the newest: together one moment.
    pub fn snapshot(&self) -> Option<(Vec<Line>, u64)> {
        let log = self.log.borrow();
        log.turn?;
        Some((log.lines(log.floor?, usize::MAX), log.head))
    }

    /// The actor is awake and the store holds everything up to `seq`. After a restart the log may lack frames that were
    /// committed and not shown any more, so it begins anew: readers get those from the store.
    pub fn wake(&self, seq: u64) {
        self.log.send_modify(|log| {
            log.clear();
            log.turn = None;
            log.floor = Some(seq);
            log.head = seq;
        });
    }

    /// The actor sleeps.
    pub fn sleep(&self) {
        self.log.send_if_modified(|log| {
            log.clear();
            log.floor = None;
            log.turn = None;
            false
        });
    }

    pub fn open(&self, after: u64, turn: TurnId) {
        self.log.send_if_modified(|log| {
            log.clear();
            log.floor = Some(after);
            log.head = after;
            log.turn = Some(turn);
            log.stale = false;
            false
        });
    }

    pub fn publish_frames(&self, frames: &[(u64, Frame)]) {
        self.log.send_modify(|log| {
            for (seq, frame) in frames {
                log.push_frame(*seq, frame);
            }
        });
    }

    pub fn publish_pieces(&self, message: MessageId, pieces: &[(u64, Piece)]) {
        self.log.send_modify(|log| {
            for (seq, piece) in pieces {
                log.push_piece(*seq, message, piece);
            }
        });
    }

    /// Something that is no transcript, for whoever watches now.
    pub fn tell(&self, frame: &Frame) {
        let json: Arc<[u8]> = to_json(frame).into();
        self.log.send_modify(|log| {
            log.told += 1;
            log.telling = Some(json);
        });
    }

    /// Frees the frames of a turn that had ended when this was called last: readers had that long to take the end. Those
    /// that are behind go to the store.
    pub fn free(&self) {
        self.log.send_if_modified(|log| {
            let ended = log.turn.is_none() && log.floor.is_some();
            if ended && log.stale {
                let head = log.head;
                log.clear();
                log.floor = Some(head);
            }
            log.stale = ended;
            false
        });
    }

    /// Ends all readers.
    pub fn close(&self) {
        self.log.send_modify(|log| log.closed = true);
    }
}

/// One reader's wake-up. The cursor is the reader's own.
#[derive(Debug)]
pub struct Watcher {
    log: watch::Receiver<Log>,
    position: Position,
    told: u64,
}

impl Watcher {
    /// What there is behind the cursor. Marks the log as seen.
    pub fn look(&mut self, cursor: u64) -> Look {
        self.position.stand_at(cursor);
        let log = self.log.borrow_and_update();
        if log.told > self.told {
            self.told = log.told;
            if let Some(json) = &log.telling {
                return Look::Frames(vec![Line { seq: None, json: json.to_vec(), ends: None }]);
            }
        }
        match log.floor {
            None => Look::Dormant,
            Some(floor) if cursor < floor => Look::Behind { floor },
            // The newest seq may be a gap: then there is nothing to show, and nothing to wait for either.
            Some(_) if log.entries.last().is_some_and(|newest| cursor < newest.seq) => {
                Look::Frames(log.lines(cursor, LOOK_LIMIT))
            }
            Some(_) if log.closed => Look::Closed,
            Some(_) => Look::UpToDate,
        }
    }

    /// Whether nothing more will come: a reader ends once it has what there is.
    pub fn is_closed(&self) -> bool {
        self.log.borrow().closed
    }

    /// Waits for a change since the last look. False: the log itself is gone.
    pub async fn changed(&mut self) -> bool {
        self.log.changed().await.is_ok()
    }
}

impl Log {
    fn clear(&mut self) {
        self.bytes = Vec::new();
        self.entries = Vec::new();
        self.runs = Vec::new();
        self.run_of = None;
    }

    fn push_frame(&mut self, seq: u64, frame: &Frame) {
        match frame {
            Frame::Part { message_id, index, part } => self.push_part(seq, *message_id, *index, part),
            frame => {
                self.bytes.extend_from_slice(&to_json(frame));
                self.run_of = None;
                let ends = match frame {
                    Frame::Finish(finish) if finish.turn.state == crate::vocabulary::TurnState::Ended => {
                        Some(finish.turn.id)
                    }
                    _ => None,
                };
                if ends.is_some() && ends == self.turn {
                    self.turn = None;
                }
                self.push_entry(seq, None, ends);
            }
        }
    }

    fn push_piece(&mut self, seq: u64, message: MessageId, piece: &Piece) {
        match piece {
            Piece::Part { index, part } => self.push_part(seq, message, *index, part),
            // Stored only; its seq is a gap for readers.
            Piece::Opaque { .. } => self.head = self.head.max(seq),
        }
    }

    fn push_part(&mut self, seq: u64, message: MessageId, index: u32, part: &Part) {
        let (kind, text) = match part {
            Part::Text { text } => (Kind::Text, text),
            Part::Reasoning { text, redacted: false } => (Kind::Reasoning, text),
            whole => {
                let frame = Frame::Part { message_id: message, index, part: whole.clone() };
                self.bytes.extend_from_slice(&to_json(&frame));
                self.run_of = None;
                self.push_entry(seq, None, None);
                return;
            }
        };
        if self.run_of != Some((message, index, kind)) {
            self.run_of = Some((message, index, kind));
            self.runs.push(run_head(message, index, kind));
        }
        escape_into(&mut self.bytes, text);
        let run = u32::try_from(self.runs.len() - 1).unwrap_or(u32::MAX);
        self.push_entry(seq, Some(run), None);
    }

    fn push_entry(&mut self, seq: u64, run: Option<u32>, ends: Option<TurnId>) {
        self.entries.push(Entry { seq, end: self.bytes.len(), run, ends });
        self.head = self.head.max(seq);
    }

    /// Most readers stand one or two entries from the end: looked at first, the search rarely touches the rest.
    fn first_behind(&self, cursor: u64) -> usize {
        let near = self.entries.iter().rev().take(4).position(|entry| entry.seq <= cursor);
        match near {
            Some(back) => self.entries.len() - back,
            None => self.entries.partition_point(|entry| entry.seq <= cursor),
        }
    }

    /// Frames behind the cursor; neighbours of one run become one frame with the seq of the last.
    fn lines(&self, cursor: u64, limit: usize) -> Vec<Line> {
        let first = self.first_behind(cursor);
        let mut start = if first == 0 { 0 } else { self.entries.get(first - 1).map_or(0, |entry| entry.end) };
        let mut lines = Vec::new();
        let mut size = 0;
        let mut at = first;
        while let Some(entry) = self.entries.get(at) {
            let mut last = *entry;
            if entry.run.is_some() {
                while let Some(next) = self.entries.get(at + 1).filter(|next| next.run == entry.run) {
                    last = *next;
                    at += 1;
                }
            }
            let slice = self.bytes.get(start..last.end).unwrap_or_default();
            let head = last.run.and_then(|run| self.runs.get(run as usize));
            let json = match head {
                Some(head) => [head, slice, RUN_TAIL].concat(),
                None => slice.to_vec(),
            };
            size += json.len();
            lines.push(Line { seq: Some(last.seq), json, ends: last.ends });
            if size >= limit {
                break;
            }
            start = last.end;
            at += 1;
        }
        lines
    }
}

fn run_head(message: MessageId, index: u32, kind: Kind) -> Box<[u8]> {
    let kind = match kind {
        Kind::Text => "text",
        Kind::Reasoning => "reasoning",
    };
    format!(r#"{{"type":"part","messageId":"{message}","index":{index},"part":{{"type":"{kind}","text":""#)
        .into_bytes()
        .into()
}

/// Appends the text as it stands between the quotes of a JSON string.
fn escape_into(bytes: &mut Vec<u8>, text: &str) {
    let start = bytes.len();
    // Writing a string to memory does not fail.
    if serde_json::to_writer(&mut *bytes, text).is_ok() && bytes.len() >= start + 2 {
        bytes.pop();
        bytes.remove(start);
    }
}

fn to_json(frame: &Frame) -> Vec<u8> {
    // Frames are plain values with string keys: writing them to memory does not fail.
    serde_json::to_vec(frame).unwrap_or_default()
}

#[cfg(test)]
mod tests;
