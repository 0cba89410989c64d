//! Which Host and Origin this server answers to. A page of another site must neither post to a server on somebody's own
//! machine, nor reach it by pointing a name of its own at 127.0.0.1 (DNS rebinding). It judges headers only and knows no
//! Player.

use std::{net::SocketAddr, str::FromStr, sync::Arc};

use axum::{
    extract::{ConnectInfo, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use hamlet_actors::vocabulary::ErrorCode;
use http::{HeaderName, HeaderValue, Method, Version, header};
use ipnet::IpNet;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use url::{Host, Url};

use crate::{auth::client_address::is_trusted, http::error::ApiError};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Scheme, host and port of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    host: Host,
    port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an origin is like https://example.com, without a path; {0:?} is none")]
pub struct NotAnOrigin(String);

impl FromStr for Origin {
    type Err = NotAnOrigin;

    fn from_str(text: &str) -> Result<Self, NotAnOrigin> {
        let wrong = || NotAnOrigin(text.chars().take(256).collect());
        let url = Url::parse(text).map_err(|_| wrong())?;
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
        if !bare || url.password().is_some() {
            return Err(wrong());
        }
        Self::of(&url).ok_or_else(wrong)
    }
}

impl Origin {
    /// Of an http or https URL.
    pub fn of(url: &Url) -> Option<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let (host, port) = (url.host()?.to_owned(), url.port_or_known_default()?);
        Some(Self { scheme: url.scheme().to_owned(), host, port })
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.scheme.as_str(), self.port) {
            ("http", 80) | ("https", 443) => write!(f, "{}://{}", self.scheme, self.host),
            _ => write!(f, "{}://{}:{}", self.scheme, self.host, self.port),
        }
    }
}

/// Whom the server answers, from the configuration.
#[derive(Debug, Clone, Default)]
pub struct OriginRules {
    pub public: Option<Origin>,
    pub cors: Vec<Origin>,
    pub trusted_proxies: Vec<IpNet>,
}

/// What a request says of where it comes from and where it was sent.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Whether it can change something or open a channel: these need an allowed origin.
    pub effect: Effect,
    pub host: Option<&'a str>,
    pub origin: Option<&'a str>,
    pub fetch_site: Option<&'a str>,
    /// The peer is a trusted proxy, which may have taken https off.
    pub proxied: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    ReadOnly,
    Changes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    NoHost,
    Host(String),
    Origin,
}

impl OriginRules {
    /// # Errors
    /// Why the request is not answered.
    pub fn judge(&self, asked: Asked<'_>) -> Result<(), Refusal> {
        let host = asked.host.ok_or(Refusal::NoHost)?;
        let sent_to = authority(host).ok_or(Refusal::NoHost)?;
        if !self.answers_to(&sent_to.host) {
            return Err(Refusal::Host(host.chars().take(256).collect()));
        }
        match (asked.effect, asked.origin) {
            (Effect::ReadOnly, _) => Ok(()),
            (Effect::Changes, Some(origin)) => match origin.parse::<Origin>() {
                Ok(origin) if self.allows(&origin, &sent_to, asked.proxied) => Ok(()),
                Ok(_) | Err(_) => Err(Refusal::Origin),
            },
            // Programs send neither header; a browser that leaves Origin out still says that the page is foreign.
            (Effect::Changes, None) => match asked.fetch_site {
                None | Some("same-origin" | "none") => Ok(()),
                Some(_) => Err(Refusal::Origin),
            },
        }
    }

    fn answers_to(&self, host: &Host) -> bool {
        let local = match host {
            Host::Ipv4(_) | Host::Ipv6(_) => true,
            Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
        };
        local || self.public.as_ref().is_some_and(|public| public.host == *host)
    }

    fn allows(&self, origin: &Origin, sent_to: &Origin, proxied: bool) -> bool {
        let same_host = origin.host == sent_to.host;
        // `sent_to` has the port that was written, or that of http; behind a proxy https has 443 where none was written.
        let same = same_host && origin.scheme == "http" && origin.port == sent_to.port;
        let same_behind_proxy = proxied
            && same_host
            && origin.scheme == "https"
            && (origin.port == sent_to.port || (origin.port == 443 && sent_to.port == 80));
        same || same_behind_proxy || self.public.as_ref() == Some(origin) || self.cors.contains(origin)
    }
}

/// A Host header, read as the http origin that it names.
fn authority(host: &str) -> Option<Origin> {
    let plain = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#@\\".contains(&byte));
    plain.then(|| Url::parse(&format!("http://{host}/")).ok()).flatten().and_then(|url| Origin::of(&url))
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoHost => Self::invalid("The request needs one Host header that names a host."),
            Refusal::Host(host) => Self::new(
                ErrorCode::HostNotAllowed,
                format!(
                    "This server does not answer as {host:?}. If it is to be reached under that name, start it with \
                     --public-url (HAMLET_PUBLIC_URL), and let a proxy pass the Host header on."
                ),
            ),
            Refusal::Origin => Self::new(
                ErrorCode::OriginNotAllowed,
                "The request comes from a page of another origin. Name the server's own address with --public-url, or \
                 allow the page's origin with HAMLET_CORS_ORIGINS.",
            ),
        }
    }
}

/// The middleware: outside of everything that reads bodies or cookies, inside of CORS.
pub async fn guard(State(rules): State<Arc<OriginRules>>, request: Request, next: Next) -> Response {
    match read_and_judge(&rules, &request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => ApiError::from(refusal).into_response(),
    }
}

fn read_and_judge(rules: &OriginRules, request: &Request) -> Result<(), Refusal> {
    let headers = request.headers();
    let single = |name: &HeaderName| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (Some(value), None) => Ok(value.to_str().ok()),
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(()),
        }
    };
    let host = single(&header::HOST).map_err(|()| Refusal::NoHost)?;
    // An absolute request target overrides the header (RFC 9112, 3.2.2).
    let host = request.uri().authority().map(|authority| authority.as_str()).or(host);
    if host.is_none() && request.version() < Version::HTTP_11 && !headers.contains_key(header::ORIGIN) {
        // HTTP/1.0 has no Host; no browser speaks it.
        return Ok(());
    }
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
    rules.judge(Asked {
        effect: effect(request),
        host,
        // A header that is there but does not read is refused like any foreign one.
        origin: headers.get(header::ORIGIN).map(|value| value.to_str().unwrap_or_default()),
        fetch_site: headers.get(FETCH_SITE).map(|value| value.to_str().unwrap_or_default()),
        proxied: peer.is_some_and(|peer| is_trusted(peer.0.ip(), &rules.trusted_proxies)),
    })
}

/// A WebSocket begins with a GET and is not subject to CORS: any page could open one.
fn effect(request: &Request) -> Effect {
    let safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if safe && !request.headers().contains_key(header::UPGRADE) { Effect::ReadOnly } else { Effect::Changes }
}

/// What pages of the allowed origins may do: everything, as the Player who is signed in. None where no other origin is
/// allowed: then there is nothing to tell a browser about it.
pub fn cors(origins: &[Origin]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let origins = origins.iter().filter_map(|origin| HeaderValue::from_str(&origin.to_string()).ok());
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_credentials(true)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([header::RETRY_AFTER, HeaderName::from_static("x-request-id")]);
    Some(layer)
}

#[cfg(test)]
mod tests;
