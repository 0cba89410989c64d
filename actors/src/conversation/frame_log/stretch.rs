//! What lies behind a cursor, made once for all readers that stand there: the frames, and what a transport writes of them.

use std::sync::OnceLock;

use bytes::Bytes;

use crate::vocabulary::TurnId;

/// One frame as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// None for what is no transcript, and inside a Message that is replayed.
    pub seq: Option<u64>,
    pub json: Vec<u8>,
    /// Set on the terminal frame of a turn.
    pub ends: Option<TurnId>,
}

/// Frames behind a cursor, in order.
#[derive(Debug)]
pub struct Stretch {
    after: u64,
    lines: Vec<Line>,
    written: [OnceLock<Bytes>; Form::ALL],
}

/// The ways in which transports write a stretch. What they are made of is the transport's own affair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For one who watches this Conversation alone.
    Alone,
    /// For one who watches it among others.
    Among,
}

impl Form {
    const ALL: usize = 2;
}

impl Stretch {
    pub fn new(after: u64, lines: Vec<Line>) -> Self {
        Self { after, lines, written: Default::default() }
    }

    /// The cursor that it begins behind.
    pub fn after(&self) -> u64 {
        self.after
    }

    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The cursor of who has read it.
    pub fn cursor(&self) -> u64 {
        self.lines.iter().rev().find_map(|line| line.seq).unwrap_or(self.after)
    }

    /// As a transport writes it: `write` is called for the first reader, the others share what it made.
    pub fn written(&self, form: Form, write: impl FnOnce(&Self) -> Bytes) -> Bytes {
        let place = match form {
            Form::Alone => 0,
            Form::Among => 1,
        };
        match self.written.get(place) {
            Some(cell) => cell.get_or_init(|| write(self)).clone(),
            None => write(self),
        }
    }

    /// What a reader gets whose watch ends with this turn: up to its terminal frame, where that is in it.
    pub fn up_to_end_of(&self, turn: TurnId) -> Option<Self> {
        let end = self.lines.iter().position(|line| line.ends == Some(turn))?;
        Some(Self::new(self.after, self.lines.iter().take(end + 1).cloned().collect()))
    }
}

/// Readers compare what they got, not what was written of it.
impl PartialEq for Stretch {
    fn eq(&self, other: &Self) -> bool {
        (self.after, &self.lines) == (other.after, &other.lines)
    }
}

impl Eq for Stretch {}
