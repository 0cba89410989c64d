//! From the bytes of a chat completion to what the engine hears of it: one machine for the event stream and for the
//! JSON object that some servers send instead. Does no I/O and knows no clock, so any cut of the same bytes gives the
//! same result.

use std::ops::ControlFlow;

use hamlet_actors::{
    ports::{End, ProviderEvent, ProviderFailure},
    vocabulary::ErrorKind,
};

use super::reply::Reply;
use crate::providers::{
    discretion::Discretion,
    failure,
    openai_chat::{
        reasoning::Origin,
        wire::{self, ParsedChunk},
    },
    quirks::Quirks,
    sse::{MAX_EVENT, SseDecoder, SseEvent},
};

/// Decodes one reply. It ends itself at the end mark; [`ChatDecoder::has_ended`] then says that nothing more is to be
/// read.
#[derive(Debug)]
pub struct ChatDecoder {
    shape: Shape,
    events: SseDecoder,
    reply: Reply,
    discretion: Discretion,
}

/// What the body is, by its first byte: servers mislabel both.
#[derive(Debug)]
enum Shape {
    Unknown,
    Events,
    Json(Vec<u8>),
}

impl ChatDecoder {
    pub fn new(origin: Origin, quirks: &Quirks, discretion: Discretion) -> Self {
        Self { shape: Shape::Unknown, events: SseDecoder::default(), reply: Reply::new(origin, quirks), discretion }
    }

    /// Takes what one read of the network gave. Adds to `out`, neighbouring texts joined.
    pub fn read(&mut self, bytes: &[u8], out: &mut Vec<ProviderEvent>) {
        if self.has_ended() {
            return;
        }
        let bytes = self.behind_first_byte(bytes);
        if let Shape::Json(body) = &mut self.shape {
            if body.len() + bytes.len() > MAX_EVENT {
                return self.reply.end(End::Truncated, out);
            }
            body.extend_from_slice(bytes);
            return;
        }
        let (reply, discretion) = (&mut self.reply, &self.discretion);
        if self.events.read(bytes, |event| on_event(&event, reply, discretion, out)).is_err() {
            reply.end(End::Truncated, out);
        }
        self.reply.tell_usage(out);
    }

    /// The bytes have ended, in whatever way.
    pub fn finish(&mut self, out: &mut Vec<ProviderEvent>) {
        if self.has_ended() {
            return;
        }
        if let Shape::Json(body) = &mut self.shape {
            let body = std::mem::take(body);
            return self.whole_body(&String::from_utf8_lossy(&body), out);
        }
        let (reply, discretion) = (&mut self.reply, &self.discretion);
        // An event that was cut off is no JSON and says nothing; one that only lacks its blank line counts.
        self.events.finish(|event| match wire::parse(&event.data) {
            None if event.data.trim() != "[DONE]" => ControlFlow::Continue(()),
            _ => on_event(&event, reply, discretion, out),
        });
        if self.reply.has_ended() {
            return;
        }
        if self.reply.has_label() {
            self.reply.complete(out);
        } else {
            self.reply.end(End::Truncated, out);
        }
    }

    /// Something other than the stream ended it.
    pub fn fail(&mut self, failure: ProviderFailure, out: &mut Vec<ProviderEvent>) {
        if !self.has_ended() {
            self.reply.end(End::Failed(failure), out);
        }
    }

    pub fn has_ended(&self) -> bool {
        self.reply.has_ended()
    }

    /// The reply is finished; only usage and the stream's own end mark may still come.
    pub fn has_finished(&self) -> bool {
        self.reply.has_label()
    }

