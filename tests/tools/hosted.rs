//! Tool servers of a whole Hamlet, over its routes.

use std::time::{Duration, Instant};

use hamlet_test_support::TestServer;
use reqwest::StatusCode;
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

use crate::{house::eventually, peers::npm};

#[tokio::test]
async fn a_tool_server_is_added_over_http_and_ends_with_hamlet() {
    let server = TestServer::start().await;
    let body = npm("all", "everything", &["stdio"], json!({}));
    let added = server.admin.post("/api/tool-servers", body).await.expect(StatusCode::CREATED).await;
    let path = format!("/api/tool-servers/{}", added["items"][0]["id"].as_str().unwrap());
    let connected = async {
        loop {
            let seen: Value = server.admin.get(&path).await.expect(StatusCode::OK).await;
            if seen["status"] == "connected" {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let seen = tokio::time::timeout(Duration::from_secs(20), connected).await.unwrap();
    let echo = seen["tools"].as_array().unwrap().iter().find(|tool| tool["key"] == "all/echo").unwrap();
    assert_eq!(echo["name"], "all__echo");
    let player = server.player("bo").await;
    player.get(&path).await.expect(StatusCode::OK).await;
    player.post("/api/tool-servers", json!({"name": "a", "command": "b"})).await.expect(StatusCode::FORBIDDEN).await;
    let process = server.app.tool_servers.all()[0].state().process.unwrap();
    let process = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
    let begun = Instant::now();
    let server = server.restarted().await;
    assert!(test_kill_process(process).is_err(), "the process of the Hamlet that ended is gone");
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    let again = server.app.tool_servers.all().remove(0);
    let found = || again.state().is_connected().then_some(());
    eventually(found, || format!("{:?}", again.state())).await;
}

#[tokio::test]
async fn servers_end_when_nobody_holds_them_any_more() {
    let house = crate::house::House::new().await;
    let server = house.connected(npm("all", "everything", &["stdio"], json!({}))).await;
    let process = Pid::from_raw(i32::try_from(server.state().process.unwrap()).unwrap()).unwrap();
    drop(house);
    let gone = || test_kill_process(process).is_err().then_some(());
    eventually(gone, || "it lives on".to_owned()).await;
}
