//! Settings that were stored, name by name, as JSON. Names that begin with `_` are the program's own marks. What
//! a name means and which values come before the stored one is decided elsewhere.

use rusqlite::{Connection, OptionalExtension};
use serde_json::{Map, Value};

use super::StoreError;

/// All rows, marks included.
pub fn all(conn: &Connection) -> Result<Map<String, Value>, StoreError> {
    let mut statement = conn.prepare_cached("SELECT name, value FROM settings")?;
    let mut rows = statement.query([])?;
    let mut all = Map::new();
    while let Some(row) = rows.next()? {
        all.insert(row.get(0)?, serde_json::from_str(&row.get::<_, String>(1)?)?);
    }
    Ok(all)
}

pub fn get(conn: &Connection, name: &str) -> Result<Option<Value>, StoreError> {
    let mut statement = conn.prepare_cached("SELECT value FROM settings WHERE name = ?1")?;
    let text = statement.query_row([name], |row| row.get::<_, String>(0)).optional()?;
    Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
}

pub fn set(conn: &Connection, name: &str, value: &Value) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    conn.prepare_cached(sql)?.execute([name, &value.to_string()])?;
    Ok(())
}

/// Back to the default; nothing happens when there is no such row.
pub fn clear(conn: &Connection, name: &str) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM settings WHERE name = ?1")?.execute([name])?;
    Ok(())
}
