//! Turns: say something, stop, answer anew. A send streams its turn, or answers 202 to who asks for JSON.

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::post,
};
use hamlet_actors::{
    conversation::{BeginRefusal, Decision, OnBusy, frame_log::FrameLog},
    engine::EngineError,
    vocabulary::{ConversationId, NpcId, PlayerId, TurnId},
};
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    error::ApiError,
    extract::{Id, Json},
    watch::{self, Watching},
};
use crate::{
    app::App,
    auth::{SignedIn, Who},
    gates::{
        admit::{self, Joined, Repeatable, Say},
        going_on,
    },
    store::{conversations, messages},
};

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/conversations/{id}/messages", post(say))
        .route("/api/conversations/{id}/regenerate", post(regenerate))
        .route("/api/conversations/{id}/continue", post(go_on))
        .route("/api/conversations/{id}/approvals", post(approve))
        .route("/api/conversations/{id}/abort", post(abort))
        .route("/api/conversations/{id}/queue/resume", post(resume_queue))
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SayBody {
    text: String,
    to: Option<NpcId>,
    #[serde(default)]
    on_busy: OnBusy,
    client_id: Option<String>,
}

impl From<SayBody> for Say {
    fn from(body: SayBody) -> Self {
        Self { text: body.text, to: body.to, client_id: body.client_id, on_busy: body.on_busy }
    }
}

async fn say(
    signed_in: SignedIn,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Json { value: body, raw }: Json<SayBody>,
) -> Result<Response, ApiError> {
    let repeatable = Repeatable::of(&headers, &format!("messages {id}"), &raw)?;
    let joined = admit::say(&app, &signed_in.who, id, body.into(), repeatable).await?;
    answer(&app, signed_in, id, joined, &headers).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RegenerateBody {
    npc_id: Option<NpcId>,
}

async fn regenerate(
    signed_in: SignedIn,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Json { value: body, raw }: Json<RegenerateBody>,
) -> Result<Response, ApiError> {
    let repeatable = Repeatable::of(&headers, &format!("regenerate {id}"), &raw)?;
    let joined = admit::regenerate(&app, &signed_in.who, id, body.npc_id, repeatable).await?;
    answer(&app, signed_in, id, joined, &headers).await
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ContinueBody {
    /// Hand-overs that the turn may have; absent: as many as any turn.
    hops: Option<u32>,
}

/// Goes on without another word of the Player: one more hand-over, or a reply that was cut.
async fn go_on(
    signed_in: SignedIn,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Json { value: body, raw }: Json<ContinueBody>,
) -> Result<Response, ApiError> {
    let repeatable = Repeatable::of(&headers, &format!("continue {id}"), &raw)?;
    let joined = going_on::go_on(&app, &signed_in.who, id, body.hops, repeatable).await?;
    answer(&app, signed_in, id, joined, &headers).await
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalBody {
    tool_call_id: String,
    decision: Word,
    /// Other arguments than the model's; only with an approval.
    input: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Approve,
    Deny,
}

async fn approve(
    who: Who,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Json { value: body, .. }: Json<ApprovalBody>,
) -> Result<StatusCode, ApiError> {
    decide(&app, &who, id, body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Says whether a call that waits for it may run. Whoever of the Conversation's tabs says it first, has said it.
pub async fn decide(app: &App, who: &Who, id: ConversationId, body: ApprovalBody) -> Result<(), ApiError> {
    let ApprovalBody { tool_call_id, decision, input } = body;
    let decision = match (decision, input) {
        (Word::Approve, input) => Decision::Approve { input },
        (Word::Deny, None) => Decision::Deny,
        (Word::Deny, Some(_)) => return Err(ApiError::invalid("input goes with an approval only.")),
    };
    let player = who.id;
    app.store.read(move |conn| conversations::of_player(conn, id, player)).await?;
    Ok(app.engine.decide(id, &tool_call_id, decision).await?)
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AbortBody {
    turn_id: Option<TurnId>,
}

async fn abort(
    who: Who,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Json { value: body, .. }: Json<AbortBody>,
) -> Result<Response, ApiError> {
    Ok(axum::Json(stop(&app, &who, id, body).await?).into_response())
}

/// Stops a turn, and says whether there was one to stop.
pub async fn stop(app: &App, who: &Who, id: ConversationId, body: AbortBody) -> Result<Value, ApiError> {
    let player = who.id;
    app.store.read(move |conn| conversations::of_player(conn, id, player)).await?;
    let aborted = app.engine.abort(id, body.turn_id).await?;
    Ok(json!({"aborted": aborted.aborted, "turnId": aborted.turn}))
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Takes up what waits. Where nothing waits for that: which turn runs, if any.
async fn resume_queue(
    who: Who,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Json { value: Nothing {}, .. }: Json<Nothing>,
) -> Result<Response, ApiError> {
    app.store.read(move |conn| conversations::of_player(conn, id, who.id)).await?;
    if app.stopping.is_cancelled() {
        return Err(EngineError::ShuttingDown.into());
    }
    match app.engine.resume(id).await {
        Ok(begun) => {
            let body = json!({"turnId": begun.turn, "messageId": begun.message, "cursor": begun.cursor});
            Ok((StatusCode::ACCEPTED, axum::Json(body)).into_response())
        }
        Err(EngineError::Refused(BeginRefusal::NothingWaits { running })) => {
            Ok(axum::Json(json!({"turnId": running})).into_response())
        }
        Err(error) => Err(error.into()),
    }
}

/// The turn's frames as a stream, from its first or from `Last-Event-ID` on; 202 for who asks for JSON.
pub async fn answer(
    app: &App,
    signed_in: SignedIn,
    id: ConversationId,
    joined: Joined,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    if wants_json(headers) {
        return Ok((StatusCode::ACCEPTED, axum::Json(accepted(&joined))).into_response());
    }
    let log = app.engine.log(id).await?;
    let (cursor, end) = resume(app, &log, id, signed_in.who.id, joined, headers).await?;
    let watching = Watching {
        store: app.store.clone(),
        accounts: app.accounts.clone(),
        log,
        conversation: id,
        signed_in,
        cursor,
        until: Some(joined.turn),
        end,
        following: joined.steers.then_some(joined.message),
    };
    Ok(watching.into_response())
}

/// What is said of a turn that was admitted, to who does not want its stream.
pub fn accepted(joined: &Joined) -> Value {
    json!({"turnId": joined.turn, "messageId": joined.message, "cursor": joined.cursor})
}

/// Where the stream begins, and where the turn's end stands, if it has ended. Only a repeat can have seen anything: for a turn that
/// has just begun, `Last-Event-ID` is none of its own.
async fn resume(
    app: &App,
    log: &FrameLog,
    id: ConversationId,
    player: PlayerId,
    joined: Joined,
    headers: &HeaderMap,
) -> Result<(u64, Option<u64>), ApiError> {
    let Some(last) = watch::last_event_id(headers).filter(|_| joined.repeated) else {
        return Ok((joined.cursor, None));
    };
    let (settled, ended) = app
        .store
        .read(move |conn| {
            let row = conversations::of_player(conn, id, player)?;
            let ended = messages::turn_end(conn, row.key, joined.turn, joined.cursor + 1)?;
            Ok((messages::settled_seq(conn, &row)?, ended))
        })
        .await?;
    let newest = log.head().map_or(settled, |head| head.max(settled));
    let cursor = last.min(newest).max(joined.cursor);
    Ok((cursor, ended))
}

/// JSON, unless the stream's type is asked for as well.
fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accept.contains("application/json") && !accept.contains("text/event-stream")
}
