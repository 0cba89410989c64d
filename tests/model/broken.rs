//! A promise that was not kept, in words.

/// Why a run failed. The story that led to it stands behind it.
#[derive(Debug)]
pub struct Broken(pub String);

pub type Checked<T = ()> = Result<T, Broken>;

/// Breaks the run unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($words:tt)+) => {
        if !$condition {
            return Err($crate::broken::Broken(format!($($words)+)));
        }
    };
}
pub(crate) use ensure;

/// What must be there for the test itself to go on.
pub fn must<T, E: std::fmt::Display>(result: Result<T, E>, what: &str) -> Checked<T> {
    result.map_err(|error| Broken(format!("{what}: {error}")))
}
