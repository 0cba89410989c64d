//! From the head of an answer to its text, bounded while it arrives.

use http::header;
use reqwest::Response;
use url::Url;

use super::{charset, get::FetchFailure, readable};

/// Bytes of a body that are read; what is beyond is left.
const BODY_LIMIT: usize = 2 << 20;

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// After all redirects.
    pub url: Url,
    pub title: Option<String>,
    pub media: String,
    pub text: String,
    /// The body was longer than is read.
    pub is_cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Plain,
}

/// # Errors
/// When it is no text, or breaks off.
pub async fn read(mut response: Response) -> Result<Page, FetchFailure> {
    let text_of = |name: header::HeaderName| response.headers().get(name).and_then(|value| value.to_str().ok());
    if let Some(encoding) =
        text_of(header::CONTENT_ENCODING).filter(|encoding| !encoding.eq_ignore_ascii_case("identity"))
    {
        return Err(FetchFailure::Compressed(encoding.chars().take(40).collect()));
    }
    let named = text_of(header::CONTENT_TYPE).unwrap_or("text/plain").to_owned();
    let media: String = named.split(';').next().unwrap_or_default().trim().to_lowercase().chars().take(100).collect();
    let kind = kind(&media).ok_or_else(|| FetchFailure::Media(media.clone()))?;
    let url = response.url().clone();
    let (bytes, is_cut) = bounded(&mut response).await?;
    // Parsing is work, not waiting; bounded by the body, it ends soon even when nobody waits for it any more.
    let base = url.clone();
    let work = tokio::task::spawn_blocking(move || {
        let text = charset::decoded(&bytes, &named, kind == Kind::Html);
        match kind {
            Kind::Html => readable::of_html(&text, &base),
            Kind::Plain => readable::Readable { title: None, text, is_cut: false },
        }
    });
    let readable = work.await.map_err(|error| {
        tracing::error!(%error, "a page could not be made readable");
        FetchFailure::Internal
    })?;
    Ok(Page { url, title: readable.title, media, text: readable.text, is_cut: is_cut || readable.is_cut })
}

fn kind(media: &str) -> Option<Kind> {
    match media {
        "text/html" | "application/xhtml+xml" => Some(Kind::Html),
        "application/json" | "application/xml" | "application/x-ndjson" | "application/yaml" => Some(Kind::Plain),
        _ if media.starts_with("text/") => Some(Kind::Plain),
        _ if media.starts_with("application/") && (media.ends_with("+json") || media.ends_with("+xml")) => {
            Some(Kind::Plain)
        }
        _ => None,
    }
}

async fn bounded(response: &mut Response) -> Result<(Vec<u8>, bool), FetchFailure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| {
        tracing::debug!(%error, "a page broke off");
        FetchFailure::Broken
    })? {
        let room = BODY_LIMIT - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body, true));
        }
    }
    Ok((body, false))
}
