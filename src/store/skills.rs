//! Skills and their reference files as rows. Knows which names are taken and what an NPC has in scope; what a field may
//! hold and who may change it is decided before.

use std::collections::BTreeMap;

use hamlet_actors::vocabulary::{NpcId, PlayerId, SkillHead, SkillId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use serde::Serialize;
use uuid::Uuid;

use super::StoreError;

/// What a skill says of itself. Its serde form is the wire's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillAbout {
    pub name: String,
    pub description: String,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub metadata: BTreeMap<String, String>,
    /// Shown, and granting nothing.
    pub allowed_tools: Vec<String>,
}

/// A skill as its maker wrote it, without its place here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillText {
    pub about: SkillAbout,
    pub instructions: String,
}

/// A skill as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillEntry {
    pub id: SkillId,
    /// None: in scope for the whole Village.
    pub npc_id: Option<NpcId>,
    #[serde(flatten)]
    pub about: SkillAbout,
    /// Its folder under `skills/` in the data folder, where it comes from one.
    pub folder: Option<String>,
    #[serde(skip)]
    pub created_by: Option<PlayerId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillRecord {
    #[serde(flatten)]
    pub entry: SkillEntry,
    pub instructions: String,
}

/// Texts by their path, `references/...`.
pub type SkillFiles = BTreeMap<String, String>;

const ENTRY: &str = "id, npc_id, name, description, license, compatibility, metadata, allowed_tools, folder, created_by, \
                     created_at, updated_at";

/// The Village's skills that this NPC does not hide by one of its own, and its own. `?1` is the NPC.
const IN_SCOPE: &str =
    "(npc_id = ?1 OR (npc_id IS NULL AND name NOT IN (SELECT own.name FROM skills own WHERE own.npc_id = ?1)))";

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn get(conn: &Connection, id: SkillId) -> Result<SkillRecord, StoreError> {
    let mut statement = conn.prepare_cached(&format!("SELECT {ENTRY}, instructions FROM skills WHERE id = ?1"))?;
    statement.query_row([id.0.into_bytes()], |row| Ok(whole(row)))?
}

/// Up to `limit` skills in the order of their making, those after `after` only; all, or what is in scope for one NPC.
pub fn list(
    conn: &Connection,
    npc: Option<NpcId>,
    after: Option<SkillId>,
    limit: usize,
) -> Result<Vec<SkillEntry>, StoreError> {
    let scope = format!("(?1 IS NULL OR {IN_SCOPE})");
    let sql = format!("SELECT {ENTRY} FROM skills WHERE {scope} AND id > ?2 ORDER BY id LIMIT ?3");
    let after = after.map_or(Uuid::nil(), |id| id.0).into_bytes();
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params![scope_key(npc), after, limit], |row| Ok(entry(row)))?;
    rows.map(|row| row?).collect()
}

