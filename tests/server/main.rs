//! Stories over HTTP: a running server on loopback, a Provider that the test plays.

#![expect(clippy::unwrap_used, reason = "what helps a test may fail it")]

mod admin;
mod calls;
mod cursor;
mod full;
mod gates;
mod memories;
mod metrics;
mod party;
mod quarantine;
mod queue;
mod resume;
mod several;
mod skills;
mod slow;
mod socket;
mod sse;
mod steering;
mod store;
mod turns;
