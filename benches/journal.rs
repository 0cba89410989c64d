//! Journal rows a second, from submit to commit, with 1, 32 and 256 Conversations that each have one batch in flight.
#![expect(clippy::unwrap_used, reason = "a bench that fails, fails")]

use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hamlet::store::{Store, conversations};
use hamlet_actors::{
    ports::journal::{Batch, Journal, Leftover, NewMessage, Write},
    vocabulary::{
        Author, AuthorKind, Body, ConversationId, Hop, MessageId, MessageStatus, NpcId, Part, Piece, PlayerId, Role,
        Timestamp, TurnId,
    },
};
use tokio::sync::oneshot;

/// Rows that each writer appends in one measured round.
const ROWS: u64 = 64;

struct Writer {
    conversation: ConversationId,
    message: MessageId,
    epoch: u64,
    seq: u64,
}

async fn writers(store: &Store, count: usize) -> Vec<Writer> {
    let (player, npc) = (PlayerId::generate(), NpcId::generate());
    store
        .write(move |conn| {
            conn.execute(
                "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, ?2, ?2, 'admin', 0)",
                (player.0.as_bytes(), player.to_string()),
            )?;
            conn.execute(
                "INSERT INTO npcs (id, slug, name, created_at, updated_at) VALUES (?1, ?2, 'Ada', 0, 0)",
                (npc.0.as_bytes(), npc.to_string()),
            )?;
            Ok(())
        })
        .await
        .unwrap();
    let mut writers = Vec::new();
    for _ in 0..count {
        let conversation = ConversationId::generate();
        let new = conversations::NewConversation {
            id: conversation,
            owner: player,
            external_id: None,
            title: None,
            npcs: vec![npc],
            at: Timestamp::now(),
        };
        store.write(move |conn| conversations::create(conn, &new)).await.unwrap();
        let (done, claimed) = oneshot::channel();
        store.claim(conversation, Leftover::Failed, Box::new(move |claim| drop(done.send(claim))));
        let epoch = claimed.await.unwrap().unwrap().epoch;
        let message = MessageId::generate();
        let insert = Write::Insert(Arc::new(NewMessage {
            id: message,
            turn_id: TurnId::generate(),
            role: Role::Npc,
            author: Author { kind: AuthorKind::Npc, id: npc.to_string(), name: "Ada".into() },
            position: 0,
            status: MessageStatus::Running,
            body: Body::default(),
            hop: Hop::default(),
            supersedes: Vec::new(),
            variant_of: None,
            model: None,
            client_id: None,
            first_seq: 1,
            last_seq: 1,
            created_at: Timestamp::now(),
        }));
        let mut writer = Writer { conversation, message, epoch, seq: 1 };
        submit(store, &mut writer, vec![insert]).await;
        writers.push(writer);
    }
    writers
}

async fn submit(store: &Store, writer: &mut Writer, writes: Vec<Write>) {
    let (done, settled) = oneshot::channel();
    let batch = Batch { conversation: writer.conversation, epoch: writer.epoch, last_seq: writer.seq, writes };
    store.submit(batch, Box::new(move |outcome| drop(done.send(outcome))));
    settled.await.unwrap().unwrap();
}

async fn append(store: Store, mut writer: Writer) -> Writer {
    for _ in 0..ROWS {
        writer.seq += 1;
        let text =
            "118 bytes is what a row of a few tokens has; this text is about as long as that, with its index and seq";
        let pieces: Arc<[(u64, Piece)]> = Arc::new([(writer.seq, Piece::Part { index: 0, part: Part::text(text) })]);
        let write = Write::Pieces { message: writer.message, pieces };
        submit(&store, &mut writer, vec![write]).await;
    }
    writer
}

fn rows(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut group = c.benchmark_group("journal rows");
    group.sample_size(10);
    for count in [1usize, 32, 256] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        let mut ready = Some(runtime.block_on(writers(&store, count)));
        group.throughput(Throughput::Elements(ROWS * count as u64));
        group.bench_function(BenchmarkId::new("writers", count), |b| {
            b.iter(|| {
                let turn: Vec<_> =
                    ready.take().unwrap().into_iter().map(|writer| append(store.clone(), writer)).collect();
                ready = Some(runtime.block_on(async {
                    let tasks: Vec<_> = turn.into_iter().map(|work| tokio::spawn(work)).collect();
                    let mut back = Vec::with_capacity(tasks.len());
                    for task in tasks {
                        back.push(task.await.unwrap());
                    }
                    back
                }));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, rows);
criterion_main!(benches);
