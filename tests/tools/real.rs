//! Against servers that other people wrote.

use std::time::{Duration, Instant};

use hamlet::tools::servers::{server::Server, state::State};
use hamlet_actors::{capability::Capability, ports::ToolAnswer};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;

use crate::{
    house::{House, eventually, http, text},
    peers::{Listening, npm, time},
};

/// What the server of everything does, over either transport.
async fn everything(house: &House) {
    let answer = house.call("all/echo", json!({"message": "hello"})).await;
    assert_eq!(answer, ToolAnswer { output: json!("Echo: hello"), is_error: false, truncated: false });
    let answer = house.call("all/get-sum", json!({"a": 2, "b": 40})).await;
    assert!(text(&answer).contains("42"), "{answer:?}");
    let answer = house.call("all/get-tiny-image", json!({})).await;
    assert!(text(&answer).contains("[image, image/png, ") && text(&answer).len() < 1_000, "{answer:?}");
    let answer = house.call("all/get-structured-content", json!({"location": "New York"})).await;
    assert!(text(&answer).contains("temperature"), "{answer:?}");
    let answer = house.call("all/get-sum", json!({"a": "two"})).await;
    assert!(answer.is_error && text(&answer).contains("expected number"), "{answer:?}");
    let offers = house.servers.catalog();
    let sum = offers.iter().find(|offer| offer.key == "all/get-sum").unwrap();
    assert_eq!(sum.spec.name, "all__get-sum");
    assert_eq!(sum.spec.parameters["required"], json!(["a", "b"]));
}

#[tokio::test]
async fn the_server_of_everything_works_over_stdio() {
    let house = House::new().await;
    let server = house.connected(npm("all", "everything", &["stdio"], json!({"GIVEN": "yes"}))).await;
    assert!(server.state().program.is_some());
    everything(&house).await;
    let env = house.call("all/get-env", json!({})).await;
    assert!(text(&env).contains("GIVEN") && !text(&env).contains("CARGO_PKG_NAME"), "{env:?}");
}

#[tokio::test]
async fn the_server_of_everything_works_over_http() {
    let (house, peer) = (House::new().await, Listening::everything().await);
    house.connected(http("all", &peer.url)).await;
    everything(&house).await;
}

#[tokio::test]
async fn a_server_over_http_that_is_started_anew_is_found_again() {
    let (house, mut peer) = (House::new().await, Listening::everything().await);
    let server = house.connected(http("all", &peer.url)).await;
    assert_eq!(text(&house.call("all/echo", json!({"message": "one"})).await), "Echo: one");
    let tool = house.tool("all/echo").await;
    peer.restart().await;
    let answer = crate::house::call(&tool, json!({"message": "two"})).await;
    assert_eq!(text(&answer), "Echo: two");
    assert!(server.state().is_connected());
}

#[tokio::test]
async fn a_python_server_over_http_works_with_json_and_streams_with_and_without_sessions() {
    for options in ["", "json_response=True", "stateless_http=True", "json_response=True, stateless_http=True"] {
        let (house, mut peer) = (House::new().await, Listening::python(options).await);
        house.connected(http("adder", &peer.url)).await;
        let tool = house.tool("adder/add").await;
        let b = &tool.spec().parameters["properties"]["b"];
        assert_eq!(b, &json!({"type": "integer"}), "what may be null is what it is otherwise");
        assert_eq!(text(&crate::house::call(&tool, json!({"a": 2, "b": 40})).await), "42", "{options}");
        peer.restart().await;
        let answer = crate::house::call(&tool, json!({"a": 3})).await;
        assert_eq!(text(&answer), "3", "{options}");
    }
}

