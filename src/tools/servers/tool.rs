//! One tool of a server, as the engine calls it. It knows its server and not the connection: a call goes to whatever
//! connection is there when it is made.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use hamlet_actors::ports::{Invocation, Tool, ToolOutcome, ToolSpec};
use rmcp::{
    ServiceError,
    model::{CallToolRequestParams, CallToolResponse},
};

use super::{
    answer,
    limits::Limits,
    offered::Offered,
    server::Server,
    state::Standing,
    words::{self, Hidden},
};

pub struct RemoteTool {
    offered: Offered,
    server: Weak<Server>,
    limits: Limits,
}

impl RemoteTool {
    pub fn new(offered: Offered, server: &Arc<Server>, limits: Limits) -> Self {
        Self { offered, server: Arc::downgrade(server), limits }
    }

    pub fn offered(&self) -> &Offered {
        &self.offered
    }
}

impl std::fmt::Debug for RemoteTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RemoteTool").field(&self.offered.key).finish()
    }
}

impl Tool for RemoteTool {
    fn key(&self) -> &str {
        &self.offered.key
    }

    fn spec(&self) -> &ToolSpec {
        &self.offered.spec
    }

    fn call(&self, call: Invocation) -> BoxFuture<'static, ToolOutcome> {
        let (server, name, limits) = (self.server.upgrade(), self.offered.name.clone(), self.limits);
        Box::pin(async move {
            match server {
                Some(server) => ask(&server, name, call, &limits).await,
                None => ToolOutcome::error("The tool's server has been removed. Go on without it."),
            }
        })
    }
}

/// A request that is dropped, by us or by who waits for the answer, is cancelled at the server.
async fn ask(server: &Server, name: String, call: Invocation, limits: &Limits) -> ToolOutcome {
    let state = server.state();
    let Some(peer) = state.peer else { return away(&server.name, &state.standing) };
    let request = CallToolRequestParams::new(name).with_arguments(call.arguments);
    let calling = server.calling();
    let answered = tokio::time::timeout(limits.call, peer.call_tool_once(request)).await;
    drop(calling);
    match answered {
        Ok(Ok(CallToolResponse::Complete(result))) => answer::outcome(result),
        Ok(Ok(_)) => ToolOutcome::error(
            "The tool asks for something that Hamlet does not give (input, or time beyond this call). It can't be used here.",
        ),
        Ok(Err(error)) => failed(server, &error, &state.hidden),
        Err(_) => {
            server.suspect.notify_one();
            // What is too large is dropped by the transport of a child process, as if it had not come.
            let (silence, most) = (words::of_silence(limits.call), limits.message >> 20);
            ToolOutcome::error(format!(
                "No result from {}: {silence}, or with more than {most} MiB, and the call was cancelled. Whether it did its work is \
                 not known. Ask for less at once, or go on without it.",
                server.name
            ))
        }
    }
}

fn failed(server: &Server, error: &ServiceError, hidden: &Hidden) -> ToolOutcome {
    let words = hidden.cover(&words::of_request(error));
    match error {
        // The server itself says no: to these arguments, as a rule.
        ServiceError::McpError(_) => ToolOutcome::error(format!("{} refused the call: {words}", server.name)),
        ServiceError::UnexpectedResponse => ToolOutcome::error(format!("No result from {}: {words}.", server.name)),
        _ => {
            server.suspect.notify_one();
            ToolOutcome::error(format!(
                "No result from {}: {words}. Whether it did its work is not known. It may be back in a moment; look before you \
                 repeat what must not happen twice.",
                server.name
            ))
        }
    }
}

fn away(server: &str, standing: &Standing) -> ToolOutcome {
    let why = match standing {
        Standing::Unreachable { error, .. } => format!(" ({error})"),
        Standing::Misconfigured { .. } => " (it is not set up rightly)".to_owned(),
        Standing::Disabled => " (it was switched off)".to_owned(),
        Standing::Connecting | Standing::Connected => String::new(),
    };
    ToolOutcome::error(format!(
        "{server} can't be reached now{why}, so the tool did not run. Go on without it, or say that it is missing."
    ))
}
