//! What an NPC may call, as rows.

use hamlet_actors::vocabulary::{Approval, Grant, NpcId};
use rusqlite::Connection;

use super::{StoreError, rows};

/// What a new NPC may call: nothing that reaches beyond this Village.
pub const DEFAULT: [&str; 8] =
    ["message_npc", "load_skill", "read_skill_file", "remember", "recall", "forget", "current_time", "calculate"];

/// In the order of their keys.
pub fn of(conn: &Connection, npc: NpcId) -> Result<Vec<Grant>, StoreError> {
    let mut statement = conn.prepare_cached("SELECT tool, approval FROM grants WHERE npc_id = ?1 ORDER BY tool")?;
    let rows = statement.query_map([npc.0.as_bytes()], |row| {
        Ok(Grant { tool: row.get(0)?, approval: rows::word::<Approval>(row, 1)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// These and no others.
pub fn replace(conn: &Connection, npc: NpcId, grants: &[Grant]) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM grants WHERE npc_id = ?1")?.execute([npc.0.as_bytes()])?;
    for Grant { tool, approval } in grants {
        let approval = match approval {
            Approval::Never => "never",
            Approval::Always => "always",
        };
        conn.prepare_cached("INSERT INTO grants (npc_id, tool, approval) VALUES (?1, ?2, ?3)")?.execute((
            npc.0.as_bytes(),
            tool,
            approval,
        ))?;
    }
    Ok(())
}

/// What every new NPC begins with.
pub fn give_default(conn: &Connection, npc: NpcId) -> Result<(), StoreError> {
    let grants = DEFAULT.map(|tool| Grant { tool: tool.to_owned(), approval: Approval::Never });
    replace(conn, npc, &grants)
}
