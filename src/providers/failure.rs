//! What a Provider's complaint means: from its HTTP status, and from the error objects that the vendors send, to one
//! `ProviderFailure`. Knows the words of the wire and refuses to know which request failed.

use hamlet_actors::{
    ports::ProviderFailure,
    vocabulary::{ErrorCode, ErrorKind},
};
use serde_json::Value;

use super::discretion::Discretion;

/// An answer with a status that is no success. `body` is what was read of it.
pub fn of_response(status: u16, body: &[u8], discretion: &Discretion) -> ProviderFailure {
    let said = match serde_json::from_slice::<Value>(body) {
        Ok(value) => Complaint::of_refusal(&value),
        Err(_) => Complaint { message: plain_text(body), ..Complaint::default() },
    };
    let kind = said.kind(Some(status));
    let message = match said.message {
        Some(words) => format!("the Provider answered {status}: {}", discretion.fit(&words)),
        None => format!("the Provider answered {status} and did not say why"),
    };
    failure(kind, message, Some(status))
}

/// An error within a stream or a reply that began as a success; `None` when `value` tells of none.
pub fn of_event(value: &Value, discretion: &Discretion) -> Option<ProviderFailure> {
    Complaint::of_event(value).map(|said| said.into_failure(discretion))
}

/// The data of an event that was named an error, whatever it holds.
pub fn of_error_event(data: &str, discretion: &Discretion) -> ProviderFailure {
    let said = match serde_json::from_str::<Value>(data) {
        Ok(value) => Complaint::of_refusal(&value),
        Err(_) => Complaint { message: Some(data.to_owned()), ..Complaint::default() },
    };
    said.into_failure(discretion)
}

/// A failure in words of our own.
pub fn failure(kind: ErrorKind, message: impl Into<String>, status: Option<u16>) -> ProviderFailure {
    let code = match kind {
        ErrorKind::Timeout => ErrorCode::ProviderTimeout,
        ErrorKind::Content => ErrorCode::ContentFiltered,
        _ => ErrorCode::ProviderError,
    };
    let retryable = matches!(kind, ErrorKind::RateLimit | ErrorKind::Timeout | ErrorKind::Server | ErrorKind::Network);
    ProviderFailure { code, kind, message: message.into(), status, retryable }
}

#[derive(Debug, Default)]
struct Complaint {
    message: Option<String>,
    /// Its type, code and status, as the vendor writes them.
    labels: Vec<String>,
    status: Option<u16>,
}

impl Complaint {
    /// Reads a body that is known to be an error.
    fn of_refusal(value: &Value) -> Self {
        Self::of_event(value).unwrap_or_else(|| {
            let mut said = Self::default();
            said.read(value);
            said
        })
    }

    fn of_event(value: &Value) -> Option<Self> {
        // Google's compatible endpoint wraps its error object in a list.
        if let Value::Array(list) = value {
            return list.iter().find_map(Self::of_event);
        }
        let mut said = Self::default();
        if let Some(error) = value.get("error").filter(|error| is_told(error)) {
            said.read(error);
            said.label(value.get("code"));
            said.label(value.get("type"));
            said.words(value.get("message"));
            return Some(said);
        }
        if ["error_message", "error_type"].iter().any(|field| value.get(field).is_some_and(is_told)) {
            said.label(value.get("error_type"));
            said.words(value.get("error_message"));
            return Some(said);
        }
        if let Some(detail) = value.get("detail").filter(|detail| is_told(detail)) {
            said.words(Some(detail));
            return Some(said);
        }
        let has_words = ["message", "msg"].iter().any(|field| value.get(field).is_some_and(is_told));
        let is_labelled = value.get("code").is_some_and(is_bad_code)
            || value.get("type").is_some_and(Value::is_string)
            || value.get("object").is_some_and(|object| object == "error");
        if has_words && is_labelled {
            said.read(value);
            return Some(said);
        }
        None
    }

