use std::{fs, path::Path};

use super::*;

fn put(root: &Path, folder: &str, description: &str) {
    let folder_path = root.join(folder);
    fs::create_dir_all(folder_path.join("references")).unwrap();
    let text = format!("---\nname: {folder}\ndescription: {description}\n---\nDo it.\n");
    fs::write(folder_path.join("SKILL.md"), text).unwrap();
}

struct Place {
    dir: tempfile::TempDir,
    store: Store,
    shelf: Shelf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("hamlet.db")).unwrap();
        let shelf = Shelf::new(dir.path().join("skills"));
        Self { dir, store, shelf }
    }

    fn root(&self) -> std::path::PathBuf {
        self.dir.path().join("skills")
    }

    async fn read(&self) -> Changes {
        self.shelf.read(&self.store).await.unwrap()
    }

    async fn stored(&self) -> Vec<(String, String)> {
        let records = self.store.read(skills::of_folders).await.unwrap();
        records.into_iter().map(|record| (record.entry.about.name, record.entry.about.description)).collect()
    }
}

fn changed(added: &[&str], changed: &[&str], removed: &[&str]) -> Changes {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Changes { added: owned(added), changed: owned(changed), removed: owned(removed), problems: Vec::new() }
}

fn pair(name: &str, description: &str) -> (String, String) {
    (name.to_owned(), description.to_owned())
}

#[tokio::test]
async fn the_store_follows_the_folder() {
    let place = Place::new();
    assert_eq!(place.read().await, Changes::default());
    put(&place.root(), "bread", "One.");
    put(&place.root(), "soup", "Two.");
    assert_eq!(place.read().await, changed(&["bread", "soup"], &[], &[]));
    let before = place.store.read(skills::of_folders).await.unwrap();
    assert_eq!(place.read().await, Changes::default());
    assert_eq!(place.store.read(skills::of_folders).await.unwrap(), before, "what is the same is not written");
    put(&place.root(), "bread", "Three.");
    fs::write(place.root().join("soup/references/salt.md"), "A little.").unwrap();
    assert_eq!(place.read().await, changed(&[], &["bread", "soup"], &[]));
    assert_eq!(place.stored().await, [pair("bread", "Three."), pair("soup", "Two.")]);
    fs::remove_dir_all(place.root().join("soup")).unwrap();
    assert_eq!(place.read().await, changed(&[], &[], &["soup"]));
    fs::remove_dir_all(place.root()).unwrap();
    assert_eq!(place.read().await, changed(&[], &[], &["bread"]));
    assert_eq!(place.stored().await, []);
}

#[tokio::test]
async fn a_skill_that_broke_stays_as_it_was_and_is_told() {
    let place = Place::new();
    put(&place.root(), "bread", "One.");
    place.read().await;
    fs::write(place.root().join("bread/SKILL.md"), "nothing").unwrap();
    let changes = place.read().await;
    assert_eq!((changes.problems.len(), changes.removed.len()), (1, 0));
    assert_eq!(place.shelf.problems(), changes.problems);
    assert_eq!(place.stored().await, [pair("bread", "One.")]);
    put(&place.root(), "bread", "Two.");
    assert_eq!(place.read().await, changed(&[], &["bread"], &[]));
    assert_eq!(place.shelf.problems(), []);
}

#[tokio::test]
async fn a_folder_that_cannot_be_read_takes_nothing_away() {
    let place = Place::new();
    put(&place.root(), "bread", "One.");
    place.read().await;
    fs::rename(place.root(), place.dir.path().join("aside")).unwrap();
    fs::write(place.root(), "a file").unwrap();
    let changes = place.read().await;
    assert_eq!((changes.problems.len(), changes.removed.len()), (1, 0));
    assert_eq!(changes.problems[0].folder, "");
    assert!(!changes.problems[0].message.contains(place.dir.path().to_str().unwrap()), "no path of the machine");
    assert_eq!(place.stored().await.len(), 1);
}

#[tokio::test]
async fn a_name_that_was_given_here_is_not_taken_by_a_folder() {
    let place = Place::new();
    let text = SkillBundle::default().text;
    let record = SkillRecord {
        entry: SkillEntry {
            id: SkillId::generate(),
            npc_id: None,
            about: crate::store::skills::SkillAbout { name: "bread".into(), ..text.about },
            folder: None,
            created_by: None,
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        },
        instructions: "Ours.".into(),
    };
    place.store.write(move |conn| skills::insert(conn, &record)).await.unwrap();
    put(&place.root(), "bread", "Theirs.");
    let changes = place.read().await;
    assert_eq!(changes.problems, [Problem::new("bread", "there is a skill bread in this scope already")]);
    assert_eq!(place.stored().await, []);
}
