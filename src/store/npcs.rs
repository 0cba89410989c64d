//! The Village's NPCs as rows. Knows which slugs are taken; what a field may hold and who may change it is decided before.

use hamlet_actors::vocabulary::{ModelParams, Npc, NpcId, PlayerId, ProviderId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::{StoreError, grants};

/// An NPC with what a turn does not need. Its serde form is the wire's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NpcRecord {
    #[serde(flatten)]
    pub npc: Npc,
    pub avatar: Option<String>,
    pub greetings: Vec<String>,
    pub tags: Vec<String>,
    /// Unknown fields of an imported card.
    pub extensions: Map<String, Value>,
    /// None: nobody who is still here; a first inhabitant, for one.
    #[serde(skip)]
    pub created_by: Option<PlayerId>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

const COLUMNS: &str = "id, slug, name, job_title, description, instructions, provider_id, model, params, avatar, greetings, \
                       tags, extensions, created_by, created_at, updated_at";

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn get(conn: &Connection, id: NpcId) -> Result<NpcRecord, StoreError> {
    let mut statement = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM npcs WHERE id = ?1"))?;
    statement.query_row([id.0.into_bytes()], |row| Ok(read(row)))?
}

/// These NPCs in this order; one that has been deleted meanwhile is left out.
pub fn party(conn: &Connection, ids: &[NpcId]) -> Result<Vec<Npc>, StoreError> {
    let mut party = Vec::with_capacity(ids.len());
    for id in ids {
        match get(conn, *id) {
            Ok(record) => party.push(record.npc),
            Err(StoreError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(party)
}

/// Up to `limit` NPCs in the order of their making, those after `after` only.
pub fn list(conn: &Connection, after: Option<NpcId>, limit: usize) -> Result<Vec<NpcRecord>, StoreError> {
    let after = after.map_or(Uuid::nil(), |id| id.0).into_bytes();
    let mut statement =
        conn.prepare_cached(&format!("SELECT {COLUMNS} FROM npcs WHERE id > ?1 ORDER BY id LIMIT ?2"))?;
    let rows = statement.query_map(params![after, i64::try_from(limit).unwrap_or(i64::MAX)], |row| Ok(read(row)))?;
    rows.map(|row| row?).collect()
}

/// # Errors
/// [`StoreError::Conflict`] when the slug is taken.
pub fn insert(conn: &Connection, record: &NpcRecord) -> Result<(), StoreError> {
    save(
        conn,
        record,
        "INSERT INTO npcs (id, slug, name, job_title, description, instructions, provider_id, model, params, avatar, \
           greetings, tags, extensions, created_by, created_at, updated_at) \
         VALUES (:id, :slug, :name, :job_title, :description, :instructions, :provider_id, :model, :params, :avatar, \
           :greetings, :tags, :extensions, :created_by, :created_at, :updated_at)",
    )?;
    grants::give_default(conn, record.npc.id)
}

/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Conflict`] when the slug is taken.
pub fn update(conn: &Connection, record: &NpcRecord) -> Result<(), StoreError> {
    save(
        conn,
        record,
        "UPDATE npcs SET slug = :slug, name = :name, job_title = :job_title, description = :description, \
           instructions = :instructions, provider_id = :provider_id, model = :model, params = :params, avatar = :avatar, \
           greetings = :greetings, tags = :tags, extensions = :extensions, created_by = :created_by, \
           created_at = :created_at, updated_at = :updated_at \
         WHERE id = :id",
    )
}

/// The NPC leaves its Conversations; its Messages stay, under its name.
///
/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn delete(conn: &Connection, id: NpcId) -> Result<(), StoreError> {
    one(conn.prepare_cached("DELETE FROM npcs WHERE id = ?1")?.execute([id.0.into_bytes()])?)
}

/// Who has this slug.
pub fn of_slug(conn: &Connection, slug: &str) -> Result<Option<NpcId>, StoreError> {
    let mut statement = conn.prepare_cached("SELECT id FROM npcs WHERE slug = ?1")?;
    Ok(statement.query_row([slug], |row| Ok(NpcId(uuid(row.get(0)?)))).optional()?)
}

/// Names of up to `limit` NPCs that name this Provider.
pub fn names_with_provider(conn: &Connection, id: ProviderId, limit: u32) -> Result<Vec<String>, StoreError> {
    let mut statement = conn.prepare_cached("SELECT name FROM npcs WHERE provider_id = ?1 ORDER BY id LIMIT ?2")?;
    let names = statement.query_map(params![id.0.into_bytes(), limit], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

fn save(conn: &Connection, record: &NpcRecord, sql: &str) -> Result<(), StoreError> {
    let npc = &record.npc;
    let changed = conn.prepare_cached(sql)?.execute(named_params! {
        ":id": npc.id.0.into_bytes(),
        ":slug": npc.slug,
        ":name": npc.name,
        ":job_title": npc.job_title,
        ":description": npc.description,
        ":instructions": npc.instructions,
        ":provider_id": npc.provider_id.map(|id| id.0.into_bytes()),
        ":model": npc.model,
        ":params": serde_json::to_string(&npc.params)?,
        ":avatar": record.avatar,
        ":greetings": serde_json::to_string(&record.greetings)?,
        ":tags": serde_json::to_string(&record.tags)?,
        ":extensions": serde_json::to_string(&record.extensions)?,
        ":created_by": record.created_by.map(|id| id.0.into_bytes()),
        ":created_at": record.created_at.as_millis(),
        ":updated_at": record.updated_at.as_millis(),
    })?;
    one(changed)
}

fn one(changed: usize) -> Result<(), StoreError> {
    if changed == 0 { Err(StoreError::NotFound) } else { Ok(()) }
}

fn read(row: &Row<'_>) -> Result<NpcRecord, StoreError> {
    Ok(NpcRecord {
        npc: Npc {
            id: NpcId(uuid(row.get("id")?)),
            slug: row.get("slug")?,
            name: row.get("name")?,
            job_title: row.get("job_title")?,
            description: row.get("description")?,
            instructions: row.get("instructions")?,
            provider_id: row.get::<_, Option<[u8; 16]>>("provider_id")?.map(|id| ProviderId(uuid(id))),
            model: row.get("model")?,
            params: json::<ModelParams>(row, "params")?,
        },
        avatar: row.get("avatar")?,
        greetings: json(row, "greetings")?,
        tags: json(row, "tags")?,
        extensions: json(row, "extensions")?,
        created_by: row.get::<_, Option<[u8; 16]>>("created_by")?.map(|id| PlayerId(uuid(id))),
        created_at: Timestamp::from_millis(row.get("created_at")?),
        updated_at: Timestamp::from_millis(row.get("updated_at")?),
    })
}

fn uuid(bytes: [u8; 16]) -> Uuid {
    Uuid::from_bytes(bytes)
}

fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T, StoreError> {
    Ok(serde_json::from_str(&row.get::<_, String>(column)?)?)
}
