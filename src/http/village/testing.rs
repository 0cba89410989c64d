//! A Village behind its routes, without accounts: a header says who asks.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{FromRef, FromRequestParts, Request},
    http::request::Parts,
    middleware,
};
use hamlet_actors::{
    ports::{Clock, SystemClock},
    vocabulary::{ErrorCode, PlayerId},
};
use http::{Method, StatusCode, header};
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

use crate::{
    auth::{Admin, PlayerRole, Who},
    http::{
        error::{self, ApiError},
        grants, memories, npcs, providers, settings, skills,
        tool_servers::{self, Servers},
        tools,
    },
    plugins::{Capabilities, bundled, skills::Shelf},
    store::Store,
    tools::servers::ToolServers,
    vault::Vault,
    village::{
        VillageState,
        registry::{EnvironmentProviders, Found},
        settings::Pins,
    },
};

const PLAYER: &str = "x-test-player";

/// Who can ask: two Players and an admin.
pub const ADA: &str = "ada";
pub const BO: &str = "bo";
pub const ADMIN: &str = "root";

#[derive(Clone)]
pub struct TestState {
    village: VillageState,
    servers: Servers,
    players: Arc<HashMap<String, Who>>,
}

impl FromRef<TestState> for Capabilities {
    fn from_ref(state: &TestState) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        Self(bundled(&state.village, &clock, Arc::clone(&state.servers.0)).into())
    }
}

impl FromRef<TestState> for VillageState {
    fn from_ref(state: &TestState) -> Self {
        state.village.clone()
    }
}

impl FromRef<TestState> for Servers {
    fn from_ref(state: &TestState) -> Self {
        state.servers.clone()
    }
}

impl FromRequestParts<TestState> for Who {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &TestState) -> Result<Self, ApiError> {
        let name = parts.headers.get(PLAYER).and_then(|name| name.to_str().ok()).unwrap_or_default();
        state.players.get(name).cloned().ok_or_else(|| ApiError::new(ErrorCode::Unauthenticated, "Sign in first."))
    }
}

impl FromRequestParts<TestState> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &TestState) -> Result<Self, ApiError> {
        let who = Who::from_request_parts(parts, state).await?;
        if who.role == PlayerRole::Admin { Ok(Self(who)) } else { Err(ApiError::forbidden()) }
    }
}

pub struct TestVillage {
    pub state: VillageState,
    pub servers: Arc<ToolServers>,
    router: Router,
    pub folder: tempfile::TempDir,
}

impl TestVillage {
    pub async fn new() -> Self {
        Self::with(EnvironmentProviders::default(), Vec::new(), Pins::default()).await
    }

    pub async fn with(environment: EnvironmentProviders, found: Vec<Found>, pins: Pins) -> Self {
        Self::in_folder(tempfile::tempdir().unwrap(), environment, found, pins).await
    }

    /// With what lies in the data folder already.
    pub async fn in_folder(
        folder: tempfile::TempDir,
        environment: EnvironmentProviders,
        found: Vec<Found>,
        pins: Pins,
    ) -> Self {
        let store = Store::open(&folder.path().join("hamlet.db")).unwrap();
        let roles = [(ADA, PlayerRole::Player), (BO, PlayerRole::Player), (ADMIN, PlayerRole::Admin)];
        let who = |(name, role): (&str, PlayerRole)| Who { id: PlayerId::generate(), name: name.to_owned(), role };
        let players: HashMap<_, _> = roles.into_iter().map(who).map(|who| (who.name.clone(), who)).collect();
        for player in players.values().cloned() {
            let sql = "INSERT INTO players (id, name, name_key, role, created_at) VALUES (?1, ?2, ?2, 'player', 0)";
            store.write(move |conn| Ok(conn.execute(sql, (player.id.0.into_bytes(), player.name))?)).await.unwrap();
        }
        let state = VillageState {
            store,
            vault: Arc::new(Vault::new(&[7; 32])),
            environment: Arc::new(environment),
            found: Arc::new(found),
            pins: Arc::new(pins),
            shelf: Shelf::new(folder.path().join("skills")),
        };
        let servers = ToolServers::start(state.clone(), folder.path()).await.unwrap();
        let router = Router::new()
            .merge(grants::routes())
            .merge(memories::routes())
            .merge(npcs::routes())
            .merge(providers::routes())
            .merge(settings::routes())
            .merge(skills::routes())
            .merge(tools::routes())
            .merge(tool_servers::routes())
            .layer(middleware::from_fn(error::render))
            .with_state(TestState {
                village: state.clone(),
                servers: Servers(Arc::clone(&servers)),
                players: Arc::new(players),
            });
        Self { state, servers, router, folder }
    }

    /// One request with a JSON body (none when it is null); the status and the JSON answered.
    pub async fn ask(&self, player: &str, method: Method, path: &str, body: Value) -> (StatusCode, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.ask_raw(player, method, path, body).await
    }

    pub async fn ask_raw(
        &self,
        player: &str,
        method: Method,
        path: &str,
        body: impl Into<Body>,
    ) -> (StatusCode, Value) {
        let (status, bytes) = self.send(player, method, path, "application/json", body).await;
        (status, if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes).unwrap() })
    }

    /// One request with a body of any kind; the status and the bytes answered.
    pub async fn send(
        &self,
        player: &str,
        method: Method,
        path: &str,
        media: &str,
        body: impl Into<Body>,
    ) -> (StatusCode, bytes::Bytes) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(PLAYER, player)
            .header(header::CONTENT_TYPE, media)
            .body(body.into())
            .unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        (status, response.into_body().collect().await.unwrap().to_bytes())
    }

    /// As `ask`, for what has to succeed.
    pub async fn done(&self, player: &str, method: Method, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask(player, method, path, body).await;
        assert!(status.is_success(), "{status} {answer}");
        answer
    }

    /// As `ask`, for what has to be refused: the status and the code.
    pub async fn refused(&self, player: &str, method: Method, path: &str, body: Value) -> (u16, String) {
        let (status, answer) = self.ask(player, method, path, body).await;
        (status.as_u16(), answer["error"]["code"].as_str().unwrap_or("none").to_owned())
    }
}
