//! What went wrong with a tool server, in words for people and models. What the server was given secretly is in none of
//! them, whoever repeats it.

use std::{error::Error, fmt, io, iter, time::Duration};

use rmcp::{
    ServiceError,
    service::ClientInitializeError,
    transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError, StreamableHttpError},
};

/// Characters of one reason at most.
const WORDS_MAX: usize = 300;

/// What must never be shown.
#[derive(Clone, Default)]
pub struct Hidden(pub Vec<String>);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hidden({})", self.0.len())
    }
}

impl Hidden {
    /// The text without it, in one line and not long.
    pub fn cover(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for hidden in &self.0 {
            text = text.replace(hidden.as_str(), "***");
        }
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().filter(|char| !char.is_control()).take(WORDS_MAX).collect()
    }
}

const EARLY_END: &str = "it ended before it said who it is";

/// Why a connection was not made.
pub fn of_start(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => EARLY_END.to_owned(),
        // It had gone already when the first request was written.
        ClientInitializeError::TransportError { error, .. } if is_broken_pipe(error.error.as_ref()) => {
            EARLY_END.to_owned()
        }
        ClientInitializeError::JsonRpcError(error) => format!("it refused to begin: {}", error.message),
        ClientInitializeError::TransportError { error, .. } => of_transport(error.error.as_ref()),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version of MCP that Hamlet speaks".to_owned()
        }
        ClientInitializeError::Cancelled => "it was stopped".to_owned(),
        _ => "it does not answer as an MCP server does".to_owned(),
    }
}

/// Why a request failed, and whether that tells of the connection.
pub fn of_request(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => error.message.to_string(),
        ServiceError::TransportSend(error) => of_transport(error.error.as_ref()),
        ServiceError::TransportClosed => "the connection has ended".to_owned(),
        ServiceError::Timeout { timeout } => of_silence(*timeout),
        ServiceError::Cancelled { .. } => "it was cancelled".to_owned(),
        _ => "it answered with something else than was asked for".to_owned(),
    }
}

pub fn of_silence(limit: Duration) -> String {
    format!("it did not answer within {} s", limit.as_secs_f64())
}

/// A transport's error holds the whole address, which may hold a key: what happened is looked up and said anew.
fn of_transport(error: &(dyn Error + 'static)) -> String {
    let chain = || iter::successors(Some(error), |error| (*error).source());
    for error in chain() {
        if let Some(error) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            match error {
                StreamableHttpError::Client(error) => return of_http(error),
                StreamableHttpError::ResponseBodyTooLarge { max_size } => {
                    return format!("its answer has more than {max_size} bytes");
                }
                StreamableHttpError::HttpStatus(status) => return format!("it answered with HTTP {}", status.status),
                StreamableHttpError::SessionExpired => return "it lost the session again and again".to_owned(),
                StreamableHttpError::UnexpectedContentType(_) => {
                    return "it answered with something that is neither JSON nor an event stream".to_owned();
                }
                StreamableHttpError::UnexpectedServerResponse(what) if what.contains("HTTP 3") => {
                    return "it answered with a redirect, which Hamlet does not follow; configure the address it names"
                        .to_owned();
                }
                StreamableHttpError::UnexpectedServerResponse(what) => {
                    return format!("it answered unexpectedly: {what}");
                }
                _ => {}
            }
        }
        if error.is::<AuthRequiredError>() || error.is::<InsufficientScopeError>() {
            return "it asks for other credentials (check the headers)".to_owned();
        }
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return of_http(error);
        }
    }
    match chain().find_map(|error| error.downcast_ref::<io::Error>()) {
        Some(error) if error.kind() == io::ErrorKind::BrokenPipe => "the connection has ended".to_owned(),
        Some(error) => error.to_string(),
        None => "the connection failed".to_owned(),
    }
}

fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    iter::successors(Some(error), |error| (*error).source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn of_http(error: &reqwest::Error) -> String {
    if let Some(status) = error.status() {
        return format!("it answered with HTTP {}", status.as_u16());
    }
    let cause = iter::successors(error.source(), |error| (*error).source()).last();
    match cause {
        _ if error.is_timeout() => "it did not answer in time".to_owned(),
        Some(cause) if error.is_connect() => format!("no connection: {cause}"),
        Some(cause) => format!("the connection failed: {cause}"),
        None => "the connection failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_covered_in_one_short_line() {
        let hidden = Hidden(vec!["sk-secret".to_owned()]);
        assert_eq!(hidden.cover("bad key sk-secret,\n  sk-secret\u{1b}[2J"), "bad key ***, ***[2J");
        assert_eq!(hidden.cover(&"x".repeat(1_000)).len(), WORDS_MAX);
    }
}
