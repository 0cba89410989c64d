use std::sync::Arc;

use hamlet_actors::{
    policy::recall::RecallLimits,
    ports::memory::{Forgotten, Memory, MemoryError, Remembered, Which},
};
use uuid::Uuid;

use super::*;
use crate::store::Store;

struct Village {
    store: Store,
    _folder: tempfile::TempDir,
}

const PIA: PlayerId = PlayerId(Uuid::from_u128(1));
const KAI: PlayerId = PlayerId(Uuid::from_u128(2));
const MARA: NpcId = NpcId(Uuid::from_u128(11));
const BO: NpcId = NpcId(Uuid::from_u128(12));
const OURS: Whose = Whose { player: PIA, npc: MARA };
const DAY: i64 = 24 * 3_600_000;

fn at(day: i64) -> Timestamp {
    Timestamp::from_millis(day * DAY)
}

impl Village {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        store
            .write(|conn| {
                for player in [PIA, KAI] {
                    conn.execute(
                        "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, ?2, ?2, 'player', 0)",
                        (player.0.as_bytes(), player.to_string()),
                    )?;
                }
                for npc in [MARA, BO] {
                    conn.execute(
                        "INSERT INTO npcs (id, slug, name, created_at, updated_at) VALUES (?1, ?2, 'N', 0, 0)",
                        (npc.0.as_bytes(), npc.to_string()),
                    )?;
                }
                Ok(())
            })
            .await
            .unwrap();
        Self { store, _folder: folder }
    }

    async fn keep(&self, whose: Whose, text: &str, day: i64) -> Result<Remembered, MemoryError> {
        let memory = NewMemory {
            id: MemoryId::generate(),
            whose,
            text: text.to_owned(),
            writer: Writer::Npc,
            conversation: None,
            at: at(day),
        };
        self.store.remember(memory).await
    }

    async fn all(&self, texts: &[&str]) {
        for text in texts {
            self.keep(OURS, text, 0).await.unwrap();
        }
    }

    async fn recalled_of(&self, whose: Whose, question: &str) -> Vec<String> {
        let found = self.store.recall(whose, Arc::from(question), RecallLimits::default(), at(1)).await.unwrap();
        found.into_iter().map(|recollection| recollection.text).collect()
    }

    async fn recalled(&self, question: &str) -> Vec<String> {
        self.recalled_of(OURS, question).await
    }
}

const FACTS: [&str; 6] = [
    "Pia is allergic to nuts",
    "Pia likes the rain in the evening",
    "Pia has a horse called Ash",
    "The mill belongs to the miller",
    "Pia works at the mill and likes it",
    "The bridge is closed in the winter",
];

#[tokio::test]
async fn the_words_of_a_question_find_what_holds_the_rare_ones() {
    let village = Village::new().await;
    village.all(&FACTS).await;
    assert_eq!(village.recalled("What is my horse called?").await[0], FACTS[2]);
    assert_eq!(village.recalled("May I have a cake with NUTS?").await[0], FACTS[0]);
    assert_eq!(village.recalled("what do I like about rain").await[0], FACTS[1], "like finds likes");
    assert_eq!(village.recalled("Zürich?").await, Vec::<String>::new());
}

#[tokio::test]
async fn diacritics_and_case_do_not_matter() {
    let village = Village::new().await;
    village.all(&["Pia comes from Zürich", "something else entirely", "and a third"]).await;
    for question in ["ZURICH", "zürich", "Zu\u{308}rich"] {
        assert_eq!(village.recalled(question).await, ["Pia comes from Zürich"], "{question}");
    }
}

#[tokio::test]
async fn memories_are_one_npcs_of_one_player() {
    let village = Village::new().await;
    village.all(&FACTS).await;
    for whose in [Whose { player: KAI, npc: MARA }, Whose { player: PIA, npc: BO }] {
        assert_eq!(village.recalled_of(whose, "horse 我喜欢").await, Vec::<String>::new());
        let Remembered::New(theirs) = village.keep(whose, FACTS[2], 0).await.unwrap() else { panic!("not the same") };
        let digits = theirs.id.0.simple().to_string();
        assert_eq!(village.store.forget(OURS, Which::Ending(digits), at(1)).await, Ok(Forgotten::Nothing));
    }
}

#[tokio::test]
async fn whatever_is_asked_is_a_text_and_never_syntax() {
    let village = Village::new().await;
    village.all(&FACTS).await;
    let hundred = "horse NEAR ".repeat(10_000);
    for question in [
        "",
        " ",
        "\"",
        "\"horse",
        "horse\"",
        "horse*",
        "* horse",
        "NEAR(horse ash)",
        "horse AND",
        "AND",
        "OR OR",
        "NOT horse",
        "-horse",
        "text:horse",
        "{text}: horse",
        "horse ^ ash",
        "^horse",
        "(horse",
        "horse)",
        "horse + ash",
        "'horse'",
        "a\0horse",
        "\u{0}",
        "🐈",
        "🐈 horse",
        "horse\u{202E}",
        "%",
        "_",
        "\\",
        ";--",
        "\u{FFFF}",
        &hundred,
    ] {
        let found = village.recalled(question).await;
        let there = question.contains("horse") || question == "AND";
        assert_eq!(!found.is_empty(), there, "{:?}", question.chars().take(40).collect::<String>());
    }
}

