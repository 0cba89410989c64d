//! What a skill may be and who may change it. One for the whole Village reaches everybody's NPCs, so admins make and
//! change it; one for an NPC is the business of whoever may change the NPC. One that comes from a folder is changed there.

use std::collections::{BTreeMap, BTreeSet};

use hamlet_actors::vocabulary::{NpcId, SkillId, Timestamp};
use rusqlite::Connection;
use serde::Deserialize;

use super::{
    patch::present,
    text::{self, Invalid},
};
use crate::{
    auth::{PlayerRole, Who},
    store::{
        StoreError, npcs,
        skills::{self, SkillAbout, SkillEntry, SkillFiles, SkillRecord, SkillText},
    },
};

/// Skills of the Village, and of each NPC, at most.
pub const SCOPE_LIMIT: usize = 100;

/// Characters of each at most, by the open form where it says so.
const NAME_MAX: usize = 64;
const DESCRIPTION_MAX: usize = 1_024;
const COMPATIBILITY_MAX: usize = 500;
const LICENSE_MAX: usize = 500;
const INSTRUCTIONS_MAX: usize = 100_000;

/// The body of POST and PATCH alike: POST needs a name, a description and instructions. `metadata` and `allowedTools` are
/// replaced as a whole.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SkillFields {
    #[serde(deserialize_with = "present")]
    pub npc_id: Option<Option<NpcId>>,
    #[serde(deserialize_with = "present")]
    pub name: Option<String>,
    #[serde(deserialize_with = "present")]
    pub description: Option<String>,
    #[serde(deserialize_with = "present")]
    pub instructions: Option<String>,
    #[serde(deserialize_with = "present")]
    pub license: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    pub compatibility: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    pub metadata: Option<BTreeMap<String, String>>,
    #[serde(deserialize_with = "present")]
    pub allowed_tools: Option<Vec<String>>,
}

/// Why a skill is not made or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillRefusal {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("there is a skill {0} in this scope already")]
    NameTaken(String),
    #[error("there are {SCOPE_LIMIT} skills in this scope already; delete one first")]
    Full,
    #[error("the skill {name} comes from skills/{folder} in the data folder: change it there, then rescan")]
    FromFolder { name: String, folder: String },
    #[error("only an admin makes, changes and deletes skills of the whole Village")]
    AdminsOnly,
    #[error("only the one who made {0}, or an admin, may make, change and delete its skills")]
    NotYours(String),
}

/// A skill with the texts that come with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillBundle {
    pub text: SkillText,
    pub files: SkillFiles,
}

/// Who makes it, when, and for whom.
#[derive(Debug, Clone)]
pub struct Making {
    /// None: for the whole Village.
    pub npc: Option<NpcId>,
    pub who: Who,
    pub at: Timestamp,
}

/// The text of a new skill.
///
/// # Errors
/// A field that is missing or does not fit.
pub fn text_of(fields: SkillFields) -> Result<SkillText, Invalid> {
    let missing = |field| Invalid::new(field, "is missing");
    checked(SkillText {
        about: SkillAbout {
            name: fields.name.ok_or_else(|| missing("name"))?,
            description: fields.description.ok_or_else(|| missing("description"))?,
            license: fields.license.flatten(),
            compatibility: fields.compatibility.flatten(),
            metadata: fields.metadata.unwrap_or_default(),
            allowed_tools: fields.allowed_tools.unwrap_or_default(),
        },
        instructions: fields.instructions.ok_or_else(|| missing("instructions"))?,
    })
}

/// New skills of one scope, their texts checked already: all of them, or none.
pub fn create(
    conn: &Connection,
    bundles: Vec<(SkillId, SkillBundle)>,
    making: Making,
) -> Result<Result<Vec<SkillRecord>, SkillRefusal>, StoreError> {
    let Making { npc, who, at } = making;
    if let Some(refusal) = may_change(conn, &who, npc)? {
        return Ok(Err(refusal));
    }
    if skills::count(conn, npc)? + bundles.len() > SCOPE_LIMIT {
        return Ok(Err(SkillRefusal::Full));
    }
    let mut names = BTreeSet::new();
    for (_, bundle) in &bundles {
        let name = &bundle.text.about.name;
        if !names.insert(name) || skills::of_name(conn, npc, name)?.is_some() {
            return Ok(Err(SkillRefusal::NameTaken(name.clone())));
        }
    }
    let mut made = Vec::with_capacity(bundles.len());
    for (id, bundle) in bundles {
        let entry = SkillEntry {
            id,
            npc_id: npc,
            about: bundle.text.about,
            folder: None,
            created_by: Some(who.id),
            created_at: at,
            updated_at: at,
        };
        let record = SkillRecord { entry, instructions: bundle.text.instructions };
        skills::insert(conn, &record)?;
        skills::replace_files(conn, id, &bundle.files)?;
        made.push(record);
    }
    Ok(Ok(made))
}

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn change(
    conn: &Connection,
    id: SkillId,
    fields: SkillFields,
    who: &Who,
    at: Timestamp,
) -> Result<Result<SkillRecord, SkillRefusal>, StoreError> {
    let SkillRecord { mut entry, instructions } = skills::get(conn, id)?;
    if let Some(refusal) = fixed(conn, who, &entry)? {
        return Ok(Err(refusal));
    }
    if fields.npc_id.is_some_and(|npc| npc != entry.npc_id) {
        return Ok(Err(Invalid::new("npcId", "can't be changed; make the skill anew").into()));
    }
    let before = entry.about.name.clone();
    let about = entry.about;
    let text = SkillText {
        about: SkillAbout {
            name: fields.name.unwrap_or(about.name),
            description: fields.description.unwrap_or(about.description),
            license: fields.license.unwrap_or(about.license),
            compatibility: fields.compatibility.unwrap_or(about.compatibility),
            metadata: fields.metadata.unwrap_or(about.metadata),
            allowed_tools: fields.allowed_tools.unwrap_or(about.allowed_tools),
        },
        instructions: fields.instructions.unwrap_or(instructions),
    };
    let text = match checked(text) {
        Ok(text) => text,
        Err(invalid) => return Ok(Err(invalid.into())),
    };
    if text.about.name != before && skills::of_name(conn, entry.npc_id, &text.about.name)?.is_some() {
        return Ok(Err(SkillRefusal::NameTaken(text.about.name)));
    }
    entry.about = text.about;
    entry.updated_at = at;
    let record = SkillRecord { entry, instructions: text.instructions };
    skills::update(conn, &record)?;
    Ok(Ok(record))
}

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn delete(conn: &Connection, id: SkillId, who: &Who) -> Result<Result<(), SkillRefusal>, StoreError> {
    let record = skills::get(conn, id)?;
    if let Some(refusal) = fixed(conn, who, &record.entry)? {
        return Ok(Err(refusal));
    }
    skills::delete(conn, id)?;
    Ok(Ok(()))
}

