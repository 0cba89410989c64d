//! From an address to the head of an answer: each hop is judged anew, and the resolver gives the connection only addresses
//! that may be connected to. What was resolved is what is connected to, so that a name can't mean one thing when it is
//! checked and another when it is used.

use std::{error::Error, net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderValue, StatusCode, header};
use reqwest::{
    Client, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect,
};
use url::Url;

use super::{
    address::{self, Refused},
    reach::{Reach, Reaching},
};

const HOPS: usize = 5;
const CONNECT: Duration = Duration::from_secs(8);
const ACCEPT: &str =
    "text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.8,application/xml;q=0.8,*/*;q=0.1";

/// Why a page was not read, in words for the model. Nothing of an internal address is told but that it is one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchFailure {
    #[error("{0}")]
    Address(String),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("{0}")]
    Settings(String),
    #[error("the redirect to {0} is not followed: {1}")]
    Redirect(String, Refused),
    #[error("more than {HOPS} redirects")]
    TooManyRedirects,
    #[error("a redirect (status {0}) that names no address")]
    LostRedirect(u16),
    #[error("the name {0} could not be resolved")]
    Unknown(String),
    #[error("{0} could not be reached")]
    Unreachable(String),
    #[error("the connection broke before the page was read")]
    Broken,
    #[error("it took more than 20 seconds")]
    TooSlow,
    #[error("{url} answered {status}")]
    Status { url: String, status: StatusCode },
    #[error("{0} is not a text that can be read here; HTML, plain text, JSON and XML are")]
    Media(String),
    #[error("the answer is compressed ({0}), which was not asked for")]
    Compressed(String),
    #[error("it can't be fetched from this server now")]
    Internal,
}

/// Follows redirects to the head of a success.
///
/// # Errors
/// Whatever stands in the way.
pub async fn get(reaching: Arc<dyn Reaching>, reach: Reach, url: Url) -> Result<Response, FetchFailure> {
    address::check(&url, reach)?;
    let client = client(reaching, reach)?;
    let mut url = url;
    for _ in 0..=HOPS {
        let response = hop(&client, &url).await?;
        if !is_redirect(response.status()) {
            return success(response);
        }
        let status = response.status().as_u16();
        let location = response.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
        let next = location.and_then(|location| url.join(location).ok()).ok_or(FetchFailure::LostRedirect(status))?;
        address::check(&next, reach).map_err(|refused| FetchFailure::Redirect(shown(&next), refused))?;
        url = next;
    }
    Err(FetchFailure::TooManyRedirects)
}

/// One for each fetch: no connection and no name outlives the setting that it was checked by, or is shared between Players.
fn client(reaching: Arc<dyn Reaching>, reach: Reach) -> Result<Client, FetchFailure> {
    Client::builder()
        .user_agent(concat!("hamlet/", env!("CARGO_PKG_VERSION"), " (fetch_url)"))
        .dns_resolver(Arc::new(Guarded { reaching, reach }))
        // A proxy would resolve names itself, out of sight.
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        .connect_timeout(CONNECT)
        .build()
        .map_err(|error| {
            tracing::error!(%error, "a client for fetching can't be made");
            FetchFailure::Internal
        })
}

