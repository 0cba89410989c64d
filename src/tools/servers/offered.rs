//! From a server's list of tools to what can be granted and called. A pure function of the list: a tool that can't be used
//! is left out by itself, with a reason.

use std::collections::HashSet;

use hamlet_actors::ports::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use super::{schema, wire_name};

/// Tools of one server at most.
const TOOLS_MAX: usize = 256;
const NAME_MAX: usize = 128;
const DESCRIPTION_MAX: usize = 4_000;

/// A tool that can be called.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// As the server knows it.
    pub name: String,
    /// `server/tool`: what a grant names it by.
    pub key: String,
    pub spec: ToolSpec,
}

/// A tool that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub key: String,
    pub reason: String,
}

/// In the order of the list.
pub fn read(server: &str, list: &[Value]) -> (Vec<Offered>, Vec<LeftOut>) {
    let (mut tools, mut left_out) = (Vec::new(), Vec::new());
    let (mut keys, mut names) = (HashSet::new(), HashSet::new());
    for entry in list {
        let shown: String = entry.get("name").and_then(Value::as_str).unwrap_or("?").chars().take(NAME_MAX).collect();
        let key = format!("{server}/{shown}");
        let read = if tools.len() == TOOLS_MAX {
            Err(format!("the server has more than {TOOLS_MAX} tools"))
        } else {
            tool(server, entry)
        };
        match read {
            Ok(tool) if !keys.insert(tool.key.clone()) || !names.insert(tool.spec.name.clone()) => {
                left_out.push(LeftOut { key, reason: "another tool of the server has this name".to_owned() });
            }
            Ok(tool) => tools.push(tool),
            Err(reason) => left_out.push(LeftOut { key, reason }),
        }
        if left_out.len() > TOOLS_MAX {
            break;
        }
    }
    (tools, left_out)
}

fn tool(server: &str, entry: &Value) -> Result<Offered, String> {
    let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() || name.chars().count() > NAME_MAX || name.chars().any(char::is_control) {
        return Err(format!("its name is not 1 to {NAME_MAX} characters of one line"));
    }
    let text = |field: &str| entry.get(field).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let description = text("description").or_else(|| text("title")).unwrap_or_default();
    let parameters = match entry.get("inputSchema") {
        Some(schema) => schema::clean(schema).map_err(|error| error.to_string())?,
        None => return Err("it has no schema".to_owned()),
    };
    Ok(Offered {
        name: name.to_owned(),
        key: format!("{server}/{name}"),
        spec: ToolSpec {
            name: wire_name::of(server, name),
            description: description.chars().take(DESCRIPTION_MAX).collect(),
            parameters,
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reasons(list: Value) -> Vec<(String, String)> {
        let (_, left_out) = read("files", list.as_array().unwrap());
        left_out.into_iter().map(|tool| (tool.key, tool.reason)).collect()
    }

    #[test]
    fn a_tool_is_known_by_its_servers_name_and_its_own() {
        let list =
            [json!({"name": "read", "title": "Read", "inputSchema": {"type": "object", "$schema": "x"}, "odd": 1})];
        let spec = ToolSpec {
            name: "files__read".to_owned(),
            description: "Read".to_owned(),
            parameters: json!({"type": "object", "properties": {}}),
        };
        let tool = Offered { name: "read".to_owned(), key: "files/read".to_owned(), spec };
        assert_eq!(read("files", &list), (vec![tool], Vec::new()));
    }

    #[test]
    fn one_tool_that_cannot_be_used_is_left_out_by_itself() {
        let good = |name: &str| json!({"name": name, "inputSchema": {}});
        let list = json!([
            good("a"), {"name": "b", "inputSchema": {"type": "array"}}, {"name": "c"}, good(""), good("d\n"), 1, good("a"), good("e"),
        ]);
        let (tools, left_out) = read("files", list.as_array().unwrap());
        assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a", "e"]);
        assert_eq!(left_out.len(), 6);
        assert_eq!(reasons(list)[0], ("files/b".to_owned(), "its arguments are no object".to_owned()));
    }

    #[test]
    fn more_tools_than_a_model_can_be_told_of_are_left_out() {
        let list: Vec<Value> = (0..1_000).map(|n| json!({"name": format!("t{n}"), "inputSchema": {}})).collect();
        let (tools, left_out) = read("files", &list);
        assert_eq!(tools.len(), TOOLS_MAX);
        assert!(left_out.len() <= TOOLS_MAX + 1);
    }

    #[test]
    fn a_long_description_is_cut() {
        let list = [json!({"name": "a", "description": "ö".repeat(10_000), "inputSchema": {}})];
        assert_eq!(read("files", &list).0[0].spec.description.chars().count(), DESCRIPTION_MAX);
    }
}
