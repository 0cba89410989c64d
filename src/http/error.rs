//! The only table from codes to statuses, and the one shape of every error body.

use std::time::Duration;

use axum::{
    body::Body,
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use hamlet_actors::{
    conversation::{AbortRefusal, BeginRefusal, ChangeRefusal},
    engine::EngineError,
    ports::journal::JournalError,
    vocabulary::ErrorCode,
};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

use super::request_id::RequestId;
use crate::{metrics::http::RefusedWith, store::StoreError};

/// Before somebody who is told of a quarantine asks again: an operator acts in minutes, not in seconds.
const QUARANTINE_PATIENCE: Duration = Duration::from_secs(60);

/// What is told of what is not told.
pub const INTERNAL: &str = "Something went wrong inside Hamlet. The log has more.";

/// A refusal: a stable code, a sentence for the person, and what a program needs to go on.
#[derive(Debug, Clone)]
pub struct ApiError {
    pub code: ErrorCode,
    pub message: String,
    pub details: Option<Value>,
    pub retry_after: Option<Duration>,
}

impl ApiError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None, retry_after: None }
    }

    #[must_use]
    pub fn with(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidBody, message)
    }

    /// Absent and foreign alike (promise 17).
    pub fn not_found() -> Self {
        Self::new(ErrorCode::NotFound, "There is nothing here under this name.")
    }

    pub fn forbidden() -> Self {
        Self::new(ErrorCode::Forbidden, "Your role does not allow this.")
    }

    pub fn key_taken() -> Self {
        let message = "This Idempotency-Key was used for another request. Use a new key for a new request.";
        Self::new(ErrorCode::IdempotencyMismatch, message)
    }

    /// The store failed at the moment of the commit.
    fn not_known() -> Self {
        let message = "Hamlet's store failed in the middle of this request, so that it is not known whether it was kept. \
                       Asking again under the same Idempotency-Key finds out.";
        Self::new(ErrorCode::StoreUnavailable, message).after(Duration::from_secs(5))
    }

    /// Something of our own went wrong: logged here, not told.
    pub fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "a request failed");
        Self::new(ErrorCode::Internal, INTERNAL)
    }
}

pub fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::InvalidBody
        | ErrorCode::NoNpc
        | ErrorCode::NoModel
        | ErrorCode::NoProviderKey
        | ErrorCode::NothingToRegenerate
        | ErrorCode::NothingToContinue => StatusCode::BAD_REQUEST,
        ErrorCode::Unauthenticated | ErrorCode::InvalidCredentials => StatusCode::UNAUTHORIZED,
        ErrorCode::OutOfCredits => StatusCode::PAYMENT_REQUIRED,
        ErrorCode::Forbidden | ErrorCode::HostNotAllowed | ErrorCode::OriginNotAllowed | ErrorCode::SignUpClosed => {
            StatusCode::FORBIDDEN
        }
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::TurnInProgress
        | ErrorCode::TurnMismatch
        | ErrorCode::NotLeased
        | ErrorCode::NotAwaiting
        | ErrorCode::SettingPinned
        | ErrorCode::NotQueued
        | ErrorCode::NotAwake
        | ErrorCode::NotQuarantined
        | ErrorCode::Conflict => StatusCode::CONFLICT,
        ErrorCode::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        ErrorCode::IdempotencyMismatch => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::RateLimited | ErrorCode::MailboxFull | ErrorCode::QueueFull => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::StoreUnavailable | ErrorCode::ShuttingDown | ErrorCode::Quarantined => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        // Codes that a stream tells; over HTTP they are the server's fault.
        ErrorCode::ProviderError
        | ErrorCode::ReplyTooLong
        | ErrorCode::EmptyReply
        | ErrorCode::ReplyTruncated
        | ErrorCode::ContentFiltered => StatusCode::BAD_GATEWAY,
        ErrorCode::ProviderTimeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorCode::ToolCallInvalid
        | ErrorCode::HopLimit
        | ErrorCode::StepLimit
        | ErrorCode::Interrupted
        | ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = status_of(self.code).into_response();
        // The body needs the request's id and wishes: `render` writes it.
        response.extensions_mut().insert(self);
        response
    }
}

/// A handler that panics answers like any other failure of our own; the panic itself is in the log.
pub fn of_panic(_panic: Box<dyn std::any::Any + Send>) -> Response {
    ApiError::new(ErrorCode::Internal, INTERNAL).into_response()
}

/// Writes the bodies of all errors, of our own and of the router's.
pub async fn render(request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestId>().cloned().unwrap_or_default();
    let problem = request
        .headers()
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("application/problem+json"));
    let mut response = next.run(request).await;
    let error = match response.extensions_mut().remove::<ApiError>() {
        Some(error) => error,
        None => match unrendered(&response) {
            Some(error) => error,
            None => return response,
        },
    };
    response.extensions_mut().insert(RefusedWith(error.code));
    let status = status_of(error.code);
    let mut body = body(&error);
    body.insert("requestId".to_owned(), json!(id.0));
    let (media, body) = if problem {
        let title = status.canonical_reason().unwrap_or("Error");
        let problem = json!({
            "type": format!("urn:hamlet:error:{}", error.code), "title": title, "status": status.as_u16(),
            "detail": error.message, "error": body,
        });
        ("application/problem+json", problem)
    } else {
        ("application/json", json!({"error": body}))
    };
    *response.status_mut() = status;
    *response.body_mut() = Body::from(body.to_string());
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    if matches!(status, StatusCode::PAYMENT_REQUIRED | StatusCode::CONFLICT) {
        // Common SDKs would try these again by themselves.
        headers.insert("x-should-retry", HeaderValue::from_static("false"));
    }
    if let Some(wait) = error.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs_f64().ceil() as u64));
    }
    response
}

