//! Several Conversations in one stream.

use hamlet_test_support::{Connection, Script, Several, TestServer};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

const ABSENT: &str = "01890000-0000-7000-8000-000000000000";

/// Conversations with a reply in each that is being written; the scripts go on with it.
async fn running(server: &TestServer, texts: &[&str]) -> Vec<(String, Script)> {
    let mut running = Vec::new();
    for text in texts {
        let (id, script) = (server.conversation().await, server.provider.expect());
        server.admin.post(&messages(&id), json!({"text": "Hi"})).await.expect(StatusCode::ACCEPTED).await;
        script.text(text);
        let mut tab = server.admin.watch(&format!("/api/conversations/{id}/frames?after=0")).await;
        tab.until_text(text).await;
        running.push((id, script));
    }
    running
}

async fn answered(server: &TestServer, id: &str, path: &str, text: &str) {
    let script = server.provider.expect();
    let body = if path == "messages" { json!({"text": "Hi"}) } else { json!({}) };
    let mut stream = server.admin.stream(&format!("/api/conversations/{id}/{path}"), body).await;
    script.text(text);
    script.finish();
    stream.to_end().await;
}

fn messages(id: &str) -> String {
    format!("/api/conversations/{id}/messages")
}

async fn stored(server: &TestServer, id: &str) -> Value {
    server.admin.get(&messages(id)).await.expect(StatusCode::OK).await
}

async fn open(server: &TestServer, watch: &str) -> Connection {
    Connection::open(&server.admin, Several::default(), watch, None).await
}

/// What a reader has is what is stored.
async fn assert_stored(server: &TestServer, reader: &Several, ids: &[&str]) {
    for id in ids {
        let stored = stored(server, id).await;
        let folded = json!(reader.transcripts[*id].entries());
        let names = ["id", "position", "parts", "status"];
        let pick = |all: &Value| -> Vec<Vec<Value>> {
            let all = all.as_array().unwrap();
            all.iter().map(|one| names.iter().map(|name| one[name].clone()).collect()).collect()
        };
        assert_eq!(pick(&folded), pick(&stored["items"]));
        assert_eq!(json!(reader.cursors[*id]), stored["cursor"]);
    }
}

#[tokio::test]
async fn each_event_names_its_conversation_and_the_folds_are_what_is_stored() {
    let server = TestServer::start().await;
    let running = running(&server, &["One ", "Uno "]).await;
    let [(a, script_a), (b, script_b)] = &running[..] else { unreachable!() };
    let quiet = server.conversation().await;
    answered(&server, &quiet, "messages", "Long ago.").await;
    let mut connection = open(&server, &format!("{a}:0,{b}:,{quiet}:")).await;
    assert!(connection.until(|reader| reader.text(a) == "One " && reader.text(b) == "Uno ").await);
    script_a.text("two");
    assert!(connection.until(|reader| reader.text(a) == "One two").await);
    script_b.text("due");
    assert!(connection.until(|reader| reader.text(b) == "Uno due").await);
    script_a.finish();
    script_b.finish();
    answered(&server, &quiet, "messages", "Now.").await;
    assert!(connection.until(|reader| [a, b, &quiet].iter().all(|id| is_settled(reader, id))).await);
    assert_stored(&server, &connection.reader, &[a, b]).await;
    assert_eq!(connection.reader.transcripts[&quiet].entries().len(), 2, "from now on");
    assert_eq!(connection.reader.text(&quiet), "Now.");
}

#[tokio::test]
async fn the_stream_opens_with_an_id_and_no_data_for_each() {
    let server = TestServer::start().await;
    let (a, b) = (server.conversation().await, server.conversation().await);
    answered(&server, &a, "messages", "one").await;
    let newest = stored(&server, &a).await["cursor"].clone();
    let mut connection = open(&server, &format!("{a}:999999,{b}:")).await;
    assert!(connection.until(|reader| reader.cursors.len() == 2).await);
    assert_eq!(connection.reader.order, Vec::<String>::new());
    assert_eq!((json!(connection.reader.cursors[&a]), connection.reader.cursors[&b]), (newest, 0));
}

/// Promise 6, over several Conversations: cut the bytes anywhere and come back with the cursors, in finished Messages and in
/// the middle of running ones.
#[tokio::test]
async fn promise_6_a_stream_of_several_that_is_cut_at_any_byte_resumes_from_all_its_cursors() {
    let server = TestServer::start().await;
    let (whole, ids, _scripts) = eventful(&server).await;
    for cut in (1..whole.raw.len()).step_by(61) {
        let cursors = ids.iter().map(|id| (id.clone(), 0)).collect();
        let mut reader = Several { cursors, ..Several::default() };
        reader.hear_cut(&whole.raw[..cut]);
        let watch = reader.watch();
        assert_resumes(&server, reader, &watch, None, &whole.reader, cut).await;
    }
}

