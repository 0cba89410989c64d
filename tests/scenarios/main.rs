//! Stories of turns over a real store, with a Provider that the test plays.

mod exits;
mod recovery;
mod regenerate;
mod talk;
