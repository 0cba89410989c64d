//! One Village from life to life: started, looked over, used, and ended at a moment that the seed has drawn.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use hamlet_actors::vocabulary::ConversationId;
use hamlet_test_support::Client;

use crate::{
    ask::{Door, converse},
    book::Deletion,
    fate::{Blow, Fate},
    file,
    house::House,
    now::{Fingerprint, fingerprint},
    patience::{joined, within_patience},
    program::{Home, Program},
    reader::Reader,
    shared::{Cursors, FollowingAll, Return, Shared},
    talk::{Following, Talk},
};

/// Conversations that are used at a time.
const TALKS: usize = 3;
/// Seconds that running turns have after SIGTERM: some replies take longer.
const DEADLINE: u32 = 1;

pub struct World {
    name: String,
    home: Home,
    rng: fastrand::Rng,
    /// Of lines and keys.
    numbers: Arc<AtomicU64>,
    client: Option<Client>,
    talks: Vec<Talk>,
    /// Streams of all of them at once.
    shared: Vec<Shared>,
    /// Conversations that are left alone, and what they were.
    left: Vec<(ConversationId, Fingerprint)>,
    pub tally: Tally,
}

/// What has happened.
#[derive(Debug, Default)]
pub struct Tally {
    pub kills: usize,
    pub kills_at_start: usize,
    pub stops: usize,
    pub turns: usize,
    pub interrupted: usize,
    /// Texts that were withdrawn, and Messages that gave way to others.
    pub left: usize,
    /// Texts that waited when a process ended.
    pub waited: usize,
    pub deleted: usize,
}

impl World {
    pub fn new(name: String, seed: u64, house: &House) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        Self {
            name,
            home: Home::new(house, DEADLINE),
            shared: [Return::AllCursors, Return::LastEventId].map(|returns| Shared::new(returns, &mut rng)).into(),
            rng,
            numbers: Arc::default(),
            client: None,
            talks: Vec::new(),
            left: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Lives and is killed so many times, and then is looked over as a whole.
    pub async fn endure(mut self, kills: usize) -> Tally {
        while self.tally.kills < kills {
            let program = self.start().await;
            self.look_over().await;
            self.live(program).await;
        }
        let program = self.start().await;
        self.look_over().await;
        self.look_back().await;
        program.terminate();
        assert_eq!(program.ended().await, Some(0), "the exit code of a server that was asked to stop");
        assert_eq!(self.home.errors(), [""; 0], "nothing went wrong inside");
        self.tally
    }

    async fn start(&mut self) -> Program {
        // Whoever starts it again may be impatient.
        while self.rng.u32(0..4) == 0 && self.client.is_some() {
            self.home.start_and_kill(Duration::from_micros(self.rng.u64(0..60_000))).await;
            self.tally.kills_at_start += 1;
        }
        let program = self.home.start().await;
        match &mut self.client {
            Some(client) => client.address = program.address,
            None => self.client = Some(program.admin().await),
        }
        program
    }

    fn client(&self) -> Client {
        self.client.clone().unwrap()
    }

    /// After each start: nothing that was shown or told is lost, and everything goes on.
    async fn look_over(&mut self) {
        let door = Door::calm(&self.client());
        let store = self.home.store();
        let shared: Vec<_> = self.shared.drain(..).map(|shared| FollowingAll::begin(shared, &door)).collect();
        let mut looking = Vec::new();
        for talk in std::mem::take(&mut self.talks) {
            // Some tabs come back before anything new happens, some while it does.
            let (door, store, calm) = (door.clone(), store.clone(), self.rng.bool());
            looking.push(tokio::spawn(async move { talk.look_over(door, &store, calm).await }));
        }
        let mut there = HashMap::new();
        for looked in looking {
            let Some((talk, now, waited)) = joined("a Conversation that is looked over", looked).await else {
                self.tally.deleted += 1;
                continue;
            };
            self.tally.waited += waited;
            if talk.is_full() {
                self.left.push((talk.conversation, now.fingerprint()));
            } else {
                self.talks.push(talk);
            }
            there.insert(now.conversation, now);
        }
        for shared in shared {
            let mut shared = shared.end(there.iter().map(|(id, now)| (*id, now.loaded.cursor)).collect()).await;
            shared.check(&there);
            self.shared.push(shared);
        }
        file::is_sound(&store);
        while self.talks.len() < TALKS {
            let conversation = converse(&door.client).await.expect("the server is there");
            self.talks.push(Talk::new(conversation, Arc::clone(&self.numbers), &mut self.rng));
        }
    }

    /// Everything at once, until the blow has fallen and all clients have noticed.
    async fn live(&mut self, program: Program) {
        let fate = Arc::new(Fate::drawn(&mut self.rng, program.pid()));
        eprintln!("{} life {}: {fate}", self.name, self.tally.kills + self.tally.stops);
        let door = Door { client: self.client(), fate: Arc::clone(&fate) };
        let ids: Vec<ConversationId> = self.talks.iter().map(|talk| talk.conversation).collect();
        let watch = |mut shared: Shared| {
            shared.watch(&ids);
            FollowingAll::begin(shared, &door)
        };
        let shared: Vec<_> = self.shared.drain(..).map(watch).collect();
        let mut acting = Vec::new();
        for talk in std::mem::take(&mut self.talks) {
            let following = Following::begin(talk.readers, &door);
            let hand = tokio::spawn(talk.hand.play(door.clone()));
            acting.push((talk.conversation, hand, following));
        }
        fate.comes().await;
        match fate.blow {
            Blow::Kill => assert_eq!(program.ended().await, None),
            Blow::Terminate => {
                assert_eq!(program.ended().await, Some(0), "the exit code of a server that was asked to stop");
            }
            Blow::TerminateThenKill(after) => {
                tokio::time::sleep(after).await;
                program.kill().await;
            }
        }
        match fate.blow {
            Blow::Terminate => self.tally.stops += 1,
            Blow::Kill | Blow::TerminateThenKill(_) => self.tally.kills += 1,
        }
        for shared in shared {
            self.shared.push(shared.end(Cursors::new()).await);
        }
        let mut deleted = HashSet::new();
        for (conversation, hand, following) in acting {
            let hand = joined("a hand", hand).await;
            let readers = following.end(u64::MAX).await;
            if fate.blow == Blow::Kill && hand.book.deletion == Deletion::None {
                readers.iter().for_each(Reader::was_cut);
            }
            if hand.book.deletion != Deletion::None {
                deleted.insert(conversation);
            }
            self.talks.push(Talk { conversation, hand, readers });
        }
        if fate.blow == Blow::Kill {
            self.shared.iter().for_each(|shared| shared.was_cut(&deleted));
        }
    }

    /// At the very end: Conversations that were left alone are as they were, and what was deleted leaves nothing.
    async fn look_back(&mut self) {
        let (door, store) = (Door::calm(&self.client()), self.home.store());
        for (conversation, was) in &self.left {
            assert_eq!(
                fingerprint(*conversation, &door).await,
                *was,
                "{conversation} has changed, and nobody touched it"
            );
        }
        let purged = async {
            while file::waits_for_its_purge(&store) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        within_patience("the purge", purged).await;
        file::is_sound(&store);
        (self.tally.turns, self.tally.interrupted, self.tally.left) = file::turns(&store);
    }
}
