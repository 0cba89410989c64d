//! The rules of a turn as pure functions over plain values: no clock, no store, no Provider.

pub mod attribution;
pub mod outcome;
pub mod prompt;
pub mod recall;
pub mod repair;
pub mod speaker;
pub mod window;
