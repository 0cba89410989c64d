//! A Village's tool servers over a real store, with an NPC that may call whatever a test grants.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use hamlet::{
    plugins::skills::Shelf,
    store::{Store, tool_servers},
    tools::servers::{ToolServers, limits::Limits, server::Server, state::State},
    vault::Vault,
    village::{
        VillageState,
        registry::EnvironmentProviders,
        settings::Pins,
        tool_server::{self, ToolServerFields},
    },
};
use hamlet_actors::{
    capability::{Capability, Contribution, Passing, Scene},
    ports::{Invocation, Tool, ToolAnswer, ToolOutcome},
    vocabulary::{Approval, ConversationId, Grant, MessageId, ModelParams, Npc, NpcId, PlayerId, Timestamp, TurnId},
};
use serde_json::{Map, Value, json};

/// For what happens at once on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct House {
    pub servers: Arc<ToolServers>,
    pub folder: tempfile::TempDir,
    village: VillageState,
}

/// Times that a test can wait for.
pub fn short() -> Limits {
    let mut limits = Limits { call: Duration::from_secs(20), relist: Duration::from_millis(10), ..Limits::default() };
    limits.backoff.min = Duration::from_millis(50);
    limits.backoff.max = Duration::from_millis(200);
    limits
}

impl House {
    pub async fn new() -> Self {
        Self::within(short(), None).await
    }

    /// With this `mcp.json`, if any.
    pub async fn within(limits: Limits, file: Option<Value>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        if let Some(file) = file {
            std::fs::write(folder.path().join("mcp.json"), file.to_string()).unwrap();
        }
        let village = VillageState {
            store: Store::open(&folder.path().join("hamlet.db")).unwrap(),
            vault: Arc::new(Vault::new(&[7; 32])),
            environment: Arc::new(EnvironmentProviders::default()),
            found: Arc::new(Vec::new()),
            pins: Arc::new(Pins::default()),
            shelf: Shelf::new(folder.path().join("skills")),
        };
        let servers = ToolServers::start_within(village.clone(), folder.path(), limits).await.unwrap();
        Self { servers, folder, village }
    }

    /// Another one over the same folder.
    pub async fn restarted(self) -> Self {
        let Self { folder, village, .. } = self;
        let servers = ToolServers::start_within(village.clone(), folder.path(), short()).await.unwrap();
        Self { servers, folder, village }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// As `POST /api/tool-servers` does it.
    pub async fn add(&self, body: Value) -> Arc<Server> {
        let fields: ToolServerFields = serde_json::from_value(body).unwrap();
        let entry = tool_server::entry(fields).unwrap();
        let vault = Arc::clone(&self.village.vault);
        let change = move |conn: &_| tool_server::add(conn, &vault, vec![entry], &[], Timestamp::now());
        let mut rows = self.village.store.write(change).await.unwrap().unwrap();
        self.servers.put(rows.remove(0)).await
    }

    /// As `DELETE` does it.
    pub async fn remove(&self, server: &Server) {
        let id = server.id;
        self.village.store.write(move |conn| tool_servers::delete(conn, id)).await.unwrap();
        self.servers.remove(id).await;
    }

    /// As [`Self::add`], once it is connected.
    pub async fn connected(&self, body: Value) -> Arc<Server> {
        let server = self.add(body).await;
        self.until(&server, State::is_connected).await;
        server
    }

    pub async fn until(&self, server: &Server, holds: impl Fn(&State) -> bool) -> State {
        eventually(|| Some(server.state()).filter(&holds), || format!("{} is {:?}", server.name, server.state())).await
    }

    /// What an NPC with these grants gets for its part of a turn.
    pub async fn gather(&self, grants: &[&str]) -> Contribution {
        self.servers.gather(scene(grants)).await.unwrap()
    }

    /// Calls a granted tool as the engine does.
    pub async fn call(&self, key: &str, arguments: Value) -> ToolAnswer {
        call(&self.tool(key).await, arguments).await
    }

    pub async fn tool(&self, key: &str) -> Arc<dyn Tool> {
        let contribution = self.gather(&[key]).await;
        let unreachable = contribution.unreachable;
        let found = contribution.tools.into_iter().find(|tool| tool.key() == key);
        found.unwrap_or_else(|| panic!("there is no {key}; unreachable: {unreachable:?}"))
    }
}

pub async fn call(tool: &Arc<dyn Tool>, arguments: Value) -> ToolAnswer {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    match tool.call(invocation(arguments)).await {
        ToolOutcome::Answer(answer) => answer,
        ToolOutcome::HandOver(handoff) => panic!("{handoff:?}"),
    }
}

pub fn invocation(arguments: Map<String, Value>) -> Invocation {
    Invocation {
        scene: scene(&[]),
        turn: TurnId::generate(),
        message: MessageId::generate(),
        call_id: "call".to_owned(),
        arguments,
    }
}

fn scene(grants: &[&str]) -> Arc<Scene> {
    let npc = Npc {
        id: NpcId::generate(),
        slug: "ada".to_owned(),
        name: "Ada".to_owned(),
        job_title: String::new(),
        description: String::new(),
        instructions: String::new(),
        provider_id: None,
        model: None,
        params: ModelParams::default(),
    };
    let grant = |tool: &&str| Grant { tool: (*tool).to_owned(), approval: Approval::Never };
    Arc::new(Scene {
        conversation: ConversationId::generate(),
        player: PlayerId::generate(),
        player_name: "Player".to_owned(),
        party: Arc::new([npc.clone()]),
        npc,
        grants: grants.iter().map(grant).collect(),
        question: Arc::from("?"),
        passing: Passing::default(),
        utility: None,
    })
}

/// Looks again and again, for a while.
pub async fn eventually<T>(mut look: impl FnMut() -> Option<T>, otherwise: impl Fn() -> String) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{}", otherwise());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub fn http(name: &str, url: &str) -> Value {
    json!({"name": name, "url": url})
}

#[track_caller]
pub fn text(answer: &ToolAnswer) -> &str {
    answer.output.as_str().unwrap_or_else(|| panic!("no text: {answer:?}"))
}
