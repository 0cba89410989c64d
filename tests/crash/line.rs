//! What a Player says in this suite: an order to the house, from which the whole reply follows. So a stored reply can be
//! held against what the Provider said, to the last character, whoever was cut off in between.

use std::{fmt, str::FromStr};

use hamlet_actors::vocabulary::{ErrorCode, Message, MessageStatus, Part};

/// The house's usage of every reply: what it was given is always told as so many tokens.
pub const INPUT_TOKENS: u64 = 3;
/// What the house calls, and nobody granted.
pub const TOOL: &str = "ring_the_bell";
/// What the house says when it is told that its call was refused.
pub const AFTER: &str = "no bell";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Unlike that of every other line of its Village: so is the text.
    pub number: u64,
    pub thoughts: u32,
    pub words: u32,
    /// Words that go out in one write.
    pub chunk: u32,
    pub curtain: Curtain,
}

/// How the reply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curtain {
    Stop,
    /// With a tool call.
    Call,
    /// With an error inside the stream.
    Fail,
    /// Without an end mark.
    Cut,
    /// Not before the house is told to go on.
    Hold,
}

const CURTAINS: [(Curtain, &str); 5] = [
    (Curtain::Stop, "stop"),
    (Curtain::Call, "call"),
    (Curtain::Fail, "fail"),
    (Curtain::Cut, "cut"),
    (Curtain::Hold, "hold"),
];

impl Line {
    /// A short one that ends well.
    pub fn short(number: u64) -> Self {
        Self { number, thoughts: 0, words: 5, chunk: 5, curtain: Curtain::Stop }
    }

    /// One that takes from some milliseconds to half a second.
    pub fn drawn(number: u64, rng: &mut fastrand::Rng) -> Self {
        let curtain = match rng.u32(0..20) {
            0..14 => Curtain::Stop,
            14..16 => Curtain::Call,
            16 => Curtain::Fail,
            17 => Curtain::Cut,
            _ => Curtain::Hold,
        };
        let writes = rng.u32(1..250);
        let chunk = rng.u32(1..12);
        let thoughts = if rng.bool() { rng.u32(0..60) } else { 0 };
        Self { number, thoughts, words: writes * chunk, chunk, curtain }
    }

    pub fn thought(&self, at: u32) -> String {
        format!("t{at} of {} ", self.number)
    }

    /// Now and then one that needs care in JSON or has characters of several bytes.
    pub fn word(&self, at: u32) -> String {
        match at % 16 {
            5 => format!("{at}\u{e9}\u{1f989} "),
            9 => format!("\"{at}\\\"\n"),
            13 => format!("\u{2028}{at}\t"),
            _ => format!("{}.{at} ", self.number),
        }
    }

    pub fn all_thoughts(&self) -> String {
        (0..self.thoughts).map(|at| self.thought(at)).collect()
    }

    pub fn all_words(&self) -> String {
        (0..self.words).map(|at| self.word(at)).collect()
    }

    /// Whether a stored reply is what comes of this line: the whole of it when it is complete, else its beginning.
    ///
    /// # Errors
    /// What does not fit, in a sentence.
    pub fn fits(&self, reply: &Message) -> Result<(), String> {
        let (thoughts, words) = (self.all_thoughts(), self.all_words());
        let (mut thought, mut said, mut calls) = (String::new(), String::new(), 0);
        for part in &reply.parts {
            match part {
                Part::Reasoning { text, .. } => thought.push_str(text),
                Part::Text { text } => said.push_str(text),
                Part::ToolCall(call) if call.name == TOOL => calls += 1,
                Part::ToolResult(result) if result.is_error => {}
                other => return Err(format!("has a Part that nobody sent: {other:?}")),
            }
        }
        if reply.text != said {
            return Err("has another text than its Parts".to_owned());
        }
        // Behind its call, which is refused, the house says one more thing.
        let answered = if calls > 0 { said.strip_prefix(&words) } else { None };
        let begun = thoughts.starts_with(&thought) && (words.starts_with(&said) || answered == Some(AFTER));
        if !begun || (!said.is_empty() && thought != thoughts) || (calls > 0 && answered.is_none()) {
            return Err(format!("is not a beginning of what the house said: {thought:?} {said:?}"));
        }
        let whole = thought == thoughts && said.starts_with(&words);
        let code = reply.error.as_ref().map(|error| error.code);
        match (reply.status, code, self.curtain) {
            (MessageStatus::Complete, None, Curtain::Stop | Curtain::Hold) if whole => self.fits_usage(reply),
            (MessageStatus::Complete, None, Curtain::Call) if whole && calls == 1 => Ok(()),
            (MessageStatus::Failed, Some(ErrorCode::ProviderError), Curtain::Fail) if whole => Ok(()),
            (MessageStatus::Failed, Some(ErrorCode::ReplyTruncated), Curtain::Cut) if whole => Ok(()),
            (MessageStatus::Aborted, None, _) => Ok(()),
            (MessageStatus::Interrupted, Some(ErrorCode::Interrupted), _) => Ok(()),
            (status, code, curtain) => {
                Err(format!("ended {} with {code:?}, whole: {whole}, and was to end by {curtain:?}", status.as_str()))
            }
        }
    }

    fn fits_usage(&self, reply: &Message) -> Result<(), String> {
        let usage = reply.usage.unwrap_or_default();
        let told = (usage.input_tokens, usage.output_tokens);
        let expected = (Some(INPUT_TOKENS), Some(u64::from(self.words)));
        if told == expected { Ok(()) } else { Err(format!("has the usage {told:?}, not {expected:?}")) }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, thoughts, words, chunk, curtain } = self;
        let curtain = CURTAINS.iter().find(|(known, _)| known == curtain).map_or("", |(_, word)| word);
        write!(f, "Line {number} think {thoughts} say {words} by {chunk} then {curtain}")
    }
}

impl FromStr for Line {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split(' ').collect();
        let ["Line", number, "think", thoughts, "say", said, "by", chunk, "then", curtain] = words[..] else {
            return Err(format!("no line of ours: {text:?}"));
        };
        let read = |word: &str| word.parse::<u32>().map_err(|_| format!("no number: {word:?}"));
        let curtain = CURTAINS.iter().find(|(_, known)| *known == curtain).ok_or("an unknown curtain")?;
        Ok(Self {
            number: number.parse().map_err(|_| format!("no number: {number:?}"))?,
            thoughts: read(thoughts)?,
            words: read(said)?,
            chunk: read(chunk)?,
            curtain: curtain.0,
        })
    }
}

#[test]
fn a_line_says_all_that_the_house_needs_to_know() {
    let mut rng = fastrand::Rng::with_seed(1);
    for number in 0..50 {
        let line = Line::drawn(number, &mut rng);
        assert_eq!(line.to_string().parse(), Ok(line));
    }
}
