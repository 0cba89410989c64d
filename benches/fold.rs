//! The fold and the Conversation's state, per delta. Both must be linear: twice the deltas, twice the time.
#![expect(clippy::unwrap_used, reason = "a bench that fails, fails")]

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use hamlet_actors::{
    conversation::{Begin, Conversation, Event, Intent, OnBusy, Ticket},
    ports::journal::{Claimed, Leftover},
    vocabulary::{
        Author, AuthorKind, Body, ConversationId, Delta, Frame, Hop, MessageId, Part, ProviderId, Timestamp,
        Transcript, TurnId,
    },
};
use std::hint::black_box;

fn author() -> Author {
    Author { kind: AuthorKind::Npc, id: "ada".into(), name: "Ada".into() }
}

/// A Conversation with an admitted turn.
fn running() -> (Conversation, TurnId, MessageId) {
    let now = Timestamp::from_millis(0);
    let (mut state, _) = Conversation::waking(ConversationId::generate(), Leftover::Failed);
    let claimed = Claimed { epoch: 1, last_seq: 0, next_position: 0, title: None, queue: Vec::new() };
    state.apply(Event::Claimed(Ok(claimed)));
    let (turn, reply) = (TurnId::generate(), MessageId::generate());
    let begin = Begin {
        turn,
        reply,
        intent: Intent::Send {
            message: MessageId::generate(),
            author: author(),
            text: "hi".into(),
            client_id: None,
            to: None,
        },
        speaker: author(),
        provider_name: "bench".into(),
        model: (ProviderId::generate(), "bench".into()),
        hop: Hop { count: 0, limit: 6 },
        step_limit: 16,
        on_busy: OnBusy::Reject,
        idempotency: None,
        now,
    };
    state.apply(Event::BeginAsked { begin: Box::new(begin), ticket: Ticket(0) });
    state.apply(Event::Settled { outcome: Ok(()), now });
    (state, turn, reply)
}

fn fold(c: &mut Criterion) {
    let mut group = c.benchmark_group("fold");
    for deltas in [1_000u64, 4_000, 16_000] {
        group.throughput(Throughput::Elements(deltas));
        group.bench_with_input(BenchmarkId::new("engine", deltas), &deltas, |b, &deltas| {
            b.iter(|| {
                let mut body = Body::default();
                for _ in 0..deltas {
                    black_box(body.place(Delta::Text("word ".into())));
                }
                body
            });
        });
        group.bench_with_input(BenchmarkId::new("reader", deltas), &deltas, |b, &deltas| {
            let message_id = MessageId::generate();
            let start = serde_json::json!({
                "type": "start", "conversationId": ConversationId::generate(), "turnId": TurnId::generate(),
                "message": {"id": message_id, "role": "npc", "author": author(), "position": 0,
                    "createdAt": "2026-01-01T00:00:00Z", "status": "running"},
                "hop": {"count": 0, "limit": 6},
            });
            let start: Frame = serde_json::from_value(start).unwrap();
            b.iter(|| {
                let mut transcript = Transcript::default();
                transcript.fold(start.clone());
                for _ in 0..deltas {
                    transcript.fold(Frame::Part { message_id, index: 0, part: Part::text("word ") });
                }
                transcript
            });
        });
    }
    group.finish();
}

fn apply(c: &mut Criterion) {
    let mut group = c.benchmark_group("apply");
    let deltas = 1_000u64;
    group.throughput(Throughput::Elements(deltas));
    group.bench_function("one delta, one commit", |b| {
        b.iter_batched(
            running,
            |(mut state, turn, _)| {
                let now = Timestamp::from_millis(1);
                for _ in 0..deltas {
                    let deltas = vec![Delta::Text("word ".into())];
                    black_box(state.apply(Event::DeltasArrived { turn, deltas, now }));
                    black_box(state.apply(Event::Settled { outcome: Ok(()), now }));
                }
                state
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, fold, apply);
criterion_main!(benches);
