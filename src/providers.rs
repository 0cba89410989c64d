//! p
pub mod discretion;
pub mod failure;
pub mod openai_chat;
pub mod quirks;
pub mod sse;
