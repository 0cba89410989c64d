//! When the end comes: some time after something that a client, or the house, has just seen. Drawn from the seed.

use std::{
    fmt,
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use tokio::sync::Notify;

/// What clients see and do, at which an end is of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A send is on its way; nothing has been answered.
    Said,
    /// A send was answered with 202.
    Accepted,
    /// A start frame, a piece, a terminal frame came to some reader.
    Start,
    Piece,
    End,
    RegenerateAsked,
    AbortAsked,
    Aborted,
    DeleteAsked,
    Deleted,
}

const MOMENTS: [Moment; 10] = [
    Moment::Said,
    Moment::Accepted,
    Moment::Start,
    Moment::Piece,
    Moment::End,
    Moment::RegenerateAsked,
    Moment::AbortAsked,
    Moment::Aborted,
    Moment::DeleteAsked,
    Moment::Deleted,
];

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    Kill,
    /// SIGTERM, and time to end by itself.
    Terminate,
    /// SIGTERM, and SIGKILL while it still comes to rest.
    TerminateThenKill(Duration),
}

/// One end of a process, before it has come.
pub struct Fate {
    moment: Moment,
    left: AtomicI64,
    /// From the moment to the blow.
    pub delay: Duration,
    pub blow: Blow,
    /// The blow falls after so long in any case.
    pub patience: Duration,
    met: Notify,
}

impl Fate {
    pub fn drawn(rng: &mut fastrand::Rng) -> Self {
        let moment = MOMENTS[rng.usize(0..MOMENTS.len())];
        let nth = match moment {
            Moment::Piece => rng.i64(1..2000),
            Moment::Start | Moment::End | Moment::Said | Moment::Accepted => rng.i64(1..8),
            _ => 1,
        };
        // Most blows fall close behind the moment, some anywhere.
        let scale = [1, 300, 2_000, 20_000, 300_000][rng.usize(0..5)];
        let blow = match rng.u32(0..16) {
            0 => Blow::Terminate,
            1 => Blow::TerminateThenKill(Duration::from_micros(rng.u64(0..300_000))),
            _ => Blow::Kill,
        };
        Self {
            moment,
            left: AtomicI64::new(nth),
            delay: Duration::from_micros(rng.u64(0..scale)),
            blow,
            patience: Duration::from_millis(rng.u64(300..900)),
            met: Notify::new(),
        }
    }

    /// For a life that nothing ends.
    pub fn none() -> Self {
        Self {
            moment: Moment::End,
            left: AtomicI64::new(0),
            delay: Duration::ZERO,
            blow: Blow::Kill,
            patience: Duration::MAX,
            met: Notify::new(),
        }
    }

    /// Deletions are rare, unless one is waited for.
    pub fn is_of_a_deletion(&self) -> bool {
        matches!(self.moment, Moment::DeleteAsked | Moment::Deleted)
    }

    /// Something of this kind has just happened.
    pub fn saw(&self, moment: Moment) {
        if moment == self.moment && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.met.notify_one();
        }
    }

    /// Resolves when the blow is due, to the microsecond: a runtime's timer counts in milliseconds.
    pub async fn comes(&self) {
        // That the moment never came is as good a time as any.
        drop(tokio::time::timeout(self.patience, self.met.notified()).await);
        let delay = self.delay;
        tokio::task::spawn_blocking(move || std::thread::sleep(delay)).await.unwrap();
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { moment, left, delay, blow, .. } = self;
        write!(f, "{blow:?} {delay:?} after {moment:?} number {}", left.load(Ordering::Relaxed))
    }
}
