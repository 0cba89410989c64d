use std::time::Duration;

use futures_util::{StreamExt, stream::BoxStream};
use hamlet_test_support::{Client, Events, Script, StoppedClock, TestServer};
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};

const SECRET: &str = "the treasure is under the well";

/// A turn that has begun to answer: its Conversation, what plays the Provider, and a tab that has seen it.
async fn half_answered(server: &TestServer, client: &Client) -> (String, Script, Events) {
    let id = server.conversation_of(client).await;
    let script = server.provider.expect();
    let mut tab = client.stream(&format!("/api/conversations/{id}/messages"), json!({"text": SECRET})).await;
    script.text("Half");
    tab.until_text("Half").await;
    (id, script, tab)
}

async fn actor(server: &TestServer, id: &str) -> Value {
    server.admin.get(&format!("/admin/actors/{id}")).await.expect(StatusCode::OK).await
}

async fn act(server: &TestServer, id: &str, action: &str) -> hamlet_test_support::Answer {
    server.admin.post(&format!("/admin/actors/{id}/{action}"), json!({})).await
}

/// What operators did, the newest first: action, outcome and details.
async fn audit(server: &TestServer) -> Vec<(String, String, Value)> {
    let page = server.admin.get("/admin/audit").await.expect(StatusCode::OK).await;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let items = page["items"].as_array().unwrap();
    items.iter().map(|item| (text(&item["action"]), text(&item["outcome"]), item["details"].clone())).collect()
}

#[tokio::test]
async fn an_operator_sees_everything_about_a_running_turn_whoever_it_is_of() {
    let server = TestServer::start().await;
    let quill = server.player("Quill").await;
    let (id, script, mut tab) = half_answered(&server, &quill).await;
    let seen = actor(&server, &id).await;
    for (name, expected) in [
        ("conversationId", json!(id)),
        ("state", json!("running")),
        ("phase", json!("streaming")),
        ("step", json!(1)),
        ("hop", json!({"count": 0, "limit": 6})),
        ("queue", json!(0)),
        ("mailbox", json!({"depth": 0, "capacity": 64})),
        ("watchers", json!({"count": 1, "lags": [0]})),
        ("cursor", json!(tab.last_id)),
        ("epoch", json!(1)),
        ("summary", json!(null)),
        ("restarts", json!({"recent": 0, "total": 0})),
        ("lastError", json!(null)),
        ("redacted", json!(true)),
    ] {
        assert_eq!(seen[name], expected, "{name} of {seen}");
    }
    assert_eq!(seen["player"]["name"], "Quill");
    assert_eq!(seen["turn"]["id"], json!(tab.transcript.entries()[1].turn_id));
    assert_eq!(seen["turn"]["messageId"], json!(tab.transcript.entries()[1].id));
    assert!(seen["turn"]["since"].as_str() <= seen["now"].as_str());
    assert!(seen["speaker"]["name"].is_string() && seen["lastActivity"].is_string());
    assert!(seen["memoryBytes"].as_u64() > Some(0) && seen["history"]["tokens"].is_u64());
    let messages = seen["messages"].as_array().unwrap();
    let states: Vec<_> = messages.iter().map(|message| (&message["status"], &message["characters"])).collect();
    assert_eq!(states, [(&json!("complete"), &json!(SECRET.len())), (&json!("running"), &json!(4))]);
    script.finish();
    tab.to_end().await;
    let idle = actor(&server, &id).await;
    assert_eq!((&idle["state"], &idle["turn"], &idle["speaker"]), (&json!("idle"), &json!(null), &json!(null)));
}

