//! Servers that are slow, go, and come back.

use std::time::{Duration, Instant};

use hamlet::tools::servers::{limits::Limits, state::Standing};
use serde_json::json;
use tokio::net::TcpListener;

use crate::{
    fake::Fake,
    house::{House, http, short, text},
};

/// A server that does one thing at a time, answers no list while it is at a call, and does not end when it is asked to.
const ONE_AT_A_TIME: &str = r#"
import json, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def say(id, result): print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        say(asked["id"], {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "a", "version": "1"}})
    elif asked.get("method") == "tools/list":
        say(asked["id"], {"tools": [{"name": "work", "inputSchema": {}}]})
    elif asked.get("method") == "tools/call":
        time.sleep(1.5)
        said = "x" * asked["params"]["arguments"].get("bytes", 0) or "done"
        say(asked["id"], {"content": [{"type": "text", "text": said}]})
time.sleep(1000)
"#;

#[tokio::test]
async fn a_lost_session_is_begun_anew_and_the_call_repeated_once() {
    for vague in [false, true] {
        let (house, fake) = (House::new().await, Fake::new(&["echo"]).await);
        fake.script.lock().unwrap().vague = vague;
        house.connected(http("fake", &fake.url())).await;
        fake.forget_sessions();
        let answer = house.call("fake/echo", json!({"message": "hello"})).await;
        assert_eq!(text(&answer), "hello");
        assert_eq!(fake.script.lock().unwrap().begun, 2);
        assert_eq!(text(&house.call("fake/echo", json!({"message": "again"})).await), "again");
        assert_eq!(fake.script.lock().unwrap().begun, 2, "the new session is kept");
    }
}

#[tokio::test]
async fn a_server_that_is_down_hides_no_other_and_delays_no_turn() {
    let house = House::new().await;
    let (one, two) = (Fake::new(&["a"]).await, Fake::new(&["b"]).await);
    house.connected(http("one", &one.url())).await;
    house.connected(http("two", &two.url())).await;
    // It takes connections and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    house.add(http("silent", &format!("http://{}", silent.local_addr().unwrap()))).await;
    let gone = house.add(json!({"name": "gone", "command": "/no/such/program"})).await;
    house.until(&gone, |state| state.tried).await;
    let begun = Instant::now();
    let contribution = house.gather(&["one/a", "two/b", "silent/c", "gone/d"]).await;
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert_eq!(contribution.tools.iter().map(|tool| tool.key()).collect::<Vec<_>>(), ["one/a", "two/b"]);
    assert_eq!(contribution.unreachable, ["silent", "gone"]);
    // Who may call none of the silent one's tools does not wait for it.
    let begun = Instant::now();
    house.gather(&["one/a", "gone/d"]).await;
    assert!(begun.elapsed() < Duration::from_millis(1_500), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_server_that_is_just_being_connected_is_waited_for() {
    let (house, fake) = (House::new().await, Fake::new(&["echo"]).await);
    house.add(http("fake", &fake.url())).await;
    assert_eq!(text(&house.call("fake/echo", json!({"message": "hello"})).await), "hello");
}

#[tokio::test]
async fn a_server_that_went_is_noticed_by_the_next_call_and_comes_back() {
    let (house, fake) = (House::new().await, Fake::new(&["echo"]).await);
    let server = house.connected(http("fake", &fake.url())).await;
    fake.stop();
    let answer = house.call("fake/echo", json!({})).await;
    assert!(answer.is_error && text(&answer).contains("HTTP 503"), "{answer:?}");
    house.until(&server, |state| matches!(state.standing, Standing::Unreachable { .. })).await;
    assert_eq!(house.gather(&["fake/echo"]).await.unreachable, ["fake"]);
    fake.start_again().await;
    house.until(&server, |state| state.is_connected()).await;
    assert_eq!(text(&house.call("fake/echo", json!({"message": "hello"})).await), "hello");
}

#[tokio::test]
async fn a_server_that_is_at_a_call_is_not_taken_for_gone() {
    let limits = Limits {
        look: Duration::from_millis(50),
        page: Duration::from_millis(300),
        call: Duration::from_secs(10),
        ..short()
    };
    let house = House::within(limits, None).await;
    house.connected(json!({"name": "slow", "command": "python3", "args": ["-c", ONE_AT_A_TIME]})).await;
    assert_eq!(text(&house.call("slow/work", json!({})).await), "done");
}

#[tokio::test]
async fn a_child_that_says_too_much_at_once_loses_that_and_nothing_else() {
    let limits = Limits { message: 1 << 20, call: Duration::from_secs(4), ..short() };
    let house = House::within(limits, None).await;
    let server = house.connected(json!({"name": "loud", "command": "python3", "args": ["-c", ONE_AT_A_TIME]})).await;
    let process = server.state().process;
    let answer = house.call("loud/work", json!({"bytes": 2 << 20})).await;
    assert!(answer.is_error && text(&answer).contains("or with more than 1 MiB"), "{answer:?}");
    assert_eq!(text(&house.call("loud/work", json!({})).await), "done");
    assert_eq!(server.state().process, process, "it is the same one");
}

#[tokio::test]
async fn a_quiet_connection_is_looked_after() {
    let limits = Limits { look: Duration::from_millis(50), ..short() };
    let (house, fake) = (House::within(limits, None).await, Fake::new(&["a"]).await);
    let server = house.connected(http("fake", &fake.url())).await;
    fake.set_tools(&["b"]);
    house.until(&server, |state| state.tools.iter().any(|tool| tool.offered().name == "b")).await;
}

#[tokio::test]
async fn a_server_of_the_file_is_connected_at_start_and_one_of_the_store_after_a_restart() {
    let fake = Fake::new(&["echo"]).await;
    let house = House::within(short(), Some(json!({"mcpServers": {"My Fake": {"url": fake.url()}}}))).await;
    assert_eq!(text(&house.call("my-fake/echo", json!({"message": "hello"})).await), "hello");
    house.connected(http("stored", &fake.url())).await;
    house.servers.close().await;
    let again = house.restarted().await;
    assert_eq!(text(&again.call("stored/echo", json!({"message": "hello"})).await), "hello");
    assert_eq!(text(&again.call("my-fake/echo", json!({"message": "hello"})).await), "hello");
}

#[tokio::test]
async fn closing_is_bounded_whatever_servers_do() {
    let (house, fake) = (House::new().await, Fake::new(&["open"]).await);
    house.connected(http("fake", &fake.url())).await;
    house.connected(json!({"name": "deaf", "command": "python3", "args": ["-c", ONE_AT_A_TIME]})).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    house.add(http("silent", &format!("http://{}", silent.local_addr().unwrap()))).await;
    // Neither the end of its stdin nor a polite signal moves it.
    let stubborn =
        json!({"name": "stubborn", "command": "/bin/sh", "args": ["-c", "trap '' TERM; while :; do sleep 0.1; done"]});
    house.add(stubborn).await;
    let tool = house.tool("fake/open").await;
    let hanging = tokio::spawn(async move { crate::house::call(&tool, json!({})).await });
    tokio::task::yield_now().await;
    let begun = Instant::now();
    house.servers.close().await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    let answer = tokio::time::timeout(Duration::from_secs(5), hanging).await.unwrap().unwrap();
    assert!(answer.is_error, "{answer:?}");
}
