//! What an operator does with an actor. Each is 200 with what happened, or 409 with a code where it does not apply.

use std::sync::Arc;

use axum::extract::State;
use hamlet_actors::{
    village::Intervention,
    vocabulary::{ConversationId, ErrorCode, TurnId},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::audit::audited;
use crate::{
    app::App,
    auth::Admin,
    http::{
        error::ApiError,
        extract::{Id, Json},
    },
    store::{audit::Action, oversight},
};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AbortBody {
    turn_id: Option<TurnId>,
}

/// The other actions take nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoBody {}

/// Stops the turn that runs, or the one that is named; nobody is woken for it.
pub async fn abort(
    Admin(who): Admin,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Json { value: body, .. }: Json<AbortBody>,
) -> Result<axum::Json<Value>, ApiError> {
    require(&app, id).await?;
    let engine = app.engine.clone();
    let deed = async move {
        if engine.actor(id).await?.is_none_or(|actor| actor.turn.is_none()) {
            return Ok(json!({"aborted": false, "turnId": body.turn_id}));
        }
        let aborted = engine.abort(id, body.turn_id).await?;
        Ok(json!({"aborted": aborted.aborted, "turnId": aborted.turn}))
    };
    audited(&app, who, Action::Abort, id, deed).await
}

/// Ends the actor, whatever it is at, and wakes the next one.
pub async fn restart(
    Admin(who): Admin,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Json { .. }: Json<NoBody>,
) -> Result<axum::Json<Value>, ApiError> {
    require(&app, id).await?;
    let engine = app.engine.clone();
    let deed = async move { answer("restarted", engine.restart(id).await?) };
    audited(&app, who, Action::Restart, id, deed).await
}

/// Lets an idle actor sleep.
pub async fn retire(
    Admin(who): Admin,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Json { .. }: Json<NoBody>,
) -> Result<axum::Json<Value>, ApiError> {
    require(&app, id).await?;
    let engine = app.engine.clone();
    let deed = async move { answer("retired", engine.retire(id).await?) };
    audited(&app, who, Action::Retire, id, deed).await
}

/// Lets a quarantined Conversation be woken again.
pub async fn release(
    Admin(who): Admin,
    Id(id): Id<ConversationId>,
    State(app): State<Arc<App>>,
    Json { .. }: Json<NoBody>,
) -> Result<axum::Json<Value>, ApiError> {
    require(&app, id).await?;
    let engine = app.engine.clone();
    let deed = async move { answer("released", engine.release(id).await?) };
    audited(&app, who, Action::Release, id, deed).await
}

/// The Conversation must exist; whose it is does not matter here.
async fn require(app: &App, id: ConversationId) -> Result<(), ApiError> {
    app.store.read(move |conn| oversight::conversation(conn, id)).await?;
    Ok(())
}

fn answer(done: &'static str, intervention: Intervention) -> Result<Value, ApiError> {
    let (code, message) = match intervention {
        Intervention::Done => return Ok(json!({ done: true })),
        Intervention::NotAwake => (ErrorCode::NotAwake, "Nobody is awake in this Conversation."),
        Intervention::Busy { running } => {
            let message = "The actor is busy: a turn runs, or somebody is being answered.";
            return Err(ApiError::new(ErrorCode::TurnInProgress, message).with(json!({"turnId": running})));
        }
        Intervention::Quarantined => {
            (ErrorCode::NotAwake, "This Conversation is quarantined, so nobody is awake in it. Release it first.")
        }
        Intervention::NotQuarantined => (ErrorCode::NotQuarantined, "This Conversation is not quarantined."),
    };
    Err(ApiError::new(code, message))
}