#[tokio::test]
async fn only_admins_come_in_and_only_with_json() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let (stranger, player) = (Client::new(server.address), server.player("Quill").await);
    let gets = ["/admin/actors", &format!("/admin/actors/{id}"), "/admin/events", "/admin/audit"];
    let posts = ["abort", "restart", "retire", "release"].map(|action| format!("/admin/actors/{id}/{action}"));
    for (client, status, code) in
        [(&stranger, StatusCode::UNAUTHORIZED, "UNAUTHENTICATED"), (&player, StatusCode::FORBIDDEN, "FORBIDDEN")]
    {
        for path in gets {
            assert_eq!(client.get(path).await.refused(status).await, code, "{path}");
        }
        for path in &posts {
            assert_eq!(client.post(path, json!({})).await.refused(status).await, code, "{path}");
        }
    }
    for path in &posts {
        let form = server.admin.request(Method::POST, path).body("{}").send().await.unwrap();
        assert_eq!(form.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{path}");
        let foreign = server.admin.request(Method::POST, path).header(header::ORIGIN, "https://evil.example");
        assert_eq!(foreign.json(&json!({})).send().await.unwrap().status(), StatusCode::FORBIDDEN, "{path}");
        let typo = server.admin.post(path, json!({"turnid": 1})).await;
        assert_eq!(typo.refused(StatusCode::BAD_REQUEST).await, "INVALID_BODY", "{path}");
    }
    assert_eq!(audit(&server).await, [], "what is refused at the door is no deed");
}

#[tokio::test]
async fn the_list_is_filtered_by_state_and_player_and_comes_in_pages() {
    let server = TestServer::start().await;
    let quill = server.player("Quill").await;
    let mut ids = Vec::new();
    let mut playing = Vec::new();
    for client in [&server.admin, &quill, &quill, &server.admin] {
        let (id, script, tab) = half_answered(&server, client).await;
        ids.push(id);
        playing.push((script, tab));
    }
    let (script, mut tab) = playing.remove(3);
    script.finish();
    tab.to_end().await;
    let list = async |query: &str| {
        let page = server.admin.get(&format!("/admin/actors?{query}")).await.expect(StatusCode::OK).await;
        let found: Vec<usize> = page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| ids.iter().position(|id| item["conversationId"] == json!(id)).unwrap())
            .collect();
        (found, page)
    };
    assert_eq!(list("").await.0, [3, 2, 1, 0]);
    assert_eq!(list("state=running").await.0, [2, 1, 0]);
    assert_eq!(list("state=idle,quarantined").await.0, [3]);
    assert_eq!(list("player=quill").await.0, [2, 1], "whatever the case");
    let player = list("player=Quill").await.1["items"][0]["player"]["id"].as_str().unwrap().to_owned();
    assert_eq!(list(&format!("player={player}&state=running")).await.0, [2, 1]);
    assert_eq!(list("player=nobody").await.0, Vec::<usize>::new());
    let (found, page) = list("limit=3").await;
    assert_eq!((found, &page["counts"]["total"]), (vec![3, 2, 1], &json!(4)));
    assert_eq!((&page["counts"]["states"]["running"], &page["counts"]["states"]["asleep"]), (&json!(3), &json!(0)));
    let (rest, page) = list(&format!("limit=3&after={}", page["next"].as_str().unwrap())).await;
    assert_eq!((rest, &page["next"]), (vec![0], &json!(null)));
    for query in ["state=busy", "limit=0", "after=junk", "colour=red"] {
        let answer = server.admin.get(&format!("/admin/actors?{query}")).await;
        assert_eq!(answer.refused(StatusCode::BAD_REQUEST).await, "INVALID_BODY", "{query}");
    }
}

