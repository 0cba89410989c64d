//! What servers bring to one speaker's part of a turn, from what is known of them at this moment. Pure but for the tools,
//! which are handed on.

use std::sync::Arc;

use hamlet_actors::{capability::Contribution, ports::Tool, vocabulary::Grant};

use super::state::{Standing, State};

/// Of the servers of which the speaker may call something.
pub fn contribution<'a>(grants: &[Grant], servers: impl IntoIterator<Item = (&'a str, State)>) -> Contribution {
    let mut contribution = Contribution::default();
    for (name, state) in servers {
        match state.standing {
            Standing::Disabled => {}
            Standing::Connected => {
                let granted = |key: &str| grants.iter().any(|grant| grant.tool == key);
                let left_out = state.left_out.iter().filter(|tool| granted(&tool.key));
                contribution.unreachable.extend(left_out.map(|tool| tool.key.clone()));
                contribution.tools.extend(state.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>));
            }
            Standing::Connecting | Standing::Unreachable { .. } | Standing::Misconfigured { .. } => {
                contribution.unreachable.push(name.to_owned());
            }
        }
    }
    contribution
}

#[cfg(test)]
mod tests {
    use hamlet_actors::vocabulary::{Approval, Timestamp};
    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::tools::servers::{
        limits::Limits,
        offered,
        server::{Server, Source, fixed_id},
        tool::RemoteTool,
    };

    fn connected(name: &str) -> State {
        let server = Arc::new(Server::new(
            fixed_id(name),
            name.to_owned(),
            Source::File,
            true,
            Err(String::new()),
            CancellationToken::new(),
        ));
        let list = [
            json!({"name": "a", "inputSchema": {}}),
            json!({"name": "b", "inputSchema": {}}),
            json!({"name": "odd"}),
            json!({"name": "odder"}),
        ];
        let (tools, left_out) = offered::read(name, &list);
        let tools =
            tools.into_iter().map(|offered| Arc::new(RemoteTool::new(offered, &server, Limits::default()))).collect();
        State { tools, left_out: left_out.into(), ..State::new(Standing::Connected) }
    }

    #[test]
    fn a_server_that_is_away_is_named_and_hides_no_other() {
        let grants: Vec<Grant> = ["up/a", "up/odd", "down/a"]
            .map(|tool| Grant { tool: tool.to_owned(), approval: Approval::Never })
            .to_vec();
        let down = Standing::Unreachable { error: "gone".to_owned(), retry_at: Timestamp::from_millis(0) };
        let states = [
            ("down", State { standing: down, ..connected("down") }),
            ("up", connected("up")),
            ("new", State::new(Standing::Connecting)),
            ("wrong", State::new(Standing::Misconfigured { error: "x".to_owned() })),
            ("off", State::new(Standing::Disabled)),
        ];
        let found = contribution(&grants, states);
        assert_eq!(found.tools.iter().map(|tool| tool.key()).collect::<Vec<_>>(), ["up/a", "up/b"]);
        assert_eq!(found.unreachable, ["down", "up/odd", "new", "wrong"]);
        assert!(found.sections.is_empty());
    }
}
