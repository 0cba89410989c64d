use std::io::{Cursor, Write as _};

use http::Method;
use serde_json::{Value, json};

use crate::http::village::testing::{ADA, ADMIN, BO, TestVillage};

const SKILLS: &str = "/api/skills";

fn path(skill: &Value) -> String {
    format!("{SKILLS}/{}", skill["id"].as_str().unwrap())
}

fn body(name: &str) -> Value {
    json!({"name": name, "description": format!("About {name}."), "instructions": "Do it."})
}

async fn npc_of(village: &TestVillage, player: &str) -> Value {
    village.done(player, Method::POST, "/api/npcs", json!({"name": "N"})).await["id"].clone()
}

fn zipped(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in entries {
        writer.start_file(*path, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn form(name: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}.\n---\nDo {name}.\n")
}

async fn upload(village: &TestVillage, player: &str, path: &str, bytes: Vec<u8>) -> (u16, Value) {
    let (status, answer) = village.send(player, Method::POST, path, "application/zip", bytes).await;
    (status.as_u16(), serde_json::from_slice(&answer).unwrap())
}

#[tokio::test]
async fn a_skill_of_the_village_is_made_changed_and_deleted_by_admins_and_read_by_all() {
    let village = TestVillage::new().await;
    let (status, mut skill) = village.ask(ADMIN, Method::POST, SKILLS, body("bread")).await;
    assert_eq!(status, 201);
    assert_eq!(village.done(BO, Method::GET, &path(&skill), Value::Null).await, skill);
    let change = json!({"description": " New. ", "license": "MIT", "metadata": {"a": "b"}, "allowedTools": ["Read"]});
    let forbidden = (403, "FORBIDDEN".to_owned());
    assert_eq!(village.refused(ADA, Method::POST, SKILLS, body("soup")).await, forbidden);
    assert_eq!(village.refused(ADA, Method::PATCH, &path(&skill), change.clone()).await, forbidden);
    assert_eq!(village.refused(ADA, Method::DELETE, &path(&skill), Value::Null).await, forbidden);
    let changed = village.done(ADMIN, Method::PATCH, &path(&skill), change).await;
    let address = path(&skill);
    for varying in ["id", "createdAt", "updatedAt"] {
        assert!(skill.as_object_mut().unwrap().remove(varying).unwrap().is_string());
    }
    let mut expected = json!({
        "npcId": null, "name": "bread", "description": "About bread.", "license": null, "compatibility": null,
        "metadata": {}, "allowedTools": [], "folder": null, "instructions": "Do it.", "files": [],
    });
    assert_eq!(skill, expected);
    for (field, value) in [
        ("description", json!("New.")),
        ("license", json!("MIT")),
        ("metadata", json!({"a": "b"})),
        ("allowedTools", json!(["Read"])),
    ] {
        expected[field] = value;
    }
    for varying in ["id", "createdAt", "updatedAt"] {
        expected[varying] = changed[varying].clone();
    }
    assert_eq!(changed, expected);
    let cleared = village.done(ADMIN, Method::PATCH, &address, json!({"license": null})).await;
    assert_eq!(cleared["license"], Value::Null);
    assert_eq!(village.ask(ADMIN, Method::DELETE, &address, Value::Null).await.0, 204);
    assert_eq!(village.refused(ADMIN, Method::GET, &address, Value::Null).await, (404, "NOT_FOUND".to_owned()));
}

#[tokio::test]
async fn a_skill_of_an_npc_is_the_business_of_the_npcs_maker() {
    let village = TestVillage::new().await;
    let npc = npc_of(&village, ADA).await;
    let mut wanted = body("bread");
    wanted["npcId"] = npc.clone();
    let forbidden = (403, "FORBIDDEN".to_owned());
    assert_eq!(village.refused(BO, Method::POST, SKILLS, wanted.clone()).await, forbidden);
    let skill = village.done(ADA, Method::POST, SKILLS, wanted.clone()).await;
    assert_eq!(skill["npcId"], npc);
    assert_eq!(village.refused(BO, Method::PATCH, &path(&skill), json!({"name": "x"})).await, forbidden);
    assert_eq!(village.refused(BO, Method::DELETE, &path(&skill), Value::Null).await, forbidden);
    village.done(ADA, Method::PATCH, &path(&skill), json!({"name": "rye"})).await;
    village.done(ADMIN, Method::PATCH, &path(&skill), json!({"name": "rye", "npcId": npc})).await;
    let moved = village.refused(ADMIN, Method::PATCH, &path(&skill), json!({"npcId": null})).await;
    assert_eq!(moved, (400, "INVALID_BODY".to_owned()));
    wanted["npcId"] = json!("0198c0de-0000-7000-8000-000000000000");
    assert_eq!(village.refused(ADMIN, Method::POST, SKILLS, wanted).await, (400, "INVALID_BODY".to_owned()));
    let npc_path = format!("/api/npcs/{}", npc.as_str().unwrap());
    village.ask(ADA, Method::DELETE, &npc_path, Value::Null).await;
    assert_eq!(village.refused(ADA, Method::GET, &path(&skill), Value::Null).await.0, 404, "it goes with its NPC");
}

#[tokio::test]
async fn a_name_is_taken_once_in_each_scope() {
    let village = TestVillage::new().await;
    let conflict = (409, "CONFLICT".to_owned());
    let npc = npc_of(&village, ADA).await;
    let soup = village.done(ADMIN, Method::POST, SKILLS, body("soup")).await;
    village.done(ADMIN, Method::POST, SKILLS, body("bread")).await;
    assert_eq!(village.refused(ADMIN, Method::POST, SKILLS, body("bread")).await, conflict);
    assert_eq!(village.refused(ADMIN, Method::PATCH, &path(&soup), json!({"name": "bread"})).await, conflict);
    let mut own = body("bread");
    own["npcId"] = npc;
    village.done(ADA, Method::POST, SKILLS, own.clone()).await;
    let (status, answer) = village.ask(ADA, Method::POST, SKILLS, own).await;
    let message = "There is a skill bread in this scope already.";
    assert_eq!((status.as_u16(), answer["error"]["message"].as_str().unwrap()), (409, message));
}

#[tokio::test]
async fn a_list_is_of_all_or_of_what_one_npc_has_in_scope() {
    let village = TestVillage::new().await;
    let npc = npc_of(&village, ADA).await;
    for name in ["bread", "soup"] {
        village.done(ADMIN, Method::POST, SKILLS, body(name)).await;
    }
    let mut own = body("bread");
    own["npcId"] = npc.clone();
    village.done(ADA, Method::POST, SKILLS, own).await;
    let names = |list: &Value| -> Vec<(String, bool)> {
        let items = list["items"].as_array().unwrap();
        items.iter().map(|skill| (skill["name"].as_str().unwrap().to_owned(), skill["npcId"].is_null())).collect()
    };
    let entry = |name: &str, of_village| (name.to_owned(), of_village);
    let all = village.done(BO, Method::GET, SKILLS, Value::Null).await;
    assert_eq!(names(&all), [entry("bread", true), entry("soup", true), entry("bread", false)]);
    assert_eq!((&all["next"], &all["problems"]), (&Value::Null, &json!([])));
    assert!(all["items"][0].get("instructions").is_none(), "a list is light");
    let of_npc = format!("{SKILLS}?npcId={}", npc.as_str().unwrap());
    let scope = village.done(BO, Method::GET, &of_npc, Value::Null).await;
    assert_eq!(names(&scope), [entry("soup", true), entry("bread", false)]);
    let (mut read, mut page) = (Vec::new(), format!("{SKILLS}?limit=1"));
    loop {
        let list = village.done(BO, Method::GET, &page, Value::Null).await;
        read.extend(names(&list));
        let Some(next) = list["next"].as_str() else { break };
        page = format!("{SKILLS}?limit=1&after={next}");
    }
    assert_eq!(read, names(&all));
}

#[tokio::test]
async fn an_archive_becomes_skills_with_files_and_says_what_it_left_out() {
    let village = TestVillage::new().await;
    let bytes = zipped(&[
        ("bread/SKILL.md", &form("bread")),
        ("bread/references/flour & salt.md", "<img src=x onerror=alert(1)>"),
        ("bread/scripts/run.sh", "exit 1"),
        ("soup/SKILL.md", &form("soup")),
    ]);
    assert_eq!(upload(&village, ADA, SKILLS, bytes.clone()).await.0, 403);
    let (status, answer) = upload(&village, ADMIN, SKILLS, bytes.clone()).await;
    assert_eq!((status, &answer["notImported"]), (201, &json!(["bread/scripts/run.sh"])), "{answer}");
    let skill = village.done(BO, Method::GET, &path(&answer["items"][0]), Value::Null).await;
    assert_eq!(skill, answer["items"][0]);
    assert_eq!(skill["files"], json!(["references/flour & salt.md"]));
    let file = format!("{}/files/references/flour%20&%20salt.md", path(&skill));
    let (status, text) = village.send(BO, Method::GET, &file, "text/plain", "").await;
    assert_eq!((status.as_u16(), text.as_ref()), (200, b"<img src=x onerror=alert(1)>".as_slice()));
    for gone in ["references/none.md", "references/..%2f..%2fsecret", "SKILL.md", "%ff", "a%00b"] {
        let refused = village.refused(BO, Method::GET, &format!("{}/files/{gone}", path(&skill)), Value::Null).await;
        assert_eq!(refused, (404, "NOT_FOUND".to_owned()), "{gone}");
    }
    assert_eq!(village.refused(BO, Method::GET, &format!("{SKILLS}/x/files/a"), Value::Null).await.0, 404);
    assert_eq!(upload(&village, ADMIN, SKILLS, bytes.clone()).await.0, 409);
    let npc = npc_of(&village, ADA).await;
    let for_npc = format!("{SKILLS}?npcId={}", npc.as_str().unwrap());
    let (status, answer) = upload(&village, ADA, &for_npc, bytes).await;
    assert_eq!((status, &answer["items"][1]["npcId"]), (201, &npc));
}

#[tokio::test]
async fn an_archive_is_taken_as_a_whole_or_not_at_all() {
    let village = TestVillage::new().await;
    village.done(ADMIN, Method::POST, SKILLS, body("soup")).await;
    let two = zipped(&[("bread/SKILL.md", &form("bread")), ("soup/SKILL.md", &form("soup"))]);
    assert_eq!(upload(&village, ADMIN, SKILLS, two).await.0, 409);
    let same = zipped(&[("a/bread/SKILL.md", &form("bread")), ("b/bread/SKILL.md", &form("bread"))]);
    assert_eq!(upload(&village, ADMIN, SKILLS, same).await.0, 409);
    let broken = zipped(&[("bread/SKILL.md", &form("bread")), ("cake/SKILL.md", "nothing")]);
    let (status, answer) = upload(&village, ADMIN, SKILLS, broken).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("INVALID_BODY")));
    assert_eq!(answer["error"]["message"], "\"cake\": SKILL.md does not begin with a line ---.");
    let all = village.done(BO, Method::GET, SKILLS, Value::Null).await;
    assert_eq!(all["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn whatever_is_malformed_is_refused_with_a_code() {
    let village = TestVillage::new().await;
    let skill = village.done(ADMIN, Method::POST, SKILLS, body("bread")).await;
    for bad in [
        json!({}),
        json!([]),
        json!({"name": "a", "description": "b"}),
        json!({"name": "A", "description": "b", "instructions": "c"}),
        json!({"name": "a", "description": "", "instructions": "c"}),
        json!({"name": "a", "description": "b", "instructions": " "}),
        json!({"name": "a", "description": "b", "instructions": "c", "metadata": {"x": 1}}),
        json!({"name": "a", "description": "b", "instructions": "c", "metadata": null}),
        json!({"name": "a", "description": "b", "instructions": "c", "folder": "x"}),
        json!({"name": "a", "description": "b", "instructions": "c", "npcId": "x"}),
        json!({"name": "a", "description": "b", "instructions": "c", "allowedTools": "Read"}),
        json!({"name": "a", "description": "b\u{1b}", "instructions": "c"}),
    ] {
        let refused = village.refused(ADMIN, Method::POST, SKILLS, bad.clone()).await;
        assert_eq!(refused, (400, "INVALID_BODY".to_owned()), "{bad}");
    }
    for bad in [json!({"name": null}), json!({"id": 1}), json!({"instructions": ""}), json!({"files": []})] {
        let refused = village.refused(ADMIN, Method::PATCH, &path(&skill), bad.clone()).await;
        assert_eq!(refused, (400, "INVALID_BODY".to_owned()), "{bad}");
    }
    let invalid = (400, "INVALID_BODY".to_owned());
    for query in ["limit=0", "limit=201", "after=x", "npcId=x", "npcId=0198c0de-0000-7000-8000-000000000000", "page=1"]
    {
        assert_eq!(
            village.refused(ADA, Method::GET, &format!("{SKILLS}?{query}"), Value::Null).await,
            invalid,
            "{query}"
        );
    }
    let with_query = format!("{SKILLS}?npcId=0198c0de-0000-7000-8000-000000000000");
    assert_eq!(village.refused(ADMIN, Method::POST, &with_query, body("x")).await, invalid);
    for bytes in [b"".to_vec(), b"PK\x03\x04".to_vec(), vec![0xff; 100]] {
        assert_eq!(upload(&village, ADMIN, SKILLS, bytes).await.0, 400);
    }
    assert_eq!(upload(&village, ADMIN, SKILLS, vec![0; super::ARCHIVE_MAX + 1]).await.0, 413);
    for media in ["text/plain", "multipart/form-data", ""] {
        assert_eq!(village.send(ADMIN, Method::POST, SKILLS, media, "x").await.0, 415, "{media}");
    }
    for id in ["x", "%00", "0198c0de-0000-7000-8000-000000000000"] {
        assert_eq!(village.refused(ADMIN, Method::GET, &format!("{SKILLS}/{id}"), Value::Null).await.0, 404, "{id}");
    }
}

#[tokio::test]
async fn nobody_is_let_in_without_being_known() {
    let village = TestVillage::new().await;
    let skill = village.done(ADMIN, Method::POST, SKILLS, body("bread")).await;
    for (method, path) in [
        (Method::GET, SKILLS.to_owned()),
        (Method::POST, SKILLS.to_owned()),
        (Method::POST, format!("{SKILLS}/rescan")),
        (Method::GET, path(&skill)),
        (Method::PATCH, path(&skill)),
        (Method::DELETE, path(&skill)),
        (Method::GET, format!("{}/files/references/a.md", path(&skill))),
    ] {
        let refused = village.refused("", method.clone(), &path, json!({})).await;
        assert_eq!(refused, (401, "UNAUTHENTICATED".to_owned()), "{method} {path}");
    }
}

#[tokio::test]
async fn a_skill_of_the_data_folder_is_changed_there_and_a_broken_one_is_told() {
    let village = TestVillage::new().await;
    let root = village.folder.path().join("skills");
    std::fs::create_dir_all(root.join("bread")).unwrap();
    std::fs::create_dir_all(root.join("cake")).unwrap();
    std::fs::write(root.join("bread/SKILL.md"), form("bread")).unwrap();
    let rescan = format!("{SKILLS}/rescan");
    assert_eq!(village.refused(ADA, Method::POST, &rescan, json!({})).await, (403, "FORBIDDEN".to_owned()));
    assert_eq!(village.refused(ADMIN, Method::POST, &rescan, json!({"x": 1})).await.0, 400);
    let problems = json!([{"folder": "cake", "message": "it has no SKILL.md that is a file"}]);
    let changes = village.done(ADMIN, Method::POST, &rescan, json!({})).await;
    assert_eq!(changes, json!({"added": ["bread"], "changed": [], "removed": [], "problems": problems}));
    let list = village.done(ADA, Method::GET, SKILLS, Value::Null).await;
    assert_eq!((&list["problems"], &list["items"][0]["folder"]), (&problems, &json!("bread")));
    let skill = &list["items"][0];
    for (method, change) in [(Method::PATCH, json!({"name": "rye"})), (Method::DELETE, Value::Null)] {
        let (status, answer) = village.ask(ADMIN, method, &path(skill), change).await;
        assert_eq!((status.as_u16(), &answer["error"]["code"]), (409, &json!("CONFLICT")));
        let message = "The skill bread comes from skills/bread in the data folder: change it there, then rescan.";
        assert_eq!(answer["error"]["message"], message);
    }
}

#[tokio::test]
async fn a_scope_has_its_limit() {
    let village = TestVillage::new().await;
    for n in 0..crate::village::skill::SCOPE_LIMIT {
        village.done(ADMIN, Method::POST, SKILLS, body(&format!("s{n}"))).await;
    }
    assert_eq!(village.refused(ADMIN, Method::POST, SKILLS, body("more")).await, (409, "CONFLICT".to_owned()));
    let bytes = zipped(&[("SKILL.md", &form("more"))]);
    assert_eq!(upload(&village, ADMIN, SKILLS, bytes).await.0, 409);
}