#[tokio::test]
async fn what_was_said_is_left_out_until_it_is_asked_for_and_then_that_is_written_down_first() {
    let server = TestServer::start().await;
    let (id, script, mut tab) = half_answered(&server, &server.admin).await;
    script.text(" of it is silver");
    tab.until_text("Half of it is silver").await;
    let mut events = Changes::of(&server.admin, "").await;
    let told = events.next().await.to_string();
    for path in ["/admin/actors", &format!("/admin/actors/{id}"), &format!("/admin/actors/{id}?text=0"), "/admin/audit"]
    {
        let told = server.admin.get(path).await.expect(StatusCode::OK).await.to_string();
        assert!(!told.contains("treasure") && !told.contains("silver"), "{path}: {told}");
    }
    assert!(!told.contains("treasure") && !told.contains("silver"), "{told}");
    assert_eq!(audit(&server).await, []);

    let path = format!("/admin/actors/{id}?text=1");
    let read = server.admin.get(&path).await.expect(StatusCode::OK).await;
    assert_eq!(read["conversation"]["title"], json!(SECRET));
    assert_eq!(read["messages"][0]["parts"], json!([{"type": "text", "text": SECRET}]));
    assert_eq!(read["messages"][1]["parts"], json!([{"type": "text", "text": "Half of it is silver"}]));
    assert_eq!(audit(&server).await, [("read-text".to_owned(), "ok".to_owned(), json!({"messages": 2}))]);

    refuse(&server, "audit", "INSERT").await;
    let refused = server.admin.get(&path).await;
    assert!(!refused.0.status().is_success());
    let told = refused.0.text().await.unwrap();
    assert!(!told.contains("treasure"), "{told}");
    assert_eq!(server.admin.get(&format!("{path}&text=2")).await.0.status(), StatusCode::BAD_REQUEST);
}

/// From now on the store refuses such changes.
async fn refuse(server: &TestServer, table: &str, change: &str) {
    let sql = format!(
        "CREATE TRIGGER refuse_{table} BEFORE {change} ON {table} BEGIN SELECT RAISE(ABORT, 'as the test asked'); END"
    );
    server.app.store.write(move |conn| Ok(conn.execute_batch(&sql)?)).await.unwrap();
}

#[tokio::test]
async fn a_conversation_that_sleeps_is_shown_from_the_store_and_nobody_is_woken_for_it() {
    let server = TestServer::start().await;
    let (id, script, mut tab) = half_answered(&server, &server.admin).await;
    script.finish();
    tab.to_end().await;
    let cursor = tab.last_id;
    drop(tab);
    let server = server.restarted().await;
    let seen = actor(&server, &id).await;
    assert_eq!(
        (&seen["state"], &seen["cursor"], &seen["epoch"], &seen["mailbox"]),
        (&json!("asleep"), &json!(cursor), &json!(1), &json!(null))
    );
    assert_eq!((&seen["conversation"]["messages"], &seen["player"]["name"]), (&json!(2), &json!("admin")));
    assert_eq!(seen["messages"].as_array().unwrap().len(), 2);
    let aborted = act(&server, &id, "abort").await.expect(StatusCode::OK).await;
    assert_eq!(aborted, json!({"aborted": false, "turnId": null}));
    let list = server.admin.get("/admin/actors").await.expect(StatusCode::OK).await;
    assert_eq!((&list["items"], &list["counts"]["total"]), (&json!([]), &json!(0)));

    let gone = server.admin.request(Method::DELETE, &format!("/api/conversations/{id}")).send().await.unwrap();
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    for id in [id.as_str(), "01890000-0000-7000-8000-000000000000", "junk"] {
        let path = format!("/admin/actors/{id}");
        assert_eq!(server.admin.get(&path).await.refused(StatusCode::NOT_FOUND).await, "NOT_FOUND");
        for action in ["abort", "restart", "retire", "release"] {
            assert_eq!(act(&server, id, action).await.refused(StatusCode::NOT_FOUND).await, "NOT_FOUND");
        }
    }
}

