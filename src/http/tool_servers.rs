//! `/api/tool-servers`. Every signed-in Player sees which tool servers there are, how they stand and what tools they have;
//! an admin adds, changes and deletes them, for a tool server acts for everybody. Values of environments and headers come
//! in and never go out.

use std::sync::Arc;

use axum::{
    Router,
    extract::{FromRef, FromRequestParts, State},
    routing::{get, post},
};
use hamlet_actors::{
    ports::Tool,
    vocabulary::{ErrorCode, Timestamp, ToolServerId},
};
use http::StatusCode;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::task::JoinError;

use super::{
    error::ApiError,
    extract::{Id, Json},
    village::change,
};
use crate::{
    auth::{Admin, PlayerRole, Who},
    store::tool_servers,
    tools::servers::{
        ToolServers,
        definition::{Transport, Way},
        document,
        offered::LeftOut,
        server::{Server, Source},
        state::Standing,
    },
    village::{
        VillageState,
        tool_server::{self, ToolServerFields},
    },
};

/// The Village's tool servers, as handlers take them out of the state.
#[derive(Debug, Clone)]
pub struct Servers(pub Arc<ToolServers>);

pub fn routes<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
    VillageState: FromRef<S>,
    Servers: FromRef<S>,
    Who: FromRequestParts<S>,
    Admin: FromRequestParts<S>,
{
    Router::new()
        .route("/api/tool-servers", get(list).post(create))
        .route("/api/tool-servers/{id}", get(read).patch(update).delete(remove))
        .route("/api/tool-servers/{id}/reconnect", post(reconnect))
}

/// A server as the one who asks may see it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    id: ToolServerId,
    name: String,
    source: Source,
    transport: Option<Transport>,
    enabled: bool,
    status: &'static str,
    error: Option<String>,
    retry_at: Option<Timestamp>,
    /// What it says it is.
    program: Option<Program>,
    tools: Vec<ToolView>,
    left_out: Vec<LeftOut>,
    /// Without its query, for who is no admin.
    url: Option<String>,
    #[serde(flatten)]
    inside: Option<Inside>,
}

#[derive(Debug, Serialize)]
struct Program {
    name: String,
    version: String,
}

#[derive(Debug, Serialize)]
struct ToolView {
    key: String,
    name: String,
    description: String,
}

/// For admins. Of what is secret, the names.
#[derive(Debug, Serialize)]
struct Inside {
    command: Option<String>,
    args: Vec<String>,
    cwd: Option<String>,
    env: Vec<String>,
    headers: Vec<String>,
    /// The last lines that its process wrote there.
    stderr: Vec<String>,
}

fn view(server: &Server, who: &Who) -> View {
    let state = server.state();
    let (status, error, retry_at) = match state.standing {
        Standing::Connecting => ("connecting", None, None),
        Standing::Connected => ("connected", None, None),
        Standing::Unreachable { error, retry_at } => ("unreachable", Some(error), Some(retry_at)),
        Standing::Misconfigured { error } => ("misconfigured", Some(error), None),
        Standing::Disabled => ("disabled", None, None),
    };
    let is_admin = who.role == PlayerRole::Admin;
    let definition = server.definition.as_ref().ok();
    let url = definition.and_then(|definition| match &definition.way {
        Way::Http { url } if is_admin => Some(url.clone()),
        Way::Http { url } => Some(url.split(['?', '#']).next().unwrap_or_default().to_owned()),
        Way::Stdio { .. } => None,
    });
    let tool = |tool: &crate::tools::servers::tool::RemoteTool| ToolView {
        key: tool.key().to_owned(),
        name: tool.spec().name.clone(),
        description: tool.spec().description.clone(),
    };
    View {
        id: server.id,
        name: server.name.clone(),
        source: server.source,
        transport: definition.map(|definition| definition.way.transport()),
        enabled: server.enabled,
        status,
        error,
        retry_at,
        program: state.program.map(|program| Program { name: program.name, version: program.version }),
        tools: state.tools.iter().map(|it| tool(it)).collect(),
        left_out: state.left_out.to_vec(),
        url,
        inside: definition.filter(|_| is_admin).map(|definition| {
            let (command, args, cwd) = match &definition.way {
                Way::Stdio { command, args, cwd } => (Some(command.clone()), args.clone(), cwd.clone()),
                Way::Http { .. } => (None, Vec::new(), None),
            };
            let secrets = &definition.secrets;
            let (env, headers) = (secrets.env.keys().cloned().collect(), secrets.headers.keys().cloned().collect());
            Inside { command, args, cwd, env, headers, stderr: server.stderr() }
        }),
    }
}

