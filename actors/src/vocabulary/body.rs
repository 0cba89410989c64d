//! A Message's content while it grows: gives each delta its place and folds placed pieces. This is the engine's half of
//! the one fold (promise 5); `Transcript` is the reader's half, and both call [`Body::fold`].

use std::collections::BTreeMap;

use serde_json::Value;

use super::{CallDelta, CallState, Delta, Executor, Opaque, Part, ToolCall};

/// Content with its place among a Message's Parts: what the Journal stores a row of and a part frame carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Text and reasoning append to what is at the index; every other Part replaces it.
    Part { index: u32, part: Part },
    /// State beside the Part at the index. Stored, never sent.
    Opaque { index: u32, opaque: Opaque },
}

/// Parts and the state beside them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body {
    pub parts: Vec<Part>,
    pub opaque: BTreeMap<u32, Opaque>,
}

impl Body {
    /// Gives the delta its place, folds it, and answers the pieces to be stored and shown.
    pub fn place(&mut self, delta: Delta) -> Vec<Piece> {
        let pieces = match delta {
            Delta::Text(text) if text.is_empty() => Vec::new(),
            Delta::Reasoning(text) if text.is_empty() => Vec::new(),
            Delta::Text(text) => {
                let open = matches!(self.parts.last(), Some(Part::Text { .. }));
                vec![Piece::Part { index: self.tail(open), part: Part::Text { text } }]
            }
            Delta::Reasoning(text) => {
                let open = matches!(self.parts.last(), Some(Part::Reasoning { redacted: false, .. }));
                vec![Piece::Part { index: self.tail(open), part: Part::reasoning(text) }]
            }
            Delta::Call(call) => self.place_call(call),
            Delta::Opaque(opaque) if self.parts.is_empty() => {
                // State with nothing before it: an empty thought holds its place.
                vec![Piece::Part { index: 0, part: Part::reasoning("") }, Piece::Opaque { index: 0, opaque }]
            }
            Delta::Opaque(opaque) => vec![Piece::Opaque { index: self.tail(true), opaque }],
            Delta::Part(part) => {
                // A call again is the same call further on.
                let known = match &part {
                    Part::ToolCall(call) => self.place_of(&call.tool_call_id),
                    _ => None,
                };
                vec![Piece::Part { index: known.unwrap_or_else(|| self.tail(false)), part }]
            }
        };
        for piece in &pieces {
            self.fold(piece.clone());
        }
        pieces
    }

    /// Folds one placed piece. A place beyond the end is filled up with empty unknown Parts, so that no index moves.
    pub fn fold(&mut self, piece: Piece) {
        match piece {
            Piece::Part { index, part } => self.fold_part(index as usize, part),
            Piece::Opaque { index, opaque } => self.opaque.entry(index).or_default().absorb(opaque),
        }
    }

    /// The text that lists, titles and search read: all text Parts, joined.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Whether a person would see anything: blank text and thoughts alone are nothing.
    pub fn is_blank(&self) -> bool {
        !self.parts.iter().any(|part| match part {
            Part::Text { text } => !text.trim().is_empty(),
            Part::Reasoning { .. } | Part::Notice { .. } | Part::Unknown(_) => false,
            Part::ToolCall(_) | Part::ToolResult(_) | Part::File { .. } | Part::Source { .. } => true,
        })
    }

    /// Calls that have no result yet, in order.
    pub fn open_calls(&self) -> Vec<ToolCall> {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::ToolCall(call) if !self.has_result(&call.tool_call_id) => Some(call.clone()),
                _ => None,
            })
            .collect()
    }

    fn has_result(&self, id: &str) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::ToolResult(result) if result.tool_call_id == id))
    }

    fn fold_part(&mut self, index: usize, part: Part) {
        while self.parts.len() < index {
            self.parts.push(Part::Unknown(serde_json::Map::new()));
        }
        match (self.parts.get_mut(index), part) {
            (Some(Part::Text { text }), Part::Text { text: more }) => text.push_str(&more),
            (Some(Part::Reasoning { text, redacted }), Part::Reasoning { text: more, redacted: hidden }) => {
                text.push_str(&more);
                *redacted |= hidden;
            }
            (Some(place), part) => *place = part,
            (None, part) => self.parts.push(part),
        }
    }

    fn place_call(&mut self, delta: CallDelta) -> Vec<Piece> {
        let index = self.place_of(&delta.id).unwrap_or_else(|| self.tail(false));
        let (input, exact) = read_arguments(&delta.arguments);
        let call = ToolCall {
            tool_call_id: delta.id,
            name: delta.name,
            input,
            state: if delta.closed { CallState::Ready } else { CallState::Streaming },
            executor: Executor::Server,
            plugin: None,
            parent_tool_call_id: None,
            lease: None,
        };
        let mut pieces = vec![Piece::Part { index, part: Part::ToolCall(call) }];
        if !exact {
            let opaque = Opaque { arguments: Some(delta.arguments), ..Opaque::default() };
            pieces.push(Piece::Opaque { index, opaque });
        }
        pieces
    }

    fn place_of(&self, call_id: &str) -> Option<u32> {
        let at =
            self.parts.iter().position(|part| matches!(part, Part::ToolCall(call) if call.tool_call_id == call_id))?;
        u32::try_from(at).ok()
    }

    /// The index of the last Part when it is `open` for more, else the one behind it.
    fn tail(&self, open: bool) -> u32 {
        let length = u32::try_from(self.parts.len()).unwrap_or(u32::MAX);
        if open { length.saturating_sub(1) } else { length }
    }
}

/// Arguments as a JSON value, and whether writing that value gives the same bytes again. What is not whole JSON stays
/// the raw text.
fn read_arguments(raw: &str) -> (Value, bool) {
    match serde_json::from_str::<Value>(raw) {
        Ok(value) => {
            let exact = serde_json::to_string(&value).is_ok_and(|again| again == raw);
            (value, exact)
        }
        Err(_) => (Value::String(raw.to_owned()), true),
    }
}
