//! Tools and hand-overs over HTTP: approvals from any tab, going on behind a limit, and what a reply was told.

use hamlet_actors::{
    ports::ProviderEvent,
    vocabulary::{CallDelta, CallState, Delta, ErrorCode, MessageStatus, Part},
};
use hamlet_test_support::{Events, Script, TestServer};
use http::{Method, StatusCode};
use serde_json::{Value, json};

/// A Conversation with these of the Village's first inhabitants, and a tab that watches it from the beginning.
struct Scene {
    server: TestServer,
    id: String,
    npcs: Vec<Value>,
    tab: Events,
}

impl Scene {
    async fn with(count: usize) -> Self {
        let server = TestServer::start().await;
        let npcs = server.admin.get("/api/npcs").await.expect(StatusCode::OK).await;
        let npcs: Vec<Value> = npcs["items"].as_array().unwrap()[..count].to_vec();
        let ids: Vec<&Value> = npcs.iter().map(|npc| &npc["id"]).collect();
        let made =
            server.admin.post("/api/conversations", json!({"npcIds": ids})).await.expect(StatusCode::CREATED).await;
        let id = made["id"].as_str().unwrap().to_owned();
        let tab = server.admin.watch(&format!("/api/conversations/{id}/frames?after=0")).await;
        Self { server, id, npcs, tab }
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/conversations/{}/{rest}", self.id)
    }

    async fn grant(&self, grants: Value) {
        let path = format!("/api/npcs/{}/grants", self.npcs[0]["id"].as_str().unwrap());
        self.server.admin.send(Method::PUT, &path, grants).await.expect(StatusCode::OK).await;
    }

    async fn say(&self, text: &str) -> Value {
        self.server.admin.post(&self.path("messages"), json!({"text": text})).await.expect(StatusCode::ACCEPTED).await
    }

    async fn decide(&self, body: Value) -> hamlet_test_support::Answer {
        self.server.admin.post(&self.path("approvals"), body).await
    }

    async fn until_call(&mut self, state: CallState) {
        let is = |part: &Part| matches!(part, Part::ToolCall(call) if call.state == state);
        let seen = |tab: &Events| tab.transcript.entries().last().is_some_and(|entry| entry.parts.iter().any(is));
        assert!(self.tab.until(seen).await, "{:?}", self.tab.transcript);
    }

    async fn until_ended(&mut self, turns: usize) {
        assert!(self.tab.until(|tab| tab.terminal_frames() == turns).await);
    }

    fn name(&self, at: usize) -> &str {
        self.npcs[at]["name"].as_str().unwrap()
    }
}

fn calls(script: &Script, name: &str, arguments: &Value) {
    let call = CallDelta { id: "c".into(), name: name.into(), arguments: arguments.to_string(), closed: true };
    script.events(vec![ProviderEvent::Delta(Delta::Call(call))]);
    script.finish();
}

#[tokio::test]
async fn a_call_waits_for_the_first_yes_of_any_tab_and_runs_with_what_was_approved() {
    let mut scene = Scene::with(1).await;
    scene.grant(json!([{"tool": "calculate", "approval": "always"}])).await;
    let (first, second) = (scene.server.provider.expect(), scene.server.provider.expect());
    scene.say("How much is it?").await;
    calls(&first, "calculate", &json!({"expression": "6*7"}));
    scene.until_call(CallState::AwaitingApproval).await;
    let actor = scene.server.admin.get(&format!("/admin/actors/{}", scene.id)).await.expect(StatusCode::OK).await;
    assert_eq!(actor["phase"], "tool:calculate");
    for (body, status, code) in [
        (json!({"toolCallId": "c"}), StatusCode::BAD_REQUEST, "INVALID_BODY"),
        (json!({"toolCallId": "c", "decision": "perhaps"}), StatusCode::BAD_REQUEST, "INVALID_BODY"),
        (json!({"toolCallId": "c", "decision": "approve", "input": "6*7"}), StatusCode::BAD_REQUEST, "INVALID_BODY"),
        (json!({"toolCallId": "c", "decision": "deny", "input": {}}), StatusCode::BAD_REQUEST, "INVALID_BODY"),
        (json!({"toolCallId": "c", "decision": "deny", "why": "x"}), StatusCode::BAD_REQUEST, "INVALID_BODY"),
        (json!({"toolCallId": "x", "decision": "deny"}), StatusCode::CONFLICT, "NOT_AWAITING"),
    ] {
        assert_eq!(scene.decide(body.clone()).await.refused(status).await, code, "{body}");
    }
    let stranger = scene.server.player("Stranger").await;
    let word = json!({"toolCallId": "c", "decision": "approve", "input": {"expression": "6*8"}});
    let foreign = stranger.post(&scene.path("approvals"), word.clone()).await;
    assert_eq!(foreign.refused(StatusCode::NOT_FOUND).await, "NOT_FOUND");
    scene.decide(word.clone()).await.expect(StatusCode::NO_CONTENT).await;
    assert_eq!(scene.decide(word).await.refused(StatusCode::CONFLICT).await, "NOT_AWAITING");
    second.text("48.");
    second.finish();
    scene.until_ended(1).await;
    let parts = &scene.tab.transcript.entries().last().unwrap().parts;
    assert!(matches!(&parts[1], Part::ToolResult(result) if result.output == "48" && !result.is_error), "{parts:?}");
}

