use serde_json::{Value, json};

use super::*;

fn store() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(include_str!("../../../schema.sql")).unwrap();
    conn
}

fn vault() -> Vault {
    Vault::new(&[7; 32])
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn fields(body: Value) -> ToolServerFields {
    serde_json::from_value(body).unwrap()
}

fn made(conn: &Connection, body: Value) -> Result<ToolServerRow, String> {
    let entry = entry(fields(body)).map_err(|invalid| invalid.to_string())?;
    let added = add(conn, &vault(), vec![entry], &["filed".to_owned()], at(1)).unwrap();
    added.map(|mut rows| rows.remove(0)).map_err(|refusal| refusal.to_string())
}

fn changed_by(conn: &Connection, id: ToolServerId, body: Value) -> Result<ToolServerRow, String> {
    change(conn, &vault(), id, fields(body), at(2)).unwrap().map_err(|refusal| refusal.to_string())
}

fn secrets(row: &ToolServerRow) -> Value {
    serde_json::to_value(open(&vault(), row.id, row.sealed.as_deref()).unwrap()).unwrap()
}

#[test]
fn a_new_server_needs_a_name_and_one_way_to_it() {
    let conn = store();
    let table = [
        (json!({"command": "a"}), "name is missing"),
        (json!({"name": "My Files", "command": "a"}), "name is not 1 to 40 of a-z, 0-9 and -"),
        (json!({"name": "a".repeat(41), "command": "a"}), "name is not 1 to 40 of a-z, 0-9 and -"),
        (json!({"name": "a"}), "command or url is missing"),
        (json!({"name": "a", "command": "a", "url": "http://b"}), "url does not go with a command"),
        (json!({"name": "a", "url": "http://b", "args": []}), "url has neither args nor a cwd"),
        (json!({"name": "a", "url": "ftp://b"}), "url is not http:// or https:// with a host"),
        (json!({"name": "a", "url": "http://u:p@b"}), "url holds credentials; send them as headers"),
        (json!({"name": "a", "url": "http://b", "env": {"A": "b"}}), "env does not belong to a url"),
        (json!({"name": "a", "command": " "}), "command is empty"),
        (
            json!({"name": "a", "command": "a", "args": ["${1}"]}),
            "definition does not read: \"${1}\" names no environment variable; write ${NAME} or ${NAME:-default}",
        ),
        (json!({"name": "filed", "command": "a"}), "the name filed is taken"),
    ];
    for (body, refusal) in table {
        assert_eq!(made(&conn, body), Err(refusal.to_owned()));
    }
    let row = made(&conn, json!({"name": "a", "command": "run", "args": ["x"], "cwd": "/"})).unwrap();
    assert_eq!(tool_servers::get(&conn, row.id).unwrap(), row);
    assert_eq!(row.sealed, None);
    assert_eq!(made(&conn, json!({"name": "a", "command": "run"})), Err("the name a is taken".to_owned()));
}

#[test]
fn variables_are_stored_as_they_were_written() {
    let conn = store();
    let row = made(&conn, json!({"name": "a", "url": "${ABSENT}/mcp", "headers": {"X-Key": "${ABSENT_TOO}"}})).unwrap();
    assert_eq!(row.way, Way::Http { url: "${ABSENT}/mcp".to_owned() });
    assert_eq!(secrets(&row)["headers"], json!({"X-Key": "${ABSENT_TOO}"}));
}

#[test]
fn what_a_server_is_given_is_sealed_kept_replaced_and_taken_away() {
    let conn = store();
    let row = made(&conn, json!({"name": "a", "command": "run", "env": {"A": "sk-one", "B": "two"}})).unwrap();
    assert!(!row.sealed.as_ref().unwrap().windows(6).any(|window| window == b"sk-one"));
    assert!(open(&vault(), ToolServerId::generate(), row.sealed.as_deref()).is_none(), "bound to the row");
    let env = |body: Value| secrets(&changed_by(&conn, row.id, body).unwrap())["env"].clone();
    assert_eq!(env(json!({"args": ["x"]})), json!({"A": "sk-one", "B": "two"}));
    assert_eq!(env(json!({"env": {"A": "1", "B": null, "C": "3", "D": null}})), json!({"A": "1", "C": "3"}));
    let row = changed_by(&conn, row.id, json!({"env": {"A": null, "C": null}})).unwrap();
    assert_eq!((row.sealed, row.updated_at), (None, at(2)));
}

#[test]
fn a_stored_header_is_not_sent_to_another_server() {
    let conn = store();
    let row = made(&conn, json!({"name": "a", "url": "https://a.example/mcp", "headers": {"X-Key": "sk"}})).unwrap();
    for elsewhere in ["https://evil.example/mcp", "http://a.example/mcp", "https://a.example:444/mcp", "${ELSEWHERE}"] {
        let refused = changed_by(&conn, row.id, json!({"url": elsewhere})).unwrap_err();
        assert!(refused.starts_with("headers have to be sent again"), "{refused}");
    }
    assert_eq!(tool_servers::get(&conn, row.id).unwrap(), row, "a refused change changes nothing");
    assert!(changed_by(&conn, row.id, json!({"url": "https://a.example/other"})).is_ok());
    let moved = changed_by(&conn, row.id, json!({"url": "https://b.example", "headers": {"X-Key": "new"}})).unwrap();
    assert_eq!(secrets(&moved)["headers"], json!({"X-Key": "new"}));
    assert!(changed_by(&conn, row.id, json!({"url": "https://c.example", "headers": {"X-Key": null}})).is_ok());
}

#[test]
fn a_name_and_a_way_stay() {
    let conn = store();
    let stdio = made(&conn, json!({"name": "a", "command": "run"})).unwrap();
    let http = made(&conn, json!({"name": "b", "url": "http://b"})).unwrap();
    let table = [
        (stdio.id, json!({"name": "c"}), "name can't be changed"),
        (stdio.id, json!({"url": "http://c"}), "url does not belong to a command"),
        (stdio.id, json!({"headers": {"X-A": "b"}}), "headers do not belong to a command"),
        (http.id, json!({"command": "c"}), "command does not belong to a url"),
        (http.id, json!({"cwd": null}), "command does not belong to a url"),
        (http.id, json!({"url": "c"}), "url is no URL"),
    ];
    for (id, body, refusal) in table {
        let refused = changed_by(&conn, id, body).unwrap_err();
        assert!(refused.starts_with(refusal), "{refused}");
    }
    assert!(!changed_by(&conn, stdio.id, json!({"name": "a", "enabled": false})).unwrap().enabled);
    let absent = change(&conn, &vault(), ToolServerId::generate(), fields(json!({})), at(2));
    assert!(matches!(absent, Err(StoreError::NotFound)));
}

#[test]
fn what_another_key_file_sealed_can_be_switched_off_and_replaced() {
    let conn = store();
    let row = made(&conn, json!({"name": "a", "command": "run", "env": {"A": "1"}})).unwrap();
    let other = Vault::new(&[8; 32]);
    let by = |body: Value| change(&conn, &other, row.id, fields(body), at(2)).unwrap();
    assert_eq!(by(json!({"enabled": false})).unwrap().sealed, row.sealed);
    assert!(matches!(by(json!({"command": "x"})), Err(ToolServerRefusal::Unopenable)));
    let replaced = by(json!({"env": {"B": "2"}})).unwrap();
    let opened = open(&other, row.id, replaced.sealed.as_deref()).unwrap();
    assert_eq!(opened.env, BTreeMap::from([("B".to_owned(), "2".to_owned())]));
}

#[test]
fn of_a_document_all_are_added_or_none() {
    let conn = store();
    let entries = |document: Value| crate::tools::servers::document::read(&document).unwrap();
    let bad = entries(json!({"mcpServers": {"a": {"command": "a"}, "b": {"type": "sse", "url": "http://b"}}}));
    let refused =
        conn.unchecked_transaction().map(|tx| add(&tx, &vault(), bad, &[], at(1)).unwrap().unwrap_err()).unwrap();
    assert!(matches!(&refused, ToolServerRefusal::Misfit { name, .. } if name == "b"), "{refused}");
    let many: serde_json::Map<String, Value> = (0..50).map(|n| (n.to_string(), json!({"command": "a"}))).collect();
    assert!(add(&conn, &vault(), entries(json!({"mcpServers": many})), &[], at(1)).unwrap().is_ok());
    let refused = made(&conn, json!({"name": "one-more", "command": "a"}));
    assert_eq!(refused, Err("there can be 50 tool servers at most".to_owned()));
}