#[tokio::test]
async fn scripts_without_spaces_are_found_by_their_characters() {
    let village = Village::new().await;
    village.all(&["我喜欢吃苹果和香蕉", "我的马叫做灰烬", "ปลาอยู่ในน้ำ", "Pia likes tea"]).await;
    assert_eq!(village.recalled("你记得我喜欢吃什么吗").await[0], "我喜欢吃苹果和香蕉");
    assert_eq!(village.recalled("我的马在哪里").await[0], "我的马叫做灰烬");
    assert_eq!(village.recalled("ปลาอยู่ที่ไหน").await, ["ปลาอยู่ในน้ำ"]);
}

#[tokio::test]
async fn the_same_thing_is_remembered_once_and_as_of_now() {
    let village = Village::new().await;
    let Remembered::New(first) = village.keep(OURS, "Pia likes tea.", 0).await.unwrap() else { panic!("new") };
    let again = village.keep(OURS, "pia  likes TEA", 3).await.unwrap();
    assert_eq!(again, Remembered::Again(Recollection { updated_at: at(3), ..first.clone() }));
    let rows = village.store.read(|conn| list(conn, PIA, None, None, 10)).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].text.as_str(), rows[0].created_at, rows[0].updated_at), ("Pia likes tea.", at(0), at(3)));
}

#[tokio::test]
async fn what_is_forgotten_has_to_be_clear() {
    let village = Village::new().await;
    village.all(&FACTS).await;
    let forget = |which| village.store.forget(OURS, which, at(1));
    assert_eq!(forget(Which::About("dragons".into())).await, Ok(Forgotten::Nothing));
    let Ok(Forgotten::Several(several)) = forget(Which::About("the mill".into())).await else { panic!("two mills") };
    assert!(several.len() >= 2);
    let Ok(Forgotten::One(one)) = forget(Which::About("nuts".into())).await else { panic!("one nut") };
    assert_eq!(one.text, FACTS[0]);
    let digits = several[0].id.0.simple().to_string()[24..].to_owned();
    let Ok(Forgotten::One(named)) = forget(Which::Ending(digits.clone())).await else { panic!("named") };
    assert_eq!(named, several[0]);
    assert_eq!(forget(Which::Ending(digits)).await, Ok(Forgotten::Nothing));
    assert_eq!(village.recalled("nuts mill").await.len(), 1);
}

#[tokio::test]
async fn one_more_than_may_be_kept_is_refused_and_what_is_there_can_still_be_renewed() {
    let village = Village::new().await;
    let fill = |conn: &Connection| {
        for n in 0..MEMORIES_LIMIT {
            let memory = NewMemory {
                id: MemoryId::generate(),
                whose: OURS,
                text: format!("number {n}"),
                writer: Writer::Player,
                conversation: None,
                at: at(0),
            };
            assert!(matches!(remember(conn, &memory)?, Kept::New(_)));
        }
        Ok(())
    };
    village.store.write(fill).await.unwrap();
    assert_eq!(village.keep(OURS, "one more", 1).await, Err(MemoryError::Full));
    assert!(matches!(village.keep(OURS, "number 7", 1).await, Ok(Remembered::Again(_))));
    let other = Whose { player: PIA, npc: BO };
    assert!(matches!(village.keep(other, "one more", 1).await, Ok(Remembered::New(_))));
    let cleared = village.store.write(|conn| clear(conn, OURS, 500)).await.unwrap();
    assert_eq!(cleared, 500);
    assert!(matches!(village.keep(OURS, "one more", 1).await, Ok(Remembered::New(_))));
}

#[tokio::test]
async fn what_goes_with_its_npc_or_its_player_leaves_the_index_too() {
    let village = Village::new().await;
    village.all(&FACTS).await;
    village.keep(Whose { player: KAI, npc: BO }, "Kai has a goat", 0).await.unwrap();
    let left = |conn: &Connection| {
        conn.execute("INSERT INTO memories_fts (memories_fts, rank) VALUES ('integrity-check', 1)", [])?;
        let sql = "SELECT count(*) FROM memories_fts WHERE memories_fts MATCH 'horse OR goat'";
        Ok(conn.query_row(sql, [], |row| row.get::<_, i64>(0))?)
    };
    assert_eq!(village.store.write(left).await.unwrap(), 2);
    village.store.write(|conn| Ok(conn.execute("DELETE FROM npcs WHERE id = ?1", [MARA.0.as_bytes()])?)).await.unwrap();
    assert_eq!(village.store.write(left).await.unwrap(), 1);
    village
        .store
        .write(|conn| Ok(conn.execute("DELETE FROM players WHERE id = ?1", [KAI.0.as_bytes()])?))
        .await
        .unwrap();
    assert_eq!(village.store.write(left).await.unwrap(), 0);
}

#[tokio::test]
async fn in_a_large_village_common_words_tell_only_where_there_are_no_others() {
    let village = Village::new().await;
    let fill = |conn: &Connection| {
        for n in 0..3_000 {
            let memory = NewMemory {
                id: MemoryId::generate(),
                whose: OURS,
                text: if n == 7 { "Pia owns a lighthouse".to_owned() } else { format!("Pia owns the number {n}") },
                writer: Writer::Npc,
                conversation: None,
                at: at(0),
            };
            remember(conn, &memory)?;
        }
        Ok(())
    };
    village.store.write(fill).await.unwrap();
    assert_eq!(village.recalled("What number of lighthouse does Pia own?").await, ["Pia owns a lighthouse"]);
    assert_eq!(village.recalled("What number?").await.len(), 8);
    let scope = Scope { player: PIA, npc: Some(MARA) };
    let found = village.store.read(move |conn| candidates(conn, scope, "the number 40", 50)).await.unwrap();
    assert_eq!(found[0].len(), 1, "the common words bring no rows");
}
