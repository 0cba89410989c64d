//! Lists answer `{items, next}`; `next` is opaque to clients: the sort key of the last item, in URL-safe base64.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::Serialize;

use super::error::ApiError;

/// Items of one page at most.
const LIMIT: usize = 200;

#[derive(Debug, Serialize)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next: Option<String>,
}

pub fn limit(asked: Option<usize>, default: usize) -> Result<usize, ApiError> {
    match asked {
        Some(0) => Err(ApiError::invalid("\"limit\" must be at least 1.")),
        Some(limit) => Ok(limit.min(LIMIT)),
        None => Ok(default),
    }
}

/// Cuts what was read one too far, and says whether there is more.
pub fn cut<T>(mut rows: Vec<T>, limit: usize) -> (Vec<T>, bool) {
    let more = rows.len() > limit;
    rows.truncate(limit);
    (rows, more)
}

pub fn encode(key: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(key)
}

pub fn decode(next: &str) -> Result<String, ApiError> {
    let unknown = || ApiError::invalid("The page's cursor is none of ours.");
    String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(next).map_err(|_| unknown())?).map_err(|_| unknown())
}

pub fn encode_pair(first: i64, second: i64) -> String {
    encode(&format!("{first}.{second}"))
}

pub fn decode_pair(next: &str) -> Result<(i64, i64), ApiError> {
    let unknown = || ApiError::invalid("The page's cursor is none of ours.");
    let text = decode(next)?;
    let (first, second) = text.split_once('.').ok_or_else(unknown)?;
    Ok((first.parse().map_err(|_| unknown())?, second.parse().map_err(|_| unknown())?))
}