#[tokio::test]
async fn an_operator_stops_somebody_elses_turn_and_everybody_sees_its_end() {
    let server = TestServer::start().await;
    let quill = server.player("Quill").await;
    let (id, mut script, mut tab) = half_answered(&server, &quill).await;
    let path = format!("/admin/actors/{id}/abort");
    let other = json!({"turnId": "01890000-0000-7000-8000-000000000000"});
    assert_eq!(server.admin.post(&path, other).await.refused(StatusCode::CONFLICT).await, "TURN_MISMATCH");
    let turn = json!(tab.transcript.entries()[1].turn_id);
    let aborted = server.admin.post(&path, json!({"turnId": turn})).await.expect(StatusCode::OK).await;
    assert_eq!(aborted, json!({"aborted": true, "turnId": turn}));
    script.closed().await;
    tab.to_end().await;
    assert_eq!((tab.terminal_frames(), tab.last_text().as_str()), (1, "Half"));
    let deeds = audit(&server).await;
    assert_eq!(deeds[0], ("abort".to_owned(), "ok".to_owned(), aborted));
    assert_eq!(deeds[1], ("abort".to_owned(), "TURN_MISMATCH".to_owned(), json!({"turnId": turn})));
    let page = server.admin.get("/admin/audit?limit=1").await.expect(StatusCode::OK).await;
    let entry = &page["items"][0];
    assert_eq!((&entry["player"]["name"], &entry["conversationId"]), (&json!("admin"), &json!(id)));
    let after = page["next"].as_str().unwrap();
    let rest = server.admin.get(&format!("/admin/audit?after={after}")).await.expect(StatusCode::OK).await;
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next"]), (1, &json!(null)));
}

#[tokio::test]
async fn what_does_not_apply_is_a_conflict_with_its_code_and_written_down_all_the_same() {
    let server = TestServer::start().await;
    let (id, script, mut tab) = half_answered(&server, &server.admin).await;
    let refused = async |action: &str| act(&server, &id, action).await.refused(StatusCode::CONFLICT).await;
    assert_eq!(refused("retire").await, "TURN_IN_PROGRESS");
    assert_eq!(refused("release").await, "NOT_QUARANTINED");
    script.finish();
    tab.to_end().await;
    assert_eq!(act(&server, &id, "retire").await.expect(StatusCode::OK).await, json!({"retired": true}));
    assert_eq!(refused("retire").await, "NOT_AWAKE");
    assert_eq!(refused("restart").await, "NOT_AWAKE");
    let outcomes: Vec<_> = audit(&server).await.into_iter().map(|(action, outcome, _)| (action, outcome)).collect();
    let expected = [
        ("restart", "NOT_AWAKE"),
        ("retire", "NOT_AWAKE"),
        ("retire", "ok"),
        ("release", "NOT_QUARANTINED"),
        ("retire", "TURN_IN_PROGRESS"),
    ];
    assert_eq!(outcomes, expected.map(|(action, outcome)| (action.to_owned(), outcome.to_owned())));
}

#[tokio::test]
async fn what_cannot_be_written_down_is_not_done() {
    let server = TestServer::start().await;
    let (id, script, mut tab) = half_answered(&server, &server.admin).await;
    refuse(&server, "audit", "INSERT").await;
    assert!(!act(&server, &id, "abort").await.0.status().is_success());
    assert!(!act(&server, &id, "restart").await.0.status().is_success());
    script.text(" and half");
    tab.until_text("Half and half").await;
}

#[tokio::test]
async fn a_restart_ends_the_turn_with_what_was_written_and_watchers_stay() {
    let server = TestServer::start().await;
    let (id, _script, mut tab) = half_answered(&server, &server.admin).await;
    let mut watch = server.admin.watch(&format!("/api/conversations/{id}/frames?after=0")).await;
    watch.until_text("Half").await;
    assert_eq!(act(&server, &id, "restart").await.expect(StatusCode::OK).await, json!({"restarted": true}));
    tab.to_end().await;
    assert_eq!((tab.terminal_frames(), tab.last_text().as_str()), (1, "Half"));
    let script = server.provider.expect();
    server
        .admin
        .post(&format!("/api/conversations/{id}/messages"), json!({"text": "Again"}))
        .await
        .expect(StatusCode::ACCEPTED)
        .await;
    script.text("Whole.");
    script.finish();
    watch.until_text("Whole.").await;
    let seen = actor(&server, &id).await;
    assert_eq!((&seen["restarts"]["total"], &seen["watchers"]["count"]), (&json!(1), &json!(1)));
    let scrape = server.admin.get("/metrics").await.0.text().await.unwrap();
    let line = r#"hamlet_turns_total{outcome="failed",code="INTERNAL"} 1"#;
    assert!(scrape.lines().any(|found| found == line), "{scrape}");
}

