//! Thoughts: the fields they come in, the tags they are written in, the state that goes back with them.

use super::{Case, finished, unfinished};

pub fn cases() -> Vec<Case> {
    let tagged = |name, deltas: &[&str], parts: &[&str]| {
        Case::new(name, finished(deltas, "stop"), parts, "stop").with_think_tags()
    };
    vec![
        Case::new(
            "reasoning in either field, twins told once",
            finished(
                &[
                    r#"{"reasoning_content":"let me "}"#,
                    r#"{"reasoning_content":null,"content":""}"#,
                    r#"{"reasoning":"see","content":null}"#,
                    r#"{"reasoning":"...","reasoning_content":"..."}"#,
                    r#"{"content":"Yes."}"#,
                ],
                "stop",
            ),
            &["thought: let me see...", "state reasoning_content - -", "text: Yes."],
            "stop",
        ),
        Case::new(
            "reasoning in details with its twin and a signature",
            finished(
                &[
                    r#"{"reasoning":"hm","reasoning_details":[{"type":"reasoning.text","text":"hm"}]}"#,
                    r#"{"reasoning_details":[{"type":"reasoning.text","signature":"s1G"}]}"#,
                    r#"{"content":"So."}"#,
                ],
                "stop",
            ),
            &["thought: hm", "state reasoning_details s1G -", "text: So."],
            "stop",
        ),
        Case::new(
            "reasoning that the Provider keeps to itself",
            finished(
                &[r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"x0=="}]}"#, r#"{"content":"So."}"#],
                "stop",
            ),
            &["redacted", "state reasoning_details - x0==", "text: So."],
            "stop",
        ),
        Case::new(
            "reasoning as a part of the content",
            finished(
                &[
                    r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}"#,
                    r#"{"content":[{"type":"text","text":"So."}]}"#,
                ],
                "stop",
            ),
            &["thought: hm", "state thinking - -", "text: So."],
            "stop",
        ),
        Case::new(
            "reasoning as an object",
            finished(&[r#"{"thinking":{"content":"hm"}}"#, r#"{"content":"So."}"#], "stop"),
            &["thought: hm", "state thinking - -", "text: So."],
            "stop",
        ),
        Case::new(
            "reasoning before a call",
            finished(
                &[
                    r#"{"reasoning_content":"the map"}"#,
                    r#"{"tool_calls":[{"index":0,"id":"m","function":{"name":"map","arguments":"{}"}}]}"#,
                ],
                "tool_calls",
            ),
            &["thought: the map", "state reasoning_content - -", "call m map {}"],
            "tool-calls",
        ),
        Case::new(
            "reasoning and then the bytes end",
            unfinished(&[r#"{"reasoning_content":"half a \ud83c"}"#]),
            &["thought: half a \u{FFFD}", "state reasoning_content - -"],
            "truncated",
        ),
        Case::new(
            "tags are text where the quirk is off",
            finished(&[r#"{"content":"<think>a</think>b"}"#], "stop"),
            &["text: <think>a</think>b"],
            "stop",
        ),
        tagged(
            "tags in pieces",
            &[
                r#"{"content":"\n <th"}"#,
                r#"{"content":"ink>\nplan</thi"}"#,
                r#"{"content":"nk>\n\n"}"#,
                r#"{"content":"if a < b"}"#,
                r#"{"content":" </think>"}"#,
            ],
            &["thought: plan", "text: if a < b </think>"],
        ),
        tagged(
            "the longer tag",
            &[r#"{"content":"<thinking>plan</think> on</thinking>done"}"#],
            &["thought: plan</think> on", "text: done"],
        ),
        tagged("no thought in the tags", &[r#"{"content":"<think>\n\n</think>\n\nHello"}"#], &["text: Hello"]),
        tagged(
            "a tag that is talked about",
            &[r#"{"content":"The <thi"}"#, r#"{"content":"nk> tag"}"#],
            &["text: The <think> tag"],
        ),
        tagged(
            "a reply that only began like a tag",
            &[r#"{"content":"<thin"}"#, r#"{"content":" ice"}"#],
            &["text: <thin ice"],
        ),
        tagged("a reply that ends like a tag", &[r#"{"content":"<think>on and on</th"}"#], &["thought: on and on</th"]),
        tagged("a reply that is the beginning of a tag", &[r#"{"content":"<thi"}"#], &["text: <thi"]),
    ]
}