/// All there are: they are few.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct List {
    items: Vec<View>,
    next: Option<String>,
    /// Why `mcp.json` gave no servers; for admins.
    file_error: Option<String>,
}

async fn list(who: Who, State(Servers(servers)): State<Servers>) -> axum::Json<List> {
    let items = servers.all().iter().map(|server| view(server, &who)).collect();
    let file_error = servers.file_error().filter(|_| who.role == PlayerRole::Admin).map(str::to_owned);
    axum::Json(List { items, next: None, file_error })
}

async fn read(
    who: Who,
    State(Servers(servers)): State<Servers>,
    Id(id): Id<ToolServerId>,
) -> Result<axum::Json<View>, ApiError> {
    let server = servers.get(id).ok_or_else(ApiError::not_found)?;
    Ok(axum::Json(view(&server, &who)))
}

/// One server, or a document of other programs.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct Addition(Value);

#[derive(Debug, Serialize)]
struct Added {
    items: Vec<View>,
}

async fn create(
    Admin(who): Admin,
    State(village): State<VillageState>,
    State(Servers(servers)): State<Servers>,
    Json { value: Addition(body), .. }: Json<Addition>,
) -> Result<(StatusCode, axum::Json<Added>), ApiError> {
    let entries = if body.get(document::SERVERS).is_some() {
        document::read(&body).map_err(|error| ApiError::invalid(format!("The document does not fit: {error}.")))?
    } else {
        vec![tool_server::entry(fields(body)?)?]
    };
    let (vault, taken, now) = (village.vault.clone(), servers.given(), Timestamp::now());
    let added = servers.carry_out(|servers| async move {
        let rows = change(&village.store, move |conn| tool_server::add(conn, &vault, entries, &taken, now)).await?;
        let mut added = Vec::with_capacity(rows.len());
        for row in rows {
            added.push(servers.put(row).await);
        }
        Ok::<_, ApiError>(added)
    });
    let items = done(added.await)?.iter().map(|server| view(server, &who)).collect();
    Ok((StatusCode::CREATED, axum::Json(Added { items })))
}

fn fields<T: DeserializeOwned>(body: Value) -> Result<T, ApiError> {
    serde_json::from_value(body).map_err(|error| ApiError::invalid(format!("The body does not fit: {error}.")))
}

async fn update(
    Admin(who): Admin,
    State(village): State<VillageState>,
    State(Servers(servers)): State<Servers>,
    Id(id): Id<ToolServerId>,
    Json { value: fields, .. }: Json<ToolServerFields>,
) -> Result<axum::Json<View>, ApiError> {
    refuse_given(&servers, id)?;
    let (vault, now) = (village.vault.clone(), Timestamp::now());
    let changed = servers.carry_out(|servers| async move {
        let row = change(&village.store, move |conn| tool_server::change(conn, &vault, id, fields, now)).await?;
        Ok::<_, ApiError>(servers.put(row).await)
    });
    Ok(axum::Json(view(&*done(changed.await)?, &who)))
}

async fn remove(
    Admin(_who): Admin,
    State(village): State<VillageState>,
    State(Servers(servers)): State<Servers>,
    Id(id): Id<ToolServerId>,
) -> Result<StatusCode, ApiError> {
    refuse_given(&servers, id)?;
    let removed = servers.carry_out(|servers| async move {
        village.store.write(move |conn| tool_servers::delete(conn, id)).await?;
        servers.remove(id).await;
        Ok::<_, ApiError>(())
    });
    done(removed.await)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn reconnect(
    Admin(who): Admin,
    State(Servers(servers)): State<Servers>,
    Id(id): Id<ToolServerId>,
) -> Result<(StatusCode, axum::Json<View>), ApiError> {
    let server = servers.get(id).ok_or_else(ApiError::not_found)?;
    if !server.enabled {
        return Err(ApiError::new(ErrorCode::Conflict, format!("{} is switched off.", server.name)));
    }
    servers.reconnect(&server);
    Ok((StatusCode::ACCEPTED, axum::Json(view(&server, &who))))
}

fn done<T>(carried_out: Result<Result<T, ApiError>, JoinError>) -> Result<T, ApiError> {
    carried_out.unwrap_or_else(|error| Err(ApiError::internal(&error)))
}

/// What has no row is changed where it comes from.
fn refuse_given(servers: &ToolServers, id: ToolServerId) -> Result<(), ApiError> {
    match servers.get(id) {
        Some(server) if server.source == Source::File => {
            let message = format!("{} is set by mcp.json in the data folder and can't be changed here.", server.name);
            Err(ApiError::new(ErrorCode::SettingPinned, message))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