async fn hop(client: &Client, url: &Url) -> Result<Response, FetchFailure> {
    let request = client
        .get(url.clone())
        .header(header::ACCEPT, HeaderValue::from_static(ACCEPT))
        // What is not compressed can't unfold into more than was read.
        .header(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    request.send().await.map_err(|error| failed(url, &error))
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn success(response: Response) -> Result<Response, FetchFailure> {
    if response.status().is_success() {
        return Ok(response);
    }
    Err(FetchFailure::Status { url: shown(response.url()), status: response.status() })
}

fn failed(url: &Url, error: &reqwest::Error) -> FetchFailure {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(inner) = cause {
        if let Some(refused) = inner.downcast_ref::<Refused>() {
            return refused.clone().into();
        }
        if let Some(unknown) = inner.downcast_ref::<Unknown>() {
            return FetchFailure::Unknown(unknown.0.clone());
        }
        cause = inner.source();
    }
    tracing::debug!(?error, "a page was not reached");
    if error.is_timeout() && !error.is_connect() {
        FetchFailure::TooSlow
    } else if error.is_connect() {
        FetchFailure::Unreachable(url.host_str().unwrap_or_default().to_owned())
    } else {
        FetchFailure::Broken
    }
}

/// An address as it is told: bounded, without what a query may carry.
fn shown(url: &Url) -> String {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    // A redirect may bring credentials along; they are refused, and not repeated. A URL without a host has none.
    if bare.has_host() && (bare.set_username("").is_err() || bare.set_password(None).is_err()) {
        return url.scheme().to_owned();
    }
    bare.as_str().chars().take(300).collect()
}

#[derive(Debug, thiserror::Error)]
#[error("{0} could not be resolved")]
struct Unknown(String);

/// Gives connections only what may be connected to.
struct Guarded {
    reaching: Arc<dyn Reaching>,
    reach: Reach,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let (reaching, reach, name) = (Arc::clone(&self.reaching), self.reach, name.as_str().to_owned());
        Box::pin(async move {
            let found = match reaching.resolve(name.clone()).await {
                Ok(found) if found.is_empty() => return Err(Box::new(Unknown(name)) as Box<dyn Error + Send + Sync>),
                Ok(found) => found,
                Err(error) => {
                    tracing::debug!(%error, "a name was not resolved");
                    return Err(Box::new(Unknown(name)) as Box<dyn Error + Send + Sync>);
                }
            };
            let may = |address: &std::net::IpAddr| address::connectable(*address, reach).is_ok();
            let addresses: Vec<SocketAddr> =
                found.iter().copied().filter(may).map(|address| SocketAddr::new(address, 0)).collect();
            if addresses.is_empty() {
                let refused = found.iter().find_map(|address| address::connectable(*address, reach).err());
                // The name is told and not what it means: a model has no business with addresses of the inside.
                let refused = match refused {
                    Some(Refused::Never(_)) => Refused::Never(name),
                    _ => Refused::Private(name),
                };
                return Err(Box::new(refused) as Box<dyn Error + Send + Sync>);
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::{BoxFuture, ready};

    use super::*;

    struct Known(&'static [&'static str]);

    impl Reaching for Known {
        fn reach(&self) -> BoxFuture<'static, Result<Reach, String>> {
            Box::pin(ready(Ok(Reach::Public)))
        }

        fn resolve(&self, _name: String) -> BoxFuture<'static, std::io::Result<Vec<std::net::IpAddr>>> {
            Box::pin(ready(Ok(self.0.iter().map(|address| address.parse().unwrap()).collect())))
        }
    }

    async fn check(reach: Reach, known: &'static [&'static str]) -> Result<Vec<String>, String> {
        let guarded = Guarded { reaching: Arc::new(Known(known)), reach };
        let found = guarded.resolve("some.example".parse().unwrap()).await.map_err(|error| error.to_string())?;
        Ok(found.map(|address| address.ip().to_string()).collect())
    }

    #[tokio::test]
    async fn a_connection_is_given_nothing_that_may_not_be_connected_to() {
        let mixed = &["127.0.0.1", "1.1.1.1", "fe80::1", "2606:4700::1", "10.0.0.1", "::ffff:192.168.0.1"];
        let public = ["1.1.1.1", "2606:4700::1"].map(str::to_owned).to_vec();
        assert_eq!(check(Reach::Public, mixed).await, Ok(public));
        let private =
            ["127.0.0.1", "1.1.1.1", "2606:4700::1", "10.0.0.1", "::ffff:192.168.0.1"].map(str::to_owned).to_vec();
        assert_eq!(check(Reach::Private, mixed).await, Ok(private));
        let inside = "some.example is in a private network, or on this server, and is not fetched";
        assert_eq!(check(Reach::Public, &["127.0.0.1", "10.0.0.1"]).await, Err(inside.to_owned()));
        assert_eq!(check(Reach::Public, &[]).await, Err("some.example could not be resolved".to_owned()));
    }
}
