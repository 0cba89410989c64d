//! How frames are written as server-sent events: JSON on one line, and the cursor as the id.

use axum::{
    body::{Body, Bytes},
    response::{IntoResponse, Response},
};
use hamlet_actors::{
    conversation::frame_log::{Line, Stretch},
    vocabulary::ConversationId,
};
use http::{HeaderName, HeaderValue, header};

/// What a comment holds is nobody's business.
pub const SIGN_OF_LIFE: Bytes = Bytes::from_static(b":\n\n");

/// A stretch for who watches one Conversation: the id is the cursor, where a frame moves it.
pub fn alone(stretch: &Stretch) -> Bytes {
    let mut out = Vec::with_capacity(size(stretch.lines(), 0));
    for line in stretch.lines() {
        if let Some(seq) = line.seq {
            out.extend_from_slice(format!("id: {seq}\n").as_bytes());
        }
        data(&mut out, &line.json);
    }
    out.into()
}

/// A stretch for who watches several: each event has an id, because the id is also what tells whose frame it is. One that
/// does not move the cursor repeats where it stands.
pub fn among(conversation: ConversationId, stretch: &Stretch) -> Bytes {
    let conversation = conversation.to_string();
    let mut out = Vec::with_capacity(size(stretch.lines(), conversation.len()));
    let mut cursor = stretch.after();
    for line in stretch.lines() {
        cursor = line.seq.unwrap_or(cursor);
        out.extend_from_slice(format!("id: {conversation}:{cursor}\n").as_bytes());
        data(&mut out, &line.json);
    }
    out.into()
}

/// Not a frame: of several Conversations this one is not there any more.
pub fn gone(conversation: ConversationId) -> Bytes {
    format!("event: gone\ndata: {{\"conversationId\":\"{conversation}\"}}\n\n").into()
}

/// The end of the stream, not of the Conversation: tabs come back at different times, not all at once.
pub fn farewell() -> Bytes {
    format!("retry: {}\n\n", fastrand::u32(1000..4000)).into()
}

pub fn response(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, body).into_response()
}

fn data(out: &mut Vec<u8>, json: &[u8]) {
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(json);
    out.extend_from_slice(b"\n\n");
}

/// Enough for all: twenty digits and the words between.
fn size(lines: &[Line], id: usize) -> usize {
    lines.iter().map(|line| line.json.len() + id + 40).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seq: Option<u64>, json: &str) -> Line {
        Line { seq, json: json.as_bytes().to_vec(), ends: None }
    }

    #[test]
    fn watched_alone_an_event_has_an_id_where_its_frame_moves_the_cursor() {
        let stretch = Stretch::new(4, vec![line(None, "{}"), line(Some(7), "[]")]);
        assert_eq!(alone(&stretch), "data: {}\n\nid: 7\ndata: []\n\n");
    }

    #[test]
    fn watched_among_others_each_event_has_an_id_and_one_that_moves_nothing_repeats_the_one_before() {
        let id: ConversationId = "01890000-0000-7000-8000-000000000000".parse().unwrap();
        let stretch = Stretch::new(4, vec![line(None, "{}"), line(Some(7), "[]"), line(None, "1")]);
        let expected = "id: ID:4\ndata: {}\n\nid: ID:7\ndata: []\n\nid: ID:7\ndata: 1\n\n";
        assert_eq!(among(id, &stretch), expected.replace("ID", &id.to_string()));
    }
}
