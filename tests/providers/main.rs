//! The Provider adapters: the decoders against bytes as servers send them, at every cut; the adapters against a server
//! on the loopback that misbehaves on purpose; the rehearsal as a Provider like any other.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod cases;
mod discovering;
mod events;
mod fake;
mod over_http;
mod rehearsing;
mod requests;
mod splits;
mod told;
