//! A Journal over the real one that fails when the test says so: it refuses, cannot say what became of a batch, is slow,
//! panics, or is full for a while. What it says is stored is stored, in the real store.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test support that fails, fails the test")]

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use hamlet_actors::{
    policy::window::Said,
    ports::journal::{Batch, Claimed, Done, Journal, JournalError, Leftover, Told, Write},
    vocabulary::ConversationId,
};
use tokio::sync::{oneshot, watch};

/// What is handed to the Journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    Claim,
    /// A turn's admission.
    Admission,
    /// Pieces of a reply.
    Pieces,
    /// A reply's end.
    End,
    /// A text that is to wait for its turn.
    Enqueue,
}

impl Point {
    fn of(batch: &Batch) -> Self {
        let has = |kind: fn(&Write) -> bool| batch.writes.iter().any(kind);
        if has(|write| matches!(write, Write::Finish(_))) {
            Self::End
        } else if has(|write| matches!(write, Write::Insert(message) if message.status.as_str() == "running")) {
            Self::Admission
        } else if has(|write| matches!(write, Write::Pieces { .. })) {
            Self::Pieces
        } else {
            Self::Enqueue
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing is stored.
    RolledBack,
    /// Nothing is stored, as far as one can see.
    Unsettled,
    /// It is stored, but nobody can say so.
    UnknownStored,
    /// It is not stored, but nobody can say so.
    UnknownLost,
    /// Panics in whoever hands the batch in, before it is taken.
    Panics,
    /// Likewise, once it is on its way.
    PanicsBehind,
}

impl Fault {
    pub const ALL: [Self; 6] =
        [Self::RolledBack, Self::Unsettled, Self::UnknownStored, Self::UnknownLost, Self::Panics, Self::PanicsBehind];
}

enum Plan {
    Fault(Fault),
    Hold(oneshot::Sender<HeldBatch>),
}

/// A batch that is on its way until the test lets it through.
pub struct HeldBatch {
    inner: Arc<dyn Journal>,
    batch: Batch,
    done: Done<()>,
}

impl HeldBatch {
    pub fn release(self) {
        self.inner.submit(self.batch, self.done);
    }
}

pub struct FaultyJournal {
    inner: Arc<dyn Journal>,
    plans: Mutex<Vec<(Point, Plan)>>,
    full: watch::Sender<bool>,
    /// Which faults have come to pass.
    met: watch::Sender<Vec<(Point, Option<Fault>)>>,
}

impl FaultyJournal {
    pub fn over(inner: Arc<dyn Journal>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            plans: Mutex::default(),
            full: watch::Sender::new(false),
            met: watch::Sender::new(Vec::new()),
        })
    }

    /// The next one of its kind fails so.
    pub fn once(&self, point: Point, fault: Fault) {
        self.plans.lock().unwrap().push((point, Plan::Fault(fault)));
    }

    /// The next one of its kind waits for the test.
    pub fn hold(&self, point: Point) -> oneshot::Receiver<HeldBatch> {
        let (holding, held) = oneshot::channel();
        self.plans.lock().unwrap().push((point, Plan::Hold(holding)));
        held
    }

    /// While it is full, everything is refused.
    pub fn full(&self, full: bool) {
        self.full.send_replace(full);
    }

    /// Resolves when something of this kind has failed, as planned or because the Journal was full.
    pub async fn met(&self, point: Point) {
        let mut met = self.met.subscribe();
        met.wait_for(|met| met.iter().any(|(at, _)| *at == point)).await.unwrap();
    }

    fn plan(&self, point: Point) -> Option<Plan> {
        let mut plans = self.plans.lock().unwrap();
        let at = plans.iter().position(|(planned, _)| *planned == point)?;
        Some(plans.remove(at).1)
    }

    fn meet(&self, point: Point, fault: Option<Fault>) {
        self.met.send_modify(|met| met.push((point, fault)));
    }
}

fn error_of(fault: Fault) -> JournalError {
    let why = "as the test asked".to_owned();
    match fault {
        Fault::RolledBack => JournalError::Unavailable(why),
        Fault::Unsettled => JournalError::Unsettled(why),
        Fault::UnknownStored | Fault::UnknownLost => JournalError::Unknown(why),
        Fault::Panics | Fault::PanicsBehind => panic!("as the test asked"),
    }
}

/// Either one of what a Journal is asked; `pass` hands it on.
fn fail<T: Send + 'static>(fault: Fault, done: Done<T>, pass: impl FnOnce(Done<T>)) {
    match fault {
        Fault::RolledBack | Fault::Unsettled | Fault::UnknownLost => done(Err(error_of(fault))),
        Fault::UnknownStored => pass(Box::new(move |outcome| done(outcome.and(Err(error_of(fault)))))),
        Fault::Panics => panic!("as the test asked"),
        Fault::PanicsBehind => {
            pass(done);
            panic!("as the test asked");
        }
    }
}

impl Journal for FaultyJournal {
    fn submit(&self, batch: Batch, done: Done<()>) {
        let point = Point::of(&batch);
        if *self.full.borrow() {
            self.meet(point, None);
            return done(Err(JournalError::Unavailable("it is full, as the test asked".to_owned())));
        }
        match self.plan(point) {
            None => self.inner.submit(batch, done),
            Some(Plan::Hold(holding)) => {
                // A test that has failed meanwhile holds nothing.
                drop(holding.send(HeldBatch { inner: Arc::clone(&self.inner), batch, done }));
            }
            Some(Plan::Fault(fault)) => {
                self.meet(point, Some(fault));
                fail(fault, done, |done| self.inner.submit(batch, done));
            }
        }
    }

    fn claim(&self, conversation: ConversationId, cause: Leftover, done: Done<Claimed>) {
        if *self.full.borrow() {
            self.meet(Point::Claim, None);
            return done(Err(JournalError::Unavailable("it is full, as the test asked".to_owned())));
        }
        match self.plan(Point::Claim) {
            Some(Plan::Fault(fault)) => {
                self.meet(Point::Claim, Some(fault));
                fail(fault, done, |done| self.inner.claim(conversation, cause, done));
            }
            Some(Plan::Hold(_)) => panic!("claims are not held"),
            None => self.inner.claim(conversation, cause, done),
        }
    }

    fn history(
        &self,
        conversation: ConversationId,
        before_position: i64,
        max_chars: usize,
    ) -> BoxFuture<'static, Result<Told, JournalError>> {
        self.inner.history(conversation, before_position, max_chars)
    }

    fn sketches(
        &self,
        conversation: ConversationId,
        after_position: i64,
        before_position: i64,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Said>, JournalError>> {
        self.inner.sketches(conversation, after_position, before_position, limit)
    }
}
