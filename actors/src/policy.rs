//! The rules of a turn as pure functions over plain values: no clock, no store, no Provider.

pub mod attribution;
pub mod calls;
pub mod echo;
pub mod outcome;
pub mod output;
pub mod passing;
pub mod prompt;
pub mod recall;
pub mod repair;
pub mod said;
pub mod speaker;
pub mod summary;
pub mod window;
