use hamlet_actors::{
    capability::Passing,
    ports::{Invocation, ToolAnswer, ToolOutcome},
    vocabulary::{
        Approval, ConversationId, Grant, MessageId, ModelParams, Npc, NpcId, PlayerId, SkillId, Timestamp, TurnId,
    },
};
use serde_json::{Value, json};

use super::*;
use crate::store::{
    npcs::{self, NpcRecord},
    skills::{SkillAbout, SkillEntry, SkillFiles, SkillRecord},
};

struct Place {
    _dir: tempfile::TempDir,
    store: Store,
    ada: Npc,
    bo: Npc,
}

impl Place {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hamlet.db")).unwrap();
        let [ada, bo] = ["ada", "bo"].map(npc);
        for npc in [ada.clone(), bo.clone()] {
            let record = NpcRecord {
                npc,
                avatar: None,
                greetings: Vec::new(),
                tags: Vec::new(),
                extensions: serde_json::Map::new(),
                created_by: None,
                created_at: Timestamp::from_millis(0),
                updated_at: Timestamp::from_millis(0),
            };
            store.write(move |conn| npcs::insert(conn, &record)).await.unwrap();
        }
        Self { _dir: dir, store, ada, bo }
    }

    async fn put(&self, npc: Option<NpcId>, name: &str, instructions: &str, files: &[(&str, &str)]) {
        let id = SkillId::generate();
        let about = SkillAbout { name: name.into(), description: format!("About\n {name}."), ..SkillAbout::default() };
        let entry = SkillEntry {
            id,
            npc_id: npc,
            about,
            folder: None,
            created_by: None,
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        };
        let record = SkillRecord { entry, instructions: instructions.into() };
        let files: SkillFiles = files.iter().map(|(path, body)| ((*path).to_owned(), (*body).to_owned())).collect();
        let writing = self.store.write(move |conn| {
            rows::insert(conn, &record)?;
            rows::replace_files(conn, id, &files)
        });
        writing.await.unwrap();
    }

    async fn gather(&self, npc: &Npc, grants: &[&str]) -> Contribution {
        Skills::new(self.store.clone()).gather(scene(npc, grants)).await.unwrap()
    }

    /// What the tool answers this NPC, and whether it is an error.
    async fn call(&self, npc: &Npc, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.answer(npc, tool, arguments).await;
        (answer.output.as_str().unwrap().to_owned(), answer.is_error)
    }

    async fn answer(&self, npc: &Npc, tool: &str, arguments: Value) -> ToolAnswer {
        let tools = Skills::new(self.store.clone()).tools();
        let tool = tools.into_iter().find(|known| known.key() == tool).unwrap();
        let Value::Object(arguments) = arguments else { panic!("{arguments}") };
        let call = Invocation {
            scene: scene(npc, &[]),
            turn: TurnId::generate(),
            message: MessageId::generate(),
            call_id: "1".into(),
            arguments,
        };
        match tool.call(call).await {
            ToolOutcome::Answer(answer) => answer,
            ToolOutcome::HandOver(_) => panic!("no hand-over"),
        }
    }
}

fn npc(name: &str) -> Npc {
    Npc {
        id: NpcId::generate(),
        slug: name.into(),
        name: name.into(),
        job_title: String::new(),
        description: String::new(),
        instructions: String::new(),
        provider_id: None,
        model: None,
        params: ModelParams::default(),
    }
}

fn scene(npc: &Npc, grants: &[&str]) -> Arc<Scene> {
    let grant = |tool: &&str| Grant { tool: (*tool).to_owned(), approval: Approval::Never };
    Arc::new(Scene {
        conversation: ConversationId::generate(),
        player: PlayerId::generate(),
        player_name: "Cy".into(),
        npc: npc.clone(),
        party: Arc::from([npc.clone()]),
        grants: grants.iter().map(grant).collect(),
        question: "Hi".into(),
        passing: Passing::default(),
        utility: None,
    })
}

fn keys(contribution: &Contribution) -> Vec<&str> {
    contribution.tools.iter().map(|tool| tool.key()).collect()
}

fn text(contribution: &Contribution) -> String {
    contribution.sections.iter().map(|section| section.text.as_str()).collect()
}

#[tokio::test]
async fn with_no_skill_in_scope_there_is_neither_section_nor_tool() {
    let place = Place::new().await;
    place.put(Some(place.bo.id), "bread", "Knead.", &[]).await;
    let contribution = place.gather(&place.ada, &["load_skill"]).await;
    assert!(contribution.sections.is_empty() && contribution.tools.is_empty());
}

#[tokio::test]
async fn the_index_names_what_is_in_scope_and_nothing_of_what_it_says() {
    let place = Place::new().await;
    place.put(None, "soup", "Village soup.", &[]).await;
    place.put(None, "bread", "Village bread.", &[]).await;
    place.put(Some(place.ada.id), "bread", "Ada's bread.", &[]).await;
    place.put(Some(place.bo.id), "cake", "Bo's cake.", &[]).await;
    let contribution = place.gather(&place.ada, &["load_skill"]).await;
    assert_eq!(keys(&contribution), ["load_skill", "read_skill_file"]);
    let expected = "# Skills\nBefore a task that one of these fits, load its instructions with `load_skill`.\n\
                    - bread: About bread.\n- soup: About soup.";
    assert_eq!(text(&contribution), expected);
    assert!(place.gather(&place.ada, &["recall"]).await.sections.is_empty(), "who may load none is told of none");
}

