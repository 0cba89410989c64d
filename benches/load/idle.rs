//! What an actor costs that is awake and has nothing to do.

use std::time::{Duration, Instant};

use hamlet::store::{Store, conversations};
use hamlet_actors::{
    engine::Engine,
    village::Upkeep,
    vocabulary::{ConversationId, NpcId, PlayerId, Timestamp},
};

use crate::served::world;

const IDLE_ACTORS: usize = 10_000;

/// Resident bytes of an actor that is awake and has nothing to do.
pub async fn actors() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
    let player = PlayerId::generate();
    let made: Vec<ConversationId> = (0..IDLE_ACTORS + 500).map(|_| ConversationId::generate()).collect();
    let ids = made.clone();
    store
        .write(move |conn| {
            conn.execute(
                "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, 'P', 'p', 'admin', 0)",
                [player.0.as_bytes()],
            )?;
            for id in ids {
                let npcs: Vec<NpcId> = Vec::new();
                let new = conversations::NewConversation {
                    id,
                    owner: player,
                    external_id: None,
                    title: None,
                    npcs,
                    at: Timestamp::now(),
                };
                conversations::create(conn, &new)?;
            }
            Ok(())
        })
        .await
        .unwrap();
    let engine = Engine::start(world(&store), Upkeep::default()).await.unwrap();
    // Stopping what does not run wakes an actor and leaves it idle. The first ones warm the allocator.
    for id in &made[..500] {
        engine.abort(*id, None).await.unwrap();
    }
    let before = resident();
    let begun = Instant::now();
    for id in &made[500..] {
        engine.abort(*id, None).await.unwrap();
    }
    let each = (resident() - before) as f64 / IDLE_ACTORS as f64 / 1024.0;
    let wake = begun.elapsed().as_secs_f64() * 1000.0 / IDLE_ACTORS as f64;
    println!("idle actor: {each:.1} KiB resident, woken in {wake:.2} ms (its claim's commit included)");
    engine.shut_down(Duration::ZERO).await;
    engine.stop();
}

/// Resident bytes of this process.
pub fn resident() -> usize {
    resident_of(std::process::id())
}

/// Resident bytes of a process.
pub fn resident_of(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}
