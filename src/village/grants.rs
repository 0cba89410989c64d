//! What an NPC may call is decided by whoever may change the NPC, as a whole list.

use std::collections::HashSet;

use hamlet_actors::vocabulary::{Grant, NpcId};
use rusqlite::Connection;

use super::{
    npc::{NpcRefusal, may_change},
    patch::Object,
    text::{self, Invalid},
};
use crate::{
    auth::Who,
    store::{StoreError, grants, npcs},
};

/// Grants of one NPC at most: each is a tool that every request to its model describes.
const GRANTS_MAX: usize = 200;
/// Characters of a tool's key.
const KEY_MAX: usize = 200;

/// Why grants are not replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrantsRefusal {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Npc(#[from] NpcRefusal),
}

/// # Errors
/// [`StoreError::NotFound`] when there is no such NPC.
pub fn of(conn: &Connection, npc: NpcId) -> Result<Vec<Grant>, StoreError> {
    npcs::get(conn, npc)?;
    grants::of(conn, npc)
}

/// These and no others. A key that nobody offers now is taken all the same: a tool server may be away.
///
/// # Errors
/// [`StoreError::NotFound`] when there is no such NPC.
pub fn replace(
    conn: &Connection,
    npc: NpcId,
    given: Vec<Object<Grant>>,
    who: &Who,
) -> Result<Result<Vec<Grant>, GrantsRefusal>, StoreError> {
    if let Err(refusal) = may_change(who, &npcs::get(conn, npc)?) {
        return Ok(Err(refusal.into()));
    }
    let checked = match checked(given) {
        Ok(checked) => checked,
        Err(invalid) => return Ok(Err(invalid.into())),
    };
    grants::replace(conn, npc, &checked)?;
    Ok(Ok(grants::of(conn, npc)?))
}

fn checked(given: Vec<Object<Grant>>) -> Result<Vec<Grant>, Invalid> {
    text::at_most("grants", &given, GRANTS_MAX)?;
    let mut seen = HashSet::new();
    let mut checked = Vec::with_capacity(given.len());
    for Object(grant) in given {
        let tool = text::name("tool", &grant.tool, KEY_MAX)?;
        if !seen.insert(tool.clone()) {
            return Err(Invalid::new("tool", format!("names {tool} twice")));
        }
        checked.push(Grant { tool, ..grant });
    }
    Ok(checked)
}
