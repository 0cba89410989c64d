//! What an NPC may be and who may change it. The functions that take a connection are one change each: they run inside the
//! store's writer, so that what they checked still holds when they write.

use hamlet_actors::vocabulary::{ModelParams, Npc, NpcId, PlayerId, ProviderId, Timestamp};
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    patch::{Object, present},
    slug,
    text::{self, Invalid},
};
use crate::{
    auth::{PlayerRole, Who},
    store::{StoreError, npcs, npcs::NpcRecord, providers},
};

/// Bytes of a card's unknown fields at most, as JSON.
const EXTENSIONS_MAX: usize = 256 * 1024;
/// After so many NPCs of one name the next slug is made of the id instead of counting on.
const NUMBERED: u32 = 99;

/// The body of POST and PATCH alike: POST only needs a name. `params`, `greetings`, `tags` and `extensions` are replaced as
/// a whole.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NpcFields {
    #[serde(deserialize_with = "present")]
    pub slug: Option<String>,
    #[serde(deserialize_with = "present")]
    pub name: Option<String>,
    #[serde(deserialize_with = "present")]
    pub job_title: Option<String>,
    #[serde(deserialize_with = "present")]
    pub description: Option<String>,
    #[serde(deserialize_with = "present")]
    pub instructions: Option<String>,
    #[serde(deserialize_with = "present")]
    pub provider_id: Option<Option<ProviderId>>,
    #[serde(deserialize_with = "present")]
    pub model: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    pub params: Option<Object<ModelParams>>,
    #[serde(deserialize_with = "present")]
    pub avatar: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    pub greetings: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    pub tags: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    pub extensions: Option<Map<String, Value>>,
}

/// Why an NPC is not made or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NpcRefusal {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("the slug {0} is taken")]
    SlugTaken(String),
    #[error("only the one who made {0}, or an admin, may change or delete it")]
    NotYours(String),
}

/// Who makes it, when, and under which id.
#[derive(Debug, Clone, Copy)]
pub struct Making {
    pub id: NpcId,
    pub by: Option<PlayerId>,
    pub at: Timestamp,
}

/// A new NPC. `given` are the Providers that have no row.
pub fn create(
    conn: &Connection,
    fields: NpcFields,
    making: Making,
    given: &[ProviderId],
) -> Result<Result<NpcRecord, NpcRefusal>, StoreError> {
    if fields.name.is_none() {
        return Ok(Err(Invalid::new("name", "is missing").into()));
    }
    let asked = fields.slug.clone();
    let provider = fields.provider_id.flatten();
    let mut record = empty(making);
    if let Err(invalid) = set(&mut record, fields) {
        return Ok(Err(invalid.into()));
    }
    if let Some(refusal) = unknown_provider(conn, provider, given)? {
        return Ok(Err(refusal));
    }
    match asked {
        Some(slug) if npcs::of_slug(conn, &slug)?.is_some() => return Ok(Err(NpcRefusal::SlugTaken(slug))),
        Some(_) => {}
        None => record.npc.slug = free_slug(conn, &record.npc)?,
    }
    npcs::insert(conn, &record)?;
    Ok(Ok(record))
}

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn change(
    conn: &Connection,
    id: NpcId,
    fields: NpcFields,
    who: &Who,
    at: Timestamp,
    given: &[ProviderId],
) -> Result<Result<NpcRecord, NpcRefusal>, StoreError> {
    let mut record = npcs::get(conn, id)?;
    if let Err(refusal) = may_change(who, &record) {
        return Ok(Err(refusal));
    }
    let asked = fields.slug.clone();
    let provider = fields.provider_id.flatten();
    if let Err(invalid) = set(&mut record, fields) {
        return Ok(Err(invalid.into()));
    }
    if let Some(refusal) = unknown_provider(conn, provider, given)? {
        return Ok(Err(refusal));
    }
    if let Some(slug) = asked
        && npcs::of_slug(conn, &slug)?.is_some_and(|other| other != id)
    {
        return Ok(Err(NpcRefusal::SlugTaken(slug)));
    }
    record.updated_at = at;
    npcs::update(conn, &record)?;
    Ok(Ok(record))
}

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn delete(conn: &Connection, id: NpcId, who: &Who) -> Result<Result<(), NpcRefusal>, StoreError> {
    let record = npcs::get(conn, id)?;
    if let Err(refusal) = may_change(who, &record) {
        return Ok(Err(refusal));
    }
    npcs::delete(conn, id)?;
    Ok(Ok(()))
}

pub(super) fn may_change(who: &Who, record: &NpcRecord) -> Result<(), NpcRefusal> {
    if who.role == PlayerRole::Admin || record.created_by == Some(who.id) {
        return Ok(());
    }
    Err(NpcRefusal::NotYours(record.npc.name.clone()))
}

