//! The log's own content: frames and pieces one behind the other, and how they read from a cursor on.

use std::sync::{Arc, OnceLock};

use super::{Closing, Line, Stretch};
use crate::{
    conversation::positions::Positions,
    vocabulary::{Frame, MessageId, Part, Piece, TurnId, TurnState},
};

/// Bytes of frames that one look gives, about: a reader far behind takes several, and holds no more than this of a reply
/// while its socket is slow.
pub const LOOK_LIMIT: usize = 64 << 10;
/// What stands behind a run's text.
const RUN_TAIL: &[u8] = b"\"}}";
/// How many of the newest steps readers may be behind and still share what they are given.
const NEAR: usize = 4;

#[derive(Debug, Default)]
pub struct Log {
    /// The log holds every frame with a greater seq. None: nobody is awake.
    pub floor: Option<u64>,
    pub head: u64,
    pub turn: Option<TurnId>,
    /// The turn had ended when the Village looked last.
    pub stale: bool,
    /// Number and JSON of the last thing told without an id.
    pub told: u64,
    pub telling: Option<Line>,
    /// It holds for who comes later, too.
    pub stands: bool,
    pub closing: Option<Closing>,
    pub positions: Positions,
    /// None: there is none. Logs are as many as the Conversations that are watched, and most of them have nothing to show.
    frames: Option<Box<Frames>>,
}

#[derive(Debug, Default)]
struct Frames {
    /// JSON of whole frames, and JSON-escaped text of pieces, one behind the other: adjacent pieces of one run are one
    /// slice.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// What stands before a run's text.
    runs: Vec<Box<[u8]>>,
    run_of: Option<(MessageId, u32, Kind)>,
    /// Where readers stand who keep up, the newest first.
    near: [Near; NEAR],
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

/// A cursor, and what lies between it and the newest frame, once a reader has asked.
#[derive(Debug, Default)]
struct Near {
    cursor: Option<u64>,
    stretch: OnceLock<Arc<Stretch>>,
}

impl Log {
    pub fn clear(&mut self) {
        self.frames = None;
    }

    /// Up to which number a reader that comes now needs not be told.
    pub fn heard(&self) -> u64 {
        self.told - u64::from(self.stands)
    }

    /// Called before frames are appended: readers who had everything stand here.
    pub fn advance(&mut self) {
        let frames = self.frames.get_or_insert_default();
        frames.advance(frames.newest().or(self.floor));
    }

    pub fn push_frame(&mut self, seq: u64, frame: &Frame) {
        match frame {
            Frame::Part { message_id, index, part } => self.push_part(seq, *message_id, *index, part),
            frame => {
                let ends = match frame {
                    Frame::Finish(finish) if finish.turn.state == TurnState::Ended => Some(finish.turn.id),
                    _ => None,
                };
                if ends.is_some() && ends == self.turn {
                    self.turn = None;
                }
                self.push_whole(seq, frame, ends);
            }
        }
    }

