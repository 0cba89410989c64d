//! A Conversation with everything around it: instances of its actor, the store's queue, the log, tabs. What is not played
//! here is the real thing.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use hamlet::store::conversations::{self, NewConversation};
use hamlet_actors::{
    conversation::{Event, debts::Debts, frame_log::FrameLog},
    vocabulary::{Author, AuthorKind, ConversationId, MessageId, ProviderId, Timestamp, TurnId},
};
use uuid::Uuid;

use crate::{
    actor::{Actor, Ask},
    broken::{Checked, must},
    happening::Happening,
    house::House,
    ledger::Ledger,
    tab::Tab,
    writer::Job,
};

pub struct World {
    pub house: House,
    pub conversation: ConversationId,
    pub log: Arc<FrameLog>,
    /// What the log holds, beside it.
    pub shown: Option<Shown>,
    /// How often readers were woken.
    pub changes: u64,
    pub now: i64,
    /// Tells runs in one store apart.
    pub run: u64,
    ids: u64,
    /// Those that live. One that left its seat in the middle of something lives on beside the next.
    pub actors: BTreeMap<usize, Actor>,
    pub seated: Option<usize>,
    born: usize,
    pub writer: VecDeque<Job>,
    /// Asked of an instance that is gone before it answered.
    pub again: VecDeque<Ask>,
    /// What instances that failed had stored, and did not answer.
    pub debts: Debts,
    pub tickets: u64,
    /// The actor keeps failing, and what it left has no end yet.
    pub unended: bool,
    pub tabs: Vec<Tab>,
    pub ledger: Ledger,
    pub deleted: bool,
    pub story: Vec<String>,
}

/// What readers can have from the log.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    pub floor: u64,
    /// The newest frame; what is stored only is none.
    pub newest: Option<u64>,
}

impl World {
    pub async fn new(house: House, run: u64) -> Checked<Self> {
        let conversation = ConversationId(Uuid::from_u128((u128::from(run) << 64) | 1));
        // The store's housekeeping goes by the real time.
        let (owner, at) = (house.player, Timestamp::now());
        let new = NewConversation { id: conversation, owner, external_id: None, title: None, npcs: Vec::new(), at };
        must(house.app.store.write(move |conn| conversations::create(conn, &new)).await, "a Conversation")?;
        let log = must(house.app.engine.log(conversation).await, "a log")?;
        let mut world = Self {
            house,
            conversation,
            log,
            shown: None,
            changes: 0,
            now: at.as_millis(),
            run,
            ids: 1,
            actors: BTreeMap::new(),
            seated: None,
            born: 0,
            writer: VecDeque::new(),
            again: VecDeque::new(),
            debts: Debts::default(),
            tickets: 0,
            unended: false,
            tabs: ["Ada's tab", "Ben's tab", "Cleo's tab", "Dan's tab"].map(Tab::new).into(),
            ledger: Ledger::default(),
            deleted: false,
            story: Vec::new(),
        };
        world.open_quick_tab().await?;
        Ok(world)
    }

    /// Lets one thing happen, and all that follows from it at once.
    pub async fn live(&mut self, happening: Happening) -> Checked {
        if self.deleted {
            return Ok(());
        }
        self.now += 1;
        while let Some(ask) = self.again.pop_front() {
            self.ask(ask).await?;
        }
        match happening {
            Happening::Chat => self.chat().await,
            Happening::Say { busy, key } => self.say(busy, key).await,
            Happening::Regenerate { behind } => self.regenerate(behind).await,
            Happening::Rewrite { pick } => self.rewrite(pick).await,
            Happening::EditWaiting { pick } => self.edit_waiting(pick).await,
            Happening::Withdraw { pick } => self.withdraw(pick).await,
            Happening::Resume => self.resume().await,
            Happening::Select { pick } => self.select(pick).await,
            Happening::Abort(named) => self.abort(named).await,
            Happening::Speak(speech) => self.speak(speech).await,
            Happening::End(how) => self.end(how).await,
            Happening::SpeakLate(how) => self.speak_late(how).await,
            Happening::Plan { found } => self.plan(found).await,
            Happening::PlanLate => self.plan_late().await,
            Happening::Store => self.store_and_hear().await,
            Happening::Write(fate) => self.write(fate).await.map(drop),
            Happening::Hear { newest } => self.hear_one(newest).await.map(drop),
            Happening::Retry => self.retry().await.map(drop),
            Happening::Outage { seconds } => self.outage(seconds).await,
            Happening::Wait { seconds } => {
                self.now += i64::from(seconds) * 1_000;
                self.look().await
            }
            Happening::Kill => self.kill().await,
            Happening::Restart => self.restart().await,
            Happening::Fail { again } => self.fail_seated(again).await,
            Happening::Oust => self.oust().await,
            Happening::Retire => self.retire(),
            Happening::Free => {
                self.free();
                Ok(())
            }
            Happening::Delete => self.delete().await,
            Happening::Tab { tab, does } => self.tab_does(usize::from(tab), does).await,
        }?;
        self.quick_tab_reads().await
    }

    pub fn tell(&mut self, line: String) {
        self.story.push(line);
    }

    pub fn at(&self) -> Timestamp {
        Timestamp::from_millis(self.now)
    }

    fn id(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128((u128::from(self.run) << 64) | u128::from(self.ids))
    }

    pub fn message_id(&mut self) -> MessageId {
        MessageId(self.id())
    }

    pub fn turn_id(&mut self) -> TurnId {
        TurnId(self.id())
    }

    /// A number that was not used before: makes what is said different each time.
    pub fn number(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    pub fn person(&self) -> Author {
        Author { kind: AuthorKind::Player, id: self.house.player.to_string(), name: "Pia".to_owned() }
    }

    pub fn npc(&self) -> Author {
        Author { kind: AuthorKind::Npc, id: "ada".to_owned(), name: "Ada".to_owned() }
    }

    pub fn model(&self) -> (ProviderId, String) {
        (ProviderId(Uuid::from_u128(9)), "m".to_owned())
    }

    /// The instance that sits in the Village, woken if need be.
    pub async fn find(&mut self) -> Checked<usize> {
        if let Some(seated) = self.seated {
            return Ok(seated);
        }
        self.born += 1;
        let number = self.born;
        let (actor, effects) = Actor::waking(self.conversation);
        self.actors.insert(number, actor);
        self.seated = Some(number);
        // Its own claim ends what was left running.
        self.unended = false;
        self.tell(format!("  actor {number} wakes"));
        self.perform(number, effects).await?;
        Ok(number)
    }

    /// The log begins anew behind a seq, and whoever reads is woken.
    pub fn wake_log(&mut self, last_seq: u64) {
        self.log.wake(last_seq);
        self.shown = Some(Shown { floor: last_seq, newest: None });
        self.changes += 1;
    }

    pub fn sleep_log(&mut self) {
        self.log.sleep();
        self.shown = None;
    }

    /// Gives an instance a fact.
    pub async fn give(&mut self, number: usize, event: Event) -> Checked {
        let Some(actor) = self.actors.get_mut(&number) else { return Ok(()) };
        let effects = actor.state.apply(event);
        self.perform(number, effects).await
    }
}

/// One of several, by a number that need not fit.
pub fn pick<T>(of: &[T], pick: u8) -> Option<&T> {
    of.get(usize::from(pick) % of.len().max(1))
}
