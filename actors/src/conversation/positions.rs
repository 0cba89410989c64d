//! Where the readers of a log stand. A reader's cursor is its own; it leaves a copy here, so that whoever inspects sees
//! how far each is behind without asking any of them.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::watch;

use crate::village::Mark;

/// Has not looked yet.
const NOWHERE: u64 = u64::MAX;
/// Has left.
const GONE: u64 = u64::MAX - 1;
/// A list that is shorter is not tidied.
const TIDY_FROM: usize = 16;

/// The positions of all readers of one log. Those that left fall out when the list has doubled since it was tidied last.
#[derive(Debug)]
pub struct Positions {
    readers: watch::Sender<Readers>,
    mark: Option<Arc<Mark>>,
}

#[derive(Debug)]
struct Readers {
    cursors: Vec<Weak<AtomicU64>>,
    tidy_at: usize,
}

impl Default for Positions {
    fn default() -> Self {
        Self { readers: watch::Sender::new(Readers { cursors: Vec::new(), tidy_at: TIDY_FROM }), mark: None }
    }
}

/// One reader's position; it is off the list once this is dropped.
#[derive(Debug)]
pub struct Position {
    cursor: Arc<AtomicU64>,
    mark: Option<Arc<Mark>>,
}

impl Positions {
    pub fn marking(mark: Arc<Mark>) -> Self {
        Self { mark: Some(mark), ..Self::default() }
    }

    pub fn join(&self) -> Position {
        let position = Position { cursor: Arc::new(AtomicU64::new(NOWHERE)), mark: self.mark.clone() };
        self.readers.send_if_modified(|readers| {
            if readers.cursors.len() >= readers.tidy_at {
                readers.cursors.retain(|cursor| cursor.strong_count() > 0);
                readers.tidy_at = TIDY_FROM.max(readers.cursors.len() * 2);
            }
            readers.cursors.push(Arc::downgrade(&position.cursor));
            false
        });
        self.mark.iter().for_each(|mark| mark.touch());
        position
    }

    /// How far each reader is behind `head`, the slowest first. One that has not looked yet is not behind.
    pub fn behind(&self, head: u64) -> Vec<u64> {
        let readers = self.readers.borrow();
        let cursors = readers.cursors.iter().filter_map(Weak::upgrade).map(|cursor| cursor.load(Ordering::Relaxed));
        let mut behind: Vec<u64> =
            cursors.filter(|cursor| *cursor != GONE).map(|cursor| head.saturating_sub(cursor)).collect();
        behind.sort_unstable_by(|a, b| b.cmp(a));
        behind
    }
}

impl Position {
    pub fn stand_at(&self, cursor: u64) {
        self.cursor.store(cursor, Ordering::Relaxed);
    }
}

impl Drop for Position {
    fn drop(&mut self) {
        // Nobody reads it after this, also while it still exists.
        self.cursor.store(GONE, Ordering::Relaxed);
        self.mark.iter().for_each(|mark| mark.touch());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_reader_is_listed_first_and_one_that_left_is_not_listed() {
        let positions = Positions::default();
        let (near, far, left, new) = (positions.join(), positions.join(), positions.join(), positions.join());
        near.stand_at(9);
        far.stand_at(2);
        left.stand_at(1);
        drop(left);
        assert_eq!(positions.behind(10), vec![8, 1, 0]);
        drop((near, far, new));
        assert_eq!(positions.behind(10), Vec::<u64>::new());
    }

    #[test]
    fn readers_that_come_and_go_leave_nothing_behind() {
        let positions = Positions::default();
        let stays = positions.join();
        for _ in 0..10_000 {
            drop(positions.join());
        }
        assert!(positions.readers.borrow().cursors.len() <= TIDY_FROM);
        stays.stand_at(3);
        assert_eq!(positions.behind(4), vec![1]);
    }
}
