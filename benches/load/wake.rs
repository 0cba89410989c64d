//! Waking a Conversation by the length of its history: flat, since an actor holds none.

use std::time::{Duration, Instant};

use hamlet::store::{Store, StoreError, conversations};
use hamlet_actors::{
    engine::Engine,
    village::Upkeep,
    vocabulary::{ConversationId, MessageId, PlayerId, Timestamp, TurnId},
};

use crate::served::world;

const ROUNDS: usize = 40;

pub async fn by_history() {
    for messages in [10, 1_000, 100_000] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        let (player, id) = (PlayerId::generate(), ConversationId::generate());
        store
            .write(move |conn| {
                conn.execute(
                    "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, 'P', 'p', 'admin', 0)",
                    [player.0.as_bytes()],
                )?;
                fill(conn, player, id, messages)
            })
            .await
            .unwrap();
        let mut took = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let engine = Engine::start(world(&store), Upkeep::default()).await.unwrap();
            let begun = Instant::now();
            // Stopping what does not run wakes the actor; it answers once it has claimed its Conversation.
            engine.abort(id, None).await.unwrap();
            took.push(begun.elapsed());
            engine.shut_down(Duration::ZERO).await;
            engine.stop();
        }
        took.sort_unstable();
        let (p50, worst) = (took[ROUNDS / 2].as_secs_f64() * 1000.0, took[ROUNDS - 1].as_secs_f64() * 1000.0);
        println!("woken with {messages} messages: {p50:.2} ms, at worst {worst:.2} (its claim's commit included)");
    }
}

/// A Conversation with so many Messages, half of each kind.
pub fn fill(
    conn: &rusqlite::Connection,
    player: PlayerId,
    id: ConversationId,
    messages: i64,
) -> Result<(), StoreError> {
    let new = conversations::NewConversation {
        id,
        owner: player,
        external_id: None,
        title: Some("Long".to_owned()),
        npcs: Vec::new(),
        at: Timestamp::now(),
    };
    let key = conversations::create(conn, &new)?.key;
    let mut insert = conn.prepare_cached(
        "INSERT INTO messages (id, conversation_key, turn_id, role, author_kind, author_id, author_name, position, status, \
         text, parts, terminal, first_seq, last_seq, created_at, finished_at) \
         VALUES (?1, ?2, ?3, ?4, ?4, 'x', 'X', ?5, 'complete', ?6, ?7, 1, ?8, ?9, 0, 0)",
    )?;
    let text = "Something that was said some time ago, and is of a usual length for what people say.";
    let parts = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
    for position in 0..messages {
        insert.execute(rusqlite::params![
            MessageId::generate().0.as_bytes(),
            key,
            TurnId::generate().0.as_bytes(),
            if position % 2 == 0 { "player" } else { "npc" },
            position,
            text,
            parts,
            position * 3 + 1,
            position * 3 + 3,
        ])?;
    }
    conn.execute("UPDATE conversations SET last_seq = ?2 WHERE key = ?1", (key, messages * 3))?;
    Ok(())
}
