//! Server-sent events out of bytes, however the network cut them. Knows lines, fields and the end of an event, and
//! refuses to know what the data means. An event that lies whole in one read is lent out without a copy; what a peer
//! can make it keep is bounded.

use std::{borrow::Cow, mem, ops::ControlFlow};

use memchr::{memchr, memchr2};

/// The largest event (and the largest line) that is accepted, in charged bytes.
pub const MAX_EVENT: usize = 8 * 1024 * 1024;

/// Charged for each line of an event beside its bytes, so that empty lines are not free.
const LINE_COST: usize = 128;

/// A buffer that one large event left behind is given back above this size.
const KEPT_CAPACITY: usize = 64 * 1024;

const BOM: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// One event as lent to the reader.
#[derive(Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event:` field; empty when there was none.
    pub name: &'a str,
    /// The `data:` lines joined by LF; bytes that are no UTF-8 have become U+FFFD, each where it was.
    pub data: Cow<'a, str>,
}

/// An event grew beyond [`MAX_EVENT`]; nothing after it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {MAX_EVENT} bytes")]
pub struct EventTooLarge;

/// Reads one stream from its first byte to its last.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// How many bytes of a leading byte order mark were seen; 3 once the question is settled.
    bom: usize,
    /// The last line ended in a CR at a read's end: an LF that follows belongs to it.
    after_cr: bool,
    /// A line whose end has not arrived.
    line: Vec<u8>,
    name: String,
    /// The data of the event so far, when it spans reads or lines.
    data: Vec<u8>,
    has_data: bool,
    charged: usize,
}

enum Line<'l> {
    Blank,
    Data(&'l [u8]),
    Name(&'l [u8]),
    /// A comment, `id`, `retry` or a field that nobody defined.
    Other,
}

impl SseDecoder {
    /// Takes the next bytes and lends each event that became whole. A reader that breaks gets nothing more of this
    /// read.
    pub fn read(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(SseEvent<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, EventTooLarge> {
        let mut rest = self.behind_bom(bytes);
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        // The first data line of an event that began in this read: not copied as long as nothing joins it.
        let mut lent: Option<&[u8]> = None;
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let (line, after) = rest.split_at(end);
            rest = match after {
                [b'\r', b'\n', more @ ..] => more,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, more @ ..] => more,
                [] => &[],
            };
            self.bound(line.len())?;
            let flow = if self.line.is_empty() {
                match Line::of(line) {
                    Line::Data(value) if !self.has_data && lent.is_none() => {
                        self.charge(value);
                        lent = Some(value);
                        ControlFlow::Continue(())
                    }
                    line => self.accept(line, &mut lent, &mut each),
                }
            } else {
                let mut whole = mem::take(&mut self.line);
                whole.extend_from_slice(line);
                let flow = self.accept(Line::of(&whole), &mut lent, &mut each);
                self.line = emptied(whole);
                flow
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        self.keep(lent.take());
        self.bound(rest.len())?;
        self.line.extend_from_slice(rest);
        Ok(ControlFlow::Continue(()))
    }

    /// The bytes have ended: lends what stands without its line end or blank line. Only the reader can say whether that
    /// event is whole.
    pub fn finish(&mut self, mut each: impl FnMut(SseEvent<'_>) -> ControlFlow<()>) {
        let last = mem::take(&mut self.line);
        let flow = if last.is_empty() {
            ControlFlow::Continue(())
        } else {
            self.accept(Line::of(&last), &mut None, &mut each)
        };
        if flow.is_continue() {
            // The reader has no say any more: this was the last event.
            let _flow = self.dispatch(None, &mut each);
        }
    }

    fn accept(
        &mut self,
        line: Line<'_>,
        lent: &mut Option<&[u8]>,
        each: &mut impl FnMut(SseEvent<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match line {
            Line::Data(value) => {
                self.charge(value);
                self.keep(lent.take());
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.keep(Some(value));
            }
            Line::Name(value) => {
                self.name.clear();
                self.name.push_str(&String::from_utf8_lossy(value));
            }
            Line::Other => {}
            Line::Blank => return self.dispatch(lent.take(), each),
        }
        ControlFlow::Continue(())
    }

    fn dispatch(
        &mut self,
        lent: Option<&[u8]>,
        each: &mut impl FnMut(SseEvent<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let flow = match lent {
            Some(data) => each(SseEvent { name: &self.name, data: String::from_utf8_lossy(data) }),
            None if self.has_data => each(SseEvent { name: &self.name, data: String::from_utf8_lossy(&self.data) }),
            None => ControlFlow::Continue(()),
        };
        if self.has_data {
            self.data = emptied(mem::take(&mut self.data));
            self.has_data = false;
        }
        self.name.clear();
        self.charged = 0;
        flow
    }

    fn keep(&mut self, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.data.extend_from_slice(value);
            self.has_data = true;
        }
    }

    /// Whether `more` bytes of the current line still fit. Asked at the same places however the bytes are cut.
    fn bound(&self, more: usize) -> Result<(), EventTooLarge> {
        if self.charged + self.line.len() + more > MAX_EVENT { Err(EventTooLarge) } else { Ok(()) }
    }

    fn charge(&mut self, value: &[u8]) {
        self.charged += value.len() + LINE_COST;
    }

    fn behind_bom<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let mut rest = bytes;
        while let (Some(expected), Some((byte, more))) = (BOM.get(self.bom), rest.split_first()) {
            if byte == expected {
                self.bom += 1;
                rest = more;
            } else {
                // What looked like the mark's beginning was the first line's.
                self.line.extend_from_slice(&BOM[..self.bom]);
                self.bom = BOM.len();
            }
        }
        rest
    }
}

impl<'l> Line<'l> {
    fn of(line: &'l [u8]) -> Self {
        if line.is_empty() {
            return Self::Blank;
        }
        let (field, value) = match memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => Self::Data(value),
            b"event" => Self::Name(value),
            _ => Self::Other,
        }
    }
}

fn emptied(mut buffer: Vec<u8>) -> Vec<u8> {
    if buffer.capacity() > KEPT_CAPACITY {
        return Vec::new();
    }
    buffer.clear();
    buffer
}
