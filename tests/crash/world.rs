//! One Village from life to life: started, looked over, used, and ended at a moment that the seed has drawn.

use std::{
    path::PathBuf,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use hamlet_actors::vocabulary::ConversationId;
use hamlet_test_support::Client;

use crate::{
    ask::{Door, converse},
    fate::{Blow, Fate},
    file,
    hand::Deletion,
    house::House,
    patience::{joined, within_patience},
    program::{Home, Program},
    reader::Reader,
    talk::{Fingerprint, Following, Talk, fingerprint},
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
    pub deleted: usize,
}

impl World {
    pub fn new(name: String, seed: u64, house: &House) -> Self {
        Self {
            name,
            home: Home::new(house, DEADLINE),
            rng: fastrand::Rng::with_seed(seed),
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
        let mut looking = Vec::new();
        for talk in std::mem::take(&mut self.talks) {
            // Some tabs come back before anything new happens, some while it does.
            let calm = self.rng.bool();
            looking.push(tokio::spawn(look_over(talk, door.clone(), store.clone(), calm)));
        }
        for looked in looking {
            match joined("a Conversation that is looked over", looked).await {
                None => self.tally.deleted += 1,
                Some((talk, fingerprint)) if talk.is_full() => self.left.push((talk.conversation, fingerprint)),
                Some((talk, _)) => self.talks.push(talk),
            }
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
        for (conversation, hand, following) in acting {
            let hand = joined("a hand", hand).await;
            let readers = following.end(u64::MAX).await;
            if fate.blow == Blow::Kill && hand.deletion == Deletion::None {
                readers.iter().for_each(Reader::was_cut);
            }
            self.talks.push(Talk { conversation, hand, readers });
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
        (self.tally.turns, self.tally.interrupted) = file::turns(&store);
    }
}

async fn look_over(mut talk: Talk, door: Door, store: PathBuf, calm: bool) -> Option<(Talk, Fingerprint)> {
    if talk.is_gone(&door).await {
        return None;
    }
    talk.hand.deletion = Deletion::None;
    let mut following = Following::begin(std::mem::take(&mut talk.readers), &door);
    if calm {
        talk.compare(following, &store, &door).await;
        following = Following::begin(std::mem::take(&mut talk.readers), &door);
    }
    talk.hand.repeat(&door).await;
    talk.hand.probe(&door).await;
    let fingerprint = talk.compare(following, &store, &door).await;
    talk.hand.readers.clear();
    Some((talk, fingerprint))
}
