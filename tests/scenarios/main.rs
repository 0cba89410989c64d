//! Stories of turns over a real store, with a Provider that the test plays.

#![expect(clippy::unwrap_used, reason = "what helps a test may fail it")]

mod again;
mod exits;
mod faults;
mod inspection;
mod outcomes;
mod party;
mod recovery;
mod regenerate;
mod summary;
mod supervision;
mod talk;
mod titles;
mod tools;
