//! Tool servers as the engine meets them: a server that the tests play, and real ones over both transports.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what helps a test may fail it")]

mod answers;
mod fake;
mod hosted;
mod house;
mod lasting;
mod lists;
mod peers;
mod real;
mod safety;
mod task;
