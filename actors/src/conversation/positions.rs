//! Where the readers of a log stand. A reader's cursor is its own; it leaves a copy here, so that whoever inspects sees
//! how far each is behind without asking any of them.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, Ordering},
};

use crate::village::Mark;

/// Has not looked yet.
const NOWHERE: u64 = u64::MAX;
/// Has left.
const GONE: u64 = u64::MAX - 1;
/// A list that is shorter is not tidied.
const TIDY_FROM: usize = 16;

/// The positions of all readers of one log. Those that left fall out when the list has doubled since it was tidied last.
#[derive(Debug, Default)]
pub struct Positions {
    cursors: Vec<Weak<AtomicU64>>,
    tidy_at: usize,
}

/// One reader's position; it is off the list once this is dropped.
#[derive(Debug)]
pub struct Position {
    cursor: Arc<AtomicU64>,
    mark: Option<Arc<Mark>>,
}

impl Positions {
    pub fn join(&mut self, position: &Position) {
        if self.cursors.len() >= self.tidy_at.max(TIDY_FROM) {
            self.cursors.retain(|cursor| cursor.strong_count() > 0);
            self.tidy_at = self.cursors.len() * 2;
        }
        self.cursors.push(Arc::downgrade(&position.cursor));
        position.mark.iter().for_each(|mark| mark.touch());
    }

    /// How far each reader is behind `head`, the slowest first. One that has not looked yet is not behind.
    pub fn behind(&self, head: u64) -> Vec<u64> {
        let cursors = self.cursors.iter().filter_map(Weak::upgrade).map(|cursor| cursor.load(Ordering::Relaxed));
        let mut behind: Vec<u64> =
            cursors.filter(|cursor| *cursor != GONE).map(|cursor| head.saturating_sub(cursor)).collect();
        behind.sort_unstable_by(|a, b| b.cmp(a));
        behind
    }
}

impl Position {
    pub fn new(mark: Option<Arc<Mark>>) -> Self {
        Self { cursor: Arc::new(AtomicU64::new(NOWHERE)), mark }
    }

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

    fn join(positions: &mut Positions) -> Position {
        let position = Position::new(None);
        positions.join(&position);
        position
    }

    #[test]
    fn the_slowest_reader_is_listed_first_and_one_that_left_is_not_listed() {
        let mut positions = Positions::default();
        let [near, far, left, new] = [0; 4].map(|_| join(&mut positions));
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
        let mut positions = Positions::default();
        let stays = join(&mut positions);
        for _ in 0..10_000 {
            drop(join(&mut positions));
        }
        assert!(positions.cursors.len() <= TIDY_FROM);
        stays.stand_at(3);
        assert_eq!(positions.behind(4), vec![1]);
    }
}
