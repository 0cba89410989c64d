//! What NPCs may call and what they remember, on a running server: the routes are there, and each Player's memories are theirs.

use hamlet_test_support::TestServer;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

#[tokio::test]
async fn a_player_keeps_a_memory_that_outlives_the_server_and_that_nobody_else_sees() {
    let server = TestServer::start().await;
    let npc = server.npc().await;
    let pia = server.player("Pia").await;
    let body = json!({"npcId": npc, "text": "Pia is allergic to nuts."});
    let memory = pia.post("/api/memories", body).await.expect(StatusCode::CREATED).await;
    let path = format!("/api/memories/{}", memory["id"].as_str().unwrap());
    assert_eq!(server.admin.get(&path).await.refused(StatusCode::NOT_FOUND).await, "NOT_FOUND");
    let server = server.restarted().await;
    let kai = server.player("Kai").await;
    assert_eq!(kai.get(&path).await.refused(StatusCode::NOT_FOUND).await, "NOT_FOUND");
    let theirs = kai.get("/api/memories?q=nuts").await.expect(StatusCode::OK).await;
    assert_eq!(theirs["items"], json!([]));
}

#[tokio::test]
async fn what_an_npc_may_call_is_chosen_among_what_there_is() {
    let server = TestServer::start().await;
    let path = format!("/api/npcs/{}/grants", server.npc().await);
    let tools = server.admin.get("/api/tools").await.expect(StatusCode::OK).await;
    let keys: Vec<Value> = tools["items"].as_array().unwrap().iter().map(|tool| tool["key"].clone()).collect();
    let all: Vec<Value> = keys.iter().map(|key| json!({"tool": key})).collect();
    let granted = server.admin.send(Method::PUT, &path, json!(all)).await.expect(StatusCode::OK).await;
    assert_eq!(granted["items"].as_array().unwrap().len(), keys.len());
    assert!(keys.len() >= 7 && keys.contains(&json!("fetch_url")), "{keys:?}");
}