#[tokio::test]
async fn what_a_reply_was_told_is_shown_step_by_step_as_it_was_sent() {
    let mut scene = Scene::with(1).await;
    scene.grant(json!([{"tool": "calculate"}])).await;
    let (first, second) = (scene.server.provider.expect(), scene.server.provider.expect());
    let turn = scene.say("How much is 6*7?").await;
    first.text("Let me see.");
    calls(&first, "calculate", &json!({"expression": "6*7"}));
    scene.server.provider.asked(1).await;
    second.text("42.");
    second.finish();
    scene.until_ended(1).await;
    let told = scene.server.admin.get(&format!("/api/messages/{}/prompt", turn["messageId"].as_str().unwrap())).await;
    let told = told.expect(StatusCode::OK).await;
    let steps = told["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    for (nth, step) in steps.iter().enumerate() {
        let sent = scene.server.provider.asked(nth).await;
        let sections: Vec<&str> =
            step["sections"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
        assert_eq!(sections.join("\n\n"), *sent.system, "step {nth}");
        assert_eq!(step["tools"][0]["name"], "calculate");
        assert_eq!(step["tools"][0]["parameters"], sent.tools[0].parameters);
        assert_eq!(step["messages"].as_array().unwrap().len(), sent.items.len());
        let total = step["tokens"]["total"].as_u64().unwrap();
        assert!(total > 0 && total >= step["tokens"]["sections"].as_u64().unwrap());
    }
    let roles: Vec<&Value> = steps[1]["messages"].as_array().unwrap().iter().map(|item| &item["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
    assert_eq!(steps[1]["messages"][1]["calls"][0]["arguments"], r#"{"expression":"6*7"}"#);
    let stranger = scene.server.player("Stranger").await;
    for path in [
        format!("/api/messages/{}/prompt", turn["messageId"].as_str().unwrap()),
        scene.path("prompt"),
        scene.path("summary"),
    ] {
        assert_eq!(stranger.get(&path).await.refused(StatusCode::NOT_FOUND).await, "NOT_FOUND", "{path}");
    }
}

#[tokio::test]
async fn what_would_be_told_now_is_what_the_next_reply_is_told_but_for_the_question() {
    let mut scene = Scene::with(2).await;
    let script = scene.server.provider.expect();
    scene.say("Hello").await;
    script.text("Good day.");
    script.finish();
    scene.until_ended(1).await;
    let other = scene.npcs[1]["id"].as_str().unwrap();
    let now = scene.server.admin.get(&scene.path(&format!("prompt?npcId={other}"))).await.expect(StatusCode::OK).await;
    let asked = scene.server.provider.times_asked();
    let script = scene.server.provider.expect();
    let body = json!({"text": "And you?", "to": other});
    scene.server.admin.post(&scene.path("messages"), body).await.expect(StatusCode::ACCEPTED).await;
    let sent = scene.server.provider.asked(asked).await;
    script.finish();
    let sections: Vec<&str> =
        now["sections"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert_eq!(sections.join("\n\n"), *sent.system);
    assert_eq!(now["npcId"], other);
    let text = format!("Hello\n\n[{}]: Good day.", scene.name(0));
    assert_eq!(now["messages"], json!([{"role": "user", "text": text, "tokens": text.len().div_ceil(4)}]));
    let nobody = scene.path("prompt?npcId=0198c0de-0000-7000-8000-000000000000");
    assert_eq!(scene.server.admin.get(&nobody).await.refused(StatusCode::BAD_REQUEST).await, "NO_NPC");
    for odd in ["prompt?npcId=x", "prompt?npc=1"] {
        assert_eq!(scene.server.admin.get(&scene.path(odd)).await.0.status(), StatusCode::BAD_REQUEST, "{odd}");
    }
}

#[tokio::test]
async fn promise_14_behind_the_hop_limit_the_player_may_allow_more() {
    let mut scene = Scene::with(2).await;
    scene.server.admin.send(Method::PATCH, "/api/settings", json!({"hopLimit": 0})).await.expect(StatusCode::OK).await;
    let nothing = scene.server.admin.post(&scene.path("continue"), json!({})).await;
    assert_eq!(nothing.refused(StatusCode::BAD_REQUEST).await, "NOTHING_TO_CONTINUE");
    let script = scene.server.provider.expect();
    scene.say("Who knows?").await;
    let other = scene.name(1).to_owned();
    calls(&script, "message_npc", &json!({"npc": other, "message": "Do you know?"}));
    scene.until_ended(1).await;
    let last = scene.tab.transcript.entries().last().unwrap().clone();
    assert_eq!((last.status, last.error.unwrap().code), (MessageStatus::Complete, ErrorCode::HopLimit));
    for bad in [json!({"hops": 0}), json!({"hops": 101}), json!({"hops": -1}), json!({"more": 1})] {
        assert_eq!(
            scene.server.admin.post(&scene.path("continue"), bad).await.refused(StatusCode::BAD_REQUEST).await,
            "INVALID_BODY"
        );
    }
    let script = scene.server.provider.expect();
    scene.server.admin.post(&scene.path("continue"), json!({"hops": 2})).await.expect(StatusCode::ACCEPTED).await;
    let sent = scene.server.provider.asked(1).await;
    assert!(sent.system.contains(&format!("You are {other}")));
    let handed = format!("[{} to {other}]: Do you know?", scene.name(0));
    assert!(format!("{:?}", sent.items.last()).contains(&handed), "{:?}", sent.items);
    script.text("I do.");
    script.finish();
    scene.until_ended(2).await;
    let last = scene.tab.transcript.entries().last().unwrap();
    assert_eq!((last.author.name.as_str(), last.hop.limit), (other.as_str(), 2));
    let done = scene.server.admin.post(&scene.path("continue"), json!({})).await;
    assert_eq!(done.refused(StatusCode::BAD_REQUEST).await, "NOTHING_TO_CONTINUE");
}

#[tokio::test]
async fn behind_a_reply_that_was_stopped_its_speaker_goes_on() {
    let mut scene = Scene::with(1).await;
    let script = scene.server.provider.expect();
    let turn = scene.say("Tell me everything").await;
    script.text("First,");
    scene.tab.until_text("First,").await;
    scene.server.admin.post(&scene.path("abort"), json!({"turnId": turn["turnId"]})).await.expect(StatusCode::OK).await;
    let script = scene.server.provider.expect();
    scene.server.admin.post(&scene.path("continue"), json!({})).await.expect(StatusCode::ACCEPTED).await;
    let sent = format!("{:?}", scene.server.provider.asked(1).await.items);
    assert!(sent.contains("First,") && sent.contains("Go on from where you stopped"), "{sent}");
    script.text("second.");
    script.finish();
    scene.until_ended(2).await;
    let page = scene.server.admin.get(&scene.path("messages")).await.expect(StatusCode::OK).await;
    let texts: Vec<&Value> = page["items"].as_array().unwrap().iter().map(|message| &message["text"]).collect();
    assert_eq!(texts, ["Tell me everything", "First,", "second."], "what nudged it is not in the transcript");
}

#[tokio::test]
async fn a_summary_is_seen_edited_and_undone() {
    let mut scene = Scene::with(1).await;
    scene
        .server
        .admin
        .send(Method::PATCH, "/api/settings", json!({"windowTokens": 1000}))
        .await
        .expect(StatusCode::OK)
        .await;
    let empty = scene.server.admin.get(&scene.path("summary")).await.expect(StatusCode::OK).await;
    assert_eq!(empty, json!({"summary": null, "versions": []}));
    let gone = scene.server.admin.send(Method::DELETE, &scene.path("summary"), Value::Null).await;
    assert_eq!(gone.refused(StatusCode::NOT_FOUND).await, "NOT_FOUND");
    let long = "word ".repeat(300);
    for n in 0..4 {
        let script = scene.server.provider.expect();
        scene.say(&format!("Question {n}. {long}")).await;
        script.text("Answer.");
        script.finish();
        scene.until_ended(n + 1).await;
    }
    let shown = scene.server.admin.get(&scene.path("summary")).await.expect(StatusCode::OK).await;
    let version = shown["summary"]["version"].as_u64().unwrap();
    assert_eq!((&shown["summary"]["madeBy"], &shown["summary"]["fromPosition"]), (&json!("extract"), &json!(0)));
    for (body, status, code) in [
        (json!({"text": " ", "version": version}), StatusCode::BAD_REQUEST, "INVALID_BODY"),
        (json!({"text": "x".repeat(8_001), "version": version}), StatusCode::BAD_REQUEST, "INVALID_BODY"),
        (json!({"text": "x"}), StatusCode::BAD_REQUEST, "INVALID_BODY"),
        (json!({"text": "x", "version": version + 1}), StatusCode::CONFLICT, "CONFLICT"),
    ] {
        let refused = scene.server.admin.send(Method::PATCH, &scene.path("summary"), body).await;
        assert_eq!(refused.refused(status).await, code);
    }
    let body = json!({"text": "Pia asked four questions.", "version": version});
    let edited =
        scene.server.admin.send(Method::PATCH, &scene.path("summary"), body).await.expect(StatusCode::OK).await;
    assert_eq!(
        (&edited["summary"]["madeBy"], &edited["summary"]["text"]),
        (&json!("player"), &json!("Pia asked four questions."))
    );
    let now = scene.server.admin.get(&scene.path("prompt")).await.expect(StatusCode::OK).await;
    let summary = now["sections"].as_array().unwrap().iter().find(|section| section["place"] == "summary").unwrap();
    assert!(summary["text"].as_str().unwrap().ends_with("Pia asked four questions."));
    let undone =
        scene.server.admin.send(Method::DELETE, &scene.path("summary"), Value::Null).await.expect(StatusCode::OK).await;
    assert_eq!(undone["summary"], shown["summary"]);
    assert_eq!(undone["versions"][0]["inUse"], false);
}

#[tokio::test]
async fn a_text_that_waits_is_overtaken_by_a_hand_over_and_reads_alike_from_every_cursor() {
    let mut scene = Scene::with(2).await;
    let (first, second, third) =
        (scene.server.provider.expect(), scene.server.provider.expect(), scene.server.provider.expect());
    scene.say("Who knows?").await;
    first.text("Not me.");
    scene.tab.until_text("Not me.").await;
    let body = json!({"text": "And another thing", "onBusy": "enqueue"});
    scene.server.admin.post(&scene.path("messages"), body).await.expect(StatusCode::ACCEPTED).await;
    let waiting =
        |tab: &Events| tab.transcript.entries().last().map(|entry| entry.status) == Some(MessageStatus::Queued);
    assert!(scene.tab.until(waiting).await);
    calls(&first, "message_npc", &json!({"npc": scene.name(1), "message": "Do you?"}));
    scene.server.provider.asked(1).await;
    second.text("I do.");
    second.finish();
    third.text("Say it.");
    third.finish();
    scene.until_ended(2).await;
    let page = scene.server.admin.get(&scene.path("messages")).await.expect(StatusCode::OK).await;
    let texts: Vec<&Value> = page["items"].as_array().unwrap().iter().map(|message| &message["text"]).collect();
    assert_eq!(texts, ["Who knows?", "Not me.", "I do.", "And another thing", "Say it."]);
    let here = scene.tab.transcript.clone();
    let ids: Vec<u64> = scene.tab.frames.iter().filter_map(|(id, _)| *id).collect();
    for cursor in ids {
        let mut back = scene.server.admin.watch(&scene.path(&format!("frames?after={cursor}"))).await;
        let held = scene.tab.frames.iter().take_while(|(id, _)| id.is_none_or(|id| id <= cursor));
        held.for_each(|(_, frame)| back.transcript.fold(frame.clone()));
        assert!(back.until(|tab| tab.transcript.entries() == here.entries()).await, "from {cursor}");
    }
}
