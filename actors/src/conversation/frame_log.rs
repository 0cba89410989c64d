//! The running turn's frames, append-only and shared by all readers. A reader is a cursor and a wake-up, not a queue: it
//! never blocks the actor or another reader, and one that is behind gets adjacent pieces of a Part as one frame
//! (promise 9). What is older than the log is answered from the store by whoever reads.

mod log;
mod stretch;

use std::sync::Arc;

use tokio::sync::{Notify, watch};

pub use stretch::{Form, Line, Stretch};

use self::log::Log;
use super::positions::Position;
use crate::{
    village::Mark,
    vocabulary::{Frame, MessageId, Piece, TurnId},
};

/// What the log tells a reader that stands at a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// Frames behind the cursor.
    Frames(Arc<Stretch>),
    /// The log does not reach back that far: read the store up to `floor`, then look again.
    Behind {
        floor: u64,
    },
    /// Nobody is awake: read the store to its end, then wait.
    Dormant,
    UpToDate,
    Closed(Closing),
}

/// Why nothing more will come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// The Conversation was deleted.
    Deleted,
    /// The process is being stopped.
    Stopping,
}

/// Appended to by one actor at a time, read by any number of tabs.
#[derive(Debug)]
pub struct FrameLog {
    log: watch::Sender<Log>,
    mark: Option<Arc<Mark>>,
    arrivals: Notify,
}

impl Default for FrameLog {
    fn default() -> Self {
        Self { log: watch::Sender::new(Log::default()), mark: None, arrivals: Notify::new() }
    }
}

impl FrameLog {
    /// A log whose readers' coming and going is told to whoever inspects.
    pub fn marking(mark: Arc<Mark>) -> Self {
        Self { mark: Some(mark), ..Self::default() }
    }

    /// A reader that is woken by what comes from now on.
    pub fn watch(&self) -> Watcher {
        let position = Position::new(self.mark.clone());
        self.log.send_if_modified(|log| {
            log.positions.join(&position);
            false
        });
        let told = self.log.borrow().heard();
        let watcher = Watcher { log: self.log.subscribe(), position, told };
        self.arrivals.notify_waiters();
        watcher
    }

    pub fn watchers(&self) -> usize {
        self.log.receiver_count()
    }

    /// How many frames each reader is behind, the slowest first. While nobody is awake there is nothing to be behind of.
    pub fn lags(&self) -> Vec<u64> {
        let log = self.log.borrow();
        log.positions.behind(log.floor.map_or(0, |_| log.head))
    }

    /// Bytes of frames held, about.
    pub fn weight(&self) -> usize {
        self.log.borrow().weight()
    }

    /// Resolves when nobody watches (at once, when nobody does).
    pub async fn unwatched(&self) {
        self.log.closed().await;
    }

    /// Resolves when somebody watches (at once, when somebody does).
    pub async fn watched(&self) {
        loop {
            let arrived = self.arrivals.notified();
            if self.watchers() > 0 {
                return;
            }
            arrived.await;
        }
    }

    pub fn running_turn(&self) -> Option<TurnId> {
        self.log.borrow().turn
    }

    /// The seq before the running turn's first frame, else the newest seq; None when nobody is awake.
    pub fn start_of_turn(&self) -> Option<u64> {
        let log = self.log.borrow();
        log.floor.map(|floor| if log.turn.is_some() { floor } else { log.head })
    }

    /// The log holds every frame behind this seq, and whole Messages only; None when nobody is awake.
    pub fn floor(&self) -> Option<u64> {
        self.log.borrow().floor
    }

    /// The newest seq that was shown; None when nobody is awake.
    pub fn head(&self) -> Option<u64> {
        let log = self.log.borrow();
        log.floor.map(|_| log.head)
    }

    /// The running turn's frames, merged as far as possible, and the seq of the newest: together one moment, that of the last
    /// look. The log only grows while its turn runs, so it is read as readers do: whoever writes waits for one stretch, not
    /// for a whole reply.
    pub fn snapshot(&self) -> Option<(Vec<Arc<Stretch>>, u64)> {
        let (turn, mut cursor) = {
            let log = self.log.borrow();
            (log.turn?, log.floor?)
        };
        let mut stretches = Vec::new();
        loop {
            let log = self.log.borrow();
            // It has ended meanwhile: all of it is in the store.
            if log.turn != Some(turn) {
                return None;
            }
            if !log.has_more(cursor) {
                return Some((stretches, log.head));
            }
            let stretch = log.stretch(cursor);
            drop(log);
            cursor = stretch.cursor();
            stretches.push(stretch);
        }
    }

