//! The server's edge: one resource a file, the route table on one screen.

pub mod accounts;
pub mod error;
pub mod extract;
pub mod npcs;
pub mod providers;
pub mod request_id;
pub mod settings;
pub mod village;
