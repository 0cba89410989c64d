use http::Method;
use serde_json::{Value, json};

use crate::http::village::testing::{ADA, ADMIN, BO, TestVillage};

const MEMORIES: &str = "/api/memories";

async fn npc(village: &TestVillage, name: &str) -> String {
    let npc = village.done(ADA, Method::POST, "/api/npcs", json!({"name": name})).await;
    npc["id"].as_str().unwrap().to_owned()
}

async fn kept(village: &TestVillage, player: &str, npc: &str, text: &str) -> Value {
    village.done(player, Method::POST, MEMORIES, json!({"npcId": npc, "text": text})).await
}

fn path(memory: &Value) -> String {
    format!("{MEMORIES}/{}", memory["id"].as_str().unwrap())
}

async fn texts(village: &TestVillage, player: &str, query: &str) -> Vec<String> {
    let page = village.done(player, Method::GET, &format!("{MEMORIES}{query}"), Value::Null).await;
    page["items"].as_array().unwrap().iter().map(|row| row["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_player_writes_reads_rewords_and_deletes_what_an_npc_remembers() {
    let village = TestVillage::new().await;
    let mara = npc(&village, "Mara").await;
    let body = json!({"npcId": mara, "text": " Ada likes tea. "});
    let (status, memory) = village.ask(ADA, Method::POST, MEMORIES, body).await;
    assert_eq!(status, 201);
    let (id, made) = (memory["id"].clone(), memory["createdAt"].clone());
    let expected = json!({
        "id": id, "npcId": mara, "text": "Ada likes tea.", "writtenBy": "player", "createdAt": made, "updatedAt": made,
    });
    assert_eq!(memory, expected);
    assert_eq!(village.done(ADA, Method::GET, &path(&memory), Value::Null).await, memory);
    let reworded = village.done(ADA, Method::PATCH, &path(&memory), json!({"text": "Ada likes coffee."})).await;
    assert_eq!((reworded["text"].as_str(), &reworded["createdAt"]), (Some("Ada likes coffee."), &made));
    assert_eq!(texts(&village, ADA, "?q=coffee").await, ["Ada likes coffee."]);
    assert_eq!(texts(&village, ADA, "?q=tea").await, Vec::<String>::new());
    let (status, _) = village.ask(ADA, Method::DELETE, &path(&memory), Value::Null).await;
    assert_eq!(status, 204);
    assert_eq!(village.refused(ADA, Method::GET, &path(&memory), Value::Null).await, (404, "NOT_FOUND".to_owned()));
}

#[tokio::test]
async fn somebody_elses_memories_are_not_there_on_any_route() {
    let village = TestVillage::new().await;
    let mara = npc(&village, "Mara").await;
    let memory = kept(&village, ADA, &mara, "Ada likes tea.").await;
    let absent = (404, "NOT_FOUND".to_owned());
    for player in [BO, ADMIN] {
        for (method, body) in [
            (Method::GET, Value::Null),
            (Method::PATCH, json!({"text": "x"})),
            (Method::PATCH, json!({"text": ""})),
            (Method::DELETE, Value::Null),
        ] {
            assert_eq!(
                village.refused(player, method.clone(), &path(&memory), body).await,
                absent,
                "{player} {method}"
            );
        }
        for query in ["", "?q=tea", &format!("?npcId={mara}"), &format!("?npcId={mara}&q=tea")] {
            assert!(texts(&village, player, query).await.is_empty(), "{player} {query}");
        }
        let cleared = village.done(player, Method::DELETE, &format!("{MEMORIES}?npcId={mara}"), Value::Null).await;
        assert_eq!(cleared, json!({"deleted": 0}));
    }
    assert_eq!(texts(&village, ADA, "").await, ["Ada likes tea."]);
    for (method, path) in [
        (Method::GET, MEMORIES.to_owned()),
        (Method::POST, MEMORIES.to_owned()),
        (Method::DELETE, format!("{MEMORIES}?npcId={mara}")),
        (Method::GET, path(&memory)),
        (Method::PATCH, path(&memory)),
        (Method::DELETE, path(&memory)),
    ] {
        let refused = village.refused("", method.clone(), &path, json!({"npcId": mara, "text": "x"})).await;
        assert_eq!(refused, (401, "UNAUTHENTICATED".to_owned()), "{method} {path}");
    }
}

#[tokio::test]
async fn clearing_takes_one_npcs_memories_and_no_others() {
    let village = TestVillage::new().await;
    let (mara, bo) = (npc(&village, "Mara").await, npc(&village, "Bo").await);
    for n in 0..300 {
        kept(&village, ADA, &mara, &format!("number {n}")).await;
    }
    kept(&village, ADA, &bo, "Ada likes tea.").await;
    kept(&village, BO, &mara, "Bo likes tea.").await;
    let cleared = village.done(ADA, Method::DELETE, &format!("{MEMORIES}?npcId={mara}"), Value::Null).await;
    assert_eq!(cleared, json!({"deleted": 300}));
    assert_eq!(texts(&village, ADA, "").await, ["Ada likes tea."]);
    assert_eq!(texts(&village, BO, "").await, ["Bo likes tea."]);
}

#[tokio::test]
async fn the_same_thing_is_kept_once_and_a_rewording_does_not_make_a_second_one() {
    let village = TestVillage::new().await;
    let mara = npc(&village, "Mara").await;
    let tea = kept(&village, ADA, &mara, "Ada likes tea.").await;
    let (status, again) =
        village.ask(ADA, Method::POST, MEMORIES, json!({"npcId": mara, "text": "ada likes  TEA"})).await;
    assert_eq!((status.as_u16(), &again["id"], &again["text"]), (200, &tea["id"], &tea["text"]));
    let coffee = kept(&village, ADA, &mara, "Ada likes coffee.").await;
    let refused = village.refused(ADA, Method::PATCH, &path(&coffee), json!({"text": "Ada likes tea"})).await;
    assert_eq!(refused, (409, "CONFLICT".to_owned()));
    village.done(ADA, Method::PATCH, &path(&coffee), json!({"text": "Ada likes COFFEE!"})).await;
}

#[tokio::test]
async fn a_search_shows_near_copies_too_the_best_first_and_so_many() {
    let village = TestVillage::new().await;
    let mara = npc(&village, "Mara").await;
    for text in ["Ada likes black tea", "Ada likes black tea, too", "Ada likes tea", "the bridge is closed"] {
        kept(&village, ADA, &mara, text).await;
    }
    assert_eq!(texts(&village, ADA, "?q=black").await, ["Ada likes black tea", "Ada likes black tea, too"]);
    assert_eq!(texts(&village, ADA, "?q=tea").await.len(), 3);
    assert_eq!(texts(&village, ADA, "?q=tea&limit=2").await.len(), 2);
}

#[tokio::test]
async fn a_list_is_read_page_by_page_the_newest_first() {
    let village = TestVillage::new().await;
    let mara = npc(&village, "Mara").await;
    for n in 0..5 {
        kept(&village, ADA, &mara, &format!("number {n}")).await;
    }
    let (mut found, mut path) = (Vec::new(), format!("{MEMORIES}?limit=2&npcId={mara}"));
    loop {
        let page = village.done(ADA, Method::GET, &path, Value::Null).await;
        found.extend(page["items"].as_array().unwrap().iter().map(|row| row["text"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("{MEMORIES}?limit=2&npcId={mara}&after={next}");
    }
    assert_eq!(found, ["number 4", "number 3", "number 2", "number 1", "number 0"]);
}

#[tokio::test]
async fn whatever_is_malformed_is_refused_with_a_code() {
    let village = TestVillage::new().await;
    let mara = npc(&village, "Mara").await;
    let memory = kept(&village, ADA, &mara, "Ada likes tea.").await;
    let invalid = (400, "INVALID_BODY".to_owned());
    for body in [
        json!({"npcId": mara}),
        json!({"text": "x"}),
        json!({"npcId": mara, "text": ""}),
        json!({"npcId": mara, "text": " \n"}),
        json!({"npcId": mara, "text": "a\u{0}"}),
        json!({"npcId": mara, "text": "x".repeat(2_001)}),
        json!({"npcId": mara, "text": null}),
        json!({"npcId": "x", "text": "x"}),
        json!({"npcId": "0198c0de-0000-7000-8000-000000000000", "text": "x"}),
        json!({"npcId": mara, "text": "x", "player": "bo"}),
    ] {
        assert_eq!(village.refused(ADA, Method::POST, MEMORIES, body.clone()).await, invalid, "{body}");
    }
    for body in [json!({}), json!({"text": ""}), json!({"text": "x", "npcId": mara}), json!({"text": 1})] {
        assert_eq!(village.refused(ADA, Method::PATCH, &path(&memory), body.clone()).await, invalid, "{body}");
    }
    let long = format!("?q={}", "x".repeat(1_001));
    for query in ["?limit=0", "?limit=201", "?after=x", "?npcId=x", "?npc=x", "?q=tea&after=MS4x", &long] {
        assert_eq!(
            village.refused(ADA, Method::GET, &format!("{MEMORIES}{query}"), Value::Null).await,
            invalid,
            "{query}"
        );
    }
    for query in ["", "?npcId=", "?npcId=x", &format!("?npcId={mara}&all=1")] {
        assert_eq!(
            village.refused(ADA, Method::DELETE, &format!("{MEMORIES}{query}"), Value::Null).await,
            invalid,
            "{query}"
        );
    }
    for q in ["%22", "NEAR(", "*", "%00", "%F0%9F%90%88", "tea%22%20OR", "%ff"] {
        texts(&village, ADA, &format!("?q={q}")).await;
    }
    for id in ["x", "%00", "0198c0de-0000-7000-8000-000000000000"] {
        assert_eq!(village.refused(ADA, Method::GET, &format!("{MEMORIES}/{id}"), Value::Null).await.0, 404, "{id}");
    }
}