    fn read(&mut self, error: &Value) {
        match error {
            Value::Object(fields) => {
                for field in ["message", "msg", "detail", "error"] {
                    self.words(fields.get(field));
                }
                for field in ["code", "type", "status", "status_code"] {
                    self.label(fields.get(field));
                }
                // OpenRouter puts the words of the Provider behind it here.
                let raw = fields.get("metadata").and_then(|metadata| metadata.get("raw"));
                if let (Some(message), Some(Value::String(raw))) = (&mut self.message, raw) {
                    *message = format!("{message}: {raw}");
                }
            }
            other => self.words(Some(other)),
        }
    }

    /// The first words found are the message.
    fn words(&mut self, value: Option<&Value>) {
        let words = match value {
            Some(Value::String(words)) => words.trim().to_owned(),
            Some(Value::Null | Value::Bool(_)) | None => return,
            Some(other) => match other.get("message").and_then(Value::as_str) {
                Some(words) => words.to_owned(),
                None => other.to_string(),
            },
        };
        if self.message.is_none() && !words.is_empty() {
            self.message = Some(words);
        }
    }

    fn label(&mut self, value: Option<&Value>) {
        let label = match value {
            Some(Value::String(label)) => label.to_lowercase(),
            Some(Value::Number(number)) => number.to_string(),
            _ => return,
        };
        if let Some(status) = label.parse().ok().filter(|status| (400..600).contains(status)) {
            self.status = Some(status);
        }
        self.labels.push(label);
    }

    fn kind(&self, http: Option<u16>) -> ErrorKind {
        let by_label = self.labels.iter().find_map(|label| kind_of_label(label));
        // These two say more than the status that they come with.
        if let Some(kind @ (ErrorKind::Billing | ErrorKind::Content)) = by_label {
            return kind;
        }
        http.or(self.status).and_then(kind_of_status).or(by_label).unwrap_or(ErrorKind::Unknown)
    }

    fn into_failure(self, discretion: &Discretion) -> ProviderFailure {
        let kind = self.kind(None);
        let message = match &self.message {
            Some(words) => format!("the Provider reported an error: {}", discretion.fit(words)),
            None => "the Provider reported an error and did not say which".to_owned(),
        };
        failure(kind, message, self.status)
    }
}

fn kind_of_status(status: u16) -> Option<ErrorKind> {
    Some(match status {
        401 | 403 => ErrorKind::Auth,
        402 => ErrorKind::Billing,
        408 | 504 => ErrorKind::Timeout,
        429 => ErrorKind::RateLimit,
        400..=499 => ErrorKind::Request,
        500..=599 => ErrorKind::Server,
        _ => return None,
    })
}

fn kind_of_label(label: &str) -> Option<ErrorKind> {
    const LABELS: [(ErrorKind, &[&str]); 7] = [
        (ErrorKind::Billing, &["insufficient_quota", "billing", "insufficient_balance", "credit"]),
        (ErrorKind::Content, &["content_filter", "content_policy"]),
        (ErrorKind::RateLimit, &["rate_limit", "ratelimit", "too_many", "toomany", "resource_exhausted"]),
        (ErrorKind::Auth, &["auth", "api_key", "permission", "forbidden"]),
        (ErrorKind::Timeout, &["timeout", "timed_out", "deadline"]),
        (ErrorKind::Server, &["overloaded", "server_error", "servererror", "internal", "unavailable"]),
        (ErrorKind::Request, &["invalid", "bad_request", "badrequest", "context_length", "not_found", "notfound"]),
    ];
    LABELS.iter().find(|(_, words)| words.iter().any(|word| label.contains(word))).map(|(kind, _)| *kind)
}

/// Whether a field says anything: many chunks carry `"error": null`.
fn is_told(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(words) => !words.trim().is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    }
}

fn is_bad_code(code: &Value) -> bool {
    match code {
        Value::Number(number) => !matches!(number.as_u64(), Some(0 | 200)),
        Value::String(code) => !matches!(code.as_str(), "" | "0" | "200" | "success" | "ok"),
        _ => false,
    }
}

/// A body that is no JSON, as far as it is something to read: not a web page.
fn plain_text(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    (!text.is_empty() && !text.starts_with('<')).then(|| text.to_owned())
}
