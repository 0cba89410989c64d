//! Runs the specification of the fold, `tests/fold/*.json`, against the engine's half. The browser's half runs the same
//! files (promise 5).

use std::{error::Error, fs, path::Path};

use hamlet_actors::vocabulary::{Frame, Message, Part, Transcript};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// For the reader of the file.
    #[serde(rename = "why")]
    _why: String,
    /// What was loaded before the frames.
    #[serde(default)]
    messages: Vec<Message>,
    frames: Vec<Frame>,
    /// What a reconnect may send: from whichever frame the connection was cut, the frames up to there and then these
    /// give the same transcript.
    replay: Option<Vec<Frame>>,
    transcript: Value,
    title: Option<String>,
}

#[test]
fn every_case_folds_to_its_transcript() -> Result<(), Box<dyn Error>> {
    for case in cases()? {
        check(&case, &case.frames, "its frames")?;
    }
    Ok(())
}

#[test]
fn a_connection_cut_anywhere_and_replayed_folds_to_the_same() -> Result<(), Box<dyn Error>> {
    for case in cases()? {
        let Some(replay) = &case.replay else { continue };
        for cut in 0..=case.frames.len() {
            let frames = [&case.frames[..cut], replay].concat();
            check(&case, &frames, &format!("cut after {cut} frames and replayed"))?;
        }
    }
    Ok(())
}

#[test]
fn text_may_be_cut_between_any_two_characters() -> Result<(), Box<dyn Error>> {
    for case in cases()? {
        let frames: Vec<Frame> = case.frames.iter().flat_map(finest).collect();
        check(&case, &frames, "cut into single characters")?;
    }
    Ok(())
}

#[test]
fn frames_are_written_as_they_were_read() -> Result<(), Box<dyn Error>> {
    for case in cases()? {
        for frame in &case.frames {
            let written = serde_json::to_value(frame)?;
            assert_eq!(serde_json::from_value::<Frame>(written)?, *frame, "{}", case.name);
        }
    }
    Ok(())
}

fn check(case: &Case, frames: &[Frame], how: &str) -> Result<(), Box<dyn Error>> {
    let mut transcript = Transcript::of(case.messages.clone());
    for frame in frames {
        transcript.fold(frame.clone());
    }
    assert_eq!(serde_json::to_value(transcript.entries())?, case.transcript, "{}: {how}", case.name);
    assert_eq!(transcript.title(), case.title.as_deref(), "{}: {how}", case.name);
    Ok(())
}

/// The frame, or when it carries text, one for each character of it.
fn finest(frame: &Frame) -> Vec<Frame> {
    match frame {
        Frame::Part { message_id, index, part: Part::Text { text } } if !text.is_empty() => text
            .chars()
            .map(|piece| Frame::Part { message_id: *message_id, index: *index, part: Part::text(piece) })
            .collect(),
        frame => vec![frame.clone()],
    }
}

fn cases() -> Result<Vec<Case>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fold");
    let mut paths =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    paths.sort();
    assert!(!paths.is_empty(), "there is no specification to run");
    paths
        .iter()
        .map(|path| {
            let text = fs::read_to_string(path)?;
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()).into())
        })
        .collect()
}
