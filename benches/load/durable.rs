//! What it costs that everything is stored before it is seen: the same build with a Journal that says "stored" at once and
//! stores behind it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, future::BoxFuture, future::join_all, stream};
use hamlet::{serve::MakesJournal, store::Store};
use hamlet_actors::{
    policy::window::Said,
    ports::{
        End, ModelRequest, Provider, ProviderEvent, ProviderEvents,
        journal::{Batch, Claimed, Done, Journal, JournalError, Leftover, Told},
    },
    vocabulary::{ConversationId, Delta, FinishReason, ProviderId},
};

use crate::{
    flat,
    served::{Served, durable},
};

const STREAMS: usize = 100;
pub const TOKENS: usize = 250;
pub const PACE: Duration = Duration::from_millis(20);
const ROUNDS: usize = 3;

pub async fn with_and_without_the_wait() {
    let (mut rates, mut unwaited_rates) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        rates.push(flat::served(durable()).await);
        unwaited_rates.push(flat::served(unwaited()).await);
    }
    let (rate, without) = (median(&mut rates), median(&mut unwaited_rates));
    println!("durable before visible, flat out: {rate:.0} tokens/s; without the wait {without:.0}");
    println!("  costs {:.1} % of the throughput", (1.0 - rate / without) * 100.0);
    let with = paced(durable()).await;
    let without = paced(unwaited()).await;
    println!("{STREAMS} streams of 50 tokens/s, added latency p50 / p99: {}; without the wait {}", with.0, without.0);
    println!("  CPU a token: {:.1} us; without the wait {:.1}", with.1, without.1);
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Says "stored" before it is.
struct Unwaited(Store);

fn unwaited() -> MakesJournal {
    Box::new(|store| Arc::new(Unwaited(store)))
}

impl Journal for Unwaited {
    fn submit(&self, batch: Batch, done: Done<()>) {
        self.0.submit(batch, Box::new(|stored| stored.unwrap()));
        done(Ok(()));
    }

    fn claim(&self, conversation: ConversationId, cause: Leftover, done: Done<Claimed>) {
        self.0.claim(conversation, cause, done);
    }

    fn history(
        &self,
        conversation: ConversationId,
        before_position: i64,
        max_chars: usize,
    ) -> BoxFuture<'static, Result<Told, JournalError>> {
        self.0.history(conversation, before_position, max_chars)
    }

    fn sketches(
        &self,
        conversation: ConversationId,
        after_position: i64,
        before_position: i64,
        limit: usize,
    ) -> BoxFuture<'static, Result<Vec<Said>, JournalError>> {
        self.0.sketches(conversation, after_position, before_position, limit)
    }
}

/// Says the time, in microseconds since the bench began, fifty times a second.
pub struct Clockwork(pub ProviderId, pub Instant);

impl Provider for Clockwork {
    fn id(&self) -> ProviderId {
        self.0
    }

    fn name(&self) -> &str {
        "Clockwork"
    }

    fn ask(&self, _request: ModelRequest) -> ProviderEvents {
        let begun = self.1;
        // Streams begin at different times of the beat, as Players do.
        let offset = Duration::from_micros(fastrand::u64(0..20_000));
        let ticks = stream::iter(0..=TOKENS).then(move |n| async move {
            tokio::time::sleep(if n == 0 { offset } else { PACE }).await;
            if n == TOKENS {
                return vec![ProviderEvent::End(End::Complete(FinishReason::Stop))];
            }
            vec![ProviderEvent::Delta(Delta::Text(format!("<{}>", begun.elapsed().as_micros())))]
        });
        Box::pin(ticks)
    }
}

/// Added latency as "p50 / p99", and microseconds of this process's CPU a token.
async fn paced(journal: MakesJournal) -> (String, f64) {
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let server = Served::start(folder.path(), Arc::new(Clockwork(ProviderId::generate(), begun)), journal).await;
    let sends = server.sends(STREAMS).await;
    let before = cpu();
    let readers = sends.into_iter().map(|request| async move {
        let mut bytes = request.send().await.unwrap().error_for_status().unwrap().bytes_stream();
        let (mut late, mut rest) = (Vec::new(), String::new());
        while let Some(chunk) = bytes.next().await {
            hear(&mut late, &mut rest, &chunk.unwrap(), begun);
        }
        late
    });
    let late: Vec<u64> = join_all(readers).await.into_iter().flatten().collect();
    let cpu = (cpu() - before).as_micros() as f64 / late.len() as f64;
    server.end().await;
    (in_milliseconds(late), cpu)
}

/// How late each token of the Clockwork came that is in these bytes, in microseconds.
pub fn hear(late: &mut Vec<u64>, rest: &mut String, bytes: &[u8], begun: Instant) {
    rest.push_str(&String::from_utf8_lossy(bytes));
    let now = begun.elapsed().as_micros() as u64;
    while let Some((token, behind)) = rest.split_once('>') {
        let said = token.rsplit_once('<').and_then(|(_, said)| said.parse::<u64>().ok());
        late.extend(said.map(|said| now - said));
        *rest = behind.to_owned();
    }
}

/// "p50 / p99 ms" of microseconds.
pub fn in_milliseconds(mut late: Vec<u64>) -> String {
    late.sort_unstable();
    let at = |share: f64| late[((late.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
    format!("{:.2} / {:.2} ms", at(0.5), at(0.99))
}

/// What this process has used.
pub fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    // 100 ticks a second on every Linux that is in use.
    Duration::from_millis(ticks * 10)
}
