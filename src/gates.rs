//! What stands before every route.

pub mod origin;
