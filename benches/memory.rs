//! What recalling costs beside 100, 10,000 and 100,000 memories of one Player: of an NPC that has a part of them, from a
//! question of common words and a rare one. Read the figures as ratios of one another.
#![expect(clippy::unwrap_used, reason = "a bench that fails, fails")]

use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use hamlet::store::{Store, memories};
use hamlet_actors::{
    policy::recall::RecallLimits,
    ports::memory::{MEMORIES_LIMIT, Memory, NewMemory, Whose, Writer},
    vocabulary::{MemoryId, NpcId, PlayerId, Timestamp},
};

const WORDS: [&str; 24] = [
    "horse", "mill", "rain", "bread", "river", "winter", "letter", "garden", "brother", "song", "harbour", "lantern",
    "apple", "market", "bridge", "silver", "candle", "orchard", "saddle", "copper", "meadow", "thunder", "violin",
    "anchor",
];

fn said(n: usize) -> String {
    let word = |step: usize| WORDS[(n / step + n) % WORDS.len()];
    format!("Pia said that the {} is like the {} of the {}, number {n}", word(1), word(7), word(31))
}

async fn filled(store: &Store, count: usize) -> Whose {
    let player = PlayerId::generate();
    let npcs: Vec<NpcId> = (0..count.div_ceil(MEMORIES_LIMIT)).map(|_| NpcId::generate()).collect();
    let first = npcs[0];
    store
        .write(move |conn| {
            conn.execute(
                "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, 'Pia', 'pia', 'player', 0)",
                [player.0.as_bytes()],
            )?;
            for npc in &npcs {
                conn.execute(
                    "INSERT INTO npcs (id, slug, name, created_at, updated_at) VALUES (?1, ?2, 'Mara', 0, 0)",
                    (npc.0.as_bytes(), npc.to_string()),
                )?;
            }
            for n in 0..count {
                let memory = NewMemory {
                    id: MemoryId::generate(),
                    whose: Whose { player, npc: npcs[n % npcs.len()] },
                    text: said(n),
                    writer: Writer::Npc,
                    conversation: None,
                    at: Timestamp::from_millis(i64::try_from(n).unwrap() * 60_000),
                };
                memories::remember(conn, &memory)?;
            }
            Ok(())
        })
        .await
        .unwrap();
    Whose { player, npc: first }
}

fn recall(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut group = c.benchmark_group("recall");
    group.sample_size(20);
    for count in [100usize, 10_000, 100_000] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        let whose = runtime.block_on(filled(&store, count));
        for (name, question) in
            [("rare words", "Is it the 40th, or 1440?"), ("common words", "What did Pia say of the horse?")]
        {
            let question: Arc<str> = question.into();
            group.bench_function(BenchmarkId::new(name, count), |b| {
                b.to_async(&runtime).iter(|| {
                    let now = Timestamp::from_millis(7_000_000_000);
                    store.recall(whose, Arc::clone(&question), RecallLimits::default(), now)
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, recall);
criterion_main!(benches);
