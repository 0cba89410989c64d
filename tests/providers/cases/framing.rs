//! How events are framed: line ends, marks, comments, keep-alives, ends and bounds.

use hamlet::providers::{Quirks, sse::MAX_EVENT};

use super::{Case, events, finished, unfinished};
use crate::told::decoded;

const HELLO: &[&str] = &[r#"{"content":"well "}"#, r#"{"content":"met"}"#];
const SAID: &[&str] = &["text: well met"];

pub fn cases() -> Vec<Case> {
    let plain = finished(HELLO, "stop");
    let two_lines = "data: {\"choices\":[{\"delta\":\r\ndata: {\"content\":\"over two lines\"},\r\ndata: \
                     \"finish_reason\":\"stop\"}]}\r\n\r\n";
    let latin1 =
        [&b"data: {\"choices\":[{\"delta\":{\"content\":\"na\xEFve\"},\"finish_reason\":\"stop\"}]}\n\n"[..]].concat();
    let cut_in_a_character =
        [unfinished(&[r#"{"content":"th"}"#]).as_bytes(), b"data: {\"choices\":[{\"delta\":{\"content\":\"\xC3"]
            .concat();
    vec![
        Case::new("lines end in LF", plain.clone(), SAID, "stop"),
        Case::new("lines end in CRLF", plain.replace('\n', "\r\n"), SAID, "stop"),
        Case::new("lines end in CR", plain.replace('\n', "\r"), SAID, "stop"),
        Case::new("an event over several data lines", two_lines, &["text: over two lines"], "stop"),
        Case::new("a byte order mark", format!("\u{FEFF}{plain}"), SAID, "stop"),
        Case::new(
            "comments between events and within one",
            format!(": waiting in line\n\n:\n\n{}", plain.replacen("\n\n", "\n:tick\n\n", 2)),
            SAID,
            "stop",
        ),
        Case::new(
            "keep-alives in the data field",
            events(&["", ": still thinking", "   "]) + "data\n\n" + &plain,
            SAID,
            "stop",
        ),
        Case::new("fields that nobody asked for", plain.replace("data: ", "id: 4\nretry: 9\nfoo\ndata:"), SAID, "stop"),
        Case::new(
            "wide characters",
            finished(&[r#"{"content":"wörter 村 🎭"}"#], "stop"),
            &["text: wörter 村 🎭"],
            "stop",
        ),
        Case::new("a byte that is no UTF-8", latin1, &["text: na\u{FFFD}ve"], "stop"),
        Case::new(
            "a last event without its blank line",
            plain.trim_end().replace("\n\ndata: [DONE]", ""),
            SAID,
            "stop",
        ),
        Case::new("an end mark without its line end", plain.trim_end(), SAID, "stop"),
        Case::new("a finish and no end mark", plain.replace("data: [DONE]\n\n", ""), SAID, "stop"),
        Case::new("an end mark and no finish", unfinished(HELLO) + "data: [DONE]\n\n", SAID, "other"),
        Case::new("words behind the end mark", plain.clone() + ": hm\n\n" + &unfinished(HELLO), SAID, "stop"),
        Case::new("bytes that end too early", unfinished(HELLO), SAID, "truncated"),
        Case::new("bytes that end within a character", cut_in_a_character, &["text: th"], "truncated"),
        Case::new(
            "bytes that end within an event",
            unfinished(HELLO) + "data: {\"choices\":[{\"finish_reason\":\"stop\"",
            SAID,
            "truncated",
        ),
        Case::new("no bytes at all", "", &[], "truncated"),
        Case::new("nothing but comments", ": a\n\n: b\n\n", &[], "truncated"),
        Case::new("an end mark alone", "data: [DONE]\n\n", &[], "other"),
    ]
}

/// Cuts near both ends and a sample between them.
fn sample(len: usize) -> impl Iterator<Item = usize> {
    (0..4).chain((0..len).step_by(len / 23)).chain(len - 4..=len)
}

#[test]
fn an_event_of_more_than_a_megabyte_is_read() {
    let note = "n".repeat(1_200_000);
    let call = format!(
        r#"{{"tool_calls":[{{"index":0,"id":"big","type":"function","function":{{"name":"write","arguments":"{{\"note\":\"{note}\"}}"}}}}]}}"#
    );
    let bytes = finished(&[&call], "tool_calls").into_bytes();
    let expected = vec![format!(r#"call big write {{"note":"{note}"}}"#)];
    for cut in sample(bytes.len()) {
        let told = decoded(&bytes, &[cut], &Quirks::default());
        assert!(told.parts == expected && told.end == "tool-calls", "cut at {cut}");
    }
}

#[test]
fn an_event_beyond_the_bound_ends_the_stream_as_truncated() {
    let lines = "data:\n".repeat(100_000);
    let line = format!("data: {}", "x".repeat(MAX_EVENT));
    for (name, flood) in [("empty lines", lines), ("one line", line.clone()), ("a comment", format!(":{line}"))] {
        // The finish behind the flood would complete the stream if the flood were skipped.
        let bytes = (unfinished(HELLO) + &flood + "\n\n" + &finished(&[], "stop")).into_bytes();
        for cut in sample(bytes.len()) {
            let told = decoded(&bytes, &[cut], &Quirks::default());
            assert_eq!(
                (told.end, &told.parts[..]),
                ("truncated", &["text: well met".to_owned()][..]),
                "{name} cut at {cut}"
            );
        }
    }
}
