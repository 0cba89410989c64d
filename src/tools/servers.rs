//! Tool servers (MCP): programs beside Hamlet, over stdio or HTTP, whose tools NPCs may be granted.

mod backoff;
mod expand;
mod schema;
mod wire_name;
