//! What a Player's hand has asked of one Conversation, and what it was told: the book that the store is held against.

use std::collections::HashSet;

use hamlet_actors::vocabulary::{MessageId, TurnId};

use crate::{ask::Ask, line::Line};

/// A request that was to begin a turn, and what came of it.
#[derive(Debug)]
pub struct Try {
    pub ask: Ask,
    /// What is said; None where an earlier Message is answered anew, and where the text went into an earlier try.
    pub line: Option<Line>,
    /// What the text was to stand in place of.
    pub instead_of: Option<Line>,
    /// Whether it may have joined a turn, so that it has none or another one of its own.
    pub steers: bool,
    pub told: Told,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The server was gone before it answered.
    Nothing,
    Begun(TurnId),
    Refused,
    /// The text stands where the earlier one stood, which waits.
    Reworded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    None,
    Asked,
    Done,
}

#[derive(Debug)]
pub struct Book {
    pub tries: Vec<Try>,
    /// Turns of which `aborted: true` was told.
    pub stopped: HashSet<TurnId>,
    /// Texts of which it was told that they are withdrawn.
    pub withdrawn: HashSet<MessageId>,
    /// Turns that a refusal named as running.
    pub named: Vec<TurnId>,
    /// Turns that were told to have been taken up.
    pub resumed: Vec<TurnId>,
    /// The variant that was chosen last, as long as nothing else was asked for.
    pub chosen: Option<MessageId>,
    pub deletion: Deletion,
    /// The highest cursor that was ever told.
    pub high: u64,
}

impl Book {
    pub fn new() -> Self {
        Self {
            tries: Vec::new(),
            stopped: HashSet::new(),
            withdrawn: HashSet::new(),
            named: Vec::new(),
            resumed: Vec::new(),
            chosen: None,
            deletion: Deletion::None,
            high: 0,
        }
    }

    pub fn turns(&self) -> HashSet<TurnId> {
        let turn = |tried: &Try| if let Told::Begun(turn) = tried.told { Some(turn) } else { None };
        self.tries.iter().filter_map(turn).collect()
    }

    /// The text went into the try that had said the earlier one.
    pub fn reword(&mut self, at: usize) {
        let Try { line, instead_of, .. } = &mut self.tries[at];
        let (line, instead_of) = (line.take(), instead_of.take());
        self.tries[at].told = Told::Reworded;
        let earlier = self.tries.iter_mut().find(|tried| tried.line.is_some() && tried.line == instead_of);
        earlier.expect("a text that we said").line = line;
    }
}
