//! The engine over a real store, with one Player, one NPC and one Conversation, and tabs that watch it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test support that fails, fails the test")]

use std::{path::Path, sync::Arc, time::Duration};

use hamlet::{
    http::watch::reader::Reader,
    store::{Store, Stored, conversations, messages},
};
use hamlet_actors::{
    capability::{
        Capability,
        party::{MESSAGE_NPC, Party},
    },
    conversation::{
        Begin, Begun, Intent, OnBusy,
        frame_log::{FrameLog, Look, Watcher},
    },
    engine::{Engine, EngineError, World},
    ports::{Provider, Unobserved},
    turn::{TurnPlan, WhenUnwatched},
    village::Upkeep,
    vocabulary::{
        Approval, Author, AuthorKind, ConversationId, Frame, Hop, MessageId, MessageStatus, ModelParams, Npc, NpcId,
        PlayerId, Timestamp, Transcript, TurnId,
    },
};

use crate::{FaultyJournal, Onlooker, PlayedCapability, PlayedTool, ScriptedProvider, TestClock, TestPlanner};

fn both(capability: &Arc<PlayedCapability>) -> Arc<[Arc<dyn Capability>]> {
    Arc::from([Arc::new(Party) as Arc<dyn Capability>, Arc::clone(capability) as Arc<dyn Capability>])
}

pub struct TestVillage {
    pub store: Store,
    /// Between the engine and the store.
    pub journal: Arc<FaultyJournal>,
    pub engine: Engine,
    pub clock: Arc<TestClock>,
    pub planner: Arc<TestPlanner>,
    pub provider: Arc<ScriptedProvider>,
    pub conversation: ConversationId,
    pub player: PlayerId,
    pub npc: Npc,
    pub when_unwatched: WhenUnwatched,
    pub capability: Arc<PlayedCapability>,
    folder: Arc<tempfile::TempDir>,
}

