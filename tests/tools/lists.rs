//! Which tools a server is known to have.

use hamlet::tools::servers::ToolServers;
use hamlet_actors::capability::Capability;
use serde_json::json;

use crate::{
    fake::{Fake, tool},
    house::{House, eventually, http},
};

fn keys(servers: &ToolServers) -> Vec<String> {
    servers.catalog().into_iter().map(|offer| offer.key).collect()
}

#[tokio::test]
async fn one_odd_schema_of_five_hides_its_own_tool_alone() {
    let (house, fake) = (House::new().await, Fake::new(&["a", "b"]).await);
    fake.script.lock().unwrap().tools.extend([
        json!({"name": "odd", "inputSchema": {"type": "string"}}),
        json!({"name": "none"}),
        json!({"name": "null", "inputSchema": null}),
        json!({"name": "21st_magic_x", "inputSchema": {
            "$schema": "http://json-schema.org/draft-07/schema#", "additionalProperties": {},
            "properties": {"list": {"type": ["array", "null"]}},
        }}),
    ]);
    house.connected(http("fake", &fake.url())).await;
    let contribution = house.gather(&["fake/a", "fake/odd", "fake/none", "fake/null"]).await;
    let names: Vec<&str> = contribution.tools.iter().map(|tool| tool.spec().name.as_str()).collect();
    assert_eq!(names, ["fake__a", "fake__b", "fake__21st_magic_x"]);
    assert_eq!(contribution.unreachable, ["fake/odd", "fake/none", "fake/null"]);
    let cleaned = &contribution.tools[2].spec().parameters;
    assert_eq!(cleaned, &json!({"type": "object", "properties": {"list": {"type": "array", "items": {}}}}));
}

#[tokio::test]
async fn a_list_comes_page_by_page_and_one_without_an_end_is_ended() {
    let (house, fake) = (House::new().await, Fake::new(&["a", "b", "c", "d", "e"]).await);
    fake.script.lock().unwrap().page = 2;
    house.connected(http("fake", &fake.url())).await;
    assert_eq!(keys(&house.servers), ["fake/a", "fake/b", "fake/c", "fake/d", "fake/e"]);
    let (house, fake) = (House::new().await, Fake::new(&["a"]).await);
    {
        let mut script = fake.script.lock().unwrap();
        (script.page, script.endless) = (1, true);
    }
    house.connected(http("fake", &fake.url())).await;
    assert_eq!(keys(&house.servers), ["fake/a"]);
    assert!(fake.script.lock().unwrap().lists <= 50);
}

#[tokio::test]
async fn tools_that_change_are_asked_for_again() {
    let (house, fake) = (House::new().await, Fake::new(&["a"]).await);
    house.connected(http("fake", &fake.url())).await;
    fake.set_tools(&["b"]);
    let mut told = 0;
    let changed = || {
        // The common stream may not be open yet.
        told += 1;
        if told % 20 == 1 {
            fake.tell("notifications/tools/list_changed");
        }
        (keys(&house.servers) == ["fake/b"]).then_some(())
    };
    eventually(changed, || "the list stayed".to_owned()).await;
}

#[tokio::test]
async fn a_change_that_is_told_before_the_list_is_not_lost() {
    let (house, fake) = (House::new().await, Fake::new(&["a"]).await);
    fake.script.lock().unwrap().changed_first = true;
    house.connected(http("fake", &fake.url())).await;
    let found = || (keys(&house.servers) == ["fake/a", "fake/late"]).then_some(());
    eventually(found, || "the change was lost".to_owned()).await;
}

#[tokio::test]
async fn what_was_known_of_a_server_can_be_granted_while_it_is_away() {
    let (house, fake) = (House::new().await, Fake::new(&["a"]).await);
    let server = house.connected(http("fake", &fake.url())).await;
    fake.stop();
    house.servers.reconnect(&server);
    house.until(&server, |state| !state.is_connected() && state.tried).await;
    assert_eq!(keys(&house.servers), ["fake/a"]);
    let contribution = house.gather(&["fake/a"]).await;
    assert!(contribution.tools.is_empty());
    assert_eq!(contribution.unreachable, ["fake"]);
}

#[tokio::test]
async fn a_name_that_no_provider_takes_is_called_by_its_own() {
    let (house, fake) = (House::new().await, Fake::new(&["ping"]).await);
    fake.script.lock().unwrap().tools = vec![tool("say.it/loud")];
    house.connected(http("fake", &fake.url())).await;
    let tool = house.tool("fake/say.it/loud").await;
    assert!(tool.spec().name.starts_with("fake__say_it_loud_"), "{}", tool.spec().name);
    assert_eq!(crate::house::call(&tool, json!({"message": "hi"})).await.output, json!("hi"));
}
