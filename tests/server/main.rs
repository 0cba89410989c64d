//! Stories over HTTP: a running server on loopback, a Provider that the test plays.

mod gates;
mod sse;
mod turns;