/// The same for a browser that reconnects by itself: the URL is as old as the page, and only one id comes with it.
#[tokio::test]
async fn promise_6_a_browser_that_reconnects_by_itself_loses_and_doubles_nothing() {
    let server = TestServer::start().await;
    let (whole, ids, _scripts) = eventful(&server).await;
    let from_zero = ids.iter().map(|id| format!("{id}:0")).collect::<Vec<_>>().join(",");
    let without = ids.iter().map(|id| format!("{id}:")).collect::<Vec<_>>().join(",");
    for cut in (1..whole.raw.len()).step_by(61) {
        let mut reader = Several::default();
        reader.hear_cut(&whole.raw[..cut]);
        let last = reader.last_event_id.clone();
        for watch in [&from_zero, &without] {
            if last.is_some() {
                assert_resumes(&server, reader.clone(), watch, last.as_deref(), &whole.reader, cut).await;
            }
        }
    }
}

/// The URL's cursors are those of pieces in the middle of two replies: what is asked for again must not be appended again.
#[tokio::test]
async fn promise_6_a_browser_whose_page_was_opened_in_mid_reply_doubles_no_piece() {
    let server = TestServer::start().await;
    let (whole, ids, scripts) = eventful(&server).await;
    let url = whole.reader.watch();
    let mut connection = Connection::open(&server.admin, whole.reader.clone(), &url, None).await;
    for (id, script) in ids.iter().zip(&scripts) {
        script.text("more");
        assert!(connection.until(|reader| reader.text(id).ends_with("more")).await);
    }
    let seen = connection.reader.clone();
    let last = |id: &String, reader: &Several| format!("{id}:{}", reader.cursors[id]);
    assert_resumes(&server, seen.clone(), &url, Some(&last(&ids[0], &seen)), &seen, 0).await;
    // The replies end while the browser is away, but for the one whose end it has seen.
    for script in &scripts {
        script.finish();
    }
    assert!(connection.until(|reader| ids.iter().all(|id| is_settled(reader, id))).await);
    let end = connection.reader;
    for id in &ids[..2] {
        let mut away = seen.clone();
        away.transcripts.insert(id.clone(), end.transcripts[id].clone());
        away.cursors.insert(id.clone(), end.cursors[id]);
        assert_resumes(&server, away, &url, Some(&last(id, &end)), &end, 0).await;
    }
}

/// Whether nothing is being written, as far as the reader knows.
fn is_settled(reader: &Several, id: &str) -> bool {
    reader.transcripts.get(id).is_some_and(|all| {
        !all.entries().is_empty() && all.entries().iter().all(|entry| json!(entry.status) != "running")
    })
}

/// Everything that a stream can hold: finished Messages, one that was superseded twice, and two replies that are being
/// written, read in many pieces.
async fn eventful(server: &TestServer) -> (Connection, Vec<String>, Vec<Script>) {
    let finished = server.conversation().await;
    answered(server, &finished, "messages", "first").await;
    let ids = vec![server.conversation().await, server.conversation().await, finished.clone()];
    let watch = ids.iter().map(|id| format!("{id}:0")).collect::<Vec<_>>().join(",");
    let mut connection = open(server, &watch).await;
    assert!(connection.until(|reader| reader.text(&finished) == "first").await);
    answered(server, &finished, "regenerate", "second \"2\"").await;
    answered(server, &finished, "regenerate", "third").await;
    let mut scripts = Vec::new();
    for id in &ids[..2] {
        scripts.push(server.provider.expect());
        server.admin.post(&messages(id), json!({"text": "Hi"})).await.expect(StatusCode::ACCEPTED).await;
    }
    let mut said = String::new();
    for piece in ["One ", "\u{1F600} ", "three ", "\"four\" "] {
        said.push_str(piece);
        for (id, script) in ids.iter().zip(&scripts) {
            script.text(piece);
            assert!(connection.until(|reader| reader.text(id) == said).await);
        }
    }
    assert!(connection.until(|reader| reader.text(&finished) == "third").await);
    (connection, ids, scripts)
}

async fn assert_resumes(
    server: &TestServer,
    reader: Several,
    watch: &str,
    last: Option<&str>,
    expected: &Several,
    cut: usize,
) {
    let mut rest = Connection::open(&server.admin, reader, watch, last).await;
    let there = |reader: &Several| reader.cursors == expected.cursors;
    let had = |reader: &Several, id: &String| reader.transcripts.get(id).map(|all| all.entries().to_vec());
    rest.until(|reader| there(reader) && expected.cursors.keys().all(|id| had(reader, id) == had(expected, id))).await;
    for id in expected.cursors.keys() {
        assert_eq!(had(&rest.reader, id), had(expected, id), "cut at {cut}, last {last:?}");
    }
}

