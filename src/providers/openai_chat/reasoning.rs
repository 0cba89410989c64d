//! A model's thoughts in the fields that servers invented for them, and the state that has to go back with them. The
//! same thought in two fields of one delta is told once.

use std::{borrow::Cow, ops::Range};

use hamlet_actors::vocabulary::{Opaque, ProviderId};
use serde_json::value::RawValue;

use super::{
    strings::Piece,
    wire::{Content, Raw, TypedPart},
};

pub const DETAILS: &str = "reasoning_details";

/// Whose thoughts these are: they are replayed to the same Provider and model only.
#[derive(Debug, Clone)]
pub struct Origin {
    pub provider: ProviderId,
    pub model: String,
}

/// What belongs to the reasoning that is being told.
#[derive(Debug, Default)]
pub struct Trail {
    field: Option<&'static str>,
    has_text: bool,
    signature: Option<String>,
    encrypted: Option<String>,
}

/// The state of reasoning that has ended.
pub struct Settled {
    pub opaque: Opaque,
    /// There is state and no text: the Provider kept the thought to itself.
    pub is_redacted: bool,
}

impl Trail {
    /// The thoughts of one delta, in order.
    pub fn take<'a>(&mut self, content: &Content<'a>) -> Vec<Piece<'a>> {
        let fields = [
            ("reasoning_content", content.reasoning_content),
            ("reasoning", content.reasoning),
            ("reasoning_text", content.reasoning_text),
            ("thinking", content.thinking),
            (DETAILS, content.reasoning_details),
        ];
        let mut told: Vec<Piece<'a>> = Vec::new();
        let mut spans = Vec::new();
        for (field, raw) in fields {
            let Some(raw) = raw else { continue };
            let mut pieces = Vec::new();
            self.read(raw, &mut pieces);
            pieces.retain(|piece| !piece.is_empty());
            let has_state = self.signature.is_some() || self.encrypted.is_some();
            if field == DETAILS && has_state {
                // Only this field can carry the state back.
                self.field = Some(DETAILS);
            }
            if pieces.is_empty() && !has_state {
                continue;
            }
            self.field.get_or_insert(field);
            if spans.iter().any(|span: &Range<usize>| told[span.clone()] == pieces) {
                continue;
            }
            let start = told.len();
            told.append(&mut pieces);
            spans.push(start..told.len());
        }
        self.has_text |= !told.is_empty();
        told
    }

    /// Another kind of content begins, or the reply ends.
    pub fn settle(&mut self, origin: &Origin) -> Option<Settled> {
        let trail = std::mem::take(self);
        let field = trail.field?;
        Some(Settled {
            is_redacted: !trail.has_text,
            opaque: Opaque {
                provider_id: Some(origin.provider),
                model: Some(origin.model.clone()),
                signature: trail.signature,
                encrypted: trail.encrypted,
                field: Some(field.to_owned()),
                ..Opaque::default()
            },
        })
    }

    fn read<'a>(&mut self, raw: &'a RawValue, into: &mut Vec<Piece<'a>>) {
        match raw.get().as_bytes().first() {
            Some(b'"') => into.push(Piece::of(raw.get())),
            Some(b'[') => {
                for entry in serde_json::from_str::<Vec<&RawValue>>(raw.get()).unwrap_or_default() {
                    self.read(entry, into);
                }
            }
            Some(b'{') => {
                let Ok(part) = serde_json::from_str::<TypedPart<'a>>(raw.get()) else { return };
                for words in [part.text, part.content, part.thinking, part.summary].into_iter().flatten() {
                    self.read(words, into);
                }
                self.signature = owned(part.signature).or(self.signature.take());
                self.encrypted = owned(part.data).or(self.encrypted.take());
            }
            _ => {}
        }
    }
}

fn owned(raw: Raw<'_>) -> Option<String> {
    raw.map(|raw| Piece::of(raw.get()).lossy()).filter(|text| !text.is_empty()).map(Cow::into_owned)
}
