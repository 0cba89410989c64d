//! How long a tool server is left alone before it is tried again.

use std::time::Duration;

/// The shortest and the longest pause.
#[derive(Debug, Clone, Copy)]
pub struct Backoff {
    pub min: Duration,
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { min: Duration::from_secs(1), max: Duration::from_secs(60) }
    }
}

impl Backoff {
    /// The pause behind the `failures`-th failure in a row: it doubles each time, and `chance` (0 to 1) takes up to a half
    /// off, so that servers which went together don't come back together.
    pub fn pause(self, failures: u32, chance: f64) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        let full = self.min.saturating_mul(doubled).min(self.max);
        full.mul_f64(1.0 - 0.5 * chance.clamp(0.0, 1.0)).max(self.min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_from_one_second_to_sixty() {
        let pauses: Vec<u64> = (0..=8).map(|failures| Backoff::default().pause(failures, 0.0).as_secs()).collect();
        assert_eq!(pauses, [1, 1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(Backoff::default().pause(u32::MAX, 0.0).as_secs(), 60);
    }

    #[test]
    fn chance_shortens_a_pause_by_half_at_most_and_never_below_the_shortest() {
        assert_eq!(Backoff::default().pause(4, 1.0), Duration::from_secs(4));
        assert_eq!(Backoff::default().pause(4, 9.0), Duration::from_secs(4));
        assert_eq!(Backoff::default().pause(1, 1.0), Duration::from_secs(1));
    }
}
