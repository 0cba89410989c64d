//! The engine's Journal over the writer.

use rusqlite::Connection;

use super::StoreError;

/// What the writer knows of the Conversations it writes.
#[derive(Debug, Default)]
pub struct Claims {}

/// Deletes journal rows that no running Message needs.
#[derive(Debug, Default)]
pub struct Trim {}

impl Trim {
    pub fn trim(&mut self, _conn: &Connection, _claims: &mut Claims) -> Result<(), StoreError> {
        Ok(())
    }
}