/// A Provider that is named now has to be there now; one that goes later is refused when the NPC is to speak.
fn unknown_provider(
    conn: &Connection,
    id: Option<ProviderId>,
    given: &[ProviderId],
) -> Result<Option<NpcRefusal>, StoreError> {
    let Some(id) = id.filter(|id| !given.contains(id)) else { return Ok(None) };
    match providers::get(conn, id) {
        Ok(_) => Ok(None),
        Err(StoreError::NotFound) => Ok(Some(Invalid::new("providerId", "names no Provider that is known").into())),
        Err(error) => Err(error),
    }
}

fn free_slug(conn: &Connection, npc: &Npc) -> Result<String, StoreError> {
    let base = slug::of_name(&npc.name);
    if npcs::of_slug(conn, &base)?.is_none() {
        return Ok(base);
    }
    for n in 2..=NUMBERED {
        let numbered = slug::suffixed(&base, &n.to_string());
        if npcs::of_slug(conn, &numbered)?.is_none() {
            return Ok(numbered);
        }
    }
    Ok(slug::suffixed(&base, &npc.id.0.simple().to_string()))
}

fn empty(making: Making) -> NpcRecord {
    NpcRecord {
        npc: Npc {
            id: making.id,
            slug: String::new(),
            name: String::new(),
            job_title: String::new(),
            description: String::new(),
            instructions: String::new(),
            provider_id: None,
            model: None,
            params: ModelParams::default(),
        },
        avatar: None,
        greetings: Vec::new(),
        tags: Vec::new(),
        extensions: Map::new(),
        created_by: making.by,
        created_at: making.at,
        updated_at: making.at,
    }
}

/// Checks what is present and takes it over.
fn set(record: &mut NpcRecord, fields: NpcFields) -> Result<(), Invalid> {
    let npc = &mut record.npc;
    if let Some(slug) = fields.slug {
        slug::check(&slug)?;
        npc.slug = slug;
    }
    if let Some(name) = fields.name {
        npc.name = text::name("name", &name, 80)?;
    }
    if let Some(title) = fields.job_title {
        npc.job_title = text::line("jobTitle", &title, 120)?;
    }
    if let Some(description) = fields.description {
        text::prose("description", &description, 4_000)?;
        npc.description = description;
    }
    if let Some(instructions) = fields.instructions {
        text::prose("instructions", &instructions, 100_000)?;
        npc.instructions = instructions;
    }
    if let Some(provider) = fields.provider_id {
        npc.provider_id = provider;
    }
    if let Some(model) = fields.model {
        npc.model = model.map(|model| text::name("model", &model, 200)).transpose()?;
    }
    if let Some(Object(params)) = fields.params {
        check_params(&params)?;
        npc.params = params;
    }
    if let Some(avatar) = fields.avatar {
        record.avatar = avatar.map(|avatar| text::name("avatar", &avatar, 2_048)).transpose()?;
    }
    if let Some(greetings) = fields.greetings {
        text::at_most("greetings", &greetings, 16)?;
        greetings.iter().try_for_each(|greeting| text::prose("greetings", greeting, 8_000))?;
        record.greetings = greetings;
    }
    if let Some(tags) = fields.tags {
        text::at_most("tags", &tags, 32)?;
        record.tags = tags.iter().map(|tag| text::name("tags", tag, 40)).collect::<Result<_, _>>()?;
    }
    if let Some(extensions) = fields.extensions {
        if Value::Object(extensions.clone()).to_string().len() > EXTENSIONS_MAX {
            return Err(Invalid::new("extensions", format!("has more than {EXTENSIONS_MAX} bytes")));
        }
        record.extensions = extensions;
    }
    Ok(())
}