/// Why a skill of this name can't be added to the whole Village.
pub fn no_room(conn: &Connection, name: &str) -> Result<Option<SkillRefusal>, StoreError> {
    if skills::of_name(conn, None, name)?.is_some() {
        return Ok(Some(SkillRefusal::NameTaken(name.to_owned())));
    }
    Ok((skills::count(conn, None)? >= SCOPE_LIMIT).then_some(SkillRefusal::Full))
}

fn fixed(conn: &Connection, who: &Who, entry: &SkillEntry) -> Result<Option<SkillRefusal>, StoreError> {
    if let Some(refusal) = may_change(conn, who, entry.npc_id)? {
        return Ok(Some(refusal));
    }
    let name = entry.about.name.clone();
    Ok(entry.folder.clone().map(|folder| SkillRefusal::FromFolder { name, folder }))
}

fn may_change(conn: &Connection, who: &Who, npc: Option<NpcId>) -> Result<Option<SkillRefusal>, StoreError> {
    let is_admin = who.role == PlayerRole::Admin;
    let Some(npc) = npc else { return Ok((!is_admin).then_some(SkillRefusal::AdminsOnly)) };
    match npcs::get(conn, npc) {
        Ok(record) if is_admin || record.created_by == Some(who.id) => Ok(None),
        Ok(record) => Ok(Some(SkillRefusal::NotYours(record.npc.name))),
        Err(StoreError::NotFound) => Ok(Some(Invalid::new("npcId", "names no NPC that is here").into())),
        Err(error) => Err(error),
    }
}

/// The text as it is kept: without the space around its fields.
///
/// # Errors
/// The first field that does not fit.
pub fn checked(text: SkillText) -> Result<SkillText, Invalid> {
    let SkillText { about, instructions } = text;
    check_name(&about.name)?;
    if instructions.trim().is_empty() {
        return Err(Invalid::new("instructions", "is empty"));
    }
    text::prose("instructions", &instructions, INSTRUCTIONS_MAX)?;
    let about = SkillAbout {
        name: about.name,
        description: words("description", &about.description, DESCRIPTION_MAX)?,
        license: about.license.map(|license| words("license", &license, LICENSE_MAX)).transpose()?,
        compatibility: about
            .compatibility
            .map(|compatibility| words("compatibility", &compatibility, COMPATIBILITY_MAX))
            .transpose()?,
        metadata: checked_metadata(about.metadata)?,
        allowed_tools: checked_tools(&about.allowed_tools)?,
    };
    Ok(SkillText { about, instructions })
}

/// One or more lines that say something.
fn words(field: &'static str, text: &str, max: usize) -> Result<String, Invalid> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Invalid::new(field, "is empty"));
    }
    text::prose(field, text, max)?;
    Ok(text.to_owned())
}

fn check_name(name: &str) -> Result<(), Invalid> {
    let fits = (1..=NAME_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    if fits {
        return Ok(());
    }
    let words = format!("is not 1 to {NAME_MAX} of a-z, 0-9 and single hyphens between them");
    Err(Invalid::new("name", words))
}

fn checked_metadata(metadata: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Invalid> {
    const KEYS: usize = 64;
    if metadata.len() > KEYS {
        return Err(Invalid::new("metadata", format!("has more than {KEYS} keys")));
    }
    for (key, value) in &metadata {
        text::name("metadata", key, 64)?;
        text::prose("metadata", value, 1_024)?;
    }
    Ok(metadata)
}

fn checked_tools(tools: &[String]) -> Result<Vec<String>, Invalid> {
    text::at_most("allowedTools", tools, 100)?;
    tools.iter().map(|tool| text::name("allowedTools", tool, 200)).collect()
}
