//! The tools of one speaker's part: what was granted to it and nothing else (promise 12), each under a name of its own
//! that every Provider takes.

use std::{collections::HashSet, fmt, sync::Arc};

use crate::{
    policy::calls::{MISFITS, Offered},
    ports::{Tool, ToolSpec},
    vocabulary::{Approval, Grant},
};

/// Characters of a tool's name at most.
const NAME_LIMIT: usize = 64;

#[derive(Default)]
pub struct Toolbox {
    tools: Vec<Granted>,
}

struct Granted {
    tool: Arc<dyn Tool>,
    /// As the model is told of it.
    spec: ToolSpec,
    approval: Approval,
}

impl Toolbox {
    /// The granted ones of these, in their order. One whose name another one has already gets a number.
    pub fn of(tools: Vec<Arc<dyn Tool>>, grants: &[Grant]) -> Self {
        let mut names = HashSet::new();
        let mut granted = Vec::new();
        for tool in tools {
            let Some(grant) = grants.iter().find(|grant| grant.tool == tool.key()) else { continue };
            let mut spec = tool.spec().clone();
            let safe = safe_name(&spec.name);
            let numbered = (1..).map(|nth| if nth == 1 { safe.clone() } else { format!("{safe}_{nth}") });
            spec.name = numbered.take(1_000).find(|name| !names.contains(name)).unwrap_or(safe);
            if names.insert(spec.name.clone()) {
                granted.push(Granted { tool, spec, approval: grant.approval });
            }
        }
        Self { tools: granted }
    }

    /// As the model is told of them, those left out that `misfits` names too often.
    pub fn specs(&self, misfits: &[String]) -> Vec<ToolSpec> {
        self.offered(misfits).map(|granted| granted.spec.clone()).collect()
    }

    /// Likewise, for the rulings on its calls.
    pub fn rules<'a>(&'a self, misfits: &[String]) -> Vec<Offered<'a>> {
        let rule = |Granted { spec, approval, .. }: &'a Granted| Offered {
            name: &spec.name,
            parameters: &spec.parameters,
            approval: *approval,
        };
        self.offered(misfits).map(rule).collect()
    }

    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|granted| granted.spec.name == name).map(|granted| &granted.tool)
    }

    fn offered<'a>(&'a self, misfits: &[String]) -> impl Iterator<Item = &'a Granted> + use<'a> {
        let times = |granted: &Granted| misfits.iter().filter(|name| **name == granted.spec.name).count();
        let offered: Vec<&Granted> = self.tools.iter().filter(|granted| times(granted) < MISFITS).collect();
        offered.into_iter()
    }
}

/// Letters, digits, `_` and `-`, not beginning with a digit or a dash, and not too long.
fn safe_name(name: &str) -> String {
    let mut safe: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .take(NAME_LIMIT - 4)
        .collect();
    if !safe.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        safe.insert(0, '_');
    }
    safe
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|granted| &granted.spec.name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::{Invocation, ToolOutcome};
    use futures_util::future::{BoxFuture, ready};
    use serde_json::json;

    struct Played(String, ToolSpec);

    impl Tool for Played {
        fn key(&self) -> &str {
            &self.0
        }
        fn spec(&self) -> &ToolSpec {
            &self.1
        }
        fn call(&self, _call: Invocation) -> BoxFuture<'static, ToolOutcome> {
            Box::pin(ready(ToolOutcome::text("done")))
        }
    }

    fn tool(key: &str, name: &str) -> Arc<dyn Tool> {
        let spec = ToolSpec { name: name.into(), description: String::new(), parameters: json!({"type": "object"}) };
        Arc::new(Played(key.into(), spec))
    }

    fn grant(tool: &str) -> Grant {
        Grant { tool: tool.into(), approval: Approval::Never }
    }

    fn names(toolbox: &Toolbox, misfits: &[&str]) -> Vec<String> {
        let misfits: Vec<String> = misfits.iter().map(|&name| name.to_owned()).collect();
        toolbox.specs(&misfits).into_iter().map(|spec| spec.name).collect()
    }

    #[test]
    fn promise_12_what_nobody_granted_is_not_there() {
        let toolbox = Toolbox::of(vec![tool("a", "a"), tool("b", "b")], &[grant("b"), grant("gone")]);
        assert_eq!(names(&toolbox, &[]), ["b"]);
        assert!(toolbox.find("a").is_none() && toolbox.find("b").is_some());
    }

    #[test]
    fn names_are_such_that_every_provider_takes_them_and_each_is_used_once() {
        let tools = vec![
            tool("1", "21st_magic"),
            tool("2", "lire un livre é"),
            tool("3", "a"),
            tool("4", "a"),
            tool("5", &"x".repeat(90)),
        ];
        let toolbox = Toolbox::of(tools, &["1", "2", "3", "4", "5"].map(grant));
        assert_eq!(names(&toolbox, &[]), ["_21st_magic", "lire_un_livre__", "a", "a_2", &"x".repeat(60)]);
        assert_eq!(toolbox.find("a_2").unwrap().key(), "4");
    }

    #[test]
    fn a_tool_whose_arguments_never_fit_is_not_offered_any_more() {
        let toolbox = Toolbox::of(vec![tool("a", "a"), tool("b", "b")], &[grant("a"), grant("b")]);
        assert_eq!(names(&toolbox, &["a"]), ["a", "b"]);
        assert_eq!(names(&toolbox, &["a", "b", "a"]), ["b"]);
    }
}
