//! Tools beside those that the engine itself brings: tool servers that speak MCP.

pub mod servers;