/// What every error says, wherever it is told.
pub fn body(error: &ApiError) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("code".to_owned(), json!(error.code));
    body.insert("message".to_owned(), json!(error.message));
    if let Some(details) = &error.details {
        body.insert("details".to_owned(), details.clone());
    }
    body
}

/// What the router or a layer refused by itself.
fn unrendered(response: &Response) -> Option<ApiError> {
    match response.status() {
        StatusCode::NOT_FOUND => Some(ApiError::not_found()),
        StatusCode::METHOD_NOT_ALLOWED => {
            Some(ApiError::new(ErrorCode::MethodNotAllowed, "This route does not know this method."))
        }
        StatusCode::PAYLOAD_TOO_LARGE => Some(ApiError::new(ErrorCode::BodyTooLarge, "The body is too large.")),
        _ => None,
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound => Self::not_found(),
            StoreError::Conflict(ref message) => {
                tracing::debug!(%message, "a conflict");
                Self::new(ErrorCode::Conflict, "This is taken, or still in use.")
            }
            StoreError::Unavailable(ref reason) => {
                tracing::error!(%reason, "the store can't be used");
                Self::new(
                    ErrorCode::StoreUnavailable,
                    "Hamlet's store can't be written now. Nothing of this request was kept.",
                )
                .after(Duration::from_secs(5))
            }
            StoreError::Unsettled(ref reason) | StoreError::Unknown(ref reason) => {
                tracing::error!(%reason, "the store failed over a request");
                Self::not_known()
            }
            error => Self::internal(&error),
        }
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let code = error.code();
        match error {
            EngineError::Refused(BeginRefusal::Busy { running })
            | EngineError::NotChanged(ChangeRefusal::Busy { running }) => {
                Self::new(code, "A reply is still being written in this Conversation.").with(json!({"turnId": running}))
            }
            EngineError::NotAborted(AbortRefusal::Mismatch { running }) => {
                Self::new(code, "Another turn is running now.").with(json!({"turnId": running}))
            }
            EngineError::NotAborted(AbortRefusal::Store(_)) if code == ErrorCode::StoreUnavailable => {
                Self::new(code, "The turn is being stopped; its end can't be stored yet.").after(Duration::from_secs(5))
            }
            EngineError::Refused(BeginRefusal::QueueFull) => {
                Self::new(code, "Too many texts wait in this Conversation. Withdraw one, or wait for the next reply.")
                    .after(Duration::from_secs(5))
            }
            EngineError::Refused(BeginRefusal::KeyTaken) => Self::key_taken(),
            EngineError::Refused(BeginRefusal::Unplanned(error)) => Self::new(code, error.message),
            EngineError::NotChanged(ChangeRefusal::NotQueued)
            | EngineError::Refused(BeginRefusal::NothingWaits { .. }) => {
                Self::new(code, "This does not wait any more: it was taken up, or withdrawn.")
            }
            EngineError::NotChanged(ChangeRefusal::NotAwaiting) => {
                Self::new(code, "This call does not wait for an approval: somebody has decided, or it expired.")
            }
            error if code == ErrorCode::NotFound => {
                tracing::debug!(%error, "a conversation that is gone was asked");
                Self::not_found()
            }
            EngineError::MailboxFull => {
                Self::new(code, "Too many requests wait for this Conversation.").after(Duration::from_secs(1))
            }
            EngineError::Quarantined => {
                let message = "This Conversation failed again and again inside Hamlet. An operator can release it.";
                Self::new(code, message).after(QUARANTINE_PATIENCE)
            }
            EngineError::ShuttingDown => Self::new(code, "Hamlet is being stopped.").after(Duration::from_secs(5)),
            EngineError::Refused(BeginRefusal::Store(JournalError::Unsettled(_) | JournalError::Unknown(_)))
            | EngineError::NotChanged(ChangeRefusal::Store(JournalError::Unsettled(_) | JournalError::Unknown(_)))
            | EngineError::Late => Self::not_known(),
            EngineError::Refused(BeginRefusal::Store(_)) | EngineError::NotChanged(ChangeRefusal::Store(_))
                if code == ErrorCode::StoreUnavailable =>
            {
                Self::new(code, "Hamlet's store can't be written now. Nothing of this request was kept.")
                    .after(Duration::from_secs(5))
            }
            error @ (EngineError::Refused(_)
            | EngineError::NotAborted(_)
            | EngineError::NotChanged(_)
            | EngineError::NoAnswer) => Self::internal(&error),
        }
    }
}
