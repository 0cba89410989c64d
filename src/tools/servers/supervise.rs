//! Keeps one server connected: connect, list, look after it, and when it goes try again after a pause that grows.

use std::{sync::Arc, time::Instant};

use hamlet_actors::vocabulary::Timestamp;
use tokio::time::{sleep, sleep_until, timeout};

use super::{
    connection::Connection,
    definition::Definition,
    limits::Limits,
    listener::Listener,
    listing::{self, NoList},
    offered,
    resolve::{Misfit, resolve},
    server::Server,
    state::{Program, Standing},
    tool::RemoteTool,
    words::{self, Hidden},
};

/// How an attempt ended.
enum Ended {
    /// Somebody wants it anew.
    Again,
    /// For these reasons, whether or not it was connected before.
    Lost(String),
    Misfit(Misfit),
}

/// Runs until the server is told to stop, and then ends what it holds.
pub async fn supervise(server: Arc<Server>, limits: Limits) {
    if let (true, Ok(definition)) = (server.enabled, &server.definition) {
        keep(&server, definition, &limits).await;
    }
}

async fn keep(server: &Arc<Server>, definition: &Definition, limits: &Limits) {
    let mut failures = 0;
    loop {
        publish(server, Standing::Connecting);
        let begun = Instant::now();
        let Some(ended) = attempt(server, definition, limits).await else { return };
        match ended {
            Ended::Again => failures = 0,
            Ended::Misfit(misfit) => {
                tracing::warn!(server = server.name, error = %misfit, "a tool server is not set up rightly");
                publish(server, Standing::Misconfigured { error: misfit.to_string() });
                let again = server.stop.run_until_cancelled(server.again.notified()).await;
                if again.is_none() {
                    return;
                }
            }
            Ended::Lost(error) => {
                failures = if begun.elapsed() >= limits.settled { 1 } else { failures + 1 };
                let pause = limits.backoff.pause(failures, fastrand::f64());
                if failures == 1 {
                    tracing::warn!(server = server.name, error, pause = ?pause, "a tool server can't be reached");
                } else {
                    tracing::debug!(server = server.name, error, pause = ?pause, "a tool server still can't be reached");
                }
                let millis = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
                let retry_at = Timestamp::from_millis(Timestamp::now().as_millis().saturating_add(millis));
                publish(server, Standing::Unreachable { error, retry_at });
                tokio::select! {
                    () = server.stop.cancelled() => return,
                    () = server.again.notified() => failures = 0,
                    () = sleep(pause) => {}
                }
            }
        }
    }
}

/// One connection's life. None: it was told to stop, and has ended.
async fn attempt(server: &Arc<Server>, definition: &Definition, limits: &Limits) -> Option<Ended> {
    let resolved = match resolve(definition, &|name| std::env::var(name).ok()) {
        Ok(resolved) => resolved,
        Err(misfit) => return Some(Ended::Misfit(misfit)),
    };
    let hidden = Arc::new(Hidden(resolved.hidden.clone()));
    server.state.send_modify(|state| state.hidden = Arc::clone(&hidden));
    let listener = Listener::default();
    let opening = timeout(limits.begin, Box::pin(Connection::open(server, resolved, listener.clone(), limits)));
    let connection = match server.stop.run_until_cancelled(opening).await? {
        Ok(Ok(connection)) => connection,
        Ok(Err(error)) => return Some(Ended::Lost(hidden.cover(&error))),
        Err(_) => return Some(Ended::Lost(words::of_silence(limits.begin))),
    };
    let mut connection = connection;
    let ended = look_after(server, &mut connection, &listener, limits).await;
    // Nobody is to begin a call on what is about to end.
    server.state.send_modify(|state| {
        state.peer = None;
        state.process = None;
    });
    connection.close(limits).await;
    ended.map(|ended| match ended {
        Ended::Lost(error) => Ended::Lost(hidden.cover(&error)),
        other => other,
    })
}

/// Until it goes, is wanted anew, or is told to stop (None).
async fn look_after(
    server: &Arc<Server>,
    connection: &mut Connection,
    listener: &Listener,
    limits: &Limits,
) -> Option<Ended> {
    loop {
        let listed = tokio::select! {
            () = server.stop.cancelled() => return None,
            () = &mut connection.ended => return Some(Ended::Lost("it ended".to_owned())),
            listed = listing::list(&connection.peer, limits) => listed,
        };
        let known = server.state.borrow().is_connected();
        match listed {
            Ok(list) => connected(server, connection, &list, limits),
            // One that does one thing at a time is not to be killed over a call that it is at.
            Err(NoList::Silent(_)) if known && server.is_busy() => {
                tracing::debug!(server = server.name, "a tool server is too busy to list its tools");
            }
            // What is known of it still holds.
            Err(NoList::Refused(error)) if known => {
                tracing::warn!(server = server.name, error, "a tool server does not list its tools any more");
            }
            Err(NoList::Refused(error)) => return Some(Ended::Lost(format!("it does not list its tools: {error}"))),
            Err(NoList::Silent(error) | NoList::Gone(error)) => return Some(Ended::Lost(error)),
        }
        let soonest = tokio::time::Instant::now() + limits.relist;
        tokio::select! {
            () = server.stop.cancelled() => return None,
            () = &mut connection.ended => return Some(Ended::Lost("it ended".to_owned())),
            () = server.again.notified() => return Some(Ended::Again),
            // A permit that is taken here and lost to another branch is no loss: they all list again, or end.
            () = async { listener.changed.notified().await; sleep_until(soonest).await } => {}
            () = server.suspect.notified() => {}
            () = sleep(limits.look) => {}
        }
    }
}

fn connected(server: &Arc<Server>, connection: &Connection, list: &[serde_json::Value], limits: &Limits) {
    let (tools, left_out) = offered::read(&server.name, list);
    let before = server.state();
    if !before.is_connected() {
        tracing::info!(server = server.name, tools = tools.len(), "a tool server is connected");
    }
    if *before.left_out != *left_out {
        for tool in &left_out {
            tracing::warn!(tool = tool.key, reason = tool.reason, "a tool is left out");
        }
    }
    let unchanged = before.tools.iter().map(|tool| tool.offered()).eq(tools.iter());
    let tools: Arc<[Arc<RemoteTool>]> = if unchanged {
        before.tools
    } else {
        tools.into_iter().map(|offered| Arc::new(RemoteTool::new(offered, server, *limits))).collect()
    };
    let program = connection.info().and_then(|info| info.server_info.clone());
    let program = program.map(|it| Program {
        name: it.name.chars().take(100).collect(),
        version: it.version.chars().take(50).collect(),
    });
    server.state.send_modify(|state| {
        state.standing = Standing::Connected;
        state.tried = true;
        state.tools = tools;
        state.left_out = left_out.into();
        state.program = program;
        state.peer = Some(connection.peer.clone());
        state.process = connection.process_id();
    });
}

fn publish(server: &Server, standing: Standing) {
    server.state.send_modify(|state| {
        state.tried |= standing != Standing::Connecting;
        state.standing = standing;
    });
}
