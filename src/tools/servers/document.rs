//! The common document `{"mcpServers": {name: {...}}}` that many programs share. It is theirs: fields that are not known
//! here are let be, and one server that does not fit does not keep the others out.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::definition::{Definition, Secrets, Way, name_of};

/// The field that makes a document of an object.
pub const SERVERS: &str = "mcpServers";
/// Servers of one document at most.
const SERVERS_MAX: usize = 50;

/// One server of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// As it is known here.
    pub name: String,
    pub enabled: bool,
    /// Or why it can't be used, in words.
    pub definition: Result<Definition, String>,
}

/// Why a document has no servers at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoDocument {
    #[error("there is no object {SERVERS}")]
    NoServers,
    #[error("{SERVERS} has more than {SERVERS_MAX} servers")]
    TooMany,
}

/// The servers in the document's order.
///
/// # Errors
/// When it is none, or too long.
pub fn read(document: &Value) -> Result<Vec<Entry>, NoDocument> {
    let servers = document.get(SERVERS).and_then(Value::as_object).ok_or(NoDocument::NoServers)?;
    if servers.len() > SERVERS_MAX {
        return Err(NoDocument::TooMany);
    }
    let mut entries: Vec<Entry> = Vec::with_capacity(servers.len());
    for (given, fields) in servers {
        let mut entry = entry(given, fields);
        if entries.iter().any(|other| other.name == entry.name) {
            entry.definition = Err(format!("its name reads as {} here, and so does another one's", entry.name));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn entry(given: &str, fields: &Value) -> Entry {
    let Some(name) = name_of(given) else {
        let shown: String = given.chars().take(64).collect();
        let reason = format!("its name {shown:?} has no Latin letter or digit");
        return Entry { name: "unnamed".to_owned(), enabled: true, definition: Err(reason) };
    };
    let enabled =
        fields.get("disabled") != Some(&Value::Bool(true)) && fields.get("enabled") != Some(&Value::Bool(false));
    let definition = match fields {
        Value::Object(fields) => definition(fields),
        _ => Err("it is no object".to_owned()),
    };
    Entry { name, enabled, definition }
}

fn definition(fields: &Map<String, Value>) -> Result<Definition, String> {
    let kind = text(fields, "type")?;
    let (command, url) = (text(fields, "command")?, text(fields, "url")?);
    let way = match (kind.as_deref(), command, url) {
        (Some("sse"), ..) => {
            return Err(
                "its type is sse, the older HTTP transport; Hamlet speaks streamable HTTP (type http)".to_owned()
            );
        }
        (None | Some("stdio"), Some(command), None) | (Some("stdio"), Some(command), Some(_)) => {
            Way::Stdio { command, args: list(fields, "args")?, cwd: text(fields, "cwd")? }
        }
        (None | Some("http" | "streamable-http" | "streamableHttp"), None, Some(url))
        | (Some("http" | "streamable-http" | "streamableHttp"), Some(_), Some(url)) => Way::Http { url },
        (None, Some(_), Some(_)) => return Err("it has both a command and a url".to_owned()),
        (_, None, None) => return Err("it has neither a command nor a url".to_owned()),
        (Some(kind), ..) => {
            let kind: String = kind.chars().take(64).collect();
            return Err(format!("its type {kind:?} does not go with the rest"));
        }
    };
    Ok(Definition { way, secrets: Secrets { env: names(fields, "env")?, headers: names(fields, "headers")? } })
}

fn text(fields: &Map<String, Value>, field: &str) -> Result<Option<String>, String> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("its {field} is no text")),
    }
}

/// Numbers and switches are written without quotes now and then.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn list(fields: &Map<String, Value>, field: &str) -> Result<Vec<String>, String> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(values)) => {
            values.iter().map(plain).collect::<Option<_>>().ok_or(format!("its {field} are not all texts"))
        }
        Some(_) => Err(format!("its {field} is no list")),
    }
}

