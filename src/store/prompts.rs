//! What was sent to models, as recipes. Texts are kept once a Conversation, under their SHA-256.

use hamlet_actors::{
    policy::prompt::Place,
    ports::{PromptRecord, Recipe, ToolSpec},
    vocabulary::MessageId,
};
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{StoreError, rows::as_json};

/// As it is stored: hashes in hexadecimal in the place of texts.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredPrompt {
    sections: Vec<(Place, String)>,
    tools: Vec<StoredTool>,
    recipe: Recipe,
}

#[derive(Serialize, Deserialize)]
struct StoredTool {
    name: String,
    /// Description and parameters.
    told: String,
}

/// One step's prompt as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptPrompt {
    pub step: u32,
    pub sections: Vec<(Place, String)>,
    pub tools: Vec<ToolSpec>,
    pub recipe: Recipe,
}

pub fn keep(conn: &Connection, record: &PromptRecord) -> Result<(), StoreError> {
    let found: Option<(i64, i64)> = conn
        .prepare_cached("SELECT key, conversation_key FROM messages WHERE id = ?1")?
        .query_row([record.message.0.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    // Deleted meanwhile.
    let Some((message, conversation)) = found else { return Ok(()) };
    let mut sections = Vec::with_capacity(record.sections.len());
    for (place, text) in &record.sections {
        sections.push((*place, put(conn, conversation, text)?));
    }
    let mut tools = Vec::with_capacity(record.tools.len());
    for tool in &record.tools {
        let told = put(conn, conversation, &as_json(&(&tool.description, &tool.parameters))?)?;
        tools.push(StoredTool { name: tool.name.clone(), told });
    }
    let stored = StoredPrompt { sections, tools, recipe: record.recipe.clone() };
    conn.prepare_cached("INSERT OR REPLACE INTO prompts (message_key, step, record) VALUES (?1, ?2, ?3)")?
        .execute((message, record.step, as_json(&stored)?))?;
    Ok(())
}

/// All steps of a reply, in order.
pub fn of(conn: &Connection, conversation: i64, message: MessageId) -> Result<Vec<KeptPrompt>, StoreError> {
    let damaged = |error: serde_json::Error| StoreError::Damaged(format!("a prompt: {error}"));
    let mut statement = conn.prepare_cached(
        "SELECT p.step, p.record FROM prompts p JOIN messages m ON m.key = p.message_key WHERE m.id = ?1 ORDER BY p.step",
    )?;
    let rows = statement.query_map([message.0.as_bytes()], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    let mut kept = Vec::new();
    for row in rows {
        let (step, record) = row?;
        let stored: StoredPrompt = serde_json::from_str(&record).map_err(damaged)?;
        let mut sections = Vec::with_capacity(stored.sections.len());
        for (place, hash) in stored.sections {
            sections.push((place, get(conn, conversation, &hash)?));
        }
        let mut tools = Vec::with_capacity(stored.tools.len());
        for StoredTool { name, told } in stored.tools {
            let told = get(conn, conversation, &told)?;
            let (description, parameters) = serde_json::from_str(&told).map_err(damaged)?;
            tools.push(ToolSpec { name, description, parameters });
        }
        kept.push(KeptPrompt { step, sections, tools, recipe: stored.recipe });
    }
    Ok(kept)
}

fn put(conn: &Connection, conversation: i64, text: &str) -> Result<String, StoreError> {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    conn.prepare_cached("INSERT OR IGNORE INTO prompt_texts (conversation_key, hash, text) VALUES (?1, ?2, ?3)")?
        .execute((conversation, hash.as_slice(), text))?;
    Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn get(conn: &Connection, conversation: i64, hash: &str) -> Result<String, StoreError> {
    Ok(conn
        .prepare_cached("SELECT text FROM prompt_texts WHERE conversation_key = ?1 AND hash = unhex(?2)")?
        .query_row((conversation, hash), |row| row.get(0))?)
}