    fn behind_first_byte<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        if !matches!(self.shape, Shape::Unknown) {
            return bytes;
        }
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | 0xEF | 0xBB | 0xBF);
        let Some(first) = bytes.iter().position(|byte| !is_blank(byte)) else {
            return bytes;
        };
        if matches!(bytes[first], b'{' | b'[') {
            self.shape = Shape::Json(Vec::new());
            return &bytes[first..];
        }
        self.shape = Shape::Events;
        bytes
    }

    fn whole_body(&mut self, body: &str, out: &mut Vec<ProviderEvent>) {
        match serde_json::from_str::<serde::de::IgnoredAny>(body) {
            Err(error) if error.is_eof() => self.reply.end(End::Truncated, out),
            Err(_) => self.reply.end(End::Failed(unreadable()), out),
            Ok(_) => {
                let flow = on_chunk(body, &mut self.reply, &self.discretion, out);
                if self.has_ended() {
                    return;
                }
                // A whole object is an end mark, if it is a reply at all.
                if flow.is_continue() && self.reply.has_choices() {
                    self.reply.complete(out);
                } else {
                    let message = "the Provider answered with something that is no reply";
                    self.reply.end(End::Failed(failure::failure(ErrorKind::Server, message, None)), out);
                }
            }
        }
    }
}

fn on_event(
    event: &SseEvent<'_>,
    reply: &mut Reply,
    discretion: &Discretion,
    out: &mut Vec<ProviderEvent>,
) -> ControlFlow<()> {
    if event.name == "error" {
        reply.end(End::Failed(failure::of_error_event(&event.data, discretion)), out);
        return ControlFlow::Break(());
    }
    let data = event.data.trim();
    if data == "[DONE]" {
        reply.complete(out);
        return ControlFlow::Break(());
    }
    // Keep-alives in the data field, and words that are no chunk: nothing is lost with them, and they complete nothing.
    if !data.starts_with(['{', '[']) {
        return ControlFlow::Continue(());
    }
    on_chunk(data, reply, discretion, out)
}

fn on_chunk(text: &str, reply: &mut Reply, discretion: &Discretion, out: &mut Vec<ProviderEvent>) -> ControlFlow<()> {
    let failure = match wire::parse(text) {
        Some(ParsedChunk::Chunk(chunk)) => take(&chunk, text, reply, discretion, out)?,
        Some(ParsedChunk::Rewritten(text)) => match wire::chunk(&text) {
            Some(chunk) => take(&chunk, &text, reply, discretion, out)?,
            None => Some(unreadable()),
        },
        Some(ParsedChunk::Unreadable) | None => Some(unreadable()),
    };
    match failure {
        None => ControlFlow::Continue(()),
        Some(failure) => {
            reply.end(End::Failed(failure), out);
            ControlFlow::Break(())
        }
    }
}

/// What a chunk says counts even when it also tells of an error: it was billed.
fn take(
    chunk: &wire::Chunk<'_>,
    text: &str,
    reply: &mut Reply,
    discretion: &Discretion,
    out: &mut Vec<ProviderEvent>,
) -> ControlFlow<(), Option<ProviderFailure>> {
    reply.take(chunk, out)?;
    let told = error_in(chunk, text, discretion);
    let message = "the Provider ended its reply with a failure and did not say which";
    let untold = || reply.has_failed().then(|| failure::failure(ErrorKind::Server, message, None));
    ControlFlow::Continue(told.or_else(untold))
}

/// The fields that tell of an error are looked at in full only when one of them is there.
fn error_in(chunk: &wire::Chunk<'_>, text: &str, discretion: &Discretion) -> Option<ProviderFailure> {
    let is_named = chunk.error.is_some() || chunk.error_type.is_some() || chunk.error_message.is_some();
    let may_be = (chunk.detail.is_some() || chunk.message.is_some() || chunk.msg.is_some() || text.starts_with('['))
        && chunk.choices.0.is_empty();
    if is_named || may_be {
        let value = serde_json::from_str(text).ok()?;
        if let Some(failure) = failure::of_event(&value, discretion) {
            return Some(failure);
        }
    }
    let inner = chunk.choices.0.iter().map(|choice| choice.error);
    let vendor = chunk.x_groq.0.as_ref().and_then(|vendor| vendor.error);
    inner.chain([vendor]).flatten().find_map(|error| {
        let value = serde_json::json!({ "error": error });
        failure::of_event(&value, discretion)
    })
}

fn unreadable() -> ProviderFailure {
    failure::failure(ErrorKind::Server, "the Provider sent something that cannot be read", None)
}