    /// The actor is awake and the store holds everything up to `seq`. After a restart the log may lack frames that were
    /// committed and not shown any more, so it begins anew: readers get those from the store.
    pub fn wake(&self, seq: u64) {
        self.log.send_modify(|log| {
            log.clear();
            log.turn = None;
            log.floor = Some(seq);
            log.head = seq;
        });
    }

    /// The actor sleeps.
    pub fn sleep(&self) {
        self.log.send_if_modified(|log| {
            log.clear();
            log.floor = None;
            log.turn = None;
            false
        });
    }

    pub fn open(&self, after: u64, turn: TurnId) {
        self.log.send_if_modified(|log| {
            log.clear();
            log.floor = Some(after);
            log.head = after;
            log.turn = Some(turn);
            log.stale = false;
            false
        });
    }

    pub fn publish_frames(&self, frames: &[(u64, Frame)]) {
        self.log.send_modify(|log| {
            log.advance();
            for (seq, frame) in frames {
                log.push_frame(*seq, frame);
            }
        });
    }

    pub fn publish_pieces(&self, message: MessageId, pieces: &[(u64, Piece)]) {
        self.log.send_modify(|log| {
            log.advance();
            for (seq, piece) in pieces {
                log.push_piece(*seq, message, piece);
            }
        });
    }

    /// Something that is no transcript, for whoever watches now.
    pub fn tell(&self, frame: &Frame) {
        self.say(frame, false);
    }

    /// Likewise, and for whoever comes before it is taken back.
    pub fn tell_all(&self, frame: &Frame) {
        self.say(frame, true);
    }

    /// What everybody was told does not hold any more: who comes now hears nothing of it.
    pub fn take_back(&self) {
        self.log.send_if_modified(|log| {
            log.stands = false;
            false
        });
    }

    fn say(&self, frame: &Frame, stands: bool) {
        let line = Line { seq: None, json: frame.to_json(), ends: None };
        self.log.send_modify(|log| {
            log.told += 1;
            log.telling = Some(line);
            log.stands = stands;
        });
    }

    /// Frees the frames of a turn that had ended when this was called last: readers had that long to take the end. Those
    /// that are behind go to the store.
    pub fn free(&self) {
        self.log.send_if_modified(|log| {
            let ended = log.turn.is_none() && log.floor.is_some();
            if ended && log.stale {
                let head = log.head;
                log.clear();
                log.floor = Some(head);
            }
            log.stale = ended;
            false
        });
    }

    /// Ends all readers, once they have what there is. The first reason stands.
    pub fn close(&self, why: Closing) {
        self.log.send_modify(|log| log.closing = log.closing.or(Some(why)));
    }
}

/// One reader's wake-up. The cursor is the reader's own.
#[derive(Debug)]
pub struct Watcher {
    log: watch::Receiver<Log>,
    position: Position,
    told: u64,
}

impl Watcher {
    /// What there is behind the cursor. Marks the log as seen.
    pub fn look(&mut self, cursor: u64) -> Look {
        self.position.stand_at(cursor);
        let log = self.log.borrow_and_update();
        if log.told > self.told {
            self.told = log.told;
            if let Some(line) = &log.telling {
                return Look::Frames(Arc::new(Stretch::new(cursor, vec![line.clone()])));
            }
        }
        match log.floor {
            None => Look::Dormant,
            Some(floor) if cursor < floor => Look::Behind { floor },
            Some(_) if log.has_more(cursor) => Look::Frames(log.stretch(cursor)),
            Some(_) => log.closing.map_or(Look::UpToDate, Look::Closed),
        }
    }

    /// Whether nothing more will come, and why: a reader ends once it has what there is.
    pub fn closing(&self) -> Option<Closing> {
        self.log.borrow().closing
    }

    /// Waits for a change since the last look. False: the log itself is gone.
    pub async fn changed(&mut self) -> bool {
        self.log.changed().await.is_ok()
    }
}

#[cfg(test)]
mod tests;
