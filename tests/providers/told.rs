//! What a stream of Provider events comes to: the Parts, the end, the usage. Two streams that tell the same fold to
//! equal values, however their text was cut into deltas.

use hamlet::providers::{
    Discretion, Quirks,
    openai_chat::{decoder::ChatDecoder, reasoning::Origin},
};
use hamlet_actors::{
    ports::{End, ProviderEvent},
    vocabulary::{Delta, FinishReason, Part, ProviderId, Usage},
};

#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// One line a Part: `text: ..`, `thought: ..`, `call ID NAME ARGS`, `open-call ..`, `redacted`, `state FIELD ..`.
    pub parts: Vec<String>,
    /// `stop`, `length`, ... for a complete stream; else `truncated` or `failed`.
    pub end: &'static str,
    pub usage: Usage,
    pub failure: Option<String>,
}

pub fn origin() -> Origin {
    let provider: ProviderId = "01890000-0000-7000-8000-000000000001".parse().unwrap();
    Origin { provider, model: "m".into() }
}

/// Decodes `bytes` in the pieces that `cuts` make.
pub fn decoded(bytes: &[u8], cuts: &[usize], quirks: &Quirks) -> Told {
    let mut decoder = ChatDecoder::new(origin(), quirks, Discretion::default());
    let mut events = Vec::new();
    let mut from = 0;
    for &cut in cuts.iter().chain([&bytes.len()]) {
        decoder.read(&bytes[from..cut], &mut events);
        from = cut;
    }
    decoder.finish(&mut events);
    told(&events)
}

pub fn told(events: &[ProviderEvent]) -> Told {
    enum Line {
        Text(String),
        Thought(String),
        Call(String, String),
        Other(String),
    }
    let mut lines: Vec<Line> = Vec::new();
    let (mut usage, mut end) = (Usage::default(), None);
    for event in events {
        assert_eq!(end, None, "nothing comes behind the end");
        match event {
            ProviderEvent::Delta(Delta::Text(text)) => match lines.last_mut() {
                Some(Line::Text(last)) => last.push_str(text),
                _ => lines.push(Line::Text(text.clone())),
            },
            ProviderEvent::Delta(Delta::Reasoning(text)) => match lines.last_mut() {
                Some(Line::Thought(last)) => last.push_str(text),
                _ => lines.push(Line::Thought(text.clone())),
            },
            ProviderEvent::Delta(Delta::Call(call)) => {
                let word = if call.closed { "call" } else { "open-call" };
                let minted = call.id.len() == 37 && call.id.starts_with("call_");
                let id = if minted { "(minted)" } else { &call.id };
                let line = format!("{word} {id} {} {}", call.name, call.arguments);
                let known = lines.iter_mut().find_map(|known| match known {
                    Line::Call(id, line) if *id == call.id => Some(line),
                    _ => None,
                });
                match known {
                    Some(known) => *known = line,
                    None => lines.push(Line::Call(call.id.clone(), line)),
                }
            }
            ProviderEvent::Delta(Delta::Opaque(state)) => {
                assert_eq!(state.provider_id, Some(origin().provider));
                let field = state.field.as_deref().unwrap_or_default();
                let signature = state.signature.as_deref().unwrap_or("-");
                let encrypted = state.encrypted.as_deref().unwrap_or("-");
                lines.push(Line::Other(format!("state {field} {signature} {encrypted}")));
            }
            ProviderEvent::Delta(Delta::Part(Part::Reasoning { redacted: true, .. })) => {
                lines.push(Line::Other("redacted".into()));
            }
            ProviderEvent::Delta(Delta::Part(part)) => panic!("unforeseen: {part:?}"),
            ProviderEvent::Usage(later) => usage = *later,
            ProviderEvent::End(how) => end = Some(how.clone()),
        }
    }
    let parts = lines.into_iter().map(|line| match line {
        Line::Text(text) => format!("text: {text}"),
        Line::Thought(text) => format!("thought: {text}"),
        Line::Call(_, line) | Line::Other(line) => line,
    });
    let (end, failure) = match end.expect("every stream has an end") {
        End::Complete(FinishReason::Stop) => ("stop", None),
        End::Complete(FinishReason::Length) => ("length", None),
        End::Complete(FinishReason::ToolCalls) => ("tool-calls", None),
        End::Complete(FinishReason::ContentFilter) => ("content-filter", None),
        End::Complete(FinishReason::Other) => ("other", None),
        End::Truncated => ("truncated", None),
        End::Failed(failure) => {
            ("failed", Some(format!("{:?} {} {}", failure.kind, failure.retryable, failure.message)))
        }
    };
    Told { parts: parts.collect(), end, usage, failure }
}
