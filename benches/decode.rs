//! What decoding one delta of a chat completion costs: a stream of 4,000, as reads of one event and of sixteen.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hamlet::providers::{
    Discretion, Quirks,
    openai_chat::{decoder::ChatDecoder, reasoning::Origin},
    sse::SseDecoder,
};
use hamlet_actors::vocabulary::ProviderId;

const DELTAS: usize = 4_000;

fn events() -> Vec<String> {
    let event = |at: usize| {
        format!(
            "data: {{\"id\":\"chatcmpl-B9hqKtL0\",\"object\":\"chat.completion.chunk\",\"created\":1741569952,\
             \"model\":\"village-1\",\"system_fingerprint\":\"fp_4a\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\
             \" word{at}\"}},\"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
        )
    };
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    (0..DELTAS).map(event).chain([end.to_owned()]).collect()
}

fn decode(criterion: &mut Criterion) {
    let events = events();
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Elements(DELTAS as u64));
    for size in [1, 16] {
        let reads: Vec<Vec<u8>> = events.chunks(size).map(|events| events.concat().into_bytes()).collect();
        group.bench_function(format!("chat completion, {size} events a read"), |bencher| {
            bencher.iter(|| {
                let origin = Origin { provider: ProviderId(uuid::Uuid::nil()), model: "village-1".into() };
                let mut decoder = ChatDecoder::new(origin, &Quirks::default(), Discretion::default());
                for read in &reads {
                    let mut out = Vec::new();
                    decoder.read(black_box(read), &mut out);
                    black_box(out);
                }
                assert!(decoder.has_ended());
            });
        });
        group.bench_function(format!("events alone, {size} events a read"), |bencher| {
            bencher.iter(|| {
                let mut decoder = SseDecoder::default();
                for read in &reads {
                    let flow = decoder.read(black_box(read), |event| {
                        black_box(event);
                        std::ops::ControlFlow::Continue(())
                    });
                    assert!(flow.is_ok());
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
