use hamlet_test_support::{Client, TestServer};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

async fn code(
    client: &Client,
    method: Method,
    path: &str,
    body: Option<&str>,
    media: Option<&str>,
) -> (StatusCode, String) {
    let mut request = client.request(method, path);
    if let Some(media) = media {
        request = request.header("content-type", media);
    }
    let response = request.body(body.unwrap_or_default().to_owned()).send().await.unwrap();
    let (status, text) = (response.status(), response.text().await.unwrap());
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    (status, body["error"]["code"].as_str().unwrap_or(&text).to_owned())
}

#[tokio::test]
async fn promise_1_every_refusal_of_a_turn_has_its_status_and_leaves_nothing() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let path = format!("/api/conversations/{id}/messages");
    let path = path.as_str();
    let absent = "/api/conversations/01890000-0000-7000-8000-000000000000/messages";
    let json_type = Some("application/json");
    let ok = r#"{"text":"Hi"}"#;
    let long = format!(r#"{{"text":"{}"}}"#, "a".repeat(32_769));
    let huge = format!(r#"{{"text":"{}"}}"#, "a".repeat(2_000_000));
    let stranger = Client::new(server.address);
    let table = [
        (&stranger, path, ok, json_type, 401, "UNAUTHENTICATED"),
        (&stranger, path, "{", json_type, 401, "UNAUTHENTICATED"),
        (&server.admin, path, ok, Some("text/plain"), 415, "UNSUPPORTED_MEDIA_TYPE"),
        (&server.admin, path, ok, None, 415, "UNSUPPORTED_MEDIA_TYPE"),
        (&server.admin, path, "text=Hi", Some("application/x-www-form-urlencoded"), 415, "UNSUPPORTED_MEDIA_TYPE"),
        (&server.admin, path, "{", json_type, 400, "INVALID_BODY"),
        (&server.admin, path, "", json_type, 400, "INVALID_BODY"),
        (&server.admin, path, "null", json_type, 400, "INVALID_BODY"),
        (&server.admin, path, "{}", json_type, 400, "INVALID_BODY"),
        (&server.admin, path, r#"{"text":""}"#, json_type, 400, "INVALID_BODY"),
        (&server.admin, path, r#"{"text":7}"#, json_type, 400, "INVALID_BODY"),
        (&server.admin, path, r#"{"text":"Hi","colour":"red"}"#, json_type, 400, "INVALID_BODY"),
        (&server.admin, path, r#"{"text":"Hi","to":"nobody"}"#, json_type, 400, "INVALID_BODY"),
        (&server.admin, path, r#"{"text":"Hi","clientId":""}"#, json_type, 400, "INVALID_BODY"),
        (&server.admin, path, "{\"text\":\"\\ud800\"}", json_type, 400, "INVALID_BODY"),
        (&server.admin, path, &long, json_type, 400, "INVALID_BODY"),
        (&server.admin, path, &huge, json_type, 413, "BODY_TOO_LARGE"),
        (&server.admin, absent, ok, json_type, 404, "NOT_FOUND"),
        (&server.admin, absent, "{}", json_type, 400, "INVALID_BODY"),
        (&server.admin, "/api/conversations/junk/messages", ok, json_type, 404, "NOT_FOUND"),
        (&server.admin, "/api/nothing", ok, json_type, 404, "NOT_FOUND"),
        (&server.admin, path, r#"{"text":"Hi","to":"01890000-0000-7000-8000-000000000000"}"#, json_type, 400, "NO_NPC"),
    ];
    for (client, path, body, media, status, expected) in table {
        let found = code(client, Method::POST, path, Some(body), media).await;
        assert_eq!(
            found,
            (StatusCode::from_u16(status).unwrap(), expected.to_owned()),
            "{}",
            &body[..body.len().min(60)]
        );
    }
    let put = code(&server.admin, Method::PUT, path, Some(ok), json_type).await;
    assert_eq!(put, (StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED".to_owned()));
    let stored = server.admin.get(path).await.expect(StatusCode::OK).await;
    assert_eq!((&stored["items"], &stored["cursor"]), (&json!([]), &json!(0)));
    assert_eq!(server.provider.times_asked(), 0);
}

#[tokio::test]
async fn a_turn_needs_an_npc_a_model_and_a_key() {
    let server = TestServer::start().await;
    let empty = server.admin.post("/api/conversations", json!({"npcIds": []})).await.expect(StatusCode::CREATED).await;
    let path = format!("/api/conversations/{}/messages", empty["id"].as_str().unwrap());
    assert_eq!(server.admin.post(&path, json!({"text": "Hi"})).await.refused(StatusCode::BAD_REQUEST).await, "NO_NPC");
    let provider = json!({"name": "Far away", "kind": "openai-chat", "baseUrl": "https://models.example/v1"});
    let provider = server.admin.post("/api/providers", provider).await.expect(StatusCode::CREATED).await;
    let npc = json!({"name": "Keyless", "providerId": provider["id"]});
    let npc = server.admin.post("/api/npcs", npc).await.expect(StatusCode::CREATED).await;
    let made =
        server.admin.post("/api/conversations", json!({"npcIds": [npc["id"]]})).await.expect(StatusCode::CREATED).await;
    let path = format!("/api/conversations/{}/messages", made["id"].as_str().unwrap());
    assert_eq!(
        server.admin.post(&path, json!({"text": "Hi"})).await.refused(StatusCode::BAD_REQUEST).await,
        "NO_MODEL"
    );
    let npc_path = format!("/api/npcs/{}", npc["id"].as_str().unwrap());
    server.admin.send(Method::PATCH, &npc_path, json!({"model": "big"})).await.expect(StatusCode::OK).await;
    assert_eq!(
        server.admin.post(&path, json!({"text": "Hi"})).await.refused(StatusCode::BAD_REQUEST).await,
        "NO_PROVIDER_KEY"
    );
    let provider_path = format!("/api/providers/{}", provider["id"].as_str().unwrap());
    let keyed = server
        .admin
        .send(Method::PATCH, &provider_path, json!({"apiKey": "sk-secret"}))
        .await
        .expect(StatusCode::OK)
        .await;
    assert_eq!((&keyed["hasKey"], keyed.to_string().contains("sk-secret")), (&json!(true), false));
    server.admin.post(&path, json!({"text": "Hi"})).await.expect(StatusCode::ACCEPTED).await;
}

#[tokio::test]
async fn a_second_message_while_one_runs_is_409_with_the_running_turns_id() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let path = format!("/api/conversations/{id}/messages");
    let first = server.admin.post(&path, json!({"text": "Hi"})).await.expect(StatusCode::ACCEPTED).await;
    let answer = server.admin.post(&path, json!({"text": "Ho"})).await;
    assert_eq!(answer.0.headers().get("x-should-retry").and_then(|value| value.to_str().ok()), Some("false"));
    let refused = answer.expect(StatusCode::CONFLICT).await;
    assert_eq!(refused["error"]["code"], "TURN_IN_PROGRESS");
    assert_eq!(refused["error"]["details"]["turnId"], first["turnId"]);
}

#[tokio::test]
async fn promise_17_someone_elses_conversation_does_not_exist() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let script = server.provider.expect();
    let sent = server
        .admin
        .post(&format!("/api/conversations/{id}/messages"), json!({"text": "Hi"}))
        .await
        .expect(StatusCode::ACCEPTED)
        .await;
    script.text("Half");
    let other = server.player("Quill").await;
    let absent = "01890000-0000-7000-8000-000000000000";
    let message = sent["messageId"].as_str().unwrap();
    for (method, path, body) in [
        (Method::GET, "/api/conversations/ID".to_owned(), json!(null)),
        (Method::PATCH, "/api/conversations/ID".to_owned(), json!({"title": "Mine"})),
        (Method::DELETE, "/api/conversations/ID".to_owned(), json!(null)),
        (Method::PUT, "/api/conversations/ID/participants".to_owned(), json!({"npcIds": []})),
        (Method::GET, "/api/conversations/ID/messages".to_owned(), json!(null)),
        (Method::POST, "/api/conversations/ID/messages".to_owned(), json!({"text": "Hi"})),
        (Method::GET, "/api/conversations/ID/frames".to_owned(), json!(null)),
        (Method::POST, "/api/conversations/ID/abort".to_owned(), json!({"turnId": sent["turnId"]})),
        (Method::POST, "/api/conversations/ID/abort".to_owned(), json!({})),
        (Method::POST, "/api/conversations/ID/regenerate".to_owned(), json!({})),
        (Method::GET, format!("/api/messages/{message}/variants"), json!(null)),
    ] {
        let mut bodies = Vec::new();
        for id in [id.as_str(), absent] {
            let answer = other.send(method.clone(), &path.replace("ID", id), body.clone()).await;
            let mut refused = answer.expect(StatusCode::NOT_FOUND).await;
            refused["error"]["requestId"] = Value::Null;
            bodies.push(refused);
        }
        assert_eq!(bodies[0], bodies[1], "{method} {path}");
    }
    let stored = server.admin.get(&format!("/api/conversations/{id}/messages")).await.expect(StatusCode::OK).await;
    assert_eq!(stored["items"][1]["status"], "running");
}

#[tokio::test]
async fn a_cursor_that_is_none_and_a_body_that_says_it_is_too_large_are_refused_at_once() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    for after in ["abc", "-1", "1.5", "99999999999999999999999"] {
        let answer = server.admin.get(&format!("/api/conversations/{id}/frames?after={after}")).await;
        assert_eq!(answer.refused(StatusCode::BAD_REQUEST).await, "INVALID_BODY");
    }
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut socket = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "POST /api/conversations/{id}/messages HTTP/1.1\r\nhost: localhost\r\ncookie: {}\r\n\
         content-type: application/json\r\ncontent-length: 99999999999\r\n\r\n{{",
        server.admin.cookie.as_deref().unwrap()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut start = [0; 12];
    socket.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 413");
}

#[tokio::test]
async fn an_error_names_its_request_and_speaks_problem_json_to_those_who_ask() {
    let server = TestServer::start().await;
    let request = server.admin.request(Method::GET, "/api/nothing").header("x-request-id", "mine-1");
    let response = request.header("accept", "application/problem+json").send().await.unwrap();
    assert_eq!(response.headers().get("x-request-id").and_then(|value| value.to_str().ok()), Some("mine-1"));
    assert_eq!(
        response.headers().get("content-type").and_then(|value| value.to_str().ok()),
        Some("application/problem+json")
    );
    let problem: Value = response.json().await.unwrap();
    assert_eq!((&problem["status"], &problem["error"]["requestId"]), (&json!(404), &json!("mine-1")));
}

#[tokio::test]
async fn lists_come_in_pages_most_recently_active_first() {
    let server = TestServer::start().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(server.conversation().await);
    }
    let script = server.provider.expect();
    let mut stream =
        server.admin.stream(&format!("/api/conversations/{}/messages", ids[1]), json!({"text": "Hi"})).await;
    script.text("Hello.");
    script.finish();
    stream.to_end().await;
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = server.admin.get(&format!("/api/conversations?limit=2{after}")).await.expect(StatusCode::OK).await;
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(seen, [&ids[1], &ids[4], &ids[3], &ids[2], &ids[0]].map(String::clone));
    assert_eq!(
        server.admin.get("/api/conversations?after=junk").await.refused(StatusCode::BAD_REQUEST).await,
        "INVALID_BODY"
    );
    assert_eq!(
        server.admin.get("/api/conversations?limit=0").await.refused(StatusCode::BAD_REQUEST).await,
        "INVALID_BODY"
    );
    assert_eq!(
        server.admin.get("/api/conversations?colour=red").await.refused(StatusCode::BAD_REQUEST).await,
        "INVALID_BODY"
    );
}

#[tokio::test]
async fn an_admin_learns_at_once_whether_a_provider_answers() {
    let server = TestServer::start().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = listener.local_addr().unwrap();
    drop(listener);
    let body = json!({"name": "Gone", "kind": "openai-chat", "baseUrl": format!("http://{silent}/v1")});
    let made = server.admin.post("/api/providers", body).await.expect(StatusCode::CREATED).await;
    let path = format!("/api/providers/{}/test", made["id"].as_str().unwrap());
    let tested = server.admin.post(&path, json!({})).await.expect(StatusCode::OK).await;
    assert_eq!((&tested["ok"], &tested["error"]["kind"]), (&json!(false), &json!("network")), "{tested}");
    let listed = server.admin.get("/api/providers").await.expect(StatusCode::OK).await;
    let rehearsal = listed["items"].as_array().unwrap().iter().find(|item| item["kind"] == "rehearsal").unwrap();
    let path = format!("/api/providers/{}/test", rehearsal["id"].as_str().unwrap());
    let tested = server.admin.post(&path, json!({})).await.expect(StatusCode::OK).await;
    assert_eq!(tested, json!({"ok": true, "models": [{"id": "rehearsal"}]}));
    let other = server.player("Quill").await;
    assert_eq!(other.post(&path, json!({})).await.refused(StatusCode::FORBIDDEN).await, "FORBIDDEN");
    let absent = "/api/providers/01890000-0000-7000-8000-000000000000/test";
    assert_eq!(server.admin.post(absent, json!({})).await.refused(StatusCode::NOT_FOUND).await, "NOT_FOUND");
}