#[tokio::test]
async fn files_are_read_and_written_inside_their_folder_only() {
    let house = House::new().await;
    let folder = house.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    house.connected(npm("files", "filesystem", &[folder.to_str().unwrap()], json!({}))).await;
    let path = folder.join("note.txt");
    let written = house.call("files/write_file", json!({"path": path, "content": "hello"})).await;
    assert!(!written.is_error, "{written:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "hello");
    let read = house.call("files/read_text_file", json!({"path": path})).await;
    assert_eq!(text(&read), "hello");
    let refused = house.call("files/read_text_file", json!({"path": "/etc/hostname"})).await;
    assert!(refused.is_error && text(&refused).contains("Access denied"), "{refused:?}");
}

#[tokio::test]
async fn what_one_call_leaves_another_finds() {
    let house = House::new().await;
    let file = house.path().join("memory.jsonl");
    house.connected(npm("memory", "memory", &[], json!({"MEMORY_FILE_PATH": file}))).await;
    let entity = json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["bakes"]}]});
    assert!(!house.call("memory/create_entities", entity).await.is_error);
    let graph = house.call("memory/read_graph", json!({})).await;
    assert!(text(&graph).contains("bakes"), "{graph:?}");
}

#[tokio::test]
async fn a_server_in_python_tells_the_time() {
    let house = House::new().await;
    house.connected(time("clock")).await;
    let answer = house.call("clock/get_current_time", json!({"timezone": "UTC"})).await;
    assert!(!answer.is_error && text(&answer).contains("UTC"), "{answer:?}");
    let answer = house.call("clock/get_current_time", json!({"timezone": "Nowhere/At_All"})).await;
    assert!(answer.is_error && text(&answer).contains("Nowhere/At_All"), "{answer:?}");
}

fn process(server: &Server) -> Pid {
    Pid::from_raw(i32::try_from(server.state().process.unwrap()).unwrap()).unwrap()
}

#[tokio::test]
async fn a_server_that_is_killed_in_the_middle_of_a_call_ends_the_call_and_comes_back() {
    let house = House::new().await;
    let server = house.connected(npm("all", "everything", &["stdio"], json!({}))).await;
    house.connected(time("clock")).await;
    let tool = house.tool("all/trigger-long-running-operation").await;
    let begun = Instant::now();
    let running = tokio::spawn(async move { crate::house::call(&tool, json!({"duration": 60, "steps": 60})).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    let killed = process(&server);
    kill_process(killed, Signal::KILL).unwrap();
    let answer = running.await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(15), "the end of the process ends the call, not its limit");
    assert!(answer.is_error && text(&answer).contains("the connection has ended"), "{answer:?}");
    let other = house.call("clock/get_current_time", json!({"timezone": "UTC"})).await;
    assert!(!other.is_error, "{other:?}");
    house
        .until(&server, |state: &State| {
            state.is_connected() && state.process != Some(killed.as_raw_nonzero().get().unsigned_abs())
        })
        .await;
    assert_eq!(text(&house.call("all/echo", json!({"message": "back"})).await), "Echo: back");
}

#[tokio::test]
async fn nothing_of_a_server_is_left_behind() {
    let house = House::new().await;
    let server = house.connected(npm("all", "everything", &["stdio"], json!({}))).await;
    let first = process(&server);
    house.remove(&server).await;
    assert!(test_kill_process(first).is_err(), "a removed server's process is gone");
    let server = house.connected(npm("all", "everything", &["stdio"], json!({}))).await;
    let second = process(&server);
    // A grandchild in the same group.
    let pid_file = house.path().join("pid");
    let script = "sleep 1000 & echo $! > \"$OUT\"; wait";
    house.add(json!({"name": "parent", "command": "sh", "args": ["-c", script], "env": {"OUT": pid_file}})).await;
    let read = || std::fs::read_to_string(&pid_file).ok()?.trim().parse::<i32>().ok();
    let grandchild = Pid::from_raw(eventually(read, || "no grandchild".to_owned()).await).unwrap();
    house.servers.close().await;
    assert!(test_kill_process(second).is_err());
    // Whoever inherits it has to take notice of its end.
    let gone = || test_kill_process(grandchild).is_err() || is_zombie(grandchild);
    eventually(|| gone().then_some(()), || "a grandchild lives on".to_owned()).await;
}

fn is_zombie(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}
