//! One task that takes a Party of three, two tool servers of which one dies in the middle, a skill, and a memory from an
//! earlier Conversation: transcript, prompts and the operators' view tell the same story.

use std::time::Duration;

use hamlet_actors::{
    ports::ProviderEvent,
    vocabulary::{CallDelta, Delta},
};
use hamlet_test_support::{Script, TestServer};
use http::{Method, StatusCode};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{house::eventually, peers::npm};

fn calls(script: &Script, words: &str, id: &str, name: &str, arguments: &Value) {
    script.text(words);
    let call = CallDelta { id: id.into(), name: name.into(), arguments: arguments.to_string(), closed: true };
    script.events(vec![ProviderEvent::Delta(Delta::Call(call))]);
    script.finish();
}

struct Story {
    server: TestServer,
    npcs: Vec<Value>,
}

impl Story {
    async fn begin(folder: &std::path::Path) -> Self {
        let server = TestServer::start().await;
        let npcs = server.admin.get("/api/npcs").await.expect(StatusCode::OK).await;
        let npcs: Vec<Value> = npcs["items"].as_array().unwrap()[..3].to_vec();
        let story = Self { server, npcs };
        story.add(npm("files", "filesystem", &[&folder.to_string_lossy()], json!({}))).await;
        story.add(npm("all", "everything", &["stdio"], json!({}))).await;
        let skill = json!({"name": "weighing", "description": "How to weigh a thing that cannot be moved.",
                           "instructions": "Measure it, find what it is made of, multiply."});
        story.server.admin.post("/api/skills", skill).await.expect(StatusCode::CREATED).await;
        let granted = [
            "message_npc",
            "load_skill",
            "remember",
            "recall",
            "files/read_text_file",
            "all/trigger-long-running-operation",
            "all/get-sum",
        ];
        let grants: Vec<Value> = granted.iter().map(|tool| json!({"tool": tool})).collect();
        for npc in &story.npcs {
            let path = format!("/api/npcs/{}/grants", npc["id"].as_str().unwrap());
            story.server.admin.send(Method::PUT, &path, json!(grants)).await.expect(StatusCode::OK).await;
        }
        story
    }

    async fn add(&self, server: Value) {
        let added = self.server.admin.post("/api/tool-servers", server).await.expect(StatusCode::CREATED).await;
        let path = format!("/api/tool-servers/{}", added["items"][0]["id"].as_str().unwrap());
        self.until(&path, |seen| seen["status"] == "connected").await;
    }

    /// What is under this path, once it is so.
    async fn until(&self, path: &str, is: impl Fn(&Value) -> bool) -> Value {
        let looking = async {
            loop {
                let seen = self.server.admin.get(path).await.expect(StatusCode::OK).await;
                if is(&seen) {
                    return seen;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), looking).await.unwrap()
    }

    async fn conversation(&self, npcs: &[Value]) -> String {
        let ids: Vec<&Value> = npcs.iter().map(|npc| &npc["id"]).collect();
        let made = self.server.admin.post("/api/conversations", json!({"npcIds": ids})).await;
        made.expect(StatusCode::CREATED).await["id"].as_str().unwrap().to_owned()
    }

    fn name(&self, at: usize) -> &str {
        self.npcs[at]["name"].as_str().unwrap()
    }

    /// What was told for each step of a reply.
    async fn told(&self, message: &Value) -> Vec<Value> {
        let path = format!("/api/messages/{}/prompt", message["id"].as_str().unwrap());
        let told = self.until(&path, |told| told["steps"].as_array().is_some_and(|steps| !steps.is_empty())).await;
        told["steps"].as_array().unwrap().clone()
    }

    /// The process of the server of everything, while it is connected.
    fn everything(&self) -> Option<i32> {
        let servers = self.server.app.tool_servers.all();
        let state = servers.iter().map(|server| server.state()).find(|state| {
            state.program.as_ref().is_some_and(|program| format!("{program:?}").contains("everything"))
        })?;
        state.process.filter(|_| state.is_connected()).and_then(|process| i32::try_from(process).ok())
    }

    /// Answers the process that was killed.
    fn kill_everything(&self) -> i32 {
        let process = self.everything().unwrap();
        kill_process(Pid::from_raw(process).unwrap(), Signal::KILL).unwrap();
        process
    }
}

fn section<'a>(step: &'a Value, place: &str) -> Option<&'a str> {
    step["sections"].as_array()?.iter().find(|section| section["place"] == place)?["text"].as_str()
}

fn results(message: &Value) -> Vec<String> {
    let parts = message["parts"].as_array().unwrap();
    parts.iter().filter(|part| part["type"] == "tool-result").map(|part| part["output"].to_string()).collect()
}

