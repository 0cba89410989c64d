//! What an operator's look costs in a Village where many are awake.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, future::join_all};
use hamlet::{app::App, store::conversations};
use hamlet_actors::vocabulary::{ConversationId, PlayerId, ProviderId, Timestamp};

use crate::{
    flat::Fast,
    idle::resident,
    served::{Served, durable},
};

const AWAKE: usize = 100_000;
const AT_ONCE: usize = 500;

pub async fn a_large_village() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(folder.path(), Arc::new(Fast(ProviderId::generate())), durable()).await;
    wake(&served.app).await;
    for path in ["/admin/actors", "/admin/actors?state=running", "/admin/actors?player=admin", "/metrics"] {
        let times = one_by_one(&served, path).await;
        println!("{AWAKE} awake: {path} in {:.1} ms", times.as_secs_f64() * 1000.0);
    }
    let (before, begun) = (resident(), Instant::now());
    let mut events = served.get("/admin/events").send().await.unwrap().bytes_stream();
    let page = events.next().await.unwrap().unwrap();
    println!(
        "{AWAKE} awake: a stream opens in {:.1} ms with {} bytes",
        begun.elapsed().as_secs_f64() * 1000.0,
        page.len()
    );
    println!("{AWAKE} awake: a stream holds {:.1} MiB", (resident() - before) as f64 / f64::from(1 << 20));
    let begun = Instant::now();
    let send = served.sends(1).await.remove(0);
    drop(send.send().await.unwrap());
    events.next().await.unwrap().unwrap();
    println!(
        "{AWAKE} awake: a turn is told in {:.1} ms (at most four events a second)",
        begun.elapsed().as_secs_f64() * 1000.0
    );
    drop(events);
    served.end().await;
}

/// The median of a few.
async fn one_by_one(served: &Served, path: &str) -> Duration {
    let mut times = Vec::new();
    for _ in 0..7 {
        let begun = Instant::now();
        served.get(path).send().await.unwrap().bytes().await.unwrap();
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

async fn wake(app: &App) {
    let ids: Vec<ConversationId> = (0..AWAKE).map(|_| ConversationId::generate()).collect();
    for some in ids.chunks(1000) {
        let some = some.to_vec();
        app.store
            .write(move |conn| {
                let owner: [u8; 16] = conn.query_row("SELECT id FROM players", [], |row| row.get(0))?;
                for id in some {
                    let new = conversations::NewConversation {
                        id,
                        owner: PlayerId(uuid::Uuid::from_bytes(owner)),
                        external_id: None,
                        title: None,
                        npcs: Vec::new(),
                        at: Timestamp::now(),
                    };
                    conversations::create(conn, &new)?;
                }
                Ok(())
            })
            .await
            .unwrap();
    }
    // Stopping what does not run wakes an actor and leaves it idle.
    for some in ids.chunks(AT_ONCE) {
        let woken = join_all(some.iter().map(|id| app.engine.abort(*id, None))).await;
        assert!(woken.iter().all(Result::is_ok));
    }
}
