//! Every request has an id: the caller's `X-Request-Id` when it is a plain short word, else a new one. It is on every
//! response and in every error body.

use axum::{extract::Request, middleware::Next, response::Response};
use http::{HeaderName, HeaderValue};

pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

#[derive(Debug, Clone, Default)]
pub struct RequestId(pub String);

pub async fn assign(mut request: Request, next: Next) -> Response {
    let given = request.headers().get(HEADER).and_then(|value| value.to_str().ok()).filter(|id| is_plain(id));
    let id = given.map_or_else(|| uuid::Uuid::now_v7().to_string(), str::to_owned);
    request.extensions_mut().insert(RequestId(id.clone()));
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

fn is_plain(id: &str) -> bool {
    (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}
