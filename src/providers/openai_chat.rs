//! p
pub mod calls;
pub mod decoder;
pub mod label;
pub mod reasoning;
pub mod reply;
pub mod strings;
pub mod think;
pub mod usage;
pub mod wire;
