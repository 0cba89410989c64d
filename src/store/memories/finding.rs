//! From a question to candidates. The full-text index ranks by bm25, which weighs a word by how rare it is; where a script
//! puts no space between words, that index has whole sentences for words, and pairs of characters are counted instead.

use hamlet_actors::{
    policy::recall::{self, Candidate},
    vocabulary::{NpcId, PlayerId},
};
use rusqlite::{Connection, named_params};

use super::{COLUMNS, MemoryRow, list, read};
use crate::store::StoreError;

/// From so many characters on a term also finds words that begin with it: `like` finds `likes`.
const PREFIX_FROM: usize = 3;
/// Texts that are compared pair by pair at most: the newest, as many as one NPC may have of one Player.
const COMPARED: usize = hamlet_actors::ports::memory::MEMORIES_LIMIT;

/// Among what is looked.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    pub player: PlayerId,
    /// None: of all NPCs.
    pub npc: Option<NpcId>,
}

/// What each index found, the best `limit` of each.
pub fn candidates(
    conn: &Connection,
    scope: Scope,
    question: &str,
    limit: usize,
) -> Result<Vec<Vec<(MemoryRow, f64)>>, StoreError> {
    Ok(vec![by_words(conn, scope, question, limit)?, by_pairs(conn, scope, question, limit)?])
}

pub fn scored(found: Vec<Vec<(MemoryRow, f64)>>) -> Vec<Vec<Candidate>> {
    let candidate = |(row, score): (MemoryRow, f64)| Candidate { recollection: row.into(), score };
    found.into_iter().map(|index| index.into_iter().map(candidate).collect()).collect()
}

fn by_words(
    conn: &Connection,
    scope: Scope,
    question: &str,
    limit: usize,
) -> Result<Vec<(MemoryRow, f64)>, StoreError> {
    let Some(query) = query(&recall::terms(question)) else { return Ok(Vec::new()) };
    let sql = format!(
        "SELECT {COLUMNS}, -bm25(memories_fts) FROM memories_fts JOIN memories m ON m.key = memories_fts.rowid \
         WHERE memories_fts MATCH :query AND m.player_id = :player AND (:npc IS NULL OR m.npc_id = :npc) \
         ORDER BY bm25(memories_fts), m.updated_at DESC LIMIT :limit"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let found = statement.query_map(
        named_params! {
            ":query": query,
            ":player": scope.player.0.as_bytes(),
            ":npc": scope.npc.map(|npc| npc.0.into_bytes()),
            ":limit": i64::try_from(limit).unwrap_or(i64::MAX),
        },
        |row| Ok((read(row)?, row.get(7)?)),
    )?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Any of the terms. Quoted, a term is a text and never syntax.
fn query(terms: &[String]) -> Option<String> {
    let quoted = |term: &String| {
        let star = if term.chars().count() >= PREFIX_FROM { "*" } else { "" };
        format!("\"{}\"{star}", term.replace('"', "\"\""))
    };
    let terms: Vec<String> = terms.iter().map(quoted).collect();
    (!terms.is_empty()).then(|| terms.join(" OR "))
}

fn by_pairs(
    conn: &Connection,
    scope: Scope,
    question: &str,
    limit: usize,
) -> Result<Vec<(MemoryRow, f64)>, StoreError> {
    let asked = recall::pairs(question);
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let shared = |row: &MemoryRow| recall::pairs(&row.text).intersection(&asked).count();
    let mut found: Vec<(MemoryRow, f64)> = list(conn, scope.player, scope.npc, None, COMPARED)?
        .into_iter()
        .map(|row| (shared(&row), row))
        .filter(|(shared, _)| *shared > 0)
        .map(|(shared, row)| (row, shared as f64 / asked.len() as f64))
        .collect();
    found.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    found.truncate(limit);
    Ok(found)
}
