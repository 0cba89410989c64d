//! What a server is given stays with it.

use std::collections::HashMap;

use hamlet::tools::servers::state::{Standing, State};
use serde_json::json;

use crate::{
    fake::Fake,
    house::{House, http, text},
};

#[tokio::test]
async fn a_redirect_is_not_followed_and_takes_no_header_along() {
    let (house, fake, elsewhere) = (House::new().await, Fake::new(&["moved"]).await, Fake::new(&["echo"]).await);
    house.connected(json!({"name": "fake", "url": fake.url(), "headers": {"X-Api-Key": "sk-secret"}})).await;
    let answer = house.call("fake/moved", json!({"to": elsewhere.url()})).await;
    assert!(answer.is_error && text(&answer).contains("redirect"), "{answer:?}");
    assert!(elsewhere.script.lock().unwrap().headers.is_empty(), "the other server was asked");
    let sent = fake.script.lock().unwrap().headers.clone();
    let has_key = |headers: &HashMap<String, String>| headers.get("x-api-key").map(String::as_str) == Some("sk-secret");
    assert!(sent.iter().all(has_key), "every request carries the header");
}

#[tokio::test]
async fn an_address_that_can_not_be_reached_is_told_without_its_key() {
    let house = House::new().await;
    let body = json!({"name": "gone", "url": "http://127.0.0.1:1/mcp?key=sk-secret"});
    let server = house.add(body).await;
    let state = house.until(&server, |state| state.tried).await;
    let Standing::Unreachable { error, .. } = state.standing else { panic!("{state:?}") };
    assert!(error.contains("no connection") && !error.contains("sk-secret"), "{error}");
}

#[tokio::test]
async fn a_server_that_repeats_what_it_was_given_is_not_repeated() {
    let (house, fake) = (House::new().await, Fake::new(&["telling"]).await);
    house.connected(json!({"name": "fake", "url": fake.url(), "headers": {"X-Api-Key": "sk-secret"}})).await;
    let answer = house.call("fake/telling", json!({})).await;
    assert_eq!((answer.is_error, text(&answer)), (true, "fake refused the call: bad key ***"));
}

#[tokio::test]
async fn a_child_gets_what_was_configured_and_little_more() {
    let house = House::new().await;
    let script = "env > \"$OUT\"; exec cat > /dev/null";
    let out = house.path().join("env");
    let body = json!({
        "name": "env", "command": "sh", "args": ["-c", script], "env": {"OUT": out, "GIVEN": "${HOME}/x", "CARGO_PKG_NAME": "mine"},
    });
    house.add(body).await;
    let read = || std::fs::read_to_string(&out).ok().filter(|text| text.contains("GIVEN"));
    let text = crate::house::eventually(read, || "the child wrote nothing".to_owned()).await;
    let names: Vec<&str> = text.lines().filter_map(|line| line.split_once('=').map(|(name, _)| name)).collect();
    let known = ["PATH", "HOME", "LANG", "OUT", "GIVEN", "CARGO_PKG_NAME", "PWD", "SHLVL", "_", "OLDPWD"];
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    assert!(std::env::var_os("CARGO").is_some(), "there is something to be kept from it");
    assert!(text.contains(&format!("GIVEN={}/x", std::env::var("HOME").unwrap())), "{text}");
}

#[tokio::test]
async fn a_child_that_floods_its_stderr_neither_stops_nor_fills_anything() {
    let house = House::new().await;
    let script = "head -c 3000000 /dev/zero | tr '\\0' 'x' >&2; touch \"$OUT\"; exec cat > /dev/null";
    let out = house.path().join("done");
    house.add(json!({"name": "loud", "command": "sh", "args": ["-c", script], "env": {"OUT": out}})).await;
    crate::house::eventually(|| out.exists().then_some(()), || "the child waits for its stderr".to_owned()).await;
}

#[tokio::test]
async fn a_missing_variable_keeps_a_server_from_being_tried_and_is_named() {
    let house = House::new().await;
    let fake = Fake::new(&["echo"]).await;
    let body = json!({"name": "fake", "url": fake.url(), "headers": {"X-Key": "${HAMLET_TEST_ABSENT}"}});
    let server = house.add(body).await;
    let state = house.until(&server, |state: &State| state.tried).await;
    let error = "the environment variable HAMLET_TEST_ABSENT is not set".to_owned();
    assert_eq!(state.standing, Standing::Misconfigured { error });
    assert_eq!(fake.script.lock().unwrap().begun, 0);
    assert_eq!(house.gather(&["fake/echo"]).await.unreachable, ["fake"]);
    let fine = house.connected(http("fine", &fake.url())).await;
    assert!(fine.state().is_connected());
}
