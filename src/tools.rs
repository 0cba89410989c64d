//! Tools that NPCs may be granted: those that are built in.

pub mod builtin;
