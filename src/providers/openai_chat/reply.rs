//! The reply as it grows: which texts, thoughts and calls a chunk adds, in which order they are told, and what the end
//! makes of them. Knows nothing of bytes and events.

use std::ops::ControlFlow;

use hamlet_actors::{
    ports::{End, ProviderEvent},
    vocabulary::{Delta, Part, Usage},
};
use serde_json::value::RawValue;

use super::{
    calls::Calls,
    label::{self, Label},
    reasoning::{Origin, Trail},
    strings::{Joint, Piece},
    think::{ThinkTags, Voice},
    usage,
    wire::{Chunk, Content, Raw, TypedPart},
};
use crate::providers::quirks::Quirks;

#[derive(Debug)]
pub struct Reply {
    origin: Origin,
    think: Option<ThinkTags>,
    text: Joint,
    thought: Joint,
    trail: Trail,
    calls: Calls,
    usage: Usage,
    told_usage: Usage,
    label: Option<Label>,
    refused: bool,
    has_choices: bool,
    has_ended: bool,
}

impl Reply {
    pub fn new(origin: Origin, quirks: &Quirks) -> Self {
        Self {
            origin,
            think: quirks.think_tags.then(ThinkTags::default),
            text: Joint::default(),
            thought: Joint::default(),
            trail: Trail::default(),
            calls: Calls::default(),
            usage: Usage::default(),
            told_usage: Usage::default(),
            label: None,
            refused: false,
            has_choices: false,
            has_ended: false,
        }
    }

    /// What a chunk adds. Breaks when the reply has outgrown its bound.
    pub fn take(&mut self, chunk: &Chunk<'_>, out: &mut Vec<ProviderEvent>) -> ControlFlow<()> {
        usage::absorb(&mut self.usage, chunk.usage);
        if let Some(vendor) = &chunk.x_groq.0 {
            usage::absorb(&mut self.usage, vendor.usage);
        }
        // One reply is asked for; where more come, only the first is read.
        for choice in chunk.choices.0.iter().filter(|choice| is_first(choice.index)) {
            self.has_choices = true;
            usage::absorb(&mut self.usage, choice.usage);
            if let Some(content) = choice.delta.0.as_ref().or(choice.message.0.as_ref()) {
                self.content(content, out)?;
            }
            if let Some(label) = choice.finish_reason.and_then(|raw| Label::of(&Piece::of(raw.get()).lossy())) {
                self.label = Some(label.after(self.label));
            }
        }
        ControlFlow::Continue(())
    }

    pub fn tell_usage(&mut self, out: &mut Vec<ProviderEvent>) {
        if self.usage != self.told_usage && !self.has_ended {
            self.told_usage = self.usage;
            out.push(ProviderEvent::Usage(self.usage));
        }
    }

    /// The positive end mark came.
    pub fn complete(&mut self, out: &mut Vec<ProviderEvent>) {
        let reason = label::finish_reason(self.label, self.calls.has_content(), self.refused);
        self.end(End::Complete(reason), out);
    }

    /// Tells what was held back, and the end.
    pub fn end(&mut self, end: End, out: &mut Vec<ProviderEvent>) {
        if self.has_ended {
            return;
        }
        self.flush_text(out);
        if let Some(mut think) = self.think.take() {
            think.flush(|voice, text| say(voice, text, out));
        }
        self.settle(out);
        match end {
            End::Complete(_) => out.extend(self.calls.close().map(ProviderEvent::Delta)),
            End::Truncated | End::Failed(_) => out.extend(self.calls.break_off().map(ProviderEvent::Delta)),
        }
        self.tell_usage(out);
        self.has_ended = true;
        out.push(ProviderEvent::End(end));
    }

    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub fn has_label(&self) -> bool {
        self.label.is_some()
    }

    pub fn has_failed(&self) -> bool {
        self.label == Some(Label::Failure)
    }

    pub fn has_choices(&self) -> bool {
        self.has_choices
    }