    pub fn push_piece(&mut self, seq: u64, message: MessageId, piece: &Piece) {
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
                self.push_whole(seq, &frame, None);
                return;
            }
        };
        self.frames.get_or_insert_default().push_text(seq, (message, index, kind), text);
        self.head = self.head.max(seq);
    }

    fn push_whole(&mut self, seq: u64, frame: &Frame, ends: Option<TurnId>) {
        self.frames.get_or_insert_default().push_whole(seq, &frame.to_json(), ends);
        self.head = self.head.max(seq);
    }

    /// Whether there is a frame behind the cursor. The newest seq may be a gap: then there is nothing to show, and nothing
    /// to wait for either.
    pub fn has_more(&self, cursor: u64) -> bool {
        self.frames.as_ref().and_then(|frames| frames.newest()).is_some_and(|newest| cursor < newest)
    }

    /// What lies behind the cursor, the same piece of memory for all who keep up.
    pub fn stretch(&self, cursor: u64) -> Arc<Stretch> {
        let make = || Arc::new(Stretch::new(cursor, self.lines(cursor, LOOK_LIMIT)));
        let near = self.frames.as_ref().and_then(|frames| frames.near.iter().find(|near| near.cursor == Some(cursor)));
        match near {
            Some(near) => Arc::clone(near.stretch.get_or_init(make)),
            None => make(),
        }
    }

    /// Bytes held, about.
    pub fn weight(&self) -> usize {
        self.frames.as_ref().map_or(0, |frames| {
            size_of::<Frames>() + frames.bytes.capacity() + frames.entries.capacity() * size_of::<Entry>()
        })
    }

    /// Frames behind the cursor; neighbours of one run become one frame with the seq of the last, as long as there is room.
    pub fn lines(&self, cursor: u64, limit: usize) -> Vec<Line> {
        self.frames.as_ref().map(|frames| frames.lines(cursor, limit)).unwrap_or_default()
    }
}

impl Frames {
    fn newest(&self) -> Option<u64> {
        self.entries.last().map(|entry| entry.seq)
    }

    fn advance(&mut self, newest: Option<u64>) {
        if self.near.first().is_some_and(|near| near.cursor != newest) {
            self.near.rotate_right(1);
            if let Some(first) = self.near.first_mut() {
                first.cursor = newest;
            }
        }
        for near in &mut self.near {
            near.stretch = OnceLock::new();
        }
    }

    fn push_whole(&mut self, seq: u64, json: &[u8], ends: Option<TurnId>) {
        self.bytes.extend_from_slice(json);
        self.run_of = None;
        self.push_entry(seq, None, ends);
    }

    fn push_text(&mut self, seq: u64, run: (MessageId, u32, Kind), text: &str) {
        if self.run_of != Some(run) {
            self.run_of = Some(run);
            let (message, index, kind) = run;
            self.runs.push(run_head(message, index, kind));
        }
        escape_into(&mut self.bytes, text);
        let run = u32::try_from(self.runs.len() - 1).unwrap_or(u32::MAX);
        self.push_entry(seq, Some(run), None);
    }

    fn push_entry(&mut self, seq: u64, run: Option<u32>, ends: Option<TurnId>) {
        self.entries.push(Entry { seq, end: self.bytes.len(), run, ends });
    }

    fn lines(&self, cursor: u64, limit: usize) -> Vec<Line> {
        let first = self.first_behind(cursor);
        let mut start = if first == 0 { 0 } else { self.entries.get(first - 1).map_or(0, |entry| entry.end) };
        let begin = start;
        let mut lines = Vec::new();
        let mut at = first;
        while let Some(entry) = self.entries.get(at) {
            let mut last = *entry;
            while let Some(next) = self.entries.get(at + 1).filter(|next| next.run.is_some() && next.run == entry.run) {
                if next.end - begin > limit {
                    break;
                }
                last = *next;
                at += 1;
            }
            lines.push(self.line(start, last));
            if last.end - begin >= limit {
                break;
            }
            start = last.end;
            at += 1;
        }
        lines
    }

    fn line(&self, start: usize, last: Entry) -> Line {
        let slice = self.bytes.get(start..last.end).unwrap_or_default();
        let json = match last.run.and_then(|run| self.runs.get(run as usize)) {
            Some(head) => [head, slice, RUN_TAIL].concat(),
            None => slice.to_vec(),
        };
        Line { seq: Some(last.seq), json, ends: last.ends }
    }

    /// Most readers stand one or two entries from the end: looked at first, the search rarely touches the rest.
    fn first_behind(&self, cursor: u64) -> usize {
        let near = self.entries.iter().rev().take(4).position(|entry| entry.seq <= cursor);
        match near {
            Some(back) => self.entries.len() - back,
            None => self.entries.partition_point(|entry| entry.seq <= cursor),
        }
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
