use hamlet_actors::vocabulary::{ModelParams, Npc};
use serde_json::Map;

use super::*;
use crate::store::npcs::{self, NpcRecord};

struct Talk {
    _dir: tempfile::TempDir,
    store: Store,
    owner: PlayerId,
    id: ConversationId,
    npcs: Vec<NpcId>,
}

impl Talk {
    /// With the first of three NPCs.
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hamlet.db")).unwrap();
        let (owner, id) = (PlayerId::generate(), ConversationId::generate());
        let npcs: Vec<NpcId> = (0..3).map(|_| NpcId::generate()).collect();
        let all = npcs.clone();
        let begin = move |conn: &Connection| {
            conn.execute(
                "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, 'Ada', 'ada', 'player', 0)",
                [owner.0.as_bytes()],
            )?;
            for npc in &all {
                npcs::insert(conn, &record(*npc))?;
            }
            let at = Timestamp::from_millis(1);
            let npcs = vec![all[0]];
            create(conn, &NewConversation { id, owner, external_id: None, title: None, npcs, at }).map(drop)
        };
        store.write(begin).await.unwrap();
        Self { _dir: dir, store, owner, id, npcs }
    }

    async fn row(&self) -> ConversationRow {
        let (id, owner) = (self.id, self.owner);
        self.store.read(move |conn| of_player(conn, id, owner)).await.unwrap()
    }

    async fn say(&self, position: i64, status: &'static str) {
        let key = self.row().await.key;
        let said = move |conn: &Connection| {
            conn.execute(
                "INSERT INTO messages (id, conversation_key, turn_id, role, author_kind, author_id, author_name, position, \
                   status, first_seq, last_seq, created_at) \
                 VALUES (?1, ?2, x'03', 'player', 'player', 'a', 'Ada', ?3, ?4, 1, 2, 0)",
                (MessageId::generate().0.as_bytes(), key, position, status),
            )?;
            Ok(())
        };
        self.store.write(said).await.unwrap();
    }

    /// Sets who takes part, by their numbers; when and where each joined.
    async fn set(&self, npcs: &[usize], at: i64) -> Vec<(usize, i64)> {
        let key = self.row().await.key;
        let wanted: Vec<NpcId> = npcs.iter().map(|n| self.npcs[*n]).collect();
        let joined = self.store.write(move |conn| {
            set_participants(conn, key, &wanted, Timestamp::from_millis(at))?;
            joined_positions(conn, key)
        });
        let number = |id: NpcId| self.npcs.iter().position(|npc| *npc == id).unwrap();
        joined.await.unwrap().into_iter().map(|(id, position)| (number(id), position)).collect()
    }
}

fn record(id: NpcId) -> NpcRecord {
    NpcRecord {
        npc: Npc {
            id,
            slug: id.to_string(),
            name: "N".into(),
            job_title: String::new(),
            description: String::new(),
            instructions: String::new(),
            provider_id: None,
            model: None,
            params: ModelParams::default(),
        },
        avatar: None,
        greetings: Vec::new(),
        tags: Vec::new(),
        extensions: Map::new(),
        created_by: None,
        created_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(0),
    }
}

#[tokio::test]
async fn a_newcomer_joins_behind_what_was_said_and_who_stays_keeps_its_place() {
    let talk = Talk::new().await;
    assert_eq!(talk.set(&[0], 2).await, [(0, 0)], "where nothing was said everybody was there from the beginning");
    talk.say(0, "complete").await;
    talk.say(4, "superseded").await;
    talk.say(3, "complete").await;
    assert_eq!(talk.set(&[1, 0], 3).await, [(1, 5), (0, 0)]);
    talk.say(5, "queued").await;
    assert_eq!(talk.set(&[0, 2, 1], 4).await, [(0, 0), (2, 6), (1, 5)]);
    assert_eq!(talk.set(&[1], 5).await, [(1, 5)]);
    assert_eq!(talk.set(&[0, 1], 6).await, [(0, 6), (1, 5)], "who comes back is a newcomer");
}

#[tokio::test]
async fn policies_have_their_defaults_and_are_kept() {
    let talk = Talk::new().await;
    let row = talk.row().await;
    assert_eq!((row.speaker_policy, row.newcomers_know), (SpeakerPolicy::Addressed, NewcomersKnow::FromJoining));
    for policy in [SpeakerPolicy::RoundRobin, SpeakerPolicy::EveryoneOnce, SpeakerPolicy::Addressed] {
        talk.store.write(move |conn| set_speaker_policy(conn, row.key, policy)).await.unwrap();
        assert_eq!(talk.row().await.speaker_policy, policy);
    }
    for know in [NewcomersKnow::All, NewcomersKnow::FromJoining] {
        talk.store.write(move |conn| set_newcomers_know(conn, row.key, know)).await.unwrap();
        assert_eq!(talk.row().await.newcomers_know, know);
    }
}
