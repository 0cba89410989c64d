//! Strings of a chunk, halves of characters included. A Provider that cuts its text between the two UTF-16 halves of a
//! character sends each as an escape in another chunk; JSON readers refuse such strings, this one carries the half
//! over. A half whose partner never comes is U+FFFD and fails nothing.

use std::borrow::Cow;

use memchr::memchr;

/// A decoded string with what is left over at its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// A second half at the beginning, whose first half was in the piece before.
    low: Option<u16>,
    text: Cow<'a, str>,
    /// A first half at the end.
    high: Option<u16>,
}

impl<'a> Piece<'a> {
    /// Decodes a raw JSON value: a string as its text, any other value as it is written.
    pub fn of(raw: &'a str) -> Self {
        let Some(inner) = raw.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')) else {
            return Self::whole(Cow::Borrowed(raw));
        };
        if memchr(b'\\', inner.as_bytes()).is_none() {
            return Self::whole(Cow::Borrowed(inner));
        }
        match serde_json::from_str::<String>(raw) {
            Ok(text) => Self::whole(Cow::Owned(text)),
            Err(_) => Self::with_halves(inner),
        }
    }

    /// The text alone, each half become U+FFFD.
    pub fn lossy(self) -> Cow<'a, str> {
        let mut joint = Joint::default();
        let text = joint.join(self);
        match joint.flush() {
            Some(replacement) => Cow::Owned(text.into_owned() + replacement),
            None => text,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.low.is_none() && self.text.is_empty() && self.high.is_none()
    }

    pub fn is_blank(&self) -> bool {
        self.low.is_none() && self.text.trim().is_empty() && self.high.is_none()
    }

    pub fn is_exactly(&self, text: &str) -> bool {
        self.low.is_none() && self.text == text && self.high.is_none()
    }

    pub fn len(&self) -> usize {
        self.text.len() + usize::from(self.low.is_some()) + usize::from(self.high.is_some())
    }

    fn whole(text: Cow<'a, str>) -> Self {
        Self { low: None, text, high: None }
    }

    fn with_halves(escaped: &str) -> Self {
        let units = units(escaped);
        let low = units.first().copied().filter(|unit| matches!(unit, 0xDC00..=0xDFFF));
        let rest = &units[usize::from(low.is_some())..];
        let high = rest.last().copied().filter(|unit| matches!(unit, 0xD800..=0xDBFF));
        let rest = &rest[..rest.len() - usize::from(high.is_some())];
        Self { low, text: Cow::Owned(String::from_utf16_lossy(rest)), high }
    }
}

/// The UTF-16 units of a JSON string's inside.
fn units(escaped: &str) -> Vec<u16> {
    let mut units = Vec::with_capacity(escaped.len());
    let mut chars = escaped.chars();
    let mut buffer = [0; 2];
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' => match chars.next() {
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xFFFD));
                    continue;
                }
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        };
        units.extend_from_slice(c.encode_utf16(&mut buffer));
    }
    units
}

/// Where the pieces of one text meet.
#[derive(Debug, Default)]
pub struct Joint {
    high: Option<u16>,
}

impl Joint {
    pub fn join<'p>(&mut self, piece: Piece<'p>) -> Cow<'p, str> {
        if piece.is_empty() {
            return Cow::Borrowed("");
        }
        let (high, low) = (self.high.take(), piece.low);
        self.high = piece.high;
        if high.is_none() && low.is_none() {
            return piece.text;
        }
        let seam: Vec<u16> = high.into_iter().chain(low).collect();
        Cow::Owned(String::from_utf16_lossy(&seam) + &piece.text)
    }

    /// The text has ended, or another began: what a waiting half becomes.
    pub fn flush(&mut self) -> Option<&'static str> {
        self.high.take().map(|_| "\u{FFFD}")
    }
}
