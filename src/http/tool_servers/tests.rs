use http::Method;
use serde_json::{Value, json};

use crate::{
    http::village::testing::{ADA, ADMIN, TestVillage},
    village::{registry::EnvironmentProviders, settings::Pins},
};

const SERVERS: &str = "/api/tool-servers";

fn path(server: &Value) -> String {
    format!("{SERVERS}/{}", server["id"].as_str().unwrap())
}

/// One that is not tried, so that nothing moves.
fn idle() -> Value {
    json!({"name": "idle", "url": "https://a.example/mcp?key=sk-query", "headers": {"X-Key": "sk-secret"}, "enabled": false})
}

async fn made(village: &TestVillage, body: Value) -> Value {
    village.done(ADMIN, Method::POST, SERVERS, body).await["items"][0].clone()
}

/// A Village in whose data folder this file lies.
async fn with_file(text: &str) -> TestVillage {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mcp.json"), text).unwrap();
    TestVillage::in_folder(folder, EnvironmentProviders::default(), Vec::new(), Pins::default()).await
}

#[tokio::test]
async fn what_a_server_is_given_goes_in_and_never_comes_out() {
    let village = TestVillage::new().await;
    let (status, answer) = village.ask(ADMIN, Method::POST, SERVERS, idle()).await;
    assert_eq!(status, 201);
    let server = answer["items"][0].clone();
    let expected = json!({
        "id": server["id"], "name": "idle", "source": "stored", "transport": "http", "enabled": false, "status": "disabled",
        "error": null, "retryAt": null, "program": null, "tools": [], "leftOut": [],
        "url": "https://a.example/mcp?key=sk-query", "command": null, "args": [], "cwd": null, "env": [], "headers": ["X-Key"], "stderr": [],
    });
    assert_eq!(server, expected);
    assert_eq!(village.done(ADMIN, Method::GET, &path(&server), Value::Null).await, expected);
    let list = village.done(ADMIN, Method::GET, SERVERS, Value::Null).await;
    assert_eq!(list, json!({"items": [expected], "next": null, "fileError": null}));
}

#[tokio::test]
async fn a_player_sees_servers_without_command_lines_and_queries_and_changes_none() {
    let village = TestVillage::new().await;
    let http = made(&village, idle()).await;
    let stdio = json!({"name": "run", "command": "/bin/false", "args": ["--key=sk-secret"], "enabled": false});
    let stdio = made(&village, stdio).await;
    let list = village.done(ADA, Method::GET, SERVERS, Value::Null).await;
    assert!(!list.to_string().contains("sk-"), "{list}");
    assert!(!list.to_string().contains("/bin/false"), "{list}");
    assert_eq!(list["items"][0]["url"], "https://a.example/mcp");
    let seen = village.done(ADA, Method::GET, &path(&stdio), Value::Null).await;
    assert_eq!(seen.get("command"), None);
    let again = format!("{}/reconnect", path(&http));
    for (method, path, body) in [
        (Method::POST, SERVERS, idle()),
        (Method::PATCH, &*path(&http), json!({"enabled": true})),
        (Method::DELETE, &path(&http), Value::Null),
        (Method::POST, &again, Value::Null),
    ] {
        assert_eq!(village.refused(ADA, method, path, body).await, (403, "FORBIDDEN".to_owned()), "{path}");
    }
    for (method, path) in [(Method::GET, SERVERS), (Method::GET, &path(&http)), (Method::POST, SERVERS)] {
        assert_eq!(village.refused("nobody", method, path, json!({})).await.0, 401);
    }
}

