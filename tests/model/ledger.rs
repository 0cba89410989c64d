//! What the rules are held against: what was said to the Conversation, what the store has taken, what was shown. It is
//! kept by plain bookkeeping beside the product, not by its rules.

use std::collections::{HashMap, HashSet};

use hamlet_actors::{
    ports::journal::{Batch, NewMessage, Write},
    vocabulary::{Body, CallState, Delta, MessageId, MessageStatus, Part, Role, ToolCall, TurnId},
};

use crate::broken::{Broken, Checked, ensure};

/// Text and thoughts, each in the order of its coming.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    pub text: String,
    pub thoughts: String,
}

impl Words {
    pub fn of(parts: &[Part]) -> Self {
        let mut words = Self::default();
        for part in parts {
            match part {
                Part::Text { text } => words.text.push_str(text),
                Part::Reasoning { text, .. } => words.thoughts.push_str(text),
                _ => {}
            }
        }
        words
    }

    pub fn begins(&self, whole: &Self) -> bool {
        whole.text.starts_with(&self.text) && whole.thoughts.starts_with(&self.thoughts)
    }
}

/// The Player's Message that a turn answers.
#[derive(Debug, Clone)]
pub struct Question {
    pub text: String,
    pub position: i64,
    /// Something left the transcript for it.
    pub branches: bool,
}

#[derive(Debug, Default)]
pub struct Ledger {
    /// Keys of sends, and the turn that each began.
    pub keys: HashMap<String, MessageId>,
    /// What the Provider said for each reply.
    spoken: HashMap<MessageId, Words>,
    /// What of it the store has taken.
    kept: HashMap<MessageId, Body>,
    /// Replies whose end the store has taken, as a batch of their own.
    finished: HashSet<MessageId>,
    /// Player Messages that were said, and those that left unsaid.
    said: HashSet<MessageId>,
    /// The reply that each turn writes.
    writing: HashMap<TurnId, MessageId>,
    pub questions: HashMap<TurnId, Question>,
    /// Turns that were begun, in order.
    pub turns: Vec<TurnId>,
    /// Turns that were asked to stop.
    pub cancelled: HashSet<TurnId>,
    /// Whether there is a reason for what waits to wait.
    pub may_pause: bool,
}

impl Ledger {
    /// The Conversation accepted these.
    pub fn spoke(&mut self, turn: TurnId, deltas: &[Delta]) {
        let Some(reply) = self.writing.get(&turn) else { return };
        let words = self.spoken.entry(*reply).or_default();
        for delta in deltas {
            match delta {
                Delta::Text(text) => words.text.push_str(text),
                Delta::Reasoning(text) => words.thoughts.push_str(text),
                Delta::Call(_) | Delta::Opaque(_) | Delta::Part(_) => {}
            }
        }
    }

    /// Nothing is said that was said already, or has left.
    pub fn check_submitted(&self, batch: &Batch) -> Checked {
        for write in &batch.writes {
            if let Write::TakeUp(row) = write {
                ensure!(!self.said.contains(&row.id), "{} is said twice: {batch:?}", row.id);
            }
        }
        Ok(())
    }