#[tokio::test]
async fn a_party_of_three_solves_a_task_and_every_view_tells_the_same_story() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bell.txt"), "The bell is made of bronze: 8.7 kg a litre.").unwrap();
    let story = Story::begin(folder.path()).await;
    let (admin, provider) = (&story.server.admin, &story.server.provider);

    // Earlier, alone with the first of them.
    let earlier = story.conversation(&story.npcs[..1]).await;
    let (one, two) = (provider.expect(), provider.expect());
    let mut stream = admin
        .stream(&format!("/api/conversations/{earlier}/messages"), json!({"text": "The bell holds 40 litres."}))
        .await;
    calls(&one, "", "c", "remember", &json!({"text": "The bell of the tower has a volume of 40 litres of metal."}));
    two.text("I will remember that.");
    two.finish();
    stream.to_end().await;
    let asked_before = provider.times_asked();

    // The task.
    let id = story.conversation(&story.npcs).await;
    let path = format!("/api/conversations/{id}");
    let scripts: Vec<Script> = (0..7).map(|_| provider.expect()).collect();
    let mut stream =
        admin.stream(&format!("{path}/messages"), json!({"text": "How heavy is the bell of the tower?"})).await;
    calls(&scripts[0], "I know how. ", "a", "load_skill", &json!({"name": "weighing"}));
    calls(&scripts[1], "Measuring. ", "b", "all__trigger-long-running-operation", &json!({"duration": 20, "steps": 4}));
    story
        .until(&format!("/admin/actors/{id}"), |actor| actor["phase"] == "tool:all__trigger-long-running-operation")
        .await;
    let killed = story.kill_everything();
    calls(
        &scripts[2],
        "The instrument broke. ",
        "c",
        "message_npc",
        &json!({"npc": story.name(1), "message": "It holds 40 litres. Read bell.txt and find what it is made of."}),
    );
    let file = folder.path().canonicalize().unwrap().join("bell.txt");
    calls(&scripts[3], "Reading. ", "a", "files__read_text_file", &json!({"path": file}));
    // The server that died is started again; whoever speaks next has its tools.
    eventually(|| story.everything().filter(|process| *process != killed), || "it stays away".to_owned()).await;
    calls(
        &scripts[4],
        "Bronze. ",
        "b",
        "message_npc",
        &json!({"npc": story.name(2), "message": "Multiply 40 and 8.7."}),
    );
    let actor = story.until(&format!("/admin/actors/{id}"), |actor| actor["hop"]["count"] == 2).await;
    assert_eq!((&actor["speaker"]["name"], &actor["hop"]["limit"]), (&json!(story.name(2)), &json!(6)));
    calls(&scripts[5], "Adding. ", "a", "all__get-sum", &json!({"a": 300, "b": 48}));
    scripts[6].text("The bell weighs 348 kg.");
    scripts[6].finish();
    stream.to_end().await;
    assert_eq!(stream.terminal_frames(), 1);

    // The transcript.
    let page = admin.get(&format!("{path}/messages")).await.expect(StatusCode::OK).await;
    let messages = page["items"].as_array().unwrap();
    let said: Vec<(&str, &str, u64)> = messages
        .iter()
        .map(|message| {
            (
                message["author"]["name"].as_str().unwrap(),
                message["text"].as_str().unwrap(),
                message["hop"]["count"].as_u64().unwrap(),
            )
        })
        .collect();
    let player = said[0].0;
    let expected = [
        (player, "How heavy is the bell of the tower?", 0),
        (story.name(0), "I know how. Measuring. The instrument broke. ", 0),
        (story.name(1), "Reading. Bronze. ", 1),
        (story.name(2), "Adding. The bell weighs 348 kg.", 2),
    ];
    assert_eq!(said, expected);
    assert!(
        messages.iter().all(|message| message["status"] == "complete" && message["turnId"] == messages[0]["turnId"])
    );
    let first = results(&messages[1]);
    assert!(first[0].contains("Measure it, find what it is made of, multiply."), "{first:?}");
    assert!(first[1].to_lowercase().contains("connection") || first[1].contains("ended"), "{first:?}");
    assert!(results(&messages[2])[0].contains("8.7 kg a litre"), "{:?}", results(&messages[2]));
    assert!(results(&messages[3])[0].contains("348"), "{:?}", results(&messages[3]));

    // What each of them was told: as it was sent.
    let (one, two, three) =
        (story.told(&messages[1]).await, story.told(&messages[2]).await, story.told(&messages[3]).await);
    assert_eq!((one.len(), two.len(), three.len()), (3, 2, 2));
    for (sent, step) in (asked_before..).zip(one.iter().chain(&two).chain(&three)) {
        let request = provider.asked(sent).await;
        let texts: Vec<&str> =
            step["sections"].as_array().unwrap().iter().map(|section| section["text"].as_str().unwrap()).collect();
        assert_eq!(texts.join("\n\n"), *request.system, "request {sent}");
        assert_eq!(step["messages"].as_array().unwrap().len(), request.items.len(), "request {sent}");
    }
    assert!(section(&one[0], "memory").unwrap().contains("40 litres of metal"));
    assert!(section(&one[0], "skills").unwrap().contains("weighing"));
    let last = |step: &Value| step["messages"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap().to_owned();
    let handed = format!(
        "[{} to {}]: It holds 40 litres. Read bell.txt and find what it is made of.",
        story.name(0),
        story.name(1)
    );
    assert!(last(&two[0]).ends_with(&handed), "{}", last(&two[0]));
    assert!(section(&two[0], "memory").is_none(), "what one was told in private the other does not know");
    assert!(last(&three[0]).ends_with(&format!("[{} to {}]: Multiply 40 and 8.7.", story.name(1), story.name(2))));

    // Where it ended, operators see it at rest.
    let actor = story.until(&format!("/admin/actors/{id}"), |actor| actor["state"] == "idle").await;
    assert_eq!(
        (&actor["phase"], &actor["lastError"], &actor["history"]["messages"]),
        (&Value::Null, &Value::Null, &json!(4))
    );
}