#[tokio::test]
async fn an_index_that_has_no_room_says_how_much_it_leaves_out() {
    let head = |n: usize, length: usize| SkillHead { name: format!("s{n}"), description: "x".repeat(length) };
    let section = index((0..100).map(|n| head(n, 1_000)).collect(), 130).unwrap();
    assert!(section.text.chars().count() <= SECTION_LIMIT, "{}", section.text.len());
    let named = section.text.matches("\n- s").count();
    assert!(
        named > 20
            && section
                .text
                .ends_with(&format!("({} more have no room here; they can be loaded by name.)", 130 - named))
    );
    let short = index((0..100).map(|n| head(n, 10)).collect(), 100).unwrap();
    assert_eq!((short.text.matches("\n- s").count(), short.text.contains("more have")), (100, false));
}

#[tokio::test]
async fn a_skill_is_loaded_with_the_list_of_its_files_and_its_own_comes_first() {
    let place = Place::new().await;
    let files = [("references/flour.md", "Rye."), ("references/a/salt.md", "A little.")];
    place.put(None, "bread", "Village bread.", &files).await;
    let expected = "# Skill: bread\nReference files, for read_skill_file:\n- references/a/salt.md\n\
                    - references/flour.md\n\nVillage bread.";
    assert_eq!(place.call(&place.ada, "load_skill", json!({"name": " bread "})).await, (expected.to_owned(), false));
    place.put(Some(place.ada.id), "bread", "Ada's bread.", &[]).await;
    let own = ("# Skill: bread\n\nAda's bread.".to_owned(), false);
    assert_eq!(place.call(&place.ada, "load_skill", json!({"name": "bread"})).await, own);
    assert_eq!(place.call(&place.bo, "load_skill", json!({"name": "bread"})).await.0, expected);
}

#[tokio::test]
async fn a_skill_out_of_scope_does_not_exist() {
    let place = Place::new().await;
    place.put(Some(place.bo.id), "secret", "Bo's.", &[("references/a.md", "Bo's file.")]).await;
    place.put(None, "soup", "All's.", &[]).await;
    let refused = ("there is no skill \"secret\"; there are: soup".to_owned(), true);
    assert_eq!(place.call(&place.ada, "load_skill", json!({"name": "secret"})).await, refused);
    let arguments = json!({"skill": "secret", "path": "references/a.md"});
    assert_eq!(place.call(&place.ada, "read_skill_file", arguments).await, refused);
}

#[tokio::test]
async fn only_files_of_the_skill_are_read_whatever_the_path() {
    let place = Place::new().await;
    place.put(None, "bread", "x", &[("references/flour.md", "Rye.")]).await;
    let read = |path: &str| place.call(&place.ada, "read_skill_file", json!({"skill": "bread", "path": path}));
    assert_eq!(read("references/flour.md").await, ("Rye.".to_owned(), false));
    for path in [
        "",
        "flour.md",
        "/etc/passwd",
        "references/../../../etc/passwd",
        "references/./flour.md",
        "references/flour.md\0",
    ] {
        let (answer, is_error) = read(path).await;
        assert!(is_error && answer.ends_with("there are: references/flour.md"), "{path}: {answer}");
    }
}

#[tokio::test]
async fn a_long_text_is_read_piece_by_piece_to_its_end() {
    let place = Place::new().await;
    let long: String = ('a'..='z').cycle().map(|char| if char == 'q' { 'ö' } else { char }).take(60_000).collect();
    place.put(None, "bread", &long, &[("references/long.md", &long)]).await;
    for (tool, arguments) in [
        ("load_skill", json!({"name": "bread"})),
        ("read_skill_file", json!({"skill": "bread", "path": "references/long.md"})),
    ] {
        let (mut read, mut offset) = (String::new(), 0);
        loop {
            let mut arguments = arguments.clone();
            arguments["offset"] = json!(offset);
            let answer = place.answer(&place.ada, tool, arguments).await;
            let text = answer.output.as_str().unwrap();
            assert!(text.chars().count() < 32_000);
            let text = text
                .strip_prefix("# Skill: bread\nReference files, for read_skill_file:\n- references/long.md\n\n")
                .unwrap_or(text);
            let Some((piece, note)) = text.split_once("\n\n(cut here: ") else {
                assert!(!answer.truncated);
                read.push_str(text);
                break;
            };
            assert!(answer.truncated);
            read.push_str(piece);
            offset = note.trim_end_matches(" on)").rsplit(' ').next().unwrap().parse().unwrap();
        }
        assert!(read == long, "{tool}");
        let mut beyond = arguments.clone();
        beyond["offset"] = json!(u64::MAX);
        assert!(!place.answer(&place.ada, tool, beyond).await.is_error);
    }
}

#[test]
fn the_offers_are_what_new_npcs_are_granted() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("hamlet.db")).unwrap();
    for offer in Skills::new(store).catalog() {
        assert!(crate::store::grants::DEFAULT.contains(&offer.key.as_str()));
        assert_eq!(offer.key, offer.spec.name);
    }
}
