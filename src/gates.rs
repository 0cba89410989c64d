//! Everything that can refuse a request before its first byte. A turn passes `admit`, and an [`admit::Admission`] can be
//! built nowhere else (promise 1).

pub mod admit;
pub mod casting;
mod facts;
pub mod going_on;
pub mod origin;
mod text;
