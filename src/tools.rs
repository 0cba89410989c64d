//! Tools beside those that the engine itself brings: built in, and of tool servers that speak MCP.

pub mod builtin;
pub mod servers;
