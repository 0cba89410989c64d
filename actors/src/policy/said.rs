//! A Message as later requests may need it: its words, its calls and what came of them, and the thoughts that a Provider
//! wants back. What only a person sees is not here.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::vocabulary::{Author, Body, MessageId, Opaque, Part, Role, ToolCall, ToolResult};

/// A Message as the model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub message: MessageId,
    pub position: i64,
    pub role: Role,
    pub author: Author,
    /// All its words, joined.
    pub text: Arc<str>,
    /// In their order; empty where the words are all there is.
    pub parts: Arc<[Utterance]>,
    /// Length in characters of all that may be sent of it, counted once.
    pub chars: usize,
}

/// One thing that a reply did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Utterance {
    Words(Arc<str>),
    /// A thought, with the state that its Provider gave it.
    Thought {
        text: Arc<str>,
        opaque: Box<Opaque>,
    },
    Call {
        id: Arc<str>,
        name: Arc<str>,
        /// A JSON object as text, whatever was stored.
        arguments: Arc<str>,
    },
    Result {
        id: Arc<str>,
        output: Arc<str>,
        is_error: bool,
    },
    /// It passed the turn on; stands behind the result of the call that did.
    HandOver {
        to: Arc<str>,
        message: Arc<str>,
    },
}

impl Utterance {
    fn chars(&self) -> usize {
        match self {
            Self::Words(text) => text.chars().count(),
            Self::Thought { text, opaque } => text.chars().count() + opaque_bytes(opaque),
            Self::Call { name, arguments, .. } => name.len() + arguments.chars().count(),
            Self::Result { output, .. } => output.chars().count(),
            Self::HandOver { to, message } => to.len() + message.chars().count(),
        }
    }
}

impl Said {
    /// Plain words.
    pub fn new(message: MessageId, position: i64, role: Role, author: Author, text: &str) -> Self {
        Self { message, position, role, author, text: text.into(), parts: Arc::from([]), chars: text.chars().count() }
    }

    /// What a Message's Parts come to.
    pub fn of(message: MessageId, position: i64, role: Role, author: Author, body: &Body) -> Self {
        let parts = utterances(body);
        let plain = parts.iter().all(|part| matches!(part, Utterance::Words(_)));
        if plain {
            return Self::new(message, position, role, author, &body.text());
        }
        let chars = parts.iter().map(Utterance::chars).sum();
        Self { message, position, role, author, text: body.text().into(), parts: parts.into(), chars }
    }

    /// Bytes that it holds in memory, about.
    pub fn weight(&self) -> usize {
        let parts: usize = self.parts.iter().map(|part| part.chars() + 64).sum();
        self.text.len() + parts + 160
    }
}

/// What a hand-over's result says, so that later requests can be told of it without knowing which tool it was.
pub fn hand_over_output(to_id: &str, to_name: &str, message: &str) -> Value {
    let mut inner = Map::new();
    inner.insert("npcId".to_owned(), to_id.into());
    inner.insert("npc".to_owned(), to_name.into());
    inner.insert("message".to_owned(), message.into());
    let mut output = Map::new();
    output.insert(HAND_OVER.to_owned(), Value::Object(inner));
    Value::Object(output)
}

/// Likewise of one that the limit kept from happening: whoever goes on is told of it all the same.
pub fn hand_over_refused(to_id: &str, to_name: &str, message: &str, why: &str) -> Value {
    let mut output = hand_over_output(to_id, to_name, message);
    output[REFUSED] = why.into();
    output
}

/// To whom a result wanted to pass the turn, and was not let.
pub fn refused_hand_over(output: &Value) -> Option<&str> {
    output.get(REFUSED)?;
    output.get(HAND_OVER)?.get("npcId")?.as_str()
}

const HAND_OVER: &str = "handOver";
/// Why a hand-over did not happen that may happen yet.
const REFUSED: &str = "refused";

/// Whether an output has the form of a hand-over: then it must be one. A tool whose answer looks so is told in text.
pub fn looks_like_hand_over(output: &Value) -> bool {
    output.get(HAND_OVER).is_some()
}

/// To whom a result says that the turn was passed, and with which words.
fn handed_over(output: &Value) -> Option<(&str, &str)> {
    let inner = output.as_object()?.get(HAND_OVER)?;
    Some((inner.get("npc")?.as_str()?, inner.get("message")?.as_str()?))
}

fn utterances(body: &Body) -> Vec<Utterance> {
    let mut told = Vec::new();
    for (index, part) in (0_u32..).zip(&body.parts) {
        let opaque = body.opaque.get(&index);
        match part {
            Part::Text { text } => told.push(Utterance::Words(text.as_str().into())),
            // A thought goes back only where its Provider gave it a state, or a field of its own.
            Part::Reasoning { text, .. } => told.extend(
                opaque
                    .map(|opaque| Utterance::Thought { text: text.as_str().into(), opaque: Box::new(opaque.clone()) }),
            ),
            Part::ToolCall(call) => told.push(Utterance::Call {
                id: call.tool_call_id.as_str().into(),
                name: call.name.as_str().into(),
                arguments: arguments(call, opaque).into(),
            }),
            Part::ToolResult(result) => {
                told.push(Utterance::Result {
                    id: result.tool_call_id.as_str().into(),
                    output: output(result).into(),
                    is_error: result.is_error,
                });
                if let Some((to, message)) = handed_over(&result.output) {
                    told.push(Utterance::HandOver { to: to.into(), message: message.into() });
                }
            }
            Part::File { .. } | Part::Source { .. } | Part::Notice { .. } | Part::Unknown(_) => {}
        }
    }
    told
}

/// Byte for byte what the model wrote where that is a JSON object; what is cut or no object becomes an empty one, so that
/// an old row never makes a request fail.
fn arguments(call: &ToolCall, opaque: Option<&Opaque>) -> String {
    let whole = |text: &str| serde_json::from_str::<Map<String, Value>>(text).is_ok();
    if let Some(exact) = opaque.and_then(|opaque| opaque.arguments.as_ref()).filter(|exact| whole(exact)) {
        return exact.clone();
    }
    match &call.input {
        Value::Object(input) => serde_json::to_string(input).unwrap_or_else(|_| "{}".to_owned()),
        Value::String(raw) if whole(raw) => raw.clone(),
        _ => "{}".to_owned(),
    }
}

fn output(result: &ToolResult) -> String {
    match &result.output {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn opaque_bytes(opaque: &Opaque) -> usize {
    [&opaque.signature, &opaque.redacted, &opaque.encrypted].into_iter().flatten().map(String::len).sum()
}
