//! The store's file as it lies there: read beside the running server, because what no route shows must be right too.

use std::path::Path;

use hamlet_actors::vocabulary::{ConversationId, MessageId, MessageStatus, Part, Role, TurnId};
use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

/// A stored Message, the superseded ones among them.
#[derive(Debug)]
pub struct Row {
    pub id: MessageId,
    pub turn: TurnId,
    pub role: Role,
    pub status: MessageStatus,
    pub terminal: bool,
    pub text: String,
    pub parts: Vec<Part>,
}

fn open(path: &Path) -> Connection {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap()
}

/// All Messages of a Conversation, in the order of their places.
pub fn messages(path: &Path, conversation: ConversationId) -> Vec<Row> {
    let conn = open(path);
    let mut statement = conn
        .prepare(
            "SELECT id, turn_id, status, terminal, parts, role, text FROM messages \
             WHERE conversation_key = (SELECT key FROM conversations WHERE id = ?1) ORDER BY position",
        )
        .unwrap();
    let rows = statement.query_map([conversation.0.as_bytes()], |row| {
        let parts: Option<String> = row.get(4)?;
        Ok(Row {
            id: MessageId(Uuid::from_bytes(row.get(0)?)),
            turn: TurnId(Uuid::from_bytes(row.get(1)?)),
            status: serde_json::from_value(row.get::<_, String>(2)?.into()).unwrap(),
            terminal: row.get(3)?,
            role: serde_json::from_value(row.get::<_, String>(5)?.into()).unwrap(),
            text: row.get(6)?,
            parts: parts.map(|parts| serde_json::from_str(&parts).unwrap()).unwrap_or_default(),
        })
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

/// Whether the file is whole, and nothing in it contradicts itself while no turn runs.
pub fn is_sound(path: &Path) {
    let conn = open(path);
    let text = |sql: &str| -> Vec<String> {
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(text("PRAGMA integrity_check"), ["ok"]);
    assert!(text("SELECT \"table\" FROM pragma_foreign_key_check").is_empty());
    // Each of these finds what must not be there.
    for wrong in [
        "SELECT hex(id) FROM messages WHERE status = 'running'",
        "SELECT hex(id) FROM messages WHERE status = 'queued' AND key NOT IN (SELECT message_key FROM queue)",
        "SELECT hex(m.id) FROM queue JOIN messages m ON m.key = message_key JOIN conversations c ON c.key = m.conversation_key \
         WHERE c.deleted_at IS NULL AND m.status <> 'queued'",
        "SELECT hex(conversation_key) FROM messages GROUP BY conversation_key, position HAVING count(*) > 1",
        "SELECT hex(conversation_key) FROM messages GROUP BY conversation_key, last_seq HAVING count(*) > 1",
        "SELECT hex(m.id) FROM messages m JOIN conversations c ON c.key = m.conversation_key \
         WHERE c.deleted_at IS NULL AND m.last_seq > c.last_seq",
        "SELECT hex(m.turn_id) FROM messages m JOIN conversations c ON c.key = m.conversation_key \
         WHERE c.deleted_at IS NULL GROUP BY m.turn_id HAVING sum(m.terminal) <> 1 - max(m.status = 'queued')",
        "SELECT hex(i.turn_id) FROM idempotency i WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.turn_id = i.turn_id) \
         AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = i.message_id) \
         AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.reply_id = i.message_id) \
         AND EXISTS (SELECT 1 FROM conversations c WHERE c.id = i.conversation_id AND c.deleted_at IS NULL)",
    ] {
        assert_eq!(text(wrong), [""; 0], "{wrong}");
    }
}

/// What was deleted and is not purged yet.
pub fn waits_for_its_purge(path: &Path) -> bool {
    let conn = open(path);
    conn.query_row("SELECT EXISTS (SELECT 1 FROM conversations WHERE deleted_at IS NOT NULL)", [], |row| row.get(0))
        .unwrap()
}

/// How many turns there are, how many of them a process left in the middle, and how many Messages have left.
pub fn turns(path: &Path) -> (usize, usize, usize) {
    let sql = "SELECT count(DISTINCT turn_id), count(*) FILTER (WHERE error LIKE '%INTERRUPTED%'), \
               count(*) FILTER (WHERE status IN ('superseded', 'withdrawn')) FROM messages";
    open(path).query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
}
