//! When the end comes: some time after something that a client, or the house, has just seen. Drawn from the seed.

use std::{
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
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

/// After these it must be stored already.
const TOLD: [Moment; 6] =
    [Moment::Accepted, Moment::Start, Moment::Piece, Moment::End, Moment::Aborted, Moment::Deleted];

/// Within so many microseconds behind its moment the blow falls.
const SCALES: [u64; 5] = [1, 300, 2_000, 20_000, 300_000];

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
    /// Until it is struck.
    victim: Mutex<Option<Pid>>,
    moment: Moment,
    left: AtomicI64,
    /// From the moment to the blow.
    delay: Duration,
    pub blow: Blow,
    /// The blow falls after so long in any case.
    patience: Duration,
    met: Notify,
}

impl Fate {
    pub fn drawn(rng: &mut fastrand::Rng, victim: Pid) -> Self {
        // Half of the blows fall at once where a client has just been told that something is so; the others anywhere.
        let (moments, scales) = if rng.bool() { (&TOLD[..], &[1][..]) } else { (&MOMENTS[..], &SCALES[..]) };
        let moment = moments[rng.usize(0..moments.len())];
        let scale = scales[rng.usize(0..scales.len())];
        let nth = match moment {
            Moment::Piece => rng.i64(1..2000),
            Moment::Start | Moment::End | Moment::Said | Moment::Accepted => rng.i64(1..8),
            _ => 1,
        };
        let blow = match rng.u32(0..16) {
            0 => Blow::Terminate,
            1 => Blow::TerminateThenKill(Duration::from_micros(rng.u64(0..300_000))),
            _ => Blow::Kill,
        };
        Self {
            victim: Mutex::new(Some(victim)),
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
            victim: Mutex::new(None),
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

    /// Something of this kind has just happened. A blow without delay falls before the client takes another step.
    pub fn saw(&self, moment: Moment) {
        if moment == self.moment && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            if self.delay.is_zero() {
                self.strike();
            }
            self.met.notify_one();
        }
    }

    /// Resolves when the blow has fallen, to the microsecond: a runtime's timer counts in milliseconds.
    pub async fn comes(&self) {
        // That the moment never came is as good a time as any.
        drop(tokio::time::timeout(self.patience, self.met.notified()).await);
        let delay = self.delay;
        tokio::task::spawn_blocking(move || std::thread::sleep(delay)).await.unwrap();
        self.strike();
    }

    /// Once: later the number may be another process's.
    fn strike(&self) {
        let mut victim = self.victim.lock().unwrap();
        let signal = if self.blow == Blow::Kill { Signal::KILL } else { Signal::TERM };
        if let Some(pid) = victim.take() {
            kill_process(pid, signal).unwrap();
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { moment, left, delay, blow, .. } = self;
        write!(f, "{blow:?} {delay:?} after {moment:?} number {}", left.load(Ordering::Relaxed))
    }
}