/// Up to `limit` skills that are in scope for the NPC: its own first, then by name.
pub fn heads(conn: &Connection, npc: NpcId, limit: usize) -> Result<Vec<SkillHead>, StoreError> {
    let sql = format!("SELECT name, description FROM skills WHERE {IN_SCOPE} ORDER BY npc_id IS NULL, name LIMIT ?2");
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params![npc.0.into_bytes(), limit], |row| {
        Ok(SkillHead { name: row.get(0)?, description: row.get(1)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// How many skills are in scope for the NPC.
pub fn count_in_scope(conn: &Connection, npc: NpcId) -> Result<usize, StoreError> {
    let sql = format!("SELECT count(*) FROM skills WHERE {IN_SCOPE}");
    Ok(conn.prepare_cached(&sql)?.query_row([npc.0.into_bytes()], |row| row.get(0))?)
}

/// The skill that the NPC means by this name: its own one comes before the Village's.
pub fn in_scope(conn: &Connection, npc: NpcId, name: &str) -> Result<Option<SkillRecord>, StoreError> {
    let sql = format!(
        "SELECT {ENTRY}, instructions FROM skills WHERE (npc_id = ?1 OR npc_id IS NULL) AND name = ?2 \
         ORDER BY npc_id IS NULL LIMIT 1"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    statement.query_row(params![npc.0.into_bytes(), name], |row| Ok(whole(row))).optional()?.transpose()
}

/// Who has this name in this scope.
pub fn of_name(conn: &Connection, npc: Option<NpcId>, name: &str) -> Result<Option<SkillId>, StoreError> {
    let mut statement = conn.prepare_cached("SELECT id FROM skills WHERE npc_id IS ?1 AND name = ?2")?;
    let found =
        statement.query_row(params![scope_key(npc), name], |row| row.get(0).map(Uuid::from_bytes)).optional()?;
    Ok(found.map(SkillId))
}

/// How many skills one scope has.
pub fn count(conn: &Connection, npc: Option<NpcId>) -> Result<usize, StoreError> {
    let mut statement = conn.prepare_cached("SELECT count(*) FROM skills WHERE npc_id IS ?1")?;
    Ok(statement.query_row([scope_key(npc)], |row| row.get(0))?)
}

/// All that come from a folder.
pub fn of_folders(conn: &Connection) -> Result<Vec<SkillRecord>, StoreError> {
    let sql = format!("SELECT {ENTRY}, instructions FROM skills WHERE folder IS NOT NULL ORDER BY id");
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map([], |row| Ok(whole(row)))?;
    rows.map(|row| row?).collect()
}

/// # Errors
/// [`StoreError::Conflict`] when the name is taken in its scope, or the NPC is gone.
pub fn insert(conn: &Connection, record: &SkillRecord) -> Result<(), StoreError> {
    save(
        conn,
        record,
        "INSERT INTO skills (id, npc_id, name, description, instructions, license, compatibility, metadata, \
           allowed_tools, folder, created_by, created_at, updated_at) \
         VALUES (:id, :npc_id, :name, :description, :instructions, :license, :compatibility, :metadata, \
           :allowed_tools, :folder, :created_by, :created_at, :updated_at)",
    )
}

/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Conflict`] when the name is taken in its scope.
pub fn update(conn: &Connection, record: &SkillRecord) -> Result<(), StoreError> {
    save(
        conn,
        record,
        "UPDATE skills SET npc_id = :npc_id, name = :name, description = :description, instructions = :instructions, \
           license = :license, compatibility = :compatibility, metadata = :metadata, allowed_tools = :allowed_tools, \
           folder = :folder, created_by = :created_by, created_at = :created_at, updated_at = :updated_at \
         WHERE id = :id",
    )
}

/// Its files go with it.
///
/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn delete(conn: &Connection, id: SkillId) -> Result<(), StoreError> {
    one(conn.prepare_cached("DELETE FROM skills WHERE id = ?1")?.execute([id.0.into_bytes()])?)
}

/// The paths of its files, in their order.
pub fn file_paths(conn: &Connection, id: SkillId) -> Result<Vec<String>, StoreError> {
    let mut statement = conn.prepare_cached("SELECT path FROM skill_files WHERE skill_id = ?1 ORDER BY path")?;
    let rows = statement.query_map([id.0.into_bytes()], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// # Errors
/// [`StoreError::NotFound`] when the skill has no file of this path.
pub fn file(conn: &Connection, id: SkillId, path: &str) -> Result<String, StoreError> {
    let mut statement = conn.prepare_cached("SELECT body FROM skill_files WHERE skill_id = ?1 AND path = ?2")?;
    Ok(statement.query_row(params![id.0.into_bytes(), path], |row| row.get(0))?)
}

pub fn files(conn: &Connection, id: SkillId) -> Result<SkillFiles, StoreError> {
    let mut statement = conn.prepare_cached("SELECT path, body FROM skill_files WHERE skill_id = ?1")?;
    let rows = statement.query_map([id.0.into_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// These and no others.
pub fn replace_files(conn: &Connection, id: SkillId, files: &SkillFiles) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM skill_files WHERE skill_id = ?1")?.execute([id.0.into_bytes()])?;
    let mut statement = conn.prepare_cached("INSERT INTO skill_files (skill_id, path, body) VALUES (?1, ?2, ?3)")?;
    for (path, body) in files {
        statement.execute(params![id.0.into_bytes(), path, body])?;
    }
    Ok(())
}

fn save(conn: &Connection, record: &SkillRecord, sql: &str) -> Result<(), StoreError> {
    let SkillRecord { entry, instructions } = record;
    let changed = conn.prepare_cached(sql)?.execute(named_params! {
        ":id": entry.id.0.into_bytes(),
        ":npc_id": scope_key(entry.npc_id),
        ":name": entry.about.name,
        ":description": entry.about.description,
        ":instructions": instructions,
        ":license": entry.about.license,
        ":compatibility": entry.about.compatibility,
        ":metadata": serde_json::to_string(&entry.about.metadata)?,
        ":allowed_tools": serde_json::to_string(&entry.about.allowed_tools)?,
        ":folder": entry.folder,
        ":created_by": entry.created_by.map(|id| id.0.into_bytes()),
        ":created_at": entry.created_at.as_millis(),
        ":updated_at": entry.updated_at.as_millis(),
    })?;
    one(changed)
}

fn one(changed: usize) -> Result<(), StoreError> {
    if changed == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

fn scope_key(npc: Option<NpcId>) -> Option<[u8; 16]> {
    npc.map(|id| id.0.into_bytes())
}

fn whole(row: &Row<'_>) -> Result<SkillRecord, StoreError> {
    Ok(SkillRecord { entry: entry(row)?, instructions: row.get("instructions")? })
}

fn entry(row: &Row<'_>) -> Result<SkillEntry, StoreError> {
    Ok(SkillEntry {
        id: SkillId(Uuid::from_bytes(row.get("id")?)),
        npc_id: row.get::<_, Option<[u8; 16]>>("npc_id")?.map(|id| NpcId(Uuid::from_bytes(id))),
        about: SkillAbout {
            name: row.get("name")?,
            description: row.get("description")?,
            license: row.get("license")?,
            compatibility: row.get("compatibility")?,
            metadata: serde_json::from_str(&row.get::<_, String>("metadata")?)?,
            allowed_tools: serde_json::from_str(&row.get::<_, String>("allowed_tools")?)?,
        },
        folder: row.get("folder")?,
        created_by: row.get::<_, Option<[u8; 16]>>("created_by")?.map(|id| PlayerId(Uuid::from_bytes(id))),
        created_at: Timestamp::from_millis(row.get("created_at")?),
        updated_at: Timestamp::from_millis(row.get("updated_at")?),
    })
}
