//! Server-sent events as a browser reads them (WHATWG HTML, "interpreting an event stream"): bytes in any pieces, lines that
//! end with LF, CR or both, an event dispatched at its blank line and not before. The last id counts from there on, also
//! when the event has no data.

/// An event as it is dispatched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatched {
    pub name: String,
    /// Lines joined; empty when there were none, and then no listener hears of it.
    pub data: String,
    /// The last id as of this event.
    pub last_id: String,
    /// Whether this event set it.
    pub has_id: bool,
}

#[derive(Debug, Default)]
pub struct Reader {
    line: Vec<u8>,
    after_cr: bool,
    begun: bool,
    name: String,
    data: Option<String>,
    id: Option<String>,
    last_id: String,
}

impl Reader {
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Dispatched> {
        let mut events = Vec::new();
        for &byte in bytes {
            let follows_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if follows_cr => {}
                b'\n' | b'\r' => events.extend(self.end_of_line()),
                byte => self.line.push(byte),
            }
        }
        events
    }

    /// The last id of a dispatched event: what the browser sends when it comes back.
    pub fn last_id(&self) -> &str {
        &self.last_id
    }

    fn end_of_line(&mut self) -> Option<Dispatched> {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        let line =
            if std::mem::replace(&mut self.begun, true) { line.as_str() } else { line.trim_start_matches('\u{feff}') };
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            // A comment, `retry`, or what nobody knows.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Dispatched> {
        let (name, data, id) = (std::mem::take(&mut self.name), self.data.take(), self.id.take());
        let has_id = id.is_some();
        if let Some(id) = id {
            self.last_id = id;
        }
        (has_id || data.is_some()).then(|| Dispatched {
            name,
            data: data.unwrap_or_default(),
            last_id: self.last_id.clone(),
            has_id,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(data: &str, last_id: &str, has_id: bool) -> Dispatched {
        Dispatched { name: String::new(), data: data.into(), last_id: last_id.into(), has_id }
    }

    #[test]
    fn an_event_counts_at_its_blank_line_and_not_before() {
        let mut reader = Reader::default();
        assert_eq!(reader.feed(b"id: 7\ndata: a\n"), vec![]);
        assert_eq!(reader.last_id(), "");
        assert_eq!(reader.feed(b"\nid: 8\n\n"), vec![event("a", "7", true), event("", "8", true)]);
        assert_eq!(reader.last_id(), "8");
    }

    #[test]
    fn lines_end_in_three_ways_and_comments_are_nothing() {
        let mut reader = Reader::default();
        let events = reader.feed("\u{feff}: hello\r\rdata:x\r\ndata: y\r\n\r\ndata\n\n".as_bytes());
        assert_eq!(events, vec![event("x\ny", "", false), event("", "", false)]);
    }
}
