//! The tools that load what a skill says. They read rows of skills in scope for the speaker and nothing else: a path is a
//! key, not a place on a disk.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use hamlet_actors::{
    ports::{Invocation, Tool, ToolAnswer, ToolOutcome, ToolSpec},
    vocabulary::NpcId,
};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::store::{
    Store, StoreError,
    skills::{self, SkillRecord},
};

/// Keys, and names.
pub const LOAD_SKILL: &str = "load_skill";
pub const READ_SKILL_FILE: &str = "read_skill_file";

/// Characters of a text that one call answers: what the engine lets through, less what is said around it.
const PIECE: usize = 24_000;
/// Names that an error lists.
const NAMES: usize = 30;

#[derive(Debug)]
pub struct LoadSkill {
    store: Store,
    spec: Arc<ToolSpec>,
}

#[derive(Debug)]
pub struct ReadSkillFile {
    store: Store,
    spec: Arc<ToolSpec>,
}

impl LoadSkill {
    pub fn new(store: Store) -> Self {
        let description = "Loads the instructions of a skill by its name, and the list of its reference files.";
        let properties = json!({
            "name": {"type": "string", "description": "The skill's name, as the index has it.", "maxLength": 200},
            "offset": offset_schema(),
        });
        Self { store, spec: Arc::new(spec(LOAD_SKILL, description, properties, &["name"])) }
    }
}

impl ReadSkillFile {
    pub fn new(store: Store) -> Self {
        let description = "Reads one reference file of a skill, as text.";
        let properties = json!({
            "skill": {"type": "string", "description": "The skill's name.", "maxLength": 200},
            "path": {"type": "string", "description": "As load_skill lists it: references/...", "maxLength": 300},
            "offset": offset_schema(),
        });
        Self { store, spec: Arc::new(spec(READ_SKILL_FILE, description, properties, &["skill", "path"])) }
    }
}

fn offset_schema() -> Value {
    json!({"type": "integer", "minimum": 0, "description": "Characters to pass over, to read on where a long text was cut."})
}

fn spec(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    }
}

impl Tool for LoadSkill {
    fn key(&self) -> &str {
        LOAD_SKILL
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, call: Invocation) -> BoxFuture<'static, ToolOutcome> {
        let store = self.store.clone();
        let (npc, name, offset) = (call.scene.npc.id, text(&call, "name"), offset(&call));
        Box::pin(async move { answer(store.read(move |conn| load(conn, npc, &name, offset)).await) })
    }
}

impl Tool for ReadSkillFile {
    fn key(&self) -> &str {
        READ_SKILL_FILE
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, call: Invocation) -> BoxFuture<'static, ToolOutcome> {
        let store = self.store.clone();
        let (npc, skill, path, offset) = (call.scene.npc.id, text(&call, "skill"), text(&call, "path"), offset(&call));
        Box::pin(async move { answer(store.read(move |conn| read_file(conn, npc, &skill, &path, offset)).await) })
    }
}

fn answer(read: Result<ToolOutcome, StoreError>) -> ToolOutcome {
    read.unwrap_or_else(|error| {
        tracing::warn!(%error, "a skill could not be read");
        ToolOutcome::error("the skill could not be read just now")
    })
}

fn load(conn: &Connection, npc: NpcId, name: &str, offset: usize) -> Result<ToolOutcome, StoreError> {
    let Some(skill) = skills::in_scope(conn, npc, name)? else { return unknown_skill(conn, npc, name) };
    let files = skills::file_paths(conn, skill.entry.id)?;
    // The files first: where a text is cut, it is cut behind them.
    let mut head = format!("# Skill: {}\n", skill.entry.about.name);
    if !files.is_empty() {
        head.push_str(&format!("Reference files, for {READ_SKILL_FILE}:\n"));
        files.iter().for_each(|path| head.push_str(&format!("- {path}\n")));
    }
    head.push('\n');
    Ok(piece(&head, &skill.instructions, offset))
}

fn read_file(conn: &Connection, npc: NpcId, skill: &str, path: &str, offset: usize) -> Result<ToolOutcome, StoreError> {
    let Some(SkillRecord { entry, .. }) = skills::in_scope(conn, npc, skill)? else {
        return unknown_skill(conn, npc, skill);
    };
    match skills::file(conn, entry.id, path) {
        Ok(body) => Ok(piece("", &body, offset)),
        Err(StoreError::NotFound) => {
            let files = skills::file_paths(conn, entry.id)?;
            let there =
                if files.is_empty() { "it has none".to_owned() } else { format!("there are: {}", files.join(", ")) };
            Ok(ToolOutcome::error(format!("the skill {skill} has no file {path:?}; {there}")))
        }
        Err(error) => Err(error),
    }
}

fn unknown_skill(conn: &Connection, npc: NpcId, name: &str) -> Result<ToolOutcome, StoreError> {
    let names: Vec<String> = skills::heads(conn, npc, NAMES)?.into_iter().map(|head| head.name).collect();
    Ok(ToolOutcome::error(format!("there is no skill {name:?}; there are: {}", names.join(", "))))
}

/// What of the text begins behind `offset` characters and has room, and how to read on.
fn piece(head: &str, text: &str, offset: usize) -> ToolOutcome {
    let length = text.chars().count();
    let offset = offset.min(length);
    let shown: String = text.chars().skip(offset).take(PIECE).collect();
    let end = offset + shown.chars().count();
    let mut output = format!("{head}{shown}");
    if end < length {
        output.push_str(&format!("\n\n(cut here: {} more characters, from offset {end} on)", length - end));
    }
    ToolOutcome::Answer(ToolAnswer { output: Value::String(output), is_error: false, truncated: end < length })
}

fn text(call: &Invocation, field: &str) -> String {
    call.arguments.get(field).and_then(Value::as_str).map(str::trim).unwrap_or_default().to_owned()
}

fn offset(call: &Invocation) -> usize {
    call.arguments
        .get("offset")
        .and_then(Value::as_u64)
        .map_or(0, |offset| usize::try_from(offset).unwrap_or(usize::MAX))
}
