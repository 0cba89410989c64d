//! Thoughts written inline as `<think>` or `<thinking>` at the very beginning of a reply. Holds back only what may
//! still become a tag; a tag that the text merely talks about later is text. White space around the tags belongs to
//! neither side.

/// What a stretch of the content turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    Aloud,
    Thought,
}

const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// Blank text before a tag is waited through up to here.
const MAX_BLANK: usize = 1024;

/// Splits the content of one reply.
#[derive(Debug, Default)]
pub struct ThinkTags {
    place: Place,
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing but white space so far.
    #[default]
    Start,
    /// Behind the opening tag, before the first character of the thought.
    Opened(&'static str),
    Inside(&'static str),
    /// Behind the closing tag, before the answer's first character.
    Closed,
    Answer,
}

impl ThinkTags {
    pub fn feed(&mut self, text: &str, mut emit: impl FnMut(Voice, &str)) {
        if self.place == Place::Answer {
            return emit(Voice::Aloud, text);
        }
        self.held.push_str(text);
        while self.advance(&mut emit) {}
    }

    /// The reply has ended: what was held back is what it looks like.
    pub fn flush(&mut self, mut emit: impl FnMut(Voice, &str)) {
        let held = std::mem::take(&mut self.held);
        match self.place {
            Place::Opened(_) | Place::Inside(_) => emit(Voice::Thought, &held),
            Place::Start | Place::Closed | Place::Answer => emit(Voice::Aloud, &held),
        }
    }

    /// One move; false when more text is needed.
    fn advance(&mut self, emit: &mut impl FnMut(Voice, &str)) -> bool {
        match self.place {
            Place::Start => {
                let text = self.held.trim_start();
                if let Some((open, close)) = TAGS.iter().find(|(open, _)| text.starts_with(open)) {
                    let behind = self.held.len() - text.len() + open.len();
                    self.held.drain(..behind);
                    self.place = Place::Opened(close);
                    return true;
                }
                if self.held.len() < MAX_BLANK && TAGS.iter().any(|(open, _)| open.starts_with(text)) {
                    return false;
                }
                self.place = Place::Answer;
                true
            }
            Place::Opened(close) => self.skip_blank(Place::Inside(close)),
            Place::Inside(close) => {
                if let Some(at) = self.held.find(close) {
                    emit(Voice::Thought, &self.held[..at]);
                    self.held.drain(..at + close.len());
                    self.place = Place::Closed;
                    return true;
                }
                let sure = self.held.len() - possible_start_of(close, &self.held);
                emit(Voice::Thought, &self.held[..sure]);
                self.held.drain(..sure);
                false
            }
            Place::Closed => self.skip_blank(Place::Answer),
            Place::Answer => {
                emit(Voice::Aloud, &self.held);
                self.held.clear();
                false
            }
        }
    }

    fn skip_blank(&mut self, then: Place) -> bool {
        let blank = self.held.len() - self.held.trim_start().len();
        self.held.drain(..blank);
        if self.held.is_empty() {
            return false;
        }
        self.place = then;
        true
    }
}

/// How many bytes at the end of `text` may be the beginning of `tag`.
fn possible_start_of(tag: &str, text: &str) -> usize {
    (1..tag.len()).rev().find(|&n| text.ends_with(&tag[..n])).unwrap_or(0)
}
