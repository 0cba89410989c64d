//! Starting over a file by the number of its Conversations: flat, since nothing is read of them.

use std::{sync::Arc, time::Instant};

use hamlet::{serve::Server, store::Store};
use hamlet_actors::vocabulary::{ConversationId, PlayerId, ProviderId};

use crate::{flat::Fast, served, wake::fill};

const MESSAGES: i64 = 4;
const ROUNDS: usize = 5;

pub async fn by_conversations() {
    for count in [100, 100_000] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        let player = PlayerId::generate();
        let made = store.write(move |conn| {
            conn.execute(
                "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, 'P', 'p', 'admin', 0)",
                [player.0.as_bytes()],
            )?;
            for _ in 0..count {
                fill(conn, player, ConversationId::generate(), MESSAGES)?;
            }
            Ok(())
        });
        made.await.unwrap();
        drop(store);
        let mut took = Vec::with_capacity(ROUNDS);
        for _ in 0..ROUNDS {
            let provider = Arc::new(Fast(ProviderId::generate()));
            let begun = Instant::now();
            let server = Server::start(served::setup(folder.path(), provider, served::durable())).await.unwrap();
            took.push(begun.elapsed());
            server.app.engine.shut_down(std::time::Duration::ZERO).await;
            server.app.engine.stop();
        }
        took.sort_unstable();
        println!("started with {count} conversations: {:.1} ms", took[ROUNDS / 2].as_secs_f64() * 1000.0);
    }
}
