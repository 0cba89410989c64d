//! When a Provider was asked and when it began to answer, and which reports are timed on their way to the readers. It
//! lives outside the part of the turn that can be cancelled or panic.

use std::time::{Duration, Instant};

/// One report in so many is timed: the others cost a counter.
const TIMED: u32 = 16;

#[derive(Debug, Default)]
pub struct Stopwatch {
    asked: Option<Instant>,
    first: Option<Instant>,
    reports: u32,
    decoded: Option<Instant>,
}

impl Stopwatch {
    /// The request is on its way.
    pub fn ask(&mut self) {
        self.asked = Some(Instant::now());
    }

    /// A delta was decoded.
    pub fn delta(&mut self, place: Place) {
        if self.first.is_none() {
            self.first = Some(Instant::now());
        }
        if place == Place::BeginsReport {
            if self.reports.is_multiple_of(TIMED) {
                self.decoded = Some(Instant::now());
            }
            self.reports = self.reports.wrapping_add(1);
        }
    }

    /// When the oldest delta of the report was decoded, if this is one that is timed.
    pub fn take_decoded(&mut self) -> Option<Instant> {
        self.decoded.take()
    }

    /// How long the call took, and how long until its first delta; None when no Provider was asked.
    pub fn read(&self) -> Option<(Duration, Option<Duration>)> {
        let asked = self.asked?;
        Some((asked.elapsed(), self.first.map(|first| first.duration_since(asked))))
    }
}

/// Where a delta stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    BeginsReport,
    InReport,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_report_and_one_in_sixteen_after_it_are_timed() {
        let mut watch = Stopwatch::default();
        let timed: Vec<u32> = (0..40)
            .filter(|_| {
                watch.delta(Place::BeginsReport);
                watch.delta(Place::InReport);
                watch.take_decoded().is_some()
            })
            .collect();
        assert_eq!(timed, [0, 16, 32]);
    }

    #[test]
    fn a_turn_that_asked_nobody_made_no_call() {
        let mut watch = Stopwatch::default();
        assert_eq!(watch.read(), None);
        watch.ask();
        assert!(matches!(watch.read(), Some((_, None))));
        watch.delta(Place::BeginsReport);
        assert!(matches!(watch.read(), Some((_, Some(_)))));
    }
}
