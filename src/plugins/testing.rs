//! One capability over a store of its own, asked as the engine asks it: by one NPC, in a talk with the Player Pia.

use std::sync::Arc;

use hamlet_actors::{
    capability::{Capability, Passing, Scene, Section},
    ports::{Invocation, ToolOutcome},
    vocabulary::{Approval, ConversationId, Grant, MessageId, ModelParams, Npc, NpcId, PlayerId, TurnId},
};
use serde_json::Value;

use crate::store::Store;

pub struct Bench {
    pub capability: Arc<dyn Capability>,
    scene: Scene,
    _folder: tempfile::TempDir,
}

/// What a model reads of a call's outcome.
#[derive(Debug, PartialEq)]
pub enum Heard {
    Answer(String),
    Error(String),
}

impl Bench {
    pub async fn of(make: impl FnOnce(Store) -> Arc<dyn Capability>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        let (player, id) = (PlayerId::generate(), NpcId::generate());
        store
            .write(move |conn| {
                conn.execute(
                    "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, 'Pia', 'pia', 'player', 0)",
                    [player.0.as_bytes()],
                )?;
                conn.execute(
                    "INSERT INTO npcs (id, slug, name, created_at, updated_at) VALUES (?1, 'mara', 'Mara', 0, 0)",
                    [id.0.as_bytes()],
                )?;
                Ok(())
            })
            .await
            .unwrap();
        let npc = Npc {
            id,
            slug: "mara".into(),
            name: "Mara".into(),
            job_title: String::new(),
            description: String::new(),
            instructions: String::new(),
            provider_id: None,
            model: None,
            params: ModelParams::default(),
        };
        let capability = make(store);
        let scene = Scene {
            conversation: ConversationId::generate(),
            player,
            player_name: "Pia".into(),
            party: Arc::from([npc.clone()]),
            npc,
            grants: Arc::from([]),
            question: "".into(),
            passing: Passing::default(),
            utility: None,
        };
        let mut bench = Self { capability, scene, _folder: folder };
        let keys: Vec<String> = bench.capability.catalog().into_iter().map(|offer| offer.key).collect();
        bench.grant(&keys.iter().map(String::as_str).collect::<Vec<_>>());
        bench
    }

    /// These and no others; all that the capability has, from the beginning.
    pub fn grant(&mut self, keys: &[&str]) {
        let grant = |key: &&str| Grant { tool: (*key).to_owned(), approval: Approval::Never };
        self.scene.grants = keys.iter().map(grant).collect();
    }

    pub async fn sections(&self, question: &str) -> Vec<Section> {
        let scene = Scene { question: question.into(), ..self.scene.clone() };
        self.capability.gather(Arc::new(scene)).await.unwrap().sections
    }

    pub async fn call(&self, key: &str, arguments: Value) -> Heard {
        let scene = Arc::new(self.scene.clone());
        let tools = self.capability.gather(Arc::clone(&scene)).await.unwrap().tools;
        let tool = tools.iter().find(|tool| tool.key() == key).unwrap();
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let call = Invocation {
            scene,
            turn: TurnId::generate(),
            message: MessageId::generate(),
            call_id: "call-1".into(),
            arguments,
        };
        match tool.call(call).await {
            ToolOutcome::Answer(answer) => {
                let text = answer.output.as_str().map_or_else(|| answer.output.to_string(), str::to_owned);
                if answer.is_error { Heard::Error(text) } else { Heard::Answer(text) }
            }
            ToolOutcome::HandOver(handoff) => panic!("nobody hands over here: {handoff:?}"),
        }
    }
}
