//! Tool servers that were added through the API, as rows. What they are given secretly is a sealed value here and in the
//! file; what opens it is elsewhere.

use hamlet_actors::vocabulary::{Timestamp, ToolServerId};
use rusqlite::{Connection, OptionalExtension, Row, named_params};
use uuid::Uuid;

use super::StoreError;
use crate::tools::servers::definition::Way;

#[derive(Debug, Clone, PartialEq)]
pub struct ToolServerRow {
    pub id: ToolServerId,
    /// Unique among the rows.
    pub name: String,
    pub way: Way,
    /// Environment and headers, sealed for this row's id.
    pub sealed: Option<Vec<u8>>,
    pub enabled: bool,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

const COLUMNS: &str = "id, name, config, secrets, enabled, created_at, updated_at";

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn get(conn: &Connection, id: ToolServerId) -> Result<ToolServerRow, StoreError> {
    let mut statement = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM tool_servers WHERE id = ?1"))?;
    statement.query_row([id.0.into_bytes()], |row| Ok(read(row)))?
}

/// All of them, in the order of their making.
pub fn list(conn: &Connection) -> Result<Vec<ToolServerRow>, StoreError> {
    let mut statement = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM tool_servers ORDER BY id"))?;
    let rows = statement.query_map([], |row| Ok(read(row)))?;
    rows.map(|row| row?).collect()
}

pub fn count(conn: &Connection) -> Result<usize, StoreError> {
    let count: i64 = conn.prepare_cached("SELECT count(*) FROM tool_servers")?.query_row([], |row| row.get(0))?;
    usize::try_from(count).map_err(|_| StoreError::Damaged(format!("a count of {count}")))
}

/// Who has this name.
pub fn of_name(conn: &Connection, name: &str) -> Result<Option<ToolServerId>, StoreError> {
    let mut statement = conn.prepare_cached("SELECT id FROM tool_servers WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| Ok(ToolServerId(Uuid::from_bytes(row.get(0)?)))).optional()?)
}

/// # Errors
/// [`StoreError::Conflict`] when the name is taken.
pub fn insert(conn: &Connection, row: &ToolServerRow) -> Result<(), StoreError> {
    save(
        conn,
        row,
        "INSERT INTO tool_servers (id, name, transport, config, secrets, enabled, created_at, updated_at) \
         VALUES (:id, :name, :transport, :config, :secrets, :enabled, :created_at, :updated_at)",
    )
}

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn update(conn: &Connection, row: &ToolServerRow) -> Result<(), StoreError> {
    save(
        conn,
        row,
        "UPDATE tool_servers SET name = :name, transport = :transport, config = :config, secrets = :secrets, \
           enabled = :enabled, created_at = :created_at, updated_at = :updated_at \
         WHERE id = :id",
    )
}

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn delete(conn: &Connection, id: ToolServerId) -> Result<(), StoreError> {
    one(conn.prepare_cached("DELETE FROM tool_servers WHERE id = ?1")?.execute([id.0.into_bytes()])?)
}

fn save(conn: &Connection, row: &ToolServerRow, sql: &str) -> Result<(), StoreError> {
    one(conn.prepare_cached(sql)?.execute(named_params! {
        ":id": row.id.0.into_bytes(),
        ":name": row.name,
        ":transport": row.way.transport().name(),
        ":config": serde_json::to_string(&row.way)?,
        ":secrets": row.sealed,
        ":enabled": row.enabled,
        ":created_at": row.created_at.as_millis(),
        ":updated_at": row.updated_at.as_millis(),
    })?)
}

fn one(changed: usize) -> Result<(), StoreError> {
    if changed == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

fn read(row: &Row<'_>) -> Result<ToolServerRow, StoreError> {
    Ok(ToolServerRow {
        id: ToolServerId(Uuid::from_bytes(row.get("id")?)),
        name: row.get("name")?,
        way: serde_json::from_str(&row.get::<_, String>("config")?)?,
        sealed: row.get("secrets")?,
        enabled: row.get("enabled")?,
        created_at: Timestamp::from_millis(row.get("created_at")?),
        updated_at: Timestamp::from_millis(row.get("updated_at")?),
    })
}
