//! The event decoder alone: names, data and what is lent of them.

use std::ops::ControlFlow;

use hamlet::providers::sse::SseDecoder;

fn read(bytes: &[u8], piece: usize) -> Vec<(String, String)> {
    let mut decoder = SseDecoder::default();
    let mut events = Vec::new();
    let mut take = |event: hamlet::providers::sse::SseEvent<'_>| {
        events.push((event.name.to_owned(), event.data.clone().into_owned()));
        ControlFlow::Continue(())
    };
    for piece in bytes.chunks(piece) {
        assert!(decoder.read(piece, &mut take).unwrap().is_continue());
    }
    decoder.finish(&mut take);
    events
}

#[test]
fn names_and_lines_belong_to_their_event() {
    let bytes = "event: one\ndata: a\ndata:b\ndata:  c\n\ndata: d\r\n\r\nevent: two\n\nid: 1\ndata\n\ndata: last";
    let expected = [("one", "a\nb\n c"), ("", "d"), ("", ""), ("", "last")];
    for piece in 1..bytes.len() {
        let events = read(bytes.as_bytes(), piece);
        let events: Vec<_> = events.iter().map(|(name, data)| (name.as_str(), data.as_str())).collect();
        assert_eq!(events, expected, "in pieces of {piece}");
    }
}

#[test]
fn a_line_feed_behind_a_carriage_return_in_another_read_is_no_blank_line() {
    let mut decoder = SseDecoder::default();
    let mut data = Vec::new();
    for piece in ["data: a\r", "\ndata: b\r", "\n\r", "\n", "data: c\n\n"] {
        let flow = decoder.read(piece.as_bytes(), |event| {
            data.push(event.data.into_owned());
            ControlFlow::Continue(())
        });
        assert!(flow.unwrap().is_continue());
    }
    assert_eq!(data, ["a\nb", "c"]);
}

#[test]
fn what_only_looked_like_a_byte_order_mark_is_kept() {
    let mut bytes = b"\xEF\xBBdata: lost\n\n".to_vec();
    bytes.extend_from_slice(b"data: a\n\n");
    for piece in 1..5 {
        assert_eq!(read(&bytes, piece), [(String::new(), "a".to_owned())]);
    }
}

#[test]
fn a_reader_that_breaks_gets_nothing_more() {
    let mut decoder = SseDecoder::default();
    let mut seen = 0;
    let flow = decoder.read(b"data: a\n\ndata: b\n\n", |_| {
        seen += 1;
        ControlFlow::Break(())
    });
    assert!(flow.unwrap().is_break());
    assert_eq!(seen, 1);
}
