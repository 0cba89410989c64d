//! Streams as servers really send them, each named after what it shows, with what they come to. Every one is decoded at
//! every cut into two pieces and byte by byte.

mod calls;
mod errors;
mod framing;
mod reasoning;
mod text;

use hamlet::providers::Quirks;
use hamlet_actors::vocabulary::Usage;

use crate::told::{Told, decoded};

pub struct Case {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub quirks: Quirks,
    pub told: Told,
}

impl Case {
    /// A stream of `bytes` that comes to `parts` and ends as `end` says.
    pub fn new(name: &'static str, bytes: impl Into<Vec<u8>>, parts: &[&str], end: &'static str) -> Self {
        let parts = parts.iter().map(ToString::to_string).collect();
        Self {
            name,
            bytes: bytes.into(),
            quirks: Quirks::default(),
            told: Told { parts, end, usage: Usage::default(), failure: None },
        }
    }

    pub fn with_usage(mut self, usage: [Option<u64>; 4]) -> Self {
        let [input_tokens, output_tokens, reasoning_tokens, cached_input_tokens] = usage;
        self.told.usage = Usage { input_tokens, output_tokens, reasoning_tokens, cached_input_tokens };
        self
    }

    pub fn failing(mut self, failure: &str) -> Self {
        self.told.failure = Some(failure.to_owned());
        self
    }

    pub fn with_think_tags(mut self) -> Self {
        self.quirks.think_tags = true;
        self
    }
}

/// Events of these data, LF line ends.
pub fn events(data: &[&str]) -> String {
    data.iter().map(|data| format!("data: {data}\n\n")).collect()
}

/// Events of chunks whose one choice holds each `delta`, closed by a finish chunk and the end mark.
pub fn finished(deltas: &[&str], finish: &str) -> String {
    unfinished(deltas)
        + &events(&[
            &format!(r#"{{"id":"k7","choices":[{{"index":0,"delta":{{}},"finish_reason":"{finish}"}}]}}"#),
            "[DONE]",
        ])
}

pub fn unfinished(deltas: &[&str]) -> String {
    let chunk = |delta: &&str| {
        format!(
            "data: {{\"id\":\"k7\",\"created\":3,\"model\":\"village-1\",\"choices\":[{{\"index\":0,\"delta\":{delta},\
             \"finish_reason\":null}}]}}\n\n"
        )
    };
    deltas.iter().map(chunk).collect()
}

pub fn all() -> Vec<Case> {
    [framing::cases(), text::cases(), errors::cases(), calls::cases(), reasoning::cases()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn every_case_comes_to_the_same_at_every_cut() {
    for case in all() {
        let whole = decoded(&case.bytes, &[], &case.quirks);
        assert_eq!(whole, case.told, "{}", case.name);
        for cut in 0..=case.bytes.len() {
            assert_eq!(decoded(&case.bytes, &[cut], &case.quirks), case.told, "{} cut at {cut}", case.name);
        }
        let every: Vec<usize> = (0..case.bytes.len()).collect();
        assert_eq!(decoded(&case.bytes, &every, &case.quirks), case.told, "{} byte by byte", case.name);
    }
}

#[test]
fn case_names_are_unique() {
    let mut names: Vec<_> = all().iter().map(|case| case.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