#[tokio::test]
async fn a_deleted_conversation_is_told_as_gone_and_the_others_go_on() {
    let server = TestServer::start().await;
    let running = running(&server, &["Half", "Hello"]).await;
    let [(a, _), (b, script)] = &running[..] else { unreachable!() };
    let mut connection = open(&server, &format!("{a}:0,{b}:0,{ABSENT}:")).await;
    assert!(connection.until(|reader| reader.text(a) == "Half" && reader.text(b) == "Hello").await);
    assert_eq!(connection.reader.gone, [ABSENT]);
    let delete = |id: String| {
        let request = server.admin.request(Method::DELETE, &format!("/api/conversations/{id}"));
        async move { assert_eq!(request.send().await.unwrap().status(), StatusCode::NO_CONTENT) }
    };
    delete(a.clone()).await;
    assert!(connection.until(|reader| reader.gone.len() == 2).await);
    assert_eq!(&connection.reader.gone[1], a);
    script.text(" there");
    assert!(connection.until(|reader| reader.text(b) == "Hello there").await);
    let url = format!("{a}:0,{b}:0,{ABSENT}:");
    let mut again = open(&server, &url).await;
    assert!(again.until(|reader| reader.gone.len() == 2 && reader.text(b) == "Hello there").await);
    delete(b.clone()).await;
    connection.to_end().await;
    assert_eq!(&connection.reader.gone[2], b);
    assert_eq!(connection.reader.retry, None, "nothing is left to come back for");
    let refused = server.admin.get(&format!("/api/frames?watch={url}")).await.expect(StatusCode::NOT_FOUND).await;
    assert_eq!(refused["error"]["details"]["conversationIds"], json!([a, b, ABSENT]));
}

#[tokio::test]
async fn promise_17_a_watch_of_someone_elses_conversation_tells_what_it_tells_of_one_that_is_not() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let other = server.player("Quill").await;
    let own = server.conversation_of(&other).await;
    let mut told = Vec::new();
    for id in [id.as_str(), ABSENT] {
        let refused = other.get(&format!("/api/frames?watch={id}:0")).await.expect(StatusCode::NOT_FOUND).await;
        assert_eq!(refused["error"]["code"], "NOT_FOUND");
        let mut among = Connection::open(&other, Several::default(), &format!("{id}:0,{own}:"), None).await;
        assert!(among.until(|reader| !reader.gone.is_empty()).await);
        told.push(String::from_utf8(among.raw).unwrap().replace(id, "ID"));
    }
    assert_eq!(told[0], told[1]);
}

#[tokio::test]
async fn a_watch_that_does_not_read_is_refused() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let ids = |count: u128| (0..count).map(|n| format!("{}:", uuid::Uuid::from_u128(n))).collect::<Vec<_>>().join(",");
    for watch in [
        String::new(),
        id.clone(),
        format!("{id}:x"),
        format!("{id}:-1"),
        format!("{id}:0,"),
        "junk:0".to_owned(),
        format!("{id}:0,{id}:1"),
        ids(101),
    ] {
        let answer = server.admin.get(&format!("/api/frames?watch={watch}")).await;
        assert_eq!(answer.refused(StatusCode::BAD_REQUEST).await, "INVALID_BODY", "{watch:.60}");
    }
    assert_eq!(server.admin.get("/api/frames").await.refused(StatusCode::BAD_REQUEST).await, "INVALID_BODY");
    let hundred = server.admin.get(&format!("/api/frames?watch={}", ids(100))).await;
    assert_eq!(hundred.refused(StatusCode::NOT_FOUND).await, "NOT_FOUND");
    let nobody = hamlet_test_support::Client::new(server.address);
    let refused = nobody.get(&format!("/api/frames?watch={id}:0")).await.refused(StatusCode::UNAUTHORIZED).await;
    assert_eq!(refused, "UNAUTHENTICATED");
}

#[tokio::test]
async fn over_a_restart_each_turn_has_its_end_and_the_reader_goes_on_from_its_cursors() {
    let server = TestServer::start().await;
    let running = running(&server, &["Half", "Hello"]).await;
    let (a, b) = (running[0].0.clone(), running[1].0.clone());
    let mut connection = open(&server, &format!("{a}:0,{b}:0")).await;
    assert!(connection.until(|reader| reader.text(&a) == "Half" && reader.text(&b) == "Hello").await);
    let (server, ()) = tokio::join!(server.restarted(), connection.to_end());
    assert!(connection.reader.retry.is_some_and(|pause| (1000..4000).contains(&pause)));
    assert_stored(&server, &connection.reader, &[&a, &b]).await;
    let watch = connection.reader.watch();
    let mut connection = Connection::open(&server.admin, connection.reader, &watch, None).await;
    for id in [&a, &b] {
        answered(&server, id, "messages", "Back.").await;
        assert!(connection.until(|reader| reader.text(id) == "Back.").await);
    }
    assert!(connection.until(|reader| [&a, &b].iter().all(|id| is_settled(reader, id))).await);
    assert_stored(&server, &connection.reader, &[&a, &b]).await;
}