fn check_params(params: &ModelParams) -> Result<(), Invalid> {
    let between = |field, value: Option<f64>, max: f64| match value {
        Some(value) if !(0.0..=max).contains(&value) => Err(Invalid::new(field, format!("is not between 0 and {max}"))),
        _ => Ok(()),
    };
    between("params.temperature", params.temperature, 2.0)?;
    between("params.topP", params.top_p, 1.0)?;
    if params.max_output_tokens.is_some_and(|tokens| !(1..=1_000_000).contains(&tokens)) {
        return Err(Invalid::new("params.maxOutputTokens", "is not between 1 and 1000000"));
    }
    if let Some(stop) = &params.stop {
        text::at_most("params.stop", stop, 16)?;
        if stop.iter().any(String::is_empty) {
            return Err(Invalid::new("params.stop", "holds an empty text"));
        }
        stop.iter().try_for_each(|stop| text::prose("params.stop", stop, 256))?;
    }
    if let Some(effort) = &params.reasoning_effort {
        text::name("params.reasoningEffort", effort, 32)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What a new NPC of these fields becomes, or the field that does not fit.
    fn check(fields: Value) -> Result<NpcRecord, String> {
        let fields: NpcFields = serde_json::from_value(fields).map_err(|error| error.to_string())?;
        let mut record = empty(Making { id: NpcId::generate(), by: None, at: Timestamp::from_millis(0) });
        set(&mut record, fields).map(|()| record).map_err(|invalid| invalid.field.to_owned())
    }

    #[test]
    fn every_field_has_its_limit() {
        let long = |n: usize| "x".repeat(n);
        let table = [
            ("name", json!({"name": long(81)}), json!({"name": long(80)})),
            ("name", json!({"name": "A\u{0}"}), json!({"name": "A"})),
            ("slug", json!({"slug": "A"}), json!({"slug": "a"})),
            ("jobTitle", json!({"jobTitle": long(121)}), json!({"jobTitle": long(120)})),
            ("description", json!({"description": long(4_001)}), json!({"description": long(4_000)})),
            ("instructions", json!({"instructions": long(100_001)}), json!({"instructions": long(100_000)})),
            ("model", json!({"model": ""}), json!({"model": null})),
            ("model", json!({"model": long(201)}), json!({"model": long(200)})),
            ("avatar", json!({"avatar": long(2_049)}), json!({"avatar": "🍞"})),
            ("greetings", json!({"greetings": vec!["a"; 17]}), json!({"greetings": vec!["a"; 16]})),
            ("greetings", json!({"greetings": [long(8_001)]}), json!({"greetings": [long(8_000)]})),
            ("tags", json!({"tags": vec!["a"; 33]}), json!({"tags": vec!["a"; 32]})),
            ("tags", json!({"tags": [""]}), json!({"tags": [long(40)]})),
            ("extensions", json!({"extensions": {"a": long(262_144)}}), json!({"extensions": {"a": long(262_000)}})),
            ("params.temperature", json!({"params": {"temperature": 2.1}}), json!({"params": {"temperature": 2}})),
            ("params.temperature", json!({"params": {"temperature": -0.1}}), json!({"params": {"temperature": 0}})),
            ("params.topP", json!({"params": {"topP": 1.01}}), json!({"params": {"topP": 1}})),
            (
                "params.maxOutputTokens",
                json!({"params": {"maxOutputTokens": 0}}),
                json!({"params": {"maxOutputTokens": 1}}),
            ),
            (
                "params.maxOutputTokens",
                json!({"params": {"maxOutputTokens": 1_000_001}}),
                json!({"params": {"maxOutputTokens": 1_000_000}}),
            ),
            ("params.stop", json!({"params": {"stop": vec!["a"; 17]}}), json!({"params": {"stop": vec!["\n"; 16]}})),
            ("params.stop", json!({"params": {"stop": [""]}}), json!({"params": {"stop": []}})),
            (
                "params.reasoningEffort",
                json!({"params": {"reasoningEffort": ""}}),
                json!({"params": {"reasoningEffort": "low"}}),
            ),
        ];
        for (field, bad, good) in table {
            assert_eq!(check(bad), Err(field.to_owned()));
            assert!(check(good).is_ok(), "{field}");
        }
    }

    #[test]
    fn unknown_fields_and_wrong_types_are_refused() {
        for body in [
            json!({"nmae": "Ada"}),
            json!({"params": {"temprature": 1}}),
            json!({"name": 1}),
            json!({"name": null}),
            json!({"tags": null}),
            json!({"providerId": "x"}),
            json!({"extensions": []}),
            json!({"params": [1]}),
            json!({"params": {"maxOutputTokens": -1}}),
            json!({"params": {"maxOutputTokens": 1.5}}),
            json!({"id": "0198c0de-0000-7000-8000-000000000000"}),
        ] {
            assert!(serde_json::from_value::<NpcFields>(body.clone()).is_err(), "{body}");
        }
    }

    #[test]
    fn after_a_hundred_of_one_name_the_slug_is_made_of_the_id() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(include_str!("../../schema.sql")).unwrap();
        let mut last = None;
        for _ in 0..=NUMBERED {
            let making = Making { id: NpcId::generate(), by: None, at: Timestamp::from_millis(0) };
            let fields = NpcFields { name: Some("Ada".into()), ..NpcFields::default() };
            last = Some(create(&conn, fields, making, &[]).unwrap().unwrap().npc);
        }
        let last = last.unwrap();
        assert_eq!(last.slug, format!("ada-{}", last.id.0.simple()));
    }
}
