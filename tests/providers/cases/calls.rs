//! Tool calls in fragments: indices, ids and names that are missing, late, repeated, split or wrong.

use super::{Case, finished, unfinished};

/// Each string is one `tool_calls` list.
fn called(name: &'static str, lists: &[&str], parts: &[&str]) -> Case {
    let deltas: Vec<String> = lists.iter().map(|list| format!(r#"{{"tool_calls":{list}}}"#)).collect();
    let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
    Case::new(name, finished(&deltas, "tool_calls"), parts, "tool-calls")
}

pub fn cases() -> Vec<Case> {
    vec![
        called(
            "two calls, interleaved by index",
            &[
                r#"[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":""}}]"#,
                r#"[{"index":1,"id":"b","type":"function","function":{"name":"walk","arguments":""}}]"#,
                r#"[{"index":0,"function":{"arguments":"{\"at\":"}},{"index":1,"function":{"arguments":"{\"to\":1}"}}]"#,
                r#"[{"index":0,"function":{"arguments":"2}"}}]"#,
            ],
            &[r#"call a look {"at":2}"#, r#"call b walk {"to":1}"#],
        ),
        called(
            "whole calls that all have index 0",
            &[
                r#"[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"at\":1}"}}]"#,
                r#"[{"index":0,"id":"b","function":{"name":"look","arguments":"{\"at\":2}"}}]"#,
            ],
            &[r#"call a look {"at":1}"#, r#"call b look {"at":2}"#],
        ),
        called(
            "fragments without id follow the newest call at their index",
            &[
                r#"[{"index":0,"id":"a","function":{"name":"look","arguments":""}}]"#,
                r#"[{"index":0,"function":{"arguments":"{\"at\":1}"}}]"#,
                r#"[{"index":0,"id":"b","function":{"name":"look","arguments":""}}]"#,
                r#"[{"index":0,"function":{"arguments":"{\"at\":2}"}}]"#,
            ],
            &[r#"call a look {"at":1}"#, r#"call b look {"at":2}"#],
        ),
        called(
            "no index at all",
            &[
                r#"[{"id":"a","function":{"name":"look","arguments":"{\"at\""}}]"#,
                r#"[{"function":{"arguments":":1}"}}]"#,
                r#"[{"id":"b","function":{"name":"walk","arguments":"{}"}}]"#,
            ],
            &[r#"call a look {"at":1}"#, "call b walk {}"],
        ),
        called(
            "two calls in one list, without index, id and arguments",
            &[r#"[{"function":{"name":"look"}},{"function":{"name":"look"}}]"#],
            &["call (minted) look {}", "call (minted) look {}"],
        ),
        called(
            "blank ids and one index",
            &[
                r#"[{"index":0,"id":"","function":{"name":"look","arguments":"{\"at\":1}"}}]"#,
                r#"[{"index":0,"id":"","function":{"name":"look","arguments":"{\"at\":2}"}}]"#,
            ],
            &[r#"call (minted) look {"at":1}"#, r#"call (minted) look {"at":2}"#],
        ),
        called(
            "blank ids, one index, the second call in fragments",
            &[
                r#"[{"index":0,"id":"","function":{"name":"look","arguments":"{\"at\":1}"}}]"#,
                r#"[{"index":0,"id":"","function":{"name":"look","arguments":""}}]"#,
                r#"[{"index":0,"function":{"arguments":"{\"at\":2}"}}]"#,
            ],
            &[r#"call (minted) look {"at":1}"#, r#"call (minted) look {"at":2}"#],
        ),
        called(
            "one id for two calls",
            &[
                r#"[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"at\":1}"}}]"#,
                r#"[{"index":1,"id":"a","function":{"name":"look","arguments":"{\"at\":2}"}}]"#,
            ],
            &[r#"call a look {"at":1}"#, r#"call (minted) look {"at":2}"#],
        ),
        called(
            "an id that comes late",
            &[
                r#"[{"index":0,"function":{"name":"look","arguments":"{"}}]"#,
                r#"[{"index":0,"id":"a","function":{"arguments":"\"at\":1}"}}]"#,
                r#"[{"index":0,"id":"a","function":{"arguments":" "}}]"#,
            ],
            &[r#"call (minted) look {"at":1} "#],
        ),
        called(
            "an id that is a number, an index that is a string",
            &[
                r#"[{"index":"0","id":7,"function":{"name":"look","arguments":"{"}}]"#,
                r#"[{"index":"0","function":{"arguments":"}"}}]"#,
            ],
            &["call 7 look {}"],
        ),
        called(
            "the whole call once more at its end",
            &[
                r#"[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"at\":"}}]"#,
                r#"[{"index":0,"function":{"arguments":"1}"}}]"#,
                r#"[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"at\":1}"}}]"#,
            ],
            &[r#"call a look {"at":1}"#],
        ),
        called(
            "the name in every fragment",
            &[
                r#"[{"index":0,"id":"a","function":{"name":"look_up","arguments":""}}]"#,
                r#"[{"index":0,"function":{"name":"look_up","arguments":"{\"at\":"}}]"#,
                r#"[{"index":0,"function":{"name":"look_up","arguments":"1}"}}]"#,
            ],
            &[r#"call a look_up {"at":1}"#],
        ),
        called(
            "the name in two halves",
            &[
                r#"[{"index":0,"id":"a","function":{"name":"look"}}]"#,
                r#"[{"index":0,"function":{"name":"_up"}}]"#,
                r#"[{"index":0,"function":{"arguments":"{}"}}]"#,
            ],
            &["call a look_up {}"],
        ),
        called(
            "the name behind the arguments",
            &[
                r#"[{"id":"a","function":{"arguments":"{\"at\""}}]"#,
                r#"[{"id":"a","function":{"name":"look","arguments":":1}"}}]"#,
            ],
            &[r#"call a look {"at":1}"#],
        ),
        called(
            "a name that never comes",
            &[r#"[{"index":0,"id":"a","function":{"arguments":"{\"at\":1}"}}]"#],
            &[r#"call a  {"at":1}"#],
        ),
        called(
            "blank arguments",
            &[r#"[{"index":0,"id":"a","function":{"name":"look","arguments":" "}}]"#],
            &["call a look {}"],
        ),
        called(
            "no arguments",
            &[r#"[{"index":0,"id":"a","function":{"name":"look","arguments":null}}]"#],
            &["call a look {}"],
        ),
        called(
            "arguments that are an object",
            &[r#"[{"index":0,"id":"a","function":{"name":"look","arguments":{"at":1,"for":"Bo"}}}]"#],
            &[r#"call a look {"at":1,"for":"Bo"}"#],
        ),
        called(
            "an empty object and then the arguments",
            &[
                r#"[{"index":0,"id":"a","function":{"name":"look","arguments":{}}}]"#,
                r#"[{"index":0,"function":{"arguments":"{\"at\":"}}]"#,
                r#"[{"index":0,"function":{"arguments":"1}"}}]"#,
            ],
            &[r#"call a look {"at":1}"#],
        ),
        called(
            "halves of a character in the arguments",
            &[
                r#"[{"index":0,"id":"a","function":{"name":"say","arguments":"{\"w\":\"\ud83c"}}]"#,
                r#"[{"index":0,"function":{"arguments":"\udfad\"}"}}]"#,
            ],
            &[r#"call a say {"w":"🎭"}"#],
        ),
        Case::new(
            "the field that lists of calls replaced",
            finished(
                &[
                    r#"{"function_call":{"name":"look","arguments":"{\"at\""}}"#,
                    r#"{"function_call":{"arguments":":1}"}}"#,
                ],
                "function_call",
            ),
            &[r#"call (minted) look {"at":1}"#],
            "tool-calls",
        ),
        Case::new(
            "a call that is not said to be one",
            finished(
                &[
                    r#"{"content":"A moment."}"#,
                    r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{}"}}]}"#,
                ],
                "stop",
            ),
            &["text: A moment.", "call a look {}"],
            "tool-calls",
        ),
        Case::new(
            "calls that are announced and never come",
            finished(&[r#"{"content":"Well."}"#], "tool_calls"),
            &["text: Well."],
            "stop",
        ),
        Case::new(
            "an entry without name and arguments",
            finished(
                &[r#"{"content":"Well.","tool_calls":[{"index":0,"id":"a","type":"function","function":{}}]}"#],
                "tool_calls",
            ),
            &["text: Well."],
            "stop",
        ),
        Case::new(
            "empty deltas while a call is being made",
            finished(&["{}", r#"{"tool_calls":[]}"#, r#"{"tool_calls":null}"#, r#"{"content":"ok"}"#], "stop"),
            &["text: ok"],
            "stop",
        ),
        Case::new(
            "a call that the limit cut",
            finished(
                &[r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"say","arguments":"{\"w\":\"once"}}]}"#],
                "length",
            ),
            &[r#"call a say {"w":"once"#],
            "length",
        ),
        Case::new(
            "a call that was cut under another label",
            finished(
                &[r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"say","arguments":"{\"w\":\"once"}}]}"#],
                "tool_calls",
            ),
            &[r#"call a say {"w":"once"#],
            "tool-calls",
        ),
        Case::new(
            "a call that the end of the bytes cut",
            unfinished(&[
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"say","arguments":""}}]}"#,
                r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"w\":"}}]}"#,
            ]),
            &[r#"open-call a say {"w":"#],
            "truncated",
        ),
    ]
}
