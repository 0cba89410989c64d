//! The pages, embedded. Scripts and styles carry a hash in their names and are kept for ever; a page itself is asked for
//! each time. Its policy lets it talk to this server and to nothing else.

use axum::{
    Router,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderName, HeaderValue, Uri, header};

use super::error::ApiError;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     font-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// A worker is under the policy of its own script, not of the page that starts it.
const WORKER_POLICY: &str = "default-src 'none'; connect-src 'self'";

#[cfg(feature = "web")]
#[derive(rust_embed::RustEmbed)]
#[folder = "$OUT_DIR/web"]
struct Assets;

pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/", get(|| page("index.html")))
        .route("/c/{id}", get(|| page("index.html")))
        .route("/admin", get(|| page("admin.html")))
        .fallback(asset)
}

async fn page(name: &str) -> Response {
    match file(name) {
        Some(html) => {
            let headers = [
                (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
                (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
                (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
                (HeaderName::from_static("x-frame-options"), HeaderValue::from_static("DENY")),
            ];
            (headers, html).into_response()
        }
        None => "This Hamlet was built without its page. The API is at /api.\n".into_response(),
    }
}

async fn asset(uri: Uri) -> Result<Response, ApiError> {
    let name = uri.path().trim_start_matches('/');
    if name.ends_with(".html") {
        return Err(ApiError::not_found());
    }
    let bytes = file(name).ok_or_else(ApiError::not_found)?;
    let kept = if name.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "public, max-age=3600" };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type(name))),
        (header::CACHE_CONTROL, HeaderValue::from_static(kept)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(WORKER_POLICY)),
    ];
    Ok((headers, bytes).into_response())
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(feature = "web")]
fn file(name: &str) -> Option<std::borrow::Cow<'static, [u8]>> {
    Assets::get(name).map(|file| file.data)
}

#[cfg(not(feature = "web"))]
fn file(_name: &str) -> Option<std::borrow::Cow<'static, [u8]>> {
    None
}
