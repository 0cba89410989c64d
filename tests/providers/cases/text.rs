//! Text, usage and finish: what chunks hold beside the plain case.

use super::{Case, events, finished, unfinished};

const HI: &[&str] = &[r#"{"content":"hi"}"#];

pub fn cases() -> Vec<Case> {
    let usage = |usage: &str| format!(r#"{{"choices":[],"usage":{usage}}}"#);
    let with_tail = |tail: &[&str]| finished(HI, "stop").replace("data: [DONE]", &(events(tail) + "data: [DONE]"));
    vec![
        Case::new(
            "chunks without choices or with null for them",
            events(&[r#"{"choices":null}"#, r#"{"heartbeat":1}"#, r#"{"usage":{"queue_ms":3}}"#, "[]", r#"{"choices":"?"}"#])
                + &finished(HI, "stop"),
            &["text: hi"],
            "stop",
        ),
        Case::new(
            "a choice without delta",
            events(&[r#"{"choices":[{"index":0,"offsets":{"start":4}}]}"#, r#"{"choices":[{"delta":null}]}"#])
                + &finished(HI, "stop"),
            &["text: hi"],
            "stop",
        ),
        Case::new(
            "content as a list of typed parts",
            finished(
                &[r#"{"content":[{"type":"citation","ids":[2]},{"type":"text","text":"first, "}]}"#, r#"{"content":[{"text":"second"}]}"#],
                "stop",
            ),
            &["text: first, second"],
            "stop",
        ),
        Case::new("content as a list of strings", finished(&[r#"{"content":["a"," b"]}"#], "stop"), &["text: a b"], "stop"),
        Case::new(
            "a refusal beside the content",
            finished(&[r#"{"content":null,"refusal":"I would "}"#, r#"{"refusal":"rather not"}"#], "stop"),
            &["text: I would rather not"],
            "content-filter",
        ),
        Case::new("a blocked reply", finished(&[r#"{"content":"As for"}"#], "content_filter"), &["text: As for"], "content-filter"),
        Case::new("a reply that reached its limit", finished(HI, "length"), &["text: hi"], "length"),
        Case::new("a limit by another name", finished(HI, "MAX_TOKENS"), &["text: hi"], "length"),
        Case::new("a stop by another name", finished(HI, "eos"), &["text: hi"], "stop"),
        Case::new("a finish nobody knows", finished(HI, "sunset"), &["text: hi"], "other"),
        Case::new(
            "a finish that is blank in every chunk",
            unfinished(HI).replace("null}", r#"""}"#) + &finished(&[], "stop"),
            &["text: hi"],
            "stop",
        ),
        Case::new("a blank finish only", unfinished(HI).replace("null}", r#"""}"#), &["text: hi"], "truncated"),
        Case::new(
            "a limit that is called a stop afterwards",
            finished(HI, "length").replace("data: [DONE]", "") + &finished(&[], "stop"),
            &["text: hi"],
            "length",
        ),
        Case::new(
            "a second choice that nobody asked for",
            events(&[r#"{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"},{"index":0,"delta":{"content":"yes"}}]}"#])
                + &finished(&[], "length"),
            &["text: yes"],
            "length",
        ),
        Case::new(
            "an answer from the other choice only is none",
            events(&[r#"{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"stop"}]}"#]),
            &[],
            "truncated",
        ),
        Case::new(
            "a key that stands twice",
            events(&[r#"{"id":"a","choices":[{"delta":{"content":"hi","content":"ho"}}],"choices":[{"delta":{"content":"hi"}}]}"#])
                + &finished(&[], "stop"),
            &["text: hi"],
            "stop",
        ),
        Case::new(
            "halves of a character in two chunks",
            finished(&[r#"{"content":"mask \ud83c"}"#, r#"{"content":""}"#, r#"{"content":"\udfad!"}"#], "stop"),
            &["text: mask 🎭!"],
            "stop",
        ),
        Case::new(
            "half a character and never the rest",
            finished(&[r#"{"content":"mask \uD83C"}"#], "stop"),
            &["text: mask \u{FFFD}"],
            "stop",
        ),
        Case::new(
            "halves that belong to nothing",
            finished(&[r#"{"content":"\udfad a \ud83c b \" \n"}"#, r#"{"content":"c"}"#], "stop"),
            &["text: \u{FFFD} a \u{FFFD} b \" \nc"],
            "stop",
        ),
        Case::new("escapes", finished(&[r#"{"content":"\u00e9 \"q\" \\ \t."}"#], "stop"), &["text: é \"q\" \\ \t."], "stop"),
        Case::new("usage behind the finish", with_tail(&[&usage(r#"{"prompt_tokens":11,"completion_tokens":4}"#)]), &["text: hi"], "stop")
            .with_usage([Some(11), Some(4), None, None]),
        Case::new(
            "usage with its details",
            with_tail(&[&usage(
                r#"{"prompt_tokens":11,"completion_tokens":4,"completion_tokens_details":{"reasoning_tokens":3},"prompt_tokens_details":{"cached_tokens":8}}"#,
            )]),
            &["text: hi"],
            "stop",
        )
        .with_usage([Some(11), Some(4), Some(3), Some(8)]),
        Case::new("usage in part", with_tail(&[&usage(r#"{"completion_tokens":4,"prompt_tokens":null}"#)]), &["text: hi"], "stop")
            .with_usage([None, Some(4), None, None]),
        Case::new(
            "usage that grows",
            events(&[&usage(r#"{"prompt_tokens":11,"completion_tokens":1}"#)]) + &with_tail(&[&usage(r#"{"completion_tokens":4.0}"#)]),
            &["text: hi"],
            "stop",
        )
        .with_usage([Some(11), Some(4), None, None]),
        Case::new("usage of null", with_tail(&[&usage("null")]), &["text: hi"], "stop"),
        Case::new(
            "usage in the vendor's corner",
            with_tail(&[r#"{"choices":[],"x_groq":{"id":"r","usage":{"prompt_tokens":2,"completion_tokens":3}}}"#]),
            &["text: hi"],
            "stop",
        )
        .with_usage([Some(2), Some(3), None, None]),
        Case::new(
            "a reply that was not streamed",
            r#" {"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"at once"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#,
            &["text: at once"],
            "stop",
        )
        .with_usage([Some(1), Some(2), None, None]),
        Case::new(
            "a reply that was not streamed and is cut off",
            r#"{"choices":[{"index":0,"message":{"content":"at once"},"finish_reason":"stop"}"#,
            &[],
            "truncated",
        ),
        Case::new(
            "a reply in two choices, one of them the call",
            r#"{"choices":[{"message":{"content":"Let me see."}},{"message":{"tool_calls":[{"id":"v1","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
            &["text: Let me see.", "call v1 look {}"],
            "tool-calls",
        ),
        Case::new("an object that is no reply", r#"{"status":"fine"}"#, &[], "failed")
            .failing("Server true the Provider answered with something that is no reply"),
    ]
}
