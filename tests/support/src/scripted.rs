//! A Provider that is played by the test: nothing comes before the test says it, every request is kept.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures_util::Stream;
use hamlet_actors::{
    ports::{End, ModelRequest, Provider, ProviderEvent, ProviderEvents, ProviderFailure},
    vocabulary::{Delta, ErrorCode, ErrorKind, FinishReason, ProviderId, Usage},
};
use tokio::sync::{mpsc, watch};

enum Line {
    Events(Vec<ProviderEvent>),
    Panic,
}

/// The test's side of one reply.
pub struct Script {
    lines: Option<mpsc::UnboundedSender<Line>>,
    closed: watch::Receiver<bool>,
}

impl Script {
    pub fn events(&self, events: Vec<ProviderEvent>) {
        self.send(Line::Events(events));
    }

    pub fn text(&self, text: &str) {
        self.events(vec![ProviderEvent::Delta(Delta::Text(text.to_owned()))]);
    }

    pub fn usage(&self, input: u64, output: u64) {
        let usage = Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() };
        self.events(vec![ProviderEvent::Usage(usage)]);
    }

    pub fn finish(&self) {
        self.end(End::Complete(FinishReason::Stop));
    }

    pub fn end(&self, end: End) {
        self.events(vec![ProviderEvent::End(end)]);
    }

    pub fn fail(&self) {
        self.end(End::Failed(ProviderFailure {
            code: ErrorCode::ProviderError,
            kind: ErrorKind::Server,
            message: "The model is on fire.".to_owned(),
            status: Some(500),
            retryable: true,
        }));
    }

    /// The adapter itself panics.
    pub fn panic(&self) {
        self.send(Line::Panic);
    }

    /// The connection closes without an end mark.
    pub fn hang_up(&mut self) {
        self.lines = None;
    }

    /// Resolves when the turn has let go of the stream.
    pub async fn closed(&mut self) {
        while !*self.closed.borrow_and_update() {
            if self.closed.changed().await.is_err() {
                return;
            }
        }
    }

    fn send(&self, line: Line) {
        if let Some(lines) = &self.lines {
            // A turn that has let go hears nothing more, like a closed socket.
            drop(lines.send(line));
        }
    }
}

struct Reply {
    lines: mpsc::UnboundedReceiver<Line>,
    closed: watch::Sender<bool>,
}

/// Answers each request with the next script, in the order of [`ScriptedProvider::expect`].
pub struct ScriptedProvider {
    id: ProviderId,
    replies: Mutex<VecDeque<Reply>>,
    asked: watch::Sender<Vec<ModelRequest>>,
}

impl ScriptedProvider {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { id: ProviderId::generate(), replies: Mutex::default(), asked: watch::Sender::new(Vec::new()) })
    }

    /// The next request will be answered by this script.
    pub fn expect(&self) -> Script {
        let (lines, reply) = mpsc::unbounded_channel();
        let (closed, is_closed) = watch::channel(false);
        let reply = Reply { lines: reply, closed };
        self.replies.lock().unwrap_or_else(PoisonError::into_inner).push_back(reply);
        Script { lines: Some(lines), closed: is_closed }
    }

    /// Scripts that no request has taken are taken back.
    pub fn expect_no_more(&self) {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The n-th request (from 0), once it has come.
    pub async fn asked(&self, n: usize) -> ModelRequest {
        let mut asked = self.asked.subscribe();
        let found = asked.wait_for(|asked| asked.len() > n).await.map(|asked| asked[n].clone());
        found.unwrap_or_else(|_| unreachable!("the sender lives as long as self"))
    }

    pub fn times_asked(&self) -> usize {
        self.asked.borrow().len()
    }
}

impl Provider for ScriptedProvider {
    fn id(&self) -> ProviderId {
        self.id
    }

    fn name(&self) -> &str {
        "Scripted"
    }

    fn ask(&self, request: ModelRequest) -> ProviderEvents {
        self.asked.send_modify(|asked| asked.push(request));
        let reply = self.replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Box::pin(Playing { reply })
    }
}

/// Without a script the Provider stays silent for ever.
struct Playing {
    reply: Option<Reply>,
}

impl Stream for Playing {
    type Item = Vec<ProviderEvent>;

    #[expect(clippy::panic, reason = "this is the panic that a test asked for")]
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(reply) = &mut self.reply else { return Poll::Pending };
        match reply.lines.poll_recv(context) {
            Poll::Ready(Some(Line::Events(events))) => Poll::Ready(Some(events)),
            Poll::Ready(Some(Line::Panic)) => panic!("as the test asked"),
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        if let Some(reply) = &self.reply {
            // Nobody may be waiting for it.
            reply.closed.send_replace(true);
        }
    }
}