impl TestVillage {
    pub async fn new() -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        let (player, npc, conversation) = (PlayerId::generate(), npc(), ConversationId::generate());
        let npc_id = npc.id;
        store
            .write(move |conn| {
                conn.execute(
                    "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, 'Pia', 'pia', 'admin', 0)",
                    [player.0.as_bytes()],
                )?;
                conn.execute(
                    "INSERT INTO npcs (id, slug, name, created_at, updated_at) VALUES (?1, 'ada', 'Ada', 0, 0)",
                    [npc_id.0.as_bytes()],
                )?;
                let new = conversations::NewConversation {
                    id: conversation,
                    owner: player,
                    external_id: None,
                    title: None,
                    npcs: vec![npc_id],
                    at: Timestamp::from_millis(0),
                };
                conversations::create(conn, &new)
            })
            .await
            .unwrap();
        Self::over(folder, store, player, npc, conversation).await
    }

    /// The same, with an engine that looks after its actors so often.
    pub async fn sweeping(self, sweep_every: Duration) -> Self {
        let upkeep = Upkeep { sweep_every, ..Upkeep::default() };
        let world = World {
            journal: self.journal.clone(),
            summaries: Arc::new(self.store.clone()),
            prompts: Arc::new(self.store.clone()),
            planner: self.planner.clone(),
            clock: self.clock.clone(),
            observer: Arc::new(Unobserved),
            capabilities: both(&self.capability),
        };
        let engine = Engine::start(world, upkeep).await.unwrap();
        Self { engine, ..self }
    }

    async fn over(
        folder: Arc<tempfile::TempDir>,
        store: Store,
        player: PlayerId,
        npc: Npc,
        conversation: ConversationId,
    ) -> Self {
        let clock = Arc::new(TestClock::default());
        let upkeep = Upkeep { sweep_every: Duration::from_secs(30), ..Upkeep::default() };
        let provider = ScriptedProvider::new();
        let planner = Arc::new(TestPlanner::of(npc.clone(), provider.clone()));
        let capability = Arc::new(PlayedCapability::default());
        let journal = FaultyJournal::over(Arc::new(store.clone()));
        let world = World {
            journal: journal.clone(),
            summaries: Arc::new(store.clone()),
            prompts: Arc::new(store.clone()),
            planner: planner.clone(),
            clock: clock.clone(),
            observer: Arc::new(Unobserved),
            capabilities: both(&capability),
        };
        let engine = Engine::start(world, upkeep).await.unwrap();
        let when_unwatched = WhenUnwatched::Finish;
        Self {
            store,
            journal,
            engine,
            clock,
            planner,
            provider,
            conversation,
            player,
            npc,
            when_unwatched,
            capability,
            folder,
        }
    }

    /// Two more NPCs are there beside Ada; all may hand over.
    pub async fn in_party(self) -> (Self, [Npc; 3]) {
        let named =
            |slug: &str, name: &str| Npc { id: NpcId::generate(), slug: slug.into(), name: name.into(), ..npc() };
        let party = [self.npc.clone(), named("bo", "Bo"), named("cy", "Cy")];
        self.planner.seat(&party);
        self.planner.grant(MESSAGE_NPC, Approval::Never);
        (self, party)
    }

    /// A tool that the test plays, granted to everybody.
    pub fn tool(&self, name: &str, approval: Approval) -> Arc<PlayedTool> {
        let tool = PlayedTool::new(name);
        self.capability.bring(&tool);
        self.planner.grant(name, approval);
        tool
    }

    /// As after `kill -9`: another process opens a copy of the file as it is at this moment. The first goes on unnoticed.
    pub async fn killed_and_restarted(&self) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        for file in ["hamlet.db", "hamlet.db-wal"] {
            let from = self.folder.path().join(file);
            if from.exists() {
                std::fs::copy(from, folder.path().join(file)).unwrap();
            }
        }
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        Self::over(folder, store, self.player, self.npc.clone(), self.conversation).await
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn say_with(&self, text: &str) -> (Begin, TurnPlan) {
        let intent = Intent::Send {
            message: MessageId::generate(),
            author: Author { kind: AuthorKind::Player, id: self.player.to_string(), name: "Pia".to_owned() },
            text: text.to_owned(),
            client_id: None,
            to: None,
        };
        (self.begin(intent), self.plan(Some(text)))
    }

    /// Says something with a word on what is to become of it while a turn runs.
    pub async fn say_when_busy(&self, text: &str, on_busy: OnBusy) -> Result<Begun, EngineError> {
        let (begin, plan) = self.say_with(text);
        self.engine.begin(self.conversation, Begin { on_busy, ..begin }, plan).await
    }

    pub async fn say(&self, text: &str) -> Begun {
        self.try_say(text).await.unwrap()
    }

    pub async fn try_say(&self, text: &str) -> Result<Begun, EngineError> {
        let (begin, plan) = self.say_with(text);
        self.engine.begin(self.conversation, begin, plan).await
    }

    pub async fn regenerate(&self) -> Result<Begun, EngineError> {
        let (conversation, player) = (self.conversation, self.player);
        let (row, trailing) = self
            .store
            .read(move |conn| {
                let row = conversations::of_player(conn, conversation, player)?;
                let trailing = messages::trailing(conn, row.key)?;
                Ok((row, trailing))
            })
            .await
            .unwrap();
        let trailing = trailing.unwrap();
        let intent = Intent::Regenerate {
            as_of: row.last_seq,
            supersedes: trailing.replies,
            variant_of: trailing.variant_of,
            first_position: trailing.first_position,
        };
        self.engine.begin(self.conversation, self.begin(intent), self.plan(None)).await
    }

    fn begin(&self, intent: Intent) -> Begin {
        Begin {
            turn: TurnId::generate(),
            reply: MessageId::generate(),
            intent,
            speaker: Author { kind: AuthorKind::Npc, id: self.npc.id.to_string(), name: self.npc.name.clone() },
            provider_name: "Scripted".to_owned(),
            model: (self.provider.id(), "scripted".to_owned()),
            hop: Hop { count: 0, limit: 6 },
            step_limit: self.planner.steps(),
            on_busy: OnBusy::Reject,
            idempotency: None,
            now: Timestamp::default(),
        }
    }

    fn plan(&self, question: Option<&str>) -> TurnPlan {
        let player = Author { kind: AuthorKind::Player, id: self.player.to_string(), name: "Pia".to_owned() };
        self.planner.plan_for(None, player, question, self.when_unwatched)
    }

    /// All stored Messages that a reader sees.
    pub async fn stored(&self) -> Vec<Stored> {
        let (conversation, player) = (self.conversation, self.player);
        self.store
            .read(move |conn| {
                let row = conversations::of_player(conn, conversation, player)?;
                messages::page(conn, row.key, None, 1_000)
            })
            .await
            .unwrap()
    }

    /// The newest stored Message.
    pub async fn newest(&self) -> Stored {
        self.stored().await.pop().unwrap()
    }

    /// Once this Message has its end in the store.
    pub async fn ended(&self, message: MessageId) -> Stored {
        let ending = async {
            loop {
                let found = self.stored().await.into_iter().find(|stored| stored.message.id == message);
                if let Some(ended) = found.filter(|stored| stored.message.status != MessageStatus::Running) {
                    return ended;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(10), ending).await;
        waited.unwrap_or_else(|_| panic!("the message did not end"))
    }

    /// A tab that reads by itself from this cursor on, also what it can find in the store only.
    pub async fn onlooker(&self, cursor: u64) -> Onlooker {
        let log = self.engine.log(self.conversation).await.unwrap();
        Onlooker::new(Reader::new(self.store.clone(), &log, self.conversation, self.player, cursor), cursor)
    }

    /// A tab that watches from this cursor on.
    pub async fn tab(&self, cursor: u64) -> Tab {
        let log = self.engine.log(self.conversation).await.unwrap();
        Tab { watcher: log.watch(), _log: log, cursor, seen: Vec::new(), transcript: Transcript::default() }
    }
}

fn npc() -> Npc {
    Npc {
        id: NpcId::generate(),
        slug: "ada".to_owned(),
        name: "Ada".to_owned(),
        job_title: "Innkeeper".to_owned(),
        description: String::new(),
        instructions: "Be brief.".to_owned(),
        provider_id: None,
        model: None,
        params: ModelParams::default(),
    }
}

/// A reader of the log that folds what it sees.
pub struct Tab {
    watcher: Watcher,
    _log: Arc<FrameLog>,
    pub cursor: u64,
    pub seen: Vec<Frame>,
    pub transcript: Transcript,
}

impl Tab {
    /// Reads until the condition holds for what was seen.
    pub async fn until(&mut self, mut condition: impl FnMut(&Self) -> bool) {
        let reading = async {
            loop {
                match self.watcher.look(self.cursor) {
                    Look::Frames(stretch) => {
                        for line in stretch.lines() {
                            let frame: Frame = serde_json::from_slice(&line.json).unwrap();
                            self.transcript.fold(frame.clone());
                            self.seen.push(frame);
                            self.cursor = line.seq.unwrap_or(self.cursor);
                        }
                        // One look has a limit: there may be more.
                        if !condition(self) {
                            continue;
                        }
                    }
                    Look::Dormant if self.watcher.closing().is_some() => return,
                    Look::UpToDate | Look::Dormant | Look::Behind { .. } => {}
                    Look::Closed(_) => return,
                }
                if condition(self) {
                    return;
                }
                self.watcher.changed().await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(10), reading).await.is_err() {
            panic!("the tab waited in vain; it saw {:#?}", self.seen);
        }
    }

    pub async fn until_text(&mut self, text: &str) {
        self.until(|tab| tab.last_text() == text).await;
    }

    pub async fn until_ended(&mut self) {
        self.until(|tab| tab.terminal_frames() > 0).await;
    }

    pub fn terminal_frames(&self) -> usize {
        use hamlet_actors::vocabulary::TurnState;
        self.seen
            .iter()
            .filter(|frame| matches!(frame, Frame::Finish(finish) if finish.turn.state == TurnState::Ended))
            .count()
    }

    /// The text of the newest Message.
    pub fn last_text(&self) -> String {
        use hamlet_actors::vocabulary::Part;
        let Some(entry) = self.transcript.entries().last() else { return String::new() };
        entry
            .parts
            .iter()
            .filter_map(|part| if let Part::Text { text } = part { Some(text.as_str()) } else { None })
            .collect()
    }
}