#[tokio::test]
async fn an_actor_that_keeps_failing_is_quarantined_counted_and_released() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    refuse(&server, "journal", "INSERT").await;
    let path = format!("/api/conversations/{id}/messages");
    for _ in 0..4 {
        let script = server.provider.expect();
        let mut tab = server.admin.stream(&path, json!({"text": "Hi"})).await;
        script.text("Never stored");
        tab.to_end().await;
    }
    let refused = server.admin.post(&path, json!({"text": "Hi"})).await;
    assert_eq!(refused.refused(StatusCode::SERVICE_UNAVAILABLE).await, "QUARANTINED");
    let seen = actor(&server, &id).await;
    assert_eq!((&seen["state"], &seen["lastError"]["code"]), (&json!("quarantined"), &json!("INTERNAL")));
    let scrape = server.admin.get("/metrics").await.0.text().await.unwrap();
    for line in [
        "hamlet_actor_restarts_total 3",
        "hamlet_actor_quarantines_total 1",
        r#"hamlet_actors{state="quarantined"} 1"#,
        r#"hamlet_turns_total{outcome="failed",code="QUARANTINED"} 1"#,
        r#"hamlet_turns_total{outcome="failed",code="INTERNAL"} 3"#,
    ] {
        assert!(scrape.lines().any(|found| found == line), "{line} is not in\n{scrape}");
    }
    assert_eq!(act(&server, &id, "restart").await.refused(StatusCode::CONFLICT).await, "NOT_AWAKE");

    server.app.store.write(|conn| Ok(conn.execute_batch("DROP TRIGGER refuse_journal")?)).await.unwrap();
    assert_eq!(act(&server, &id, "release").await.expect(StatusCode::OK).await, json!({"released": true}));
    let script = server.provider.expect();
    let mut tab = server.admin.stream(&path, json!({"text": "Better?"})).await;
    script.text("Yes.");
    script.finish();
    tab.to_end().await;
    assert_eq!(tab.last_text(), "Yes.");
}

#[tokio::test]
async fn actors_readers_and_mailboxes_are_gauges_of_the_moment() {
    let server = TestServer::start().await;
    let (id, _script, _tab) = half_answered(&server, &server.admin).await;
    let _watch = server.admin.watch(&format!("/api/conversations/{id}/frames")).await;
    let (other, _other_script, _other_tab) = half_answered(&server, &server.admin).await;
    for id in [&id, &other] {
        let later = json!({"text": "Later", "onBusy": "enqueue"});
        let path = format!("/api/conversations/{id}/messages");
        server.admin.post(&path, later).await.expect(StatusCode::ACCEPTED).await;
    }
    let scrape = server.admin.get("/metrics").await.0.text().await.unwrap();
    for line in [
        r#"hamlet_actors{state="running"} 2"#,
        r#"hamlet_actors{state="idle"} 0"#,
        "hamlet_watchers 3",
        "hamlet_queue_length 2",
        "hamlet_mailbox_depth 0",
    ] {
        assert!(scrape.lines().any(|found| found == line), "{line} is not in\n{scrape}");
    }
}

/// The stream of changes, event by event.
struct Changes {
    bytes: BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    buffer: String,
}

impl Changes {
    async fn of(client: &Client, query: &str) -> Self {
        let response = client.request(Method::GET, &format!("/admin/events?{query}")).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        Self { bytes: response.bytes_stream().boxed(), buffer: String::new() }
    }

