//! Keeps a panic where it came up.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// None when it panicked. What it was thrown with is left alone: dropping that may panic as well.
pub fn contained<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(std::mem::forget).ok()
}

#[cfg(test)]
mod tests {
    use super::contained;

    /// Panics once more when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "the second panic that the test asked for");
        }
    }

    #[test]
    fn a_panic_that_would_panic_again_is_contained() {
        assert_eq!(contained(|| std::panic::panic_any(Bomb)), None::<()>);
        assert_eq!(contained(|| 7), Some(7));
    }
}
