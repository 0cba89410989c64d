//! From what a tool server answered to what the model sees. One limit holds over all of it, and what is no text is named
//! and not shown.

use hamlet_actors::ports::{ToolAnswer, ToolOutcome};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

/// Bytes of one answer at most, whatever it is made of.
pub const ANSWER_MAX: usize = 128 * 1024;

/// The texts, one below the other; where there are none, the structured content.
pub fn outcome(result: CallToolResult) -> ToolOutcome {
    let is_error = result.is_error.unwrap_or(false);
    let has_text =
        result.content.iter().any(|block| matches!(block, ContentBlock::Text(_) | ContentBlock::Resource(_)));
    if !has_text && let Some(structured) = result.structured_content.filter(|structured| !structured.is_null()) {
        return structured_answer(structured, is_error);
    }
    let mut answer = Bounded::default();
    for block in &result.content {
        told(&mut answer, block);
    }
    if answer.text.is_empty() {
        answer.line(if is_error {
            "The tool failed and did not say why."
        } else {
            "The tool is done and returned nothing."
        });
    }
    ToolOutcome::Answer(ToolAnswer { output: Value::String(answer.text), is_error, truncated: answer.truncated })
}

fn structured_answer(structured: Value, is_error: bool) -> ToolOutcome {
    let written = structured.to_string();
    if written.len() <= ANSWER_MAX {
        return ToolOutcome::Answer(ToolAnswer { output: structured, is_error, truncated: false });
    }
    let mut answer = Bounded::default();
    answer.line(&written);
    ToolOutcome::Answer(ToolAnswer { output: Value::String(answer.text), is_error, truncated: true })
}

fn told(answer: &mut Bounded, block: &ContentBlock) {
    match block {
        ContentBlock::Text(text) => answer.line(&text.text),
        ContentBlock::Image(image) => answer.line(&unseen("image", &image.mime_type, image.data.len())),
        ContentBlock::Audio(audio) => answer.line(&unseen("audio", &audio.mime_type, audio.data.len())),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                answer.line(&format!("[{}]", short(uri)));
                answer.line(text);
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.as_deref().unwrap_or("unknown type");
                answer.line(&format!("[{}] {}", short(uri), unseen("file", kind, blob.len())));
            }
            _ => answer.line("[a resource of a kind that is not known here]"),
        },
        ContentBlock::ResourceLink(link) => {
            let title = link.title.as_deref().unwrap_or(&link.name);
            answer.line(&format!("[resource: {} at {}]", short(title), short(&link.uri)));
        }
        _ => answer.line("[content of a kind that is not known here]"),
    }
}

/// What is there and can't be shown; the size is that of the bytes behind the base64.
fn unseen(what: &str, kind: &str, encoded: usize) -> String {
    format!("[{what}, {}, {} bytes, not shown]", short(kind), encoded / 4 * 3)
}

fn short(text: &str) -> String {
    text.chars().take(300).collect()
}

/// Lines up to the limit.
#[derive(Default)]
struct Bounded {
    text: String,
    truncated: bool,
}

impl Bounded {
    fn line(&mut self, line: &str) {
        if self.truncated {
            return;
        }
        let gap = usize::from(!self.text.is_empty());
        let room = ANSWER_MAX.saturating_sub(self.text.len() + gap);
        let end = (0..=room.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        self.truncated = end < line.len();
        if gap == 1 && !(self.truncated && end == 0) {
            self.text.push('\n');
        }
        self.text.push_str(&line[..end]);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What becomes of a result as it is on the wire.
    #[track_caller]
    fn answered(result: Value) -> ToolAnswer {
        match outcome(serde_json::from_value(result).unwrap()) {
            ToolOutcome::Answer(answer) => answer,
            ToolOutcome::HandOver(handoff) => panic!("{handoff:?}"),
        }
    }

    #[track_caller]
    fn check(result: Value, output: Value) {
        assert_eq!(answered(result), ToolAnswer { output, is_error: false, truncated: false });
    }

    #[test]
    fn texts_stand_one_below_the_other() {
        check(
            json!({"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}),
            json!("one\ntwo"),
        );
        check(json!({"content": []}), json!("The tool is done and returned nothing."));
    }

    #[test]
    fn structured_content_counts_where_there_is_no_text() {
        check(json!({"content": [], "structuredContent": {"a": [1]}}), json!({"a": [1]}));
        check(json!({"structuredContent": {"a": 1}}), json!({"a": 1}));
        check(
            json!({"content": [{"type": "text", "text": "{\"a\":1}"}], "structuredContent": {"a": 1}}),
            json!("{\"a\":1}"),
        );
        check(json!({"content": [], "structuredContent": null}), json!("The tool is done and returned nothing."));
    }

    #[test]
    fn an_error_is_one_and_says_something() {
        let answer = answered(json!({"content": [{"type": "text", "text": "no such file"}], "isError": true}));
        assert_eq!((answer.output, answer.is_error), (json!("no such file"), true));
        let answer = answered(json!({"content": [], "isError": true}));
        assert_eq!((answer.output, answer.is_error), (json!("The tool failed and did not say why."), true));
    }

    #[test]
    fn what_is_no_text_is_named_and_not_shown() {
        let data = "A".repeat(400);
        check(
            json!({"content": [
                {"type": "image", "data": data, "mimeType": "image/png"},
                {"type": "audio", "data": data, "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "file:///a", "text": "hello"}},
                {"type": "resource", "resource": {"uri": "file:///b", "blob": data, "mimeType": "image/png"}},
                {"type": "resource_link", "uri": "file:///c", "name": "c"},
            ]}),
            json!(
                "[image, image/png, 300 bytes, not shown]\n[audio, audio/wav, 300 bytes, not shown]\n[file:///a]\nhello\n\
                   [file:///b] [file, image/png, 300 bytes, not shown]\n[resource: c at file:///c]"
            ),
        );
    }

    #[test]
    fn one_limit_holds_over_everything() {
        let big = "ö".repeat(ANSWER_MAX);
        let results = [
            json!({"content": [{"type": "text", "text": big}]}),
            json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": big}, {"type": "text", "text": big}]}),
            json!({"content": [], "structuredContent": {"a": big}}),
            json!({"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": big}}]}),
            json!({"content": (0..5_000).map(|_| json!({"type": "text", "text": "x".repeat(100)})).collect::<Vec<_>>()}),
        ];
        for result in results {
            let answer = answered(result);
            let text = answer.output.as_str().unwrap();
            assert!(answer.truncated && text.len() <= ANSWER_MAX && text.len() > ANSWER_MAX - 200, "{}", text.len());
        }
        let answer = answered(json!({"content": [{"type": "text", "text": "small"}], "structuredContent": {"a": big}}));
        assert_eq!((answer.output, answer.truncated), (json!("small"), false));
    }
}
