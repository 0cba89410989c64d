//! How long a Provider may take and how often it is asked again, and the connections that all Providers share. Knows no
//! Provider and no wire format.

use std::time::Duration;

use reqwest::{Client, redirect};
use url::{Host, Url};

/// Bounds of one exchange. There is no limit of the whole: a reply may take as long as it keeps coming.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Until the connection stands.
    pub connect: Duration,
    /// From the request to the first byte of the body, keep-alives included.
    pub first_byte: Duration,
    /// Between two reads.
    pub idle: Duration,
    /// After the reply's finish, for usage and the end mark.
    pub after_finish: Duration,
    /// How often a request is sent again, before anything of the reply was seen.
    pub retries: u32,
    /// The first pause is up to this long, each further one up to twice its predecessor.
    pub backoff: Duration,
    /// Pieces a second of the rehearsal; 0 is as fast as they are taken.
    pub rehearsal_pace: u32,
    /// The longest pause, whether of our own or one that the Provider asked for.
    pub longest_pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(120),
            after_finish: Duration::from_secs(2),
            retries: 2,
            backoff: Duration::from_millis(500),
            longest_pause: Duration::from_secs(20),
            rehearsal_pace: 40,
        }
    }
}

/// The connection pools of one server process. Clones share them.
#[derive(Debug, Clone)]
pub struct Clients {
    /// Goes through the environment's proxy, if there is one.
    outward: Client,
    /// For servers on this machine: a proxy could not reach them.
    loopback: Client,
    pub limits: Limits,
}

impl Clients {
    /// Fails only where the system's TLS cannot be set up; a rustls crypto provider has to be installed before.
    pub fn new(limits: Limits) -> Result<Self, reqwest::Error> {
        let builder = || {
            Client::builder()
                .user_agent(concat!("hamlet/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(limits.connect)
                // A redirect would take the body, and keys in other headers, to whoever it names.
                .redirect(redirect::Policy::none())
                .pool_idle_timeout(Duration::from_secs(60))
                .tcp_nodelay(true)
                .tcp_keepalive(Duration::from_secs(30))
        };
        Ok(Self { outward: builder().build()?, loopback: builder().no_proxy().build()?, limits })
    }

    /// The client for a server at `url`.
    pub fn toward(&self, url: &Url) -> &Client {
        let is_loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if is_loopback { &self.loopback } else { &self.outward }
    }
}