#[tokio::test]
async fn a_document_of_another_program_is_taken_as_it_is() {
    let village = TestVillage::new().await;
    let document = json!({"inputs": [], "mcpServers": {
        "My Files": {"command": "a", "env": {"T": "${ABSENT:-x}"}, "alwaysAllow": [], "disabled": true},
        "search": {"type": "http", "url": "https://a.example", "disabled": true},
    }});
    let added = village.done(ADMIN, Method::POST, SERVERS, document.clone()).await;
    let names: Vec<_> =
        added["items"].as_array().unwrap().iter().map(|server| server["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["my-files", "search"]);
    assert_eq!(village.refused(ADMIN, Method::POST, SERVERS, document).await, (409, "CONFLICT".to_owned()));
    let half = json!({"mcpServers": {"new": {"command": "a"}, "bad": {"type": "sse", "url": "https://a"}}});
    assert_eq!(village.refused(ADMIN, Method::POST, SERVERS, half).await, (400, "INVALID_BODY".to_owned()));
    let list = village.done(ADMIN, Method::GET, SERVERS, Value::Null).await;
    assert_eq!(list["items"].as_array().unwrap().len(), 2, "all of a document are added, or none");
}

#[tokio::test]
async fn bodies_that_do_not_fit_are_refused() {
    let village = TestVillage::new().await;
    let server = made(&village, idle()).await;
    for body in [
        json!({}),
        json!({"name": "a"}),
        json!({"name": "a", "command": "b", "cmd": "c"}),
        json!({"name": 1, "command": "b"}),
        json!({"name": "A", "command": "b"}),
        json!({"name": "a", "command": null}),
        json!({"name": "a", "command": "b", "args": "c"}),
        json!({"name": "a", "command": "b", "env": {"A": 1}}),
        json!({"name": "a", "url": "file:///etc/passwd"}),
        json!({"name": "a", "url": "https://a", "headers": {"Host": "b"}}),
        json!({"name": "a", "url": "https://a", "headers": {"X": "a\nb"}}),
        json!({"mcpServers": []}),
        json!({"mcpServers": {"a": 1}}),
        json!({"mcpServers": {"a": {"command": "b\u{0}"}}}),
    ] {
        let refused = village.refused(ADMIN, Method::POST, SERVERS, body.clone()).await;
        assert_eq!(refused, (400, "INVALID_BODY".to_owned()), "{body}");
    }
    for body in [
        json!({"name": "b"}),
        json!({"command": "b"}),
        json!({"url": "x"}),
        json!({"odd": 1}),
        json!({"enabled": null}),
    ] {
        let refused = village.refused(ADMIN, Method::PATCH, &path(&server), body.clone()).await;
        assert_eq!(refused, (400, "INVALID_BODY".to_owned()), "{body}");
    }
    for body in ["", "[]", "{", "\"a\"", "{\"mcpServers\": {\"a\": {\"command\": \"\\ud800\"}}}"] {
        assert_eq!(village.ask_raw(ADMIN, Method::POST, SERVERS, body).await.0, 400, "{body}");
    }
}

#[tokio::test]
async fn a_server_is_changed_and_deleted_by_its_id() {
    let village = TestVillage::new().await;
    let server = made(&village, idle()).await;
    let change = json!({"url": "https://a.example/other", "headers": {"X-Key": null, "X-New": "v"}});
    let changed = village.done(ADMIN, Method::PATCH, &path(&server), change).await;
    assert_eq!((&changed["url"], &changed["headers"]), (&json!("https://a.example/other"), &json!(["X-New"])));
    let moved = village.refused(ADMIN, Method::PATCH, &path(&server), json!({"url": "https://b.example"})).await;
    assert_eq!(moved, (400, "INVALID_BODY".to_owned()));
    assert_eq!(village.refused(ADMIN, Method::POST, &format!("{}/reconnect", path(&server)), Value::Null).await.0, 409);
    assert_eq!(village.ask(ADMIN, Method::DELETE, &path(&server), Value::Null).await.0, 204);
    let again = format!("{}/reconnect", path(&server));
    for (method, path) in [
        (Method::GET, path(&server)),
        (Method::PATCH, path(&server)),
        (Method::DELETE, path(&server)),
        (Method::POST, again),
        (Method::GET, format!("{SERVERS}/none")),
    ] {
        assert_eq!(village.refused(ADMIN, method, &path, json!({})).await, (404, "NOT_FOUND".to_owned()), "{path}");
    }
    assert!(village.servers.all().is_empty());
}

#[tokio::test]
async fn servers_of_the_file_are_there_and_are_changed_there() {
    let text = r#"{"mcpServers": {"off": {"command": "a", "disabled": true}, "odd": {}, "wants": {"command": "${HAMLET_TEST_ABSENT}"}}}"#;
    let village = with_file(text).await;
    let wants = village.servers.all().into_iter().find(|server| server.name == "wants").unwrap();
    wants.tried().await;
    let list = village.done(ADMIN, Method::GET, SERVERS, Value::Null).await;
    let told: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["name"], &it["source"], &it["status"], &it["error"]))
        .collect();
    assert_eq!(
        json!(told),
        json!([
            ["off", "file", "disabled", null],
            ["odd", "file", "misconfigured", "it has neither a command nor a url"],
            ["wants", "file", "misconfigured", "the environment variable HAMLET_TEST_ABSENT is not set"],
        ])
    );
    let off = path(&list["items"][0]);
    for (method, body) in [(Method::PATCH, json!({"enabled": true})), (Method::DELETE, Value::Null)] {
        assert_eq!(village.refused(ADMIN, method, &off, body).await, (409, "SETTING_PINNED".to_owned()));
    }
    let taken = json!({"name": "off", "command": "b"});
    assert_eq!(village.refused(ADMIN, Method::POST, SERVERS, taken).await, (409, "CONFLICT".to_owned()));
    assert_eq!(list["fileError"], Value::Null);
}

#[tokio::test]
async fn a_broken_file_is_told_to_admins_and_stops_nothing() {
    let village = with_file("{\"mcpServers\": ").await;
    let list = village.done(ADMIN, Method::GET, SERVERS, Value::Null).await;
    assert!(list["fileError"].as_str().unwrap().starts_with("mcp.json can't be used: "), "{list}");
    assert_eq!(village.done(ADA, Method::GET, SERVERS, Value::Null).await["fileError"], Value::Null);
    made(&village, idle()).await;
}

#[tokio::test]
async fn a_server_that_does_not_start_is_told_with_when_it_is_tried_again() {
    let village = TestVillage::new().await;
    let body = json!({"name": "gone", "command": "/no/such/program", "env": {"KEY": "sk-secret"}});
    let server = made(&village, body).await;
    let id = server["id"].as_str().unwrap().parse().unwrap();
    village.servers.get(id).unwrap().tried().await;
    let seen = village.done(ADA, Method::GET, &path(&server), Value::Null).await;
    assert_eq!(seen["status"], "unreachable");
    assert!(seen["error"].as_str().unwrap().contains("does not start"), "{seen}");
    assert!(seen["retryAt"].is_string());
    let change = json!({"command": "sh", "args": ["-c", "echo bad key $KEY at /inside >&2; exit 1"]});
    village.done(ADMIN, Method::PATCH, &path(&server), change).await;
    village.servers.get(id).unwrap().tried().await;
    let seen = village.done(ADMIN, Method::GET, &path(&server), Value::Null).await;
    assert_eq!(seen["error"], "it ended before it said who it is");
    assert_eq!(seen["stderr"], json!(["bad key *** at /inside"]));
    let seen = village.done(ADA, Method::GET, &path(&server), Value::Null).await;
    assert!(!seen.to_string().contains("/inside"), "{seen}");
    let off = village.done(ADMIN, Method::PATCH, &path(&server), json!({"enabled": false})).await;
    assert_eq!((&off["status"], &off["env"]), (&json!("disabled"), &json!(["KEY"])));
}
