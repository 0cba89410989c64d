//! One request to a Provider up to the head of its answer: sent, sent again where that is safe, refused in the
//! Provider's words. Knows HTTP and no wire format; reads no body of a success.

use std::time::Duration;

use hamlet_actors::{
    ports::ProviderFailure,
    vocabulary::{ErrorCode, ErrorKind},
};
use http::{HeaderMap, header};
use jiff::{Timestamp, fmt::rfc2822};
use reqwest::{Client, Request, Response};
use tokio::time::{sleep, timeout};
use url::Url;

use super::{discretion::Discretion, failure, limits::Limits};

/// What is read of an error's body, and for how long.
const MAX_ERROR_BODY: usize = 64 * 1024;
const ERROR_BODY_TIME: Duration = Duration::from_secs(5);

/// Sends `request` and answers with the head of a success.
///
/// Retries what was not taken up: failed connections and statuses that ask to come again. A request that may have been
/// worked on is never repeated: it would be billed twice.
pub async fn send(
    client: &Client,
    mut request: Request,
    limits: &Limits,
    discretion: &Discretion,
) -> Result<Response, ProviderFailure> {
    let mut attempt = 0;
    loop {
        // A body that cannot be sent twice is sent once.
        let again = request.try_clone();
        let outcome = attempt_once(client, request, limits, discretion).await;
        let (failure, wanted) = match outcome {
            Outcome::Answered(response) => return Ok(response),
            Outcome::Final(failure) => return Err(failure),
            Outcome::Passing { failure, retry_after } => (failure, retry_after),
        };
        let pause = wanted.unwrap_or_else(|| jitter(limits, attempt));
        // A pause that nobody would sit through is the Player's to decide on.
        match again.filter(|_| attempt < limits.retries && pause <= limits.longest_pause) {
            Some(again) => request = again,
            None => return Err(failure),
        }
        tracing::debug!(code = %failure.code, status = failure.status, ?pause, "asking the Provider again");
        sleep(pause).await;
        attempt += 1;
    }
}

enum Outcome {
    Answered(Response),
    /// Another attempt may go better.
    Passing {
        failure: ProviderFailure,
        retry_after: Option<Duration>,
    },
    Final(ProviderFailure),
}

async fn attempt_once(client: &Client, request: Request, limits: &Limits, discretion: &Discretion) -> Outcome {
    let url = request.url().clone();
    let response = match timeout(limits.first_byte, client.execute(request)).await {
        Err(_) => return Outcome::Final(silent(limits.first_byte)),
        Ok(Err(error)) if error.is_connect() => {
            return Outcome::Passing { failure: unreachable(error), retry_after: None };
        }
        Ok(Err(error)) => return Outcome::Final(unreachable(error)),
        Ok(Ok(response)) => response,
    };
    let status = response.status();
    if status.is_success() {
        return Outcome::Answered(response);
    }
    if status.is_redirection() {
        return Outcome::Final(redirected(&response, &url));
    }
    let retry_after = retry_after(response.headers());
    let body = timeout(ERROR_BODY_TIME, bounded_body(response, MAX_ERROR_BODY)).await;
    let body = body.ok().and_then(Result::ok).unwrap_or_default();
    let failure = failure::of_response(status.as_u16(), &body, discretion);
    let is_passing = matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504 | 529);
    // An empty account answers 429 too, and will do so again.
    if is_passing && failure.kind != ErrorKind::Billing {
        Outcome::Passing { failure, retry_after }
    } else {
        Outcome::Final(failure)
    }
}

/// The body of an answer, up to `limit` bytes; what is beyond is not read. Err: it broke off.
pub async fn bounded_body(mut response: Response, limit: usize) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = limit - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == limit {
            break;
        }
    }
    Ok(body)
}

/// A failure to reach the Provider or to hear from it.
pub fn unreachable(error: reqwest::Error) -> ProviderFailure {
    // The URL may hold a key; so may the Location that an error of a redirect shows.
    let error = error.without_url();
    tracing::debug!(error = ?error, "the Provider was not reached");
    let (kind, message) = if error.is_connect() && error.is_timeout() {
        (ErrorKind::Timeout, "the Provider could not be reached in time")
    } else if error.is_connect() {
        (ErrorKind::Network, "the Provider could not be reached")
    } else if error.is_builder() {
        (ErrorKind::Request, "the request to the Provider could not be built")
    } else {
        (ErrorKind::Network, "the connection to the Provider broke before it answered")
    };
    let failure = failure::failure(kind, message, None);
    // "Could not be reached" has one code, whatever stood in the way.
    let code = if error.is_connect() { ErrorCode::ProviderTimeout } else { failure.code };
    ProviderFailure { code, ..failure }
}

/// Nothing came for too long.
pub fn silent(for_how_long: Duration) -> ProviderFailure {
    let message = format!("the Provider sent nothing for {}", spoken(for_how_long));
    failure::failure(ErrorKind::Timeout, message, None)
}

/// A 3xx is never followed. Says where it pointed, without what may be secret in it.
fn redirected(response: &Response, asked: &Url) -> ProviderFailure {
    let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let target = location.and_then(|location| asked.join(location).ok()).map(|target| {
        let origin = target.origin().ascii_serialization();
        format!("{origin}{}", target.path())
    });
    let status = response.status().as_u16();
    let message = match target {
        Some(target) => {
            format!("the Provider redirects to {target} ({status}), which is not followed: check the base URL")
        }
        None => format!("the Provider redirects ({status}), which is not followed: check the base URL"),
    };
    failure::failure(ErrorKind::Request, message, Some(status))
}

/// Full jitter: anywhere between nothing and twice the last bound.
fn jitter(limits: &Limits, attempt: u32) -> Duration {
    let bound = limits.backoff.saturating_mul(2u32.saturating_pow(attempt)).min(limits.longest_pause);
    bound.mul_f64(fastrand::f64())
}

/// The pause that the Provider asked for: milliseconds, seconds or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|millis| millis.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let wanted = text(header::RETRY_AFTER.as_str())?;
    if let Ok(seconds) = wanted.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = rfc2822::DateTimeParser::new().parse_timestamp(wanted).ok()?;
    // A date that has passed means: now.
    Some(Duration::try_from(date.duration_since(Timestamp::now())).unwrap_or_default())
}

fn spoken(time: Duration) -> String {
    if time.subsec_millis() == 0 { format!("{} s", time.as_secs()) } else { format!("{} ms", time.as_millis()) }
}
