//! The crash suite: the real release binary, killed at random moments and started again on the same file. Whatever any
//! client was shown or told must still be so (promises 2, 4, 6 and 8), and everything must go on.
//!
//! `HAMLET_CRASH_KILLS=1000` kills more often than the 50 times of a usual run; `HAMLET_CRASH_SEED` draws other lines,
//! tabs and moments; the same ones again as far as the machine's timing lets it.

#![expect(clippy::unwrap_used, reason = "what helps a test may fail it")]
#![expect(clippy::panic, clippy::expect_used, reason = "what helps a test may fail it")]
#![expect(clippy::print_stderr, reason = "a run that failed must tell how to repeat it")]

mod ask;
mod book;
mod calls;
mod events;
mod fate;
mod file;
mod hand;
mod house;
mod kept;
mod line;
mod now;
mod patience;
mod program;
mod reader;
mod recall;
mod shared;
mod stopping;
mod talk;
mod world;

use std::{panic::resume_unwind, str::FromStr};

use house::House;
use world::World;

/// Villages that are killed side by side.
const WORLDS: usize = 2;

#[tokio::test(flavor = "multi_thread")]
async fn promises_2_4_6_and_8_hold_whenever_the_process_is_killed() {
    let kills = from_environment("HAMLET_CRASH_KILLS", 50_usize);
    let seed = from_environment("HAMLET_CRASH_SEED", 3_u64);
    eprintln!("to repeat: HAMLET_CRASH_SEED={seed} HAMLET_CRASH_KILLS={kills} cargo test --test crash");
    let house = House::open().await;
    let mut worlds = Vec::new();
    for at in 0..WORLDS {
        let share = kills / WORLDS + usize::from(at < kills % WORLDS);
        let seed = seed.wrapping_add(at as u64);
        let world = World::new(format!("village {at}"), seed, &house);
        worlds.push(tokio::spawn(world.endure(share)));
    }
    for world in worlds {
        match world.await {
            Ok(tally) => eprintln!("{tally:?}"),
            Err(failed) => resume_unwind(failed.into_panic()),
        }
    }
}

fn from_environment<T: FromStr>(name: &str, default: T) -> T {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text:?}")),
        Err(_) => default,
    }
}