    /// The store has taken the batch.
    pub fn committed(&mut self, batch: &Batch) -> Checked {
        for write in &batch.writes {
            match write {
                Write::Insert(row) if row.role == Role::Npc => {
                    self.writing.insert(row.turn_id, row.id);
                    self.kept.insert(row.id, Body::default());
                    self.spoken.entry(row.id).or_default();
                    if self.turns.last() != Some(&row.turn_id) {
                        self.turns.push(row.turn_id);
                    }
                }
                Write::Insert(row) | Write::TakeUp(row) => self.said(row),
                Write::Withdraw { message, .. } => {
                    self.said.insert(*message);
                }
                Write::Pieces { message, pieces } => {
                    let kept = self.kept.entry(*message).or_default();
                    pieces.iter().for_each(|(_, piece)| kept.fold(piece.clone()));
                }
                Write::Finish(row) => {
                    self.finished.insert(row.id);
                    if row.terminal {
                        // What waits goes on by itself after a complete turn that nobody stopped, and after no other.
                        let stopped = self.cancelled.iter().any(|turn| self.writing.get(turn) == Some(&row.id));
                        self.may_pause = row.status != MessageStatus::Complete || stopped;
                    }
                    let kept = self.kept.get(&row.id).map(|body| &body.parts);
                    ensure!(
                        kept == Some(&row.body.parts),
                        "{} ends with what it never said: {row:?}, {kept:?}",
                        row.id
                    );
                }
                Write::Fold { .. }
                | Write::Supersede { .. }
                | Write::Restore { .. }
                | Write::Enqueue { .. }
                | Write::Requeue(_)
                | Write::Explain { .. }
                | Write::Touch { .. }
                | Write::Retitle { .. }
                | Write::Remember(_) => {}
            }
        }
        Ok(())
    }

    fn said(&mut self, row: &NewMessage) {
        self.said.insert(row.id);
        let branches = !row.supersedes.is_empty();
        let question = Question { text: row.body.text(), position: row.position, branches };
        self.questions.insert(row.turn_id, question);
    }

    /// No tool starts before its call is committed as running.
    pub fn check_marked(&self, turn: TurnId, calls: &[ToolCall]) -> Checked {
        let kept = self.writing.get(&turn).and_then(|reply| self.kept.get(reply));
        for call in calls {
            let stored = kept.is_some_and(|body| body.parts.contains(&Part::ToolCall(call.clone())));
            ensure!(stored, "{call:?} runs, and stored is {kept:?}");
            let marked = matches!(call.state, CallState::Running | CallState::AwaitingApproval);
            ensure!(marked, "{call:?} runs without a mark");
        }
        Ok(())
    }

    /// No step follows before the results are committed.
    pub fn check_answered(&self, turn: TurnId) -> Checked {
        let kept = self.writing.get(&turn).and_then(|reply| self.kept.get(reply));
        let open = kept.map(Body::open_calls).unwrap_or_default();
        ensure!(open.is_empty(), "a step follows while {open:?} have no result in the store");
        Ok(())
    }

    /// A reply as it is stored in the end, against what was said and what was taken.
    pub fn check_reply(&self, id: MessageId, parts: &[Part]) -> Checked {
        let (Some(kept), Some(spoken)) = (self.kept.get(&id), self.spoken.get(&id)) else {
            return Err(Broken(format!("{id} is a reply that nobody began")));
        };
        let words = Words::of(parts);
        ensure!(words.begins(spoken), "{id}: {words:?} is not the beginning of {spoken:?}");
        if self.finished.contains(&id) {
            ensure!(&words == spoken && parts == kept.parts, "{id}: {parts:?} of {spoken:?}, {kept:?}");
        } else {
            // Recovery closes what was left open.
            let without_results =
                |parts: &[Part]| parts.iter().filter(|part| is_said(part)).cloned().collect::<Vec<_>>();
            ensure!(without_results(parts) == without_results(&kept.parts), "{id}: {parts:?}, taken were {kept:?}");
        }
        Ok(())
    }

    /// What a tab has of a reply is the beginning of what was said.
    pub fn check_seen(&self, name: &str, id: MessageId, parts: &[Part]) -> Checked {
        let Some(spoken) = self.spoken.get(&id) else {
            return Err(Broken(format!("{name} sees {id}, which nobody began")));
        };
        let words = Words::of(parts);
        ensure!(words.begins(spoken), "{name} sees {words:?} of {id}, which is not the beginning of {spoken:?}");
        Ok(())
    }
}

fn is_said(part: &Part) -> bool {
    matches!(part, Part::Text { .. } | Part::Reasoning { .. })
}