    fn content(&mut self, content: &Content<'_>, out: &mut Vec<ProviderEvent>) -> ControlFlow<()> {
        for piece in self.trail.take(content) {
            self.think_of(piece, out);
        }
        if let Some(raw) = content.content {
            self.speak(raw, out);
        }
        if let Some(raw) = content.refusal {
            self.refuse(raw, out);
        }
        if !content.tool_calls.0.is_empty() || content.function_call.0.is_some() {
            self.flush_text(out);
            self.settle(out);
            let mut tell = |delta| out.push(ProviderEvent::Delta(delta));
            let mut taken = self.calls.take(&content.tool_calls.0, &mut tell);
            if let Some(function) = &content.function_call.0 {
                taken = taken.and(self.calls.take_legacy(function, &mut tell));
            }
            if taken.is_err() {
                self.end(End::Truncated, out);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// The content: a string, or a list of typed parts.
    fn speak(&mut self, raw: &RawValue, out: &mut Vec<ProviderEvent>) {
        match raw.get().as_bytes().first() {
            Some(b'[') => {
                for part in serde_json::from_str::<Vec<&RawValue>>(raw.get()).unwrap_or_default() {
                    self.speak(part, out);
                }
            }
            Some(b'{') => {
                let Ok(part) = serde_json::from_str::<TypedPart<'_>>(raw.get()) else { return };
                match part.kind.map(RawValue::get) {
                    Some("\"thinking\"" | "\"reasoning\"") => {
                        for piece in self.trail.take(&Content::thought(raw)) {
                            self.think_of(piece, out);
                        }
                    }
                    Some("\"refusal\"") => {
                        if let Some(words) = part.refusal.or(part.text) {
                            self.refuse(words, out);
                        }
                    }
                    _ => {
                        if let Some(words) = part.text.or(part.content) {
                            self.speak(words, out);
                        }
                    }
                }
            }
            _ => self.say_aloud(Piece::of(raw.get()), out),
        }
    }

    fn refuse(&mut self, raw: &RawValue, out: &mut Vec<ProviderEvent>) {
        let piece = Piece::of(raw.get());
        self.refused |= !piece.is_empty();
        self.say_aloud(piece, out);
    }

    fn say_aloud(&mut self, piece: Piece<'_>, out: &mut Vec<ProviderEvent>) {
        if piece.is_empty() {
            return;
        }
        self.settle(out);
        let text = self.text.join(piece);
        match &mut self.think {
            Some(think) => think.feed(&text, |voice, text| say(voice, text, out)),
            None => say(Voice::Aloud, &text, out),
        }
    }

    fn think_of(&mut self, piece: Piece<'_>, out: &mut Vec<ProviderEvent>) {
        self.flush_text(out);
        let text = self.thought.join(piece);
        say(Voice::Thought, &text, out);
    }

    /// A half character at the end of a text that was left.
    fn flush_text(&mut self, out: &mut Vec<ProviderEvent>) {
        if let Some(rest) = self.text.flush() {
            match &mut self.think {
                Some(think) => think.feed(rest, |voice, text| say(voice, text, out)),
                None => say(Voice::Aloud, rest, out),
            }
        }
    }

    /// Ends the reasoning, if any is being told, with the state that belongs to it.
    fn settle(&mut self, out: &mut Vec<ProviderEvent>) {
        if let Some(rest) = self.thought.flush() {
            say(Voice::Thought, rest, out);
        }
        let Some(settled) = self.trail.settle(&self.origin) else { return };
        if settled.is_redacted {
            let part = Part::Reasoning { text: String::new(), redacted: true };
            out.push(ProviderEvent::Delta(Delta::Part(part)));
        }
        out.push(ProviderEvent::Delta(Delta::Opaque(settled.opaque)));
    }
}

fn is_first(index: Raw<'_>) -> bool {
    index.is_none_or(|index| index.get() == "0")
}

/// Joins what neighbours: a burst of tokens becomes one delta.
fn say(voice: Voice, text: &str, out: &mut Vec<ProviderEvent>) {
    if text.is_empty() {
        return;
    }
    match (voice, out.last_mut()) {
        (Voice::Aloud, Some(ProviderEvent::Delta(Delta::Text(last))))
        | (Voice::Thought, Some(ProviderEvent::Delta(Delta::Reasoning(last)))) => last.push_str(text),
        (Voice::Aloud, _) => out.push(ProviderEvent::Delta(Delta::Text(text.to_owned()))),
        (Voice::Thought, _) => out.push(ProviderEvent::Delta(Delta::Reasoning(text.to_owned()))),
    }
}
