//! x
pub mod ports;
pub mod vocabulary;
