//! Providers that were added through the API, as rows. The key is a sealed value here and in the file; what opens it is
//! elsewhere.

use hamlet_actors::vocabulary::{ProviderId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, named_params};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::StoreError;

#[derive(Debug, Clone, PartialEq)]
pub struct ProviderRow {
    pub id: ProviderId,
    /// Unique among the rows.
    pub name: String,
    pub kind: String,
    /// Empty: this kind is nowhere on a network.
    pub base_url: String,
    /// Sealed for this row's id.
    pub sealed_key: Option<Vec<u8>>,
    pub quirks: Map<String, Value>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

const COLUMNS: &str = "id, name, kind, base_url, api_key, quirks, created_at, updated_at";

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn get(conn: &Connection, id: ProviderId) -> Result<ProviderRow, StoreError> {
    let mut statement = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM providers WHERE id = ?1"))?;
    statement.query_row([id.0.into_bytes()], |row| Ok(read(row)))?
}

/// All of them, in the order of their making.
pub fn list(conn: &Connection) -> Result<Vec<ProviderRow>, StoreError> {
    let mut statement = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM providers ORDER BY id"))?;
    let rows = statement.query_map([], |row| Ok(read(row)))?;
    rows.map(|row| row?).collect()
}

pub fn count(conn: &Connection) -> Result<usize, StoreError> {
    let count: i64 = conn.prepare_cached("SELECT count(*) FROM providers")?.query_row([], |row| row.get(0))?;
    usize::try_from(count).map_err(|_| StoreError::Damaged(format!("a count of {count}")))
}

/// Who has this name.
pub fn of_name(conn: &Connection, name: &str) -> Result<Option<ProviderId>, StoreError> {
    let mut statement = conn.prepare_cached("SELECT id FROM providers WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| Ok(ProviderId(Uuid::from_bytes(row.get(0)?)))).optional()?)
}

/// # Errors
/// [`StoreError::Conflict`] when the name is taken.
pub fn insert(conn: &Connection, row: &ProviderRow) -> Result<(), StoreError> {
    save(
        conn,
        row,
        "INSERT INTO providers (id, name, kind, base_url, api_key, quirks, created_at, updated_at) \
         VALUES (:id, :name, :kind, :base_url, :api_key, :quirks, :created_at, :updated_at)",
    )
}

/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Conflict`] when the name is taken.
pub fn update(conn: &Connection, row: &ProviderRow) -> Result<(), StoreError> {
    save(
        conn,
        row,
        "UPDATE providers SET name = :name, kind = :kind, base_url = :base_url, api_key = :api_key, quirks = :quirks, \
           created_at = :created_at, updated_at = :updated_at \
         WHERE id = :id",
    )
}

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn delete(conn: &Connection, id: ProviderId) -> Result<(), StoreError> {
    one(conn.prepare_cached("DELETE FROM providers WHERE id = ?1")?.execute([id.0.into_bytes()])?)
}

fn save(conn: &Connection, row: &ProviderRow, sql: &str) -> Result<(), StoreError> {
    let changed = conn.prepare_cached(sql)?.execute(named_params! {
        ":id": row.id.0.into_bytes(),
        ":name": row.name,
        ":kind": row.kind,
        ":base_url": row.base_url,
        ":api_key": row.sealed_key,
        ":quirks": serde_json::to_string(&row.quirks)?,
        ":created_at": row.created_at.as_millis(),
        ":updated_at": row.updated_at.as_millis(),
    })?;
    one(changed)
}

fn one(changed: usize) -> Result<(), StoreError> {
    if changed == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

fn read(row: &Row<'_>) -> Result<ProviderRow, StoreError> {
    Ok(ProviderRow {
        id: ProviderId(Uuid::from_bytes(row.get("id")?)),
        name: row.get("name")?,
        kind: row.get("kind")?,
        base_url: row.get("base_url")?,
        sealed_key: row.get("api_key")?,
        quirks: serde_json::from_str(&row.get::<_, String>("quirks")?)?,
        created_at: Timestamp::from_millis(row.get("created_at")?),
        updated_at: Timestamp::from_millis(row.get("updated_at")?),
    })
}
