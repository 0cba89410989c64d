//! What operators did and looked at. A deed is written before it is done, with the outcome `asked`, and its outcome
//! afterwards: one that stayed `asked` was cut off in the middle. Rows are never changed otherwise and never deleted.

use hamlet_actors::vocabulary::{ConversationId, PlayerId, Timestamp};
use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{StoreError, rows};

/// Of a deed that is under way.
const ASKED: &str = "asked";

/// What an operator can do that is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    Abort,
    Restart,
    Retire,
    Release,
    ReadText,
}

/// Somebody is about to do something.
#[derive(Debug, Clone)]
pub struct Deed {
    pub at: Timestamp,
    pub player: PlayerId,
    /// As it is now: the row outlives the Player.
    pub player_name: String,
    pub action: Action,
    pub conversation: ConversationId,
}

/// A deed as it was written down.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub id: i64,
    pub at: Timestamp,
    pub player: Doer,
    pub action: Action,
    pub conversation_id: Option<ConversationId>,
    /// `ok`, the code of what refused it, or `asked`.
    pub outcome: String,
    pub details: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Doer {
    pub id: PlayerId,
    /// As it was then.
    pub name: String,
}

/// Writes down that it was asked for; answers the row.
///
/// # Errors
/// When the store can't be written.
pub fn ask(conn: &Connection, deed: &Deed) -> Result<i64, StoreError> {
    conn.prepare_cached(
        "INSERT INTO audit (at, player_id, player_name, action, conversation_id, outcome) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        deed.at.as_millis(),
        deed.player.0.as_bytes(),
        &deed.player_name,
        rows::as_word(&deed.action)?,
        deed.conversation.0.as_bytes(),
        ASKED,
    ))?;
    Ok(conn.last_insert_rowid())
}

/// Writes down what became of it.
///
/// # Errors
/// When the store can't be written.
pub fn conclude(conn: &Connection, id: i64, outcome: &str, details: &Value) -> Result<(), StoreError> {
    conn.prepare_cached("UPDATE audit SET outcome = ?2, details = ?3 WHERE id = ?1 AND outcome = ?4")?.execute((
        id,
        outcome,
        details.to_string(),
        ASKED,
    ))?;
    Ok(())
}

/// The newest deeds, or those before `before`, the newest first.
///
/// # Errors
/// When the store can't be read.
pub fn page(conn: &Connection, before: Option<i64>, limit: usize) -> Result<Vec<Entry>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT id, at, player_id, player_name, action, conversation_id, outcome, details FROM audit \
         WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
    )?;
    let found = statement.query_map((before.unwrap_or(i64::MAX), limit), entry)?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        id: row.get(0)?,
        at: Timestamp::from_millis(row.get(1)?),
        player: Doer { id: PlayerId(rows::id(row, 2)?), name: row.get(3)? },
        action: rows::word(row, 4)?,
        conversation_id: rows::optional_id(row, 5)?.map(ConversationId),
        outcome: row.get(6)?,
        details: rows::json(row, 7)?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::Store;

    fn deed(action: Action) -> Deed {
        Deed {
            at: Timestamp::from_millis(7),
            player: PlayerId::generate(),
            player_name: "Pia".to_owned(),
            action,
            conversation: ConversationId::generate(),
        }
    }

    #[tokio::test]
    async fn a_deed_stays_asked_until_it_is_concluded_and_is_concluded_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        let (abort, read) = (deed(Action::Abort), deed(Action::ReadText));
        let (first, conversation) = (abort.clone(), abort.conversation);
        let page = store
            .write(move |conn| {
                let done = ask(conn, &first)?;
                ask(conn, &read)?;
                conclude(conn, done, "ok", &json!({"turnId": 1}))?;
                conclude(conn, done, "FORBIDDEN", &json!({}))?;
                page(conn, None, 10)
            })
            .await
            .unwrap();
        let seen: Vec<_> = page.iter().map(|entry| (entry.action, entry.outcome.as_str())).collect();
        assert_eq!(seen, [(Action::ReadText, "asked"), (Action::Abort, "ok")]);
        let entry = &page[1];
        assert_eq!(
            (entry.conversation_id, &entry.player.name, &entry.details, entry.at),
            (Some(conversation), &abort.player_name, &json!({"turnId": 1}), abort.at)
        );
    }
}
