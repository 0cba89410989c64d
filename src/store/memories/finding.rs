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
/// Memories of all from which on common words cost more than they tell.
const LARGE: i64 = 2_000;
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
    let Some(query) = query(&telling(conn, recall::terms(question))?) else { return Ok(Vec::new()) };
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

/// The terms that tell one memory from another. A word of a fifth of all memories weighs next to nothing with bm25, and makes
/// the index visit that fifth: in a large Village such words are left out, unless there are no others.
fn telling(conn: &Connection, terms: Vec<String>) -> Result<Vec<String>, StoreError> {
    // The last key, since counting would read the table; after many deletions it only leaves fewer words out.
    let memories: i64 =
        conn.prepare_cached("SELECT coalesce(max(key), 0) FROM memories")?.query_row([], |row| row.get(0))?;
    if memories < LARGE {
        return Ok(terms);
    }
    let sql = "SELECT coalesce(sum(doc), 0) FROM memories_words WHERE term >= ?1 AND term <= ?2";
    let mut counting = conn.prepare_cached(sql)?;
    let (mut telling, mut is_anywhere) = (Vec::with_capacity(terms.len()), false);
    for term in &terms {
        let last = if is_prefix(term) { format!("{term}{}", char::MAX) } else { term.clone() };
        let with_it: i64 = counting.query_row([term, &last], |row| row.get(0))?;
        if with_it.saturating_mul(5) < memories {
            is_anywhere |= with_it > 0;
            telling.push(term.clone());
        }
    }
    // Words that are nowhere stay, since the index may know them without their accents; alone they are no question.
    Ok(if is_anywhere { telling } else { terms })
}

fn is_prefix(term: &str) -> bool {
    term.chars().count() >= PREFIX_FROM
}

/// Any of the terms. Quoted, a term is a text and never syntax.
fn query(terms: &[String]) -> Option<String> {
    let quoted = |term: &String| {
        let star = if is_prefix(term) { "*" } else { "" };
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
