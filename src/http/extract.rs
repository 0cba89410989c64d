//! What handlers take out of a request, each refusal with its code: bodies are `application/json` only (415), bounded
//! (413), and unknown fields are refused (400); an id that is none is a 404 like one that is absent.

use std::{str::FromStr, time::Duration};

use axum::{
    extract::{FromRequest, FromRequestParts, Request},
    http::request::Parts,
};
use hamlet_actors::vocabulary::ErrorCode;
use http::header;
use http_body_util::{BodyExt, Limited};
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// Bytes of a JSON body at most.
pub const BODY_LIMIT: usize = 1 << 20;
/// For a whole body to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

/// A JSON body. Its raw bytes are kept: an idempotency key is bound to them.
#[derive(Debug)]
pub struct Json<T> {
    pub value: T,
    pub raw: bytes::Bytes,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        require_json(request.headers())?;
        let raw = read_body(request, BODY_LIMIT).await?;
        // Derived readers take a list for a struct, field by field; on the wire only objects are bodies.
        let value = parsed(&raw, b'{', "The body must be a JSON object.")?;
        Ok(Self { value, raw })
    }
}

/// A JSON body that is a list: of a thing that is replaced as a whole.
#[derive(Debug)]
pub struct JsonList<T>(pub Vec<T>);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonList<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _state: &S) -> Result<Self, ApiError> {
        require_json(request.headers())?;
        let raw = read_body(request, BODY_LIMIT).await?;
        parsed(&raw, b'[', "The body must be a JSON list.").map(Self)
    }
}

fn parsed<T: DeserializeOwned>(raw: &[u8], begins: u8, otherwise: &str) -> Result<T, ApiError> {
    if raw.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&begins) {
        return Err(ApiError::invalid(otherwise));
    }
    serde_json::from_slice(raw).map_err(|error| ApiError::invalid(format!("The body does not fit: {error}.")))
}

/// A whole body of at most `limit` bytes, within a bounded time.
pub async fn read_body(request: Request, limit: usize) -> Result<bytes::Bytes, ApiError> {
    let too_large = || ApiError::new(ErrorCode::BodyTooLarge, format!("The body has more than {limit} bytes."));
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let reading = Limited::new(request.into_body(), limit).collect();
    let read = tokio::time::timeout(BODY_TIME, reading).await;
    let body = read.map_err(|_| ApiError::invalid("The body took too long to arrive."))?.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            too_large()
        } else {
            ApiError::invalid("The body could not be read to its end.")
        }
    })?;
    Ok(body.to_bytes())
}

fn require_json(headers: &http::HeaderMap) -> Result<(), ApiError> {
    if media_type(headers).eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(ApiError::new(ErrorCode::UnsupportedMediaType, "Send the body as application/json."))
}

/// What the body is said to be, without parameters; empty when nothing is said.
pub fn media_type(headers: &http::HeaderMap) -> &str {
    let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media.split(';').next().unwrap_or_default().trim()
}

/// The query string.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ApiError> {
        axum::extract::Query::<T>::try_from_uri(&parts.uri)
            .map(|query| Self(query.0))
            .map_err(|error| ApiError::invalid(format!("The query does not fit: {}.", error.body_text())))
    }
}

/// The one id in the path.
#[derive(Debug)]
pub struct Id<T>(pub T);

impl<T: FromStr + Send, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let axum::extract::Path(text) =
            axum::extract::Path::<String>::from_request_parts(parts, state).await.map_err(|_| ApiError::not_found())?;
        text.parse().map(Self).map_err(|_| ApiError::not_found())
    }
}
