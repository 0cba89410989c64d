//! What a Player may do with what NPCs remember of them: read it, add to it, put it right, strike it out. The functions that
//! take a connection are one change each and run inside the store's writer.

use hamlet_actors::{
    ports::memory::{NewMemory, TEXT_LIMIT, Whose, Writer},
    vocabulary::{MemoryId, NpcId, PlayerId, Timestamp},
};
use rusqlite::Connection;
use serde::Deserialize;

use super::text::{self, Invalid};
use crate::store::{
    StoreError,
    memories::{self, Kept, MemoryRow, Reworded},
    npcs,
};

/// The body of POST.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryFields {
    pub npc_id: NpcId,
    pub text: String,
}

/// The body of PATCH.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemoryChange {
    pub text: String,
}

/// Why a memory is not written or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryRefusal {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("the NPC remembers that already")]
    Taken,
    #[error(transparent)]
    Full(#[from] hamlet_actors::ports::memory::MemoryError),
}

/// Whether there was something new to write.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    New(MemoryRow),
    Again(MemoryRow),
}

pub fn write(
    conn: &Connection,
    fields: &MemoryFields,
    player: PlayerId,
    id: MemoryId,
    at: Timestamp,
) -> Result<Result<Written, MemoryRefusal>, StoreError> {
    let text = match said(&fields.text) {
        Ok(text) => text,
        Err(invalid) => return Ok(Err(invalid.into())),
    };
    match npcs::get(conn, fields.npc_id) {
        Ok(_) => {}
        Err(StoreError::NotFound) => return Ok(Err(Invalid::new("npcId", "names no NPC that is here").into())),
        Err(error) => return Err(error),
    }
    let whose = Whose { player, npc: fields.npc_id };
    let memory = NewMemory { id, whose, text, writer: Writer::Player, conversation: None, at };
    Ok(match memories::remember(conn, &memory)? {
        Kept::New(row) => Ok(Written::New(row)),
        Kept::Again(row) => Ok(Written::Again(row)),
        Kept::Full => Err(MemoryRefusal::Full(hamlet_actors::ports::memory::MemoryError::Full)),
    })
}

/// # Errors
/// [`StoreError::NotFound`] for an absent one and for another Player's.
pub fn change(
    conn: &Connection,
    player: PlayerId,
    id: MemoryId,
    change: &MemoryChange,
    at: Timestamp,
) -> Result<Result<MemoryRow, MemoryRefusal>, StoreError> {
    // Absent comes before malformed: a foreign id tells nothing by what else is wrong.
    memories::get(conn, player, id)?;
    let text = match said(&change.text) {
        Ok(text) => text,
        Err(invalid) => return Ok(Err(invalid.into())),
    };
    Ok(match memories::reword(conn, player, id, &text, at)? {
        Reworded::Done(row) => Ok(row),
        Reworded::Taken => Err(MemoryRefusal::Taken),
    })
}

fn said(said: &str) -> Result<String, Invalid> {
    let said = said.trim();
    if said.is_empty() {
        return Err(Invalid::new("text", "is empty"));
    }
    text::prose("text", said, TEXT_LIMIT)?;
    Ok(said.to_owned())
}
