//! What an operator's look costs in a Village where many are awake.

use std::{sync::Arc, time::Instant};

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
        println!("{AWAKE} awake: {path} costs {:.0} ms of CPU", cpu_of(&served, path).await);
    }
    let (before, used) = (resident(), cpu());
    let mut events = served.get("/admin/events").send().await.unwrap().bytes_stream();
    let page = events.next().await.unwrap().unwrap();
    println!("{AWAKE} awake: a stream opens for {:.0} ms of CPU with {} bytes", cpu() - used, page.len());
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

/// Milliseconds of the process's CPU for one request: what else runs on the machine does not count.
async fn cpu_of(served: &Served, path: &str) -> f64 {
    const TIMES: u32 = 20;
    let before = cpu();
    for _ in 0..TIMES {
        served.get(path).send().await.unwrap().bytes().await.unwrap();
    }
    (cpu() - before) / f64::from(TIMES)
}

/// Milliseconds of CPU that this process has used.
fn cpu() -> f64 {
    metrics_process::collector::collect().cpu_seconds_total.unwrap() * 1000.0
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