    /// The next event's data; null at the end of the stream.
    async fn next(&mut self) -> Value {
        let reading = async {
            loop {
                if let Some((event, rest)) = self.buffer.split_once("\n\n") {
                    let data = event.strip_prefix("data: ").map(|data| serde_json::from_str(data).unwrap());
                    self.buffer = rest.to_owned();
                    if let Some(data) = data {
                        return data;
                    }
                    continue;
                }
                match self.bytes.next().await {
                    Some(Ok(chunk)) => self.buffer.push_str(std::str::from_utf8(&chunk).unwrap()),
                    Some(Err(_)) | None => return Value::Null,
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(10), reading).await.unwrap()
    }

    /// Reads until an event fits.
    async fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.next().await;
            assert_ne!(event, Value::Null, "the stream ended");
            if fits(&event) {
                return event;
            }
        }
    }
}

#[tokio::test]
async fn the_stream_opens_with_the_page_and_tells_what_changes_on_it() {
    let server = TestServer::start().await;
    let (first, first_script, _first_tab) = half_answered(&server, &server.admin).await;
    let mut events = Changes::of(&server.admin, "state=running&limit=1").await;
    let opened = events.next().await;
    assert_eq!((&opened["page"], &opened["next"]), (&json!([first]), &json!(null)));
    assert_eq!(
        (&opened["items"][0]["phase"], &opened["items"][0]["player"]["name"]),
        (&json!("streaming"), &json!("admin"))
    );

    let quill = server.player("Quill").await;
    let (second, second_script, mut second_tab) = half_answered(&server, &quill).await;
    let turned = events.until(|event| event["page"] == json!([second])).await;
    assert_eq!(turned["items"].as_array().unwrap().len(), 1, "the one that is new on it");
    assert_eq!(turned["counts"]["states"]["running"], json!(2));
    assert!(turned["next"].is_string(), "the other is behind it");

    second_script.finish();
    second_tab.to_end().await;
    let turned = events.until(|event| event["page"] == json!([first])).await;
    assert_eq!(turned["items"][0]["conversationId"], json!(first), "who moves up is told in full");
    first_script.finish();
    let emptied = events.until(|event| event["page"] == json!([])).await;
    assert_eq!(emptied["counts"]["states"]["running"], json!(0));
}

#[tokio::test]
async fn the_stream_of_one_player_hears_of_conversations_that_begin_later() {
    let server = TestServer::start().await;
    let quill = server.player("Quill").await;
    let mut events = Changes::of(&server.admin, "player=quill").await;
    assert_eq!(events.next().await["page"], json!([]));
    let (_others, _script, _tab) = half_answered(&server, &server.admin).await;
    let (quills, _script, _tab) = half_answered(&server, &quill).await;
    let turned = events.until(|event| event["page"].is_array()).await;
    assert_eq!(turned["page"], json!([quills]));
}

#[tokio::test]
async fn the_stream_ends_for_who_is_no_admin_any_more_and_when_hamlet_stops() {
    let server = TestServer::start().await;
    let other = json!({"name": "Other", "password": "correct horse", "role": "admin"});
    let made = server.admin.post("/api/users", other.clone()).await.expect(StatusCode::CREATED).await;
    let mut second = Client::new(server.address);
    let body = json!({"name": "Other", "password": "correct horse"});
    let response = second.request(Method::POST, "/api/auth/sign-in").json(&body).send().await.unwrap();
    second.cookie = response.headers()[header::SET_COOKIE].to_str().unwrap().split(';').next().map(str::to_owned);
    let (mut stays, mut demoted) = (Changes::of(&server.admin, "").await, Changes::of(&second, "").await);
    stays.next().await;
    demoted.next().await;
    let path = format!("/api/users/{}", made["id"].as_str().unwrap());
    server.admin.send(Method::PATCH, &path, json!({"role": "player"})).await.expect(StatusCode::OK).await;
    // The next sign of life is due.
    let clock = StoppedClock::new();
    clock.advance(Duration::from_secs(16)).await;
    drop(clock);
    assert_eq!(demoted.next().await, Value::Null);
    let (_id, _script, _tab) = half_answered(&server, &server.admin).await;
    stays.until(|event| event["counts"]["total"] == json!(1)).await;
    server.stop.cancel();
    while stays.next().await != Value::Null {}
    server.running.await.unwrap();
}
