//! Who answers in a Party, by the Conversation's own settings.

use hamlet_test_support::TestServer;
use http::{Method, StatusCode};
use serde_json::{Value, json};

async fn npcs(server: &TestServer) -> Vec<String> {
    let npcs = server.admin.get("/api/npcs").await.expect(StatusCode::OK).await;
    npcs["items"].as_array().unwrap().iter().map(|npc| npc["id"].as_str().unwrap().to_owned()).collect()
}

/// Says it, lets the played Provider answer, and tells who did.
async fn answered(server: &TestServer, conversation: &str, body: Value) -> String {
    let script = server.provider.expect();
    let mut stream = server.admin.stream(&format!("/api/conversations/{conversation}/messages"), body).await;
    script.text("Yes.");
    script.finish();
    stream.to_end().await;
    let page = server.admin.get(&format!("/api/conversations/{conversation}/messages?limit=1")).await;
    page.expect(StatusCode::OK).await["items"][0]["author"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_conversation_is_set_to_a_round_robin_and_each_answers_in_turn() {
    let server = TestServer::start().await;
    let npcs = npcs(&server).await;
    let made = server.admin.post("/api/conversations", json!({"npcIds": npcs})).await;
    let made = made.expect(StatusCode::CREATED).await;
    assert_eq!((&made["speakerPolicy"], &made["newcomersKnow"]), (&json!("addressed"), &json!("from-joining")));
    let id = made["id"].as_str().unwrap();
    let path = format!("/api/conversations/{id}");
    let set = json!({"speakerPolicy": "round-robin", "newcomersKnow": "all"});
    let changed = server.admin.send(Method::PATCH, &path, set).await.expect(StatusCode::OK).await;
    let mut expected = made.clone();
    expected["speakerPolicy"] = json!("round-robin");
    expected["newcomersKnow"] = json!("all");
    assert_eq!(changed, expected);
    assert_eq!(server.admin.get(&path).await.expect(StatusCode::OK).await, expected);
    for npc in [&npcs[0], &npcs[1], &npcs[2], &npcs[0]] {
        assert_eq!(&answered(&server, id, json!({"text": "Who?"})).await, npc);
    }
    assert_eq!(answered(&server, id, json!({"text": "You?", "to": npcs[2]})).await, npcs[2]);
    assert_eq!(answered(&server, id, json!({"text": "Who?"})).await, npcs[0]);
}

#[tokio::test]
async fn a_policy_that_is_none_is_refused_and_changes_nothing() {
    let server = TestServer::start().await;
    let path = format!("/api/conversations/{}", server.conversation().await);
    let before = server.admin.get(&path).await.expect(StatusCode::OK).await;
    for bad in [
        json!({"speakerPolicy": "loudest"}),
        json!({"speakerPolicy": null}),
        json!({"speakerPolicy": "RoundRobin"}),
        json!({"title": "New", "newcomersKnow": "nothing"}),
        json!({"newcomersKnow": true}),
        json!({"speaker_policy": "addressed"}),
    ] {
        let refused = server.admin.send(Method::PATCH, &path, bad.clone()).await.refused(StatusCode::BAD_REQUEST).await;
        assert_eq!(refused, "INVALID_BODY", "{bad}");
    }
    assert_eq!(server.admin.get(&path).await.expect(StatusCode::OK).await, before);
}