fn names(fields: &Map<String, Value>, field: &str) -> Result<BTreeMap<String, String>, String> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(values)) => values
            .iter()
            .map(|(name, value)| Some((name.clone(), plain(value)?)))
            .collect::<Option<_>>()
            .ok_or(format!("its {field} are not all texts")),
        Some(_) => Err(format!("its {field} is no object")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stdio(command: &str, args: &[&str]) -> Definition {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Definition { way: Way::Stdio { command: command.to_owned(), args, cwd: None }, secrets: Secrets::default() }
    }

    fn http(url: &str) -> Definition {
        Definition { way: Way::Http { url: url.to_owned() }, secrets: Secrets::default() }
    }

    /// What one server's fields are read as, or words that its reason holds.
    #[track_caller]
    fn check(fields: Value, read_as: Result<Definition, &str>) {
        let entries = read(&json!({"mcpServers": {"one": fields}})).unwrap();
        match (&entries[0].definition, read_as) {
            (Err(reason), Err(words)) => assert!(reason.contains(words), "{reason}"),
            (found, expected) => assert_eq!(found, &expected.map_err(str::to_owned)),
        }
    }

    #[test]
    fn a_document_is_read_as_other_programs_write_it() {
        let document = json!({
            "$schema": "x", "mcpServers": {
                "files": {"command": "npx", "args": ["-y", "server", 1], "env": {"TOKEN": "${TOKEN}", "N": 1}, "cwd": "/x", "autoApprove": []},
                "My Search": {"url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${KEY}"}, "disabled": true},
            },
        });
        let files = Definition {
            way: Way::Stdio {
                command: "npx".to_owned(),
                args: ["-y", "server", "1"].map(str::to_owned).to_vec(),
                cwd: Some("/x".to_owned()),
            },
            secrets: Secrets {
                env: BTreeMap::from([("N".to_owned(), "1".to_owned()), ("TOKEN".to_owned(), "${TOKEN}".to_owned())]),
                headers: BTreeMap::new(),
            },
        };
        let mut search = http("https://a.example/mcp");
        search.secrets.headers.insert("Authorization".to_owned(), "Bearer ${KEY}".to_owned());
        let expected = vec![
            Entry { name: "files".to_owned(), enabled: true, definition: Ok(files) },
            Entry { name: "my-search".to_owned(), enabled: false, definition: Ok(search) },
        ];
        assert_eq!(read(&document), Ok(expected));
    }

    #[test]
    fn a_type_decides_and_what_does_not_go_with_it_is_told() {
        check(json!({"type": "stdio", "command": "a"}), Ok(stdio("a", &[])));
        check(json!({"type": "stdio", "command": "a", "url": "https://b"}), Ok(stdio("a", &[])));
        check(json!({"command": "a", "args": null}), Ok(stdio("a", &[])));
        for kind in ["http", "streamable-http", "streamableHttp"] {
            check(json!({"type": kind, "url": "https://b"}), Ok(http("https://b")));
        }
        check(json!({"type": "sse", "url": "https://b"}), Err("older HTTP transport"));
        check(json!({"type": "http", "command": "a"}), Err("does not go with the rest"));
        check(json!({"type": "ws", "url": "ws://b"}), Err("does not go with the rest"));
        check(json!({"command": "a", "url": "https://b"}), Err("both"));
        check(json!({}), Err("neither"));
        check(json!("a"), Err("no object"));
        check(json!({"command": 1}), Err("command is no text"));
        check(json!({"command": "a", "args": "b"}), Err("args is no list"));
        check(json!({"command": "a", "args": [[]]}), Err("args are not all texts"));
        check(json!({"command": "a", "env": []}), Err("env is no object"));
        check(json!({"url": "https://b", "headers": {"a": {}}}), Err("headers are not all texts"));
    }

    #[test]
    fn one_server_that_does_not_fit_leaves_the_others() {
        let entries = read(
            &json!({"mcpServers": {"a": 1, "b": {"command": "b"}, "B": {"command": "c"}, "梅": {"command": "d"}}}),
        );
        let fits: Vec<_> = entries.unwrap().into_iter().map(|entry| (entry.name, entry.definition.is_ok())).collect();
        let expected = [("a", false), ("b", true), ("b", false), ("unnamed", false)];
        assert_eq!(fits, expected.map(|(name, fits)| (name.to_owned(), fits)));
    }

    #[test]
    fn what_is_no_document_is_refused() {
        for document in [json!(null), json!([]), json!({}), json!({"mcpServers": []})] {
            assert_eq!(read(&document), Err(NoDocument::NoServers), "{document}");
        }
        let many: Map<String, Value> = (0..51).map(|n| (n.to_string(), json!({"command": "a"}))).collect();
        assert_eq!(read(&json!({"mcpServers": many})), Err(NoDocument::TooMany));
    }
}
