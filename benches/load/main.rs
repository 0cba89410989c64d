//! The server under load in one process with its clients, and what grows with what is stored. The Provider is in the
//! process too: no wire format is read here (`decode` measures that). Prints ratios and sizes; nothing passes or fails.
//! `cargo bench --bench load` runs all, `cargo bench --bench load -- flat durable idle inspect wake overhead start watchers fanout` a
//! part.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that fails, fails, and prints what it found")]

mod durable;
mod flat;
mod idle;
mod inspect;
mod overhead;
mod served;
mod start;
mod wake;
mod watchers;

fn main() {
    // The clients below need one; nothing was installed before.
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|one| one == name);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        if let Ok(count) = std::env::var(watchers::SERVES) {
            watchers::serve(count.parse().unwrap()).await;
            return;
        }
        if wanted("idle") {
            idle::actors().await;
        }
        if wanted("inspect") {
            inspect::a_large_village().await;
        }
        if wanted("flat") {
            flat::beside_a_relay().await;
        }
        if wanted("durable") {
            durable::with_and_without_the_wait().await;
        }
        if wanted("wake") {
            wake::by_history().await;
        }
        if wanted("overhead") {
            overhead::by_history().await;
        }
        if wanted("start") {
            start::by_conversations().await;
        }
        if wanted("watchers") {
            watchers::idle().await;
        }
        if wanted("fanout") {
            watchers::told_of_a_turn().await;
        }
    });
}
