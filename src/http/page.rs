//! Lists answer `{items, next}`; `next` is opaque to clients: the sort key of the last item, in URL-safe base64.

use std::str::FromStr;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::error::ApiError;

/// Items of one page at most, and where nothing is asked for.
const LIMIT: usize = 200;
pub const DEFAULT: usize = 50;

/// What a list is asked for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    limit: Option<usize>,
    after: Option<String>,
}

impl Asked {
    pub fn limit(&self) -> Result<usize, ApiError> {
        limit(self.limit, DEFAULT)
    }

    /// The sort key behind which the page begins.
    pub fn after<K: FromStr>(&self) -> Result<Option<K>, ApiError> {
        self.after.as_deref().map(decode).transpose()
    }
}

#[derive(Debug, Serialize)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// What to send as `after` for the rest; null: this is all.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// All there is.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }

    /// A page of rows of which one more than `limit` was read, to tell whether there is a rest.
    pub fn of<R>(rows: Vec<R>, limit: usize, key: impl Fn(&R) -> String, item: impl Fn(R) -> T) -> Self {
        let (rows, more) = cut(rows, limit);
        let next = rows.last().filter(|_| more).map(|last| encode(&key(last)));
        Self { items: rows.into_iter().map(item).collect(), next }
    }
}

pub fn limit(asked: Option<usize>, default: usize) -> Result<usize, ApiError> {
    let limit = asked.unwrap_or(default);
    if (1..=LIMIT).contains(&limit) {
        return Ok(limit);
    }
    Err(ApiError::invalid(format!("A page's \"limit\" must be between 1 and {LIMIT}.")))
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

pub fn decode<K: FromStr>(next: &str) -> Result<K, ApiError> {
    let unknown = || ApiError::invalid("The page's cursor is none of ours.");
    let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(next).map_err(|_| unknown())?).map_err(|_| unknown())?;
    text.parse().map_err(|_| unknown())
}

/// A sort key of a time and a row's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeAndKey(pub i64, pub i64);

impl std::fmt::Display for TimeAndKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl FromStr for TimeAndKey {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (time, key) = text.split_once('.').ok_or(())?;
        Ok(Self(time.parse().map_err(|_| ())?, key.parse().map_err(|_| ())?))
    }
}
