//! Bodies in small slices. A connection's buffer grows to the largest piece that was ever put into it, and keeps that size for
//! its life; whatever a route gives at once, no more than a slice is put there.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};

const SLICE: usize = 4 * 1024;

/// A body whose data comes in slices of at most 4 KiB.
#[derive(Debug)]
pub struct Sliced {
    body: Body,
    rest: Bytes,
}

impl Sliced {
    pub fn new(body: Body) -> Self {
        Self { body, rest: Bytes::new() }
    }
}

impl HttpBody for Sliced {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        if self.rest.is_empty() {
            match std::task::ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        let length = self.rest.len().min(SLICE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (mut hint, rest) = (self.body.size_hint(), self.rest.len() as u64);
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + rest);
        }
        hint.set_lower(hint.lower() + rest);
        hint
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn all_of_a_body_comes_in_slices_and_its_length_is_known_as_before() {
        let text: Vec<u8> = (0..10_000_u32).map(|n| n as u8).collect();
        let mut body = Sliced::new(Body::from(text.clone()));
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(10_000), false));
        let mut slices = Vec::new();
        while let Some(frame) = body.frame().await {
            slices.push(frame.unwrap().into_data().unwrap());
            let left = 10_000 - slices.iter().map(Bytes::len).sum::<usize>() as u64;
            assert_eq!(body.size_hint().exact(), Some(left));
        }
        assert_eq!(slices.iter().map(Bytes::len).collect::<Vec<_>>(), [4_096, 4_096, 1_808]);
        assert_eq!((slices.concat(), body.is_end_stream()), (text, true));
    }

    #[tokio::test]
    async fn an_empty_body_is_over_at_once() {
        let mut body = Sliced::new(Body::empty());
        assert!(body.is_end_stream());
        assert!(body.frame().await.is_none());
    }
}
