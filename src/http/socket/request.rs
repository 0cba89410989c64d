//! A request over a socket, and its answer. What an op does, and what refuses it, is what its HTTP route does.

use hamlet_actors::vocabulary::{ConversationId, ErrorCode};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::{
    app::App,
    auth::{SignedIn, extract::is_still_in},
    gates::admit::{self, Repeatable},
    http::{
        error::{self, ApiError, status_of},
        turns::{self, SayBody},
    },
};

/// Characters of a request's id at most.
const ID_LIMIT: usize = 128;

#[derive(Debug)]
pub struct Request {
    pub id: String,
    op: Op,
    fields: Map<String, Value>,
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Turn,
    Abort,
    ToolResult,
    Approve,
}

impl Request {
    /// # Errors
    /// The answer to what can't be read.
    pub fn read(text: &str) -> Result<Self, Answer> {
        let Ok(Value::Object(mut fields)) = serde_json::from_str(text) else {
            return Err(Answer::unread("A request is a JSON object."));
        };
        let id = match fields.remove("requestId") {
            Some(Value::String(id)) if !id.is_empty() && id.chars().count() <= ID_LIMIT => id,
            _ => return Err(Answer::unread(&format!("\"requestId\" must be a text of 1 to {ID_LIMIT} characters."))),
        };
        let op = match fields.remove("op").as_ref().and_then(Value::as_str) {
            Some("turn") => Op::Turn,
            Some("abort") => Op::Abort,
            Some("toolResult") => Op::ToolResult,
            Some("approve") => Op::Approve,
            _ => {
                let invalid = ApiError::invalid("\"op\" must be one of turn, abort, toolResult, approve.");
                return Err(Answer::refused(Some(id), &invalid));
            }
        };
        Ok(Self { id, op, fields })
    }

    pub fn refused(self, error: ApiError) -> Answer {
        Answer::refused(Some(self.id), &error)
    }

    pub async fn perform(self, app: &App, signed_in: &SignedIn, conversation: ConversationId) -> Answer {
        let id = self.id.clone();
        match self.answered(app, signed_in, conversation).await {
            Ok((status, result)) => Answer(json!({"requestId": id, "status": status.as_u16(), "result": result})),
            Err(error) => Answer::refused(Some(id), &error),
        }
    }

    async fn answered(
        self,
        app: &App,
        signed_in: &SignedIn,
        conversation: ConversationId,
    ) -> Result<(StatusCode, Value), ApiError> {
        // As with every request of its own; the socket itself is closed at its next heartbeat.
        if !is_still_in(&app.accounts, signed_in.credential).await {
            return Err(ApiError::new(ErrorCode::Unauthenticated, "You are signed out. Sign in again."));
        }
        match self.op {
            Op::Turn => turn(app, signed_in, conversation, self.fields).await,
            Op::Abort => {
                let stopped = turns::stop(app, &signed_in.who, conversation, body(self.fields)?).await?;
                Ok((StatusCode::OK, stopped))
            }
            Op::Approve => {
                turns::decide(app, &signed_in.who, conversation, body(self.fields)?).await?;
                Ok((StatusCode::NO_CONTENT, Value::Null))
            }
            Op::ToolResult => {
                let reason = "No tool call of this Conversation is leased to you.";
                Err(ApiError::new(ErrorCode::NotLeased, reason))
            }
        }
    }
}

/// The key is bound to what was said, in the order in which its fields came: over HTTP and over a socket a repeat is the
/// same.
async fn turn(
    app: &App,
    signed_in: &SignedIn,
    conversation: ConversationId,
    mut fields: Map<String, Value>,
) -> Result<(StatusCode, Value), ApiError> {
    let mut headers = HeaderMap::new();
    match fields.remove("idempotencyKey") {
        None | Some(Value::Null) => {}
        Some(key) => {
            let key = key.as_str().and_then(|key| HeaderValue::from_str(key).ok());
            let invalid = || ApiError::invalid("\"idempotencyKey\" must be a text of visible ASCII characters.");
            headers.insert("idempotency-key", key.ok_or_else(invalid)?);
        }
    }
    // An empty one would be the same for all: under one key another request would pass for this one.
    let raw = serde_json::to_vec(&fields).map_err(|error| ApiError::internal(&error))?;
    let repeatable = Repeatable::of(&headers, &format!("messages {conversation}"), &raw)?;
    let said: SayBody = body(fields)?;
    let joined = admit::say(app, &signed_in.who, conversation, said.into(), repeatable).await?;
    Ok((StatusCode::ACCEPTED, turns::accepted(&joined)))
}

fn body<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, ApiError> {
    serde_json::from_value(Value::Object(fields))
        .map_err(|error| ApiError::invalid(format!("The request does not fit: {error}.")))
}

/// What goes down under a request's id.
#[derive(Debug)]
pub struct Answer(Value);

impl Answer {
    /// To something that has no id that could be read.
    pub fn unread(reason: &str) -> Self {
        Self::refused(None, &ApiError::invalid(reason))
    }

    pub fn failed(id: String) -> Self {
        Self::refused(Some(id), &ApiError::new(ErrorCode::Internal, error::INTERNAL))
    }

    fn refused(id: Option<String>, error: &ApiError) -> Self {
        let mut body = error::body(error);
        if let Some(wait) = error.retry_after {
            body.insert("retryAfter".to_owned(), json!(wait.as_secs_f64().ceil() as u64));
        }
        let mut answer = Map::new();
        answer.extend(id.map(|id| ("requestId".to_owned(), json!(id))));
        answer.insert("status".to_owned(), json!(status_of(error.code).as_u16()));
        answer.insert("error".to_owned(), Value::Object(body));
        Self(Value::Object(answer))
    }

    pub fn text(self) -> String {
        self.0.to_string()
    }
}
