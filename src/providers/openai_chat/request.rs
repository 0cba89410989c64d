//! The request body of a chat completion, written in one pass from the engine's request. What is not in the request is
//! not in the body; nothing of the history is copied into an intermediate form.

use hamlet_actors::{
    ports::{
        ModelRequest, RequestItem, ToolSpec,
        provider::{ReplayedReasoning, RequestedCall},
    },
    vocabulary::ModelParams,
};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

use super::reasoning::DETAILS;
use crate::providers::quirks::Quirks;

/// The body's bytes.
pub fn body(request: &ModelRequest, quirks: &Quirks) -> Result<Vec<u8>, serde_json::Error> {
    let params = &request.params;
    let ModelParams { temperature, top_p, max_output_tokens, stop, seed, reasoning_effort } = params;
    let (max_tokens, max_completion_tokens) =
        if quirks.max_completion_tokens { (None, *max_output_tokens) } else { (*max_output_tokens, None) };
    serde_json::to_vec(&Body {
        model: &request.model,
        messages: Messages { system: &request.system, items: &request.items, quirks },
        tools: request.tools.iter().map(Tool::of).collect(),
        stream: true,
        stream_options: (!quirks.omit_stream_options).then_some(StreamOptions { include_usage: true }),
        temperature: *temperature,
        top_p: *top_p,
        max_tokens,
        max_completion_tokens,
        stop: stop.as_deref().unwrap_or_default(),
        seed: *seed,
        reasoning_effort: reasoning_effort.as_deref(),
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Messages<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

struct Messages<'a> {
    system: &'a str,
    items: &'a [RequestItem],
    quirks: &'a Quirks,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let system = Message::System { content: self.system };
        serializer
            .collect_seq(std::iter::once(system).chain(self.items.iter().map(|item| Message::of(item, self.quirks))))
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        /// Null beside calls where there is no text: some servers refuse an empty string there.
        content: Option<&'a str>,
        #[serde(flatten)]
        reasoning: Option<Replay<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

impl<'a> Message<'a> {
    fn of(item: &'a RequestItem, quirks: &Quirks) -> Self {
        match item {
            RequestItem::User { text } => Self::User { content: text },
            RequestItem::Assistant { text, reasoning, calls } => Self::Assistant {
                content: (!text.is_empty() || calls.is_empty()).then_some(text),
                // Servers that want it back want it on the turns that called tools, and refuse it elsewhere.
                reasoning: reasoning.as_ref().filter(|_| quirks.replay_reasoning && !calls.is_empty()).map(Replay),
                tool_calls: calls.iter().map(Call::of).collect(),
            },
            RequestItem::ToolResult { id, output, name: _, is_error: _ } => {
                Self::Tool { tool_call_id: id, content: output }
            }
        }
    }
}

/// Reasoning under the name of the field that it came in.
struct Replay<'a>(&'a ReplayedReasoning);

impl Serialize for Replay<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ReplayedReasoning { text, opaque } = self.0;
        let field = opaque.field.as_deref().unwrap_or("reasoning_content");
        let mut map = serializer.serialize_map(Some(1))?;
        if field == DETAILS {
            let told = (!text.is_empty()).then_some(Detail::Text { text, signature: opaque.signature.as_deref() });
            let kept = opaque.encrypted.as_deref().map(|data| Detail::Encrypted { data });
            map.serialize_entry(field, &told.into_iter().chain(kept).collect::<Vec<_>>())?;
        } else {
            map.serialize_entry(field, text)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Detail<'a> {
    #[serde(rename = "reasoning.text")]
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    #[serde(rename = "reasoning.encrypted")]
    Encrypted { data: &'a str },
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CalledFunction<'a>,
}

#[derive(Serialize)]
struct CalledFunction<'a> {
    name: &'a str,
    /// A string that holds JSON, byte for byte what the model wrote.
    arguments: &'a str,
}

impl<'a> Call<'a> {
    fn of(call: &'a RequestedCall) -> Self {
        let RequestedCall { id, name, arguments } = call;
        Self { id, r#type: "function", function: CalledFunction { name, arguments } }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: OfferedFunction<'a>,
}

#[derive(Serialize)]
struct OfferedFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a serde_json::Value,
}

impl<'a> Tool<'a> {
    fn of(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, parameters } = tool;
        Self { r#type: "function", function: OfferedFunction { name, description, parameters } }
    }
}
