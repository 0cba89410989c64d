//! The program's settings: flags, then `HAMLET_...` variables, then the TOML file, then what is built in. Reading them is
//! a pure function of those, so that every rule is tested without a process; each value knows where it came from.

pub mod data_folder;
pub mod docs;
mod layers;
mod providers;
mod settings;
mod values;

use std::{
    collections::BTreeMap,
    fmt, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use hamlet_actors::turn::WhenUnwatched;
use ipnet::IpNet;
use secrecy::SecretString;
use url::Url;

use crate::{auth::SignUp, gates::origin::Origin};
pub use data_folder::DataFolder;
use layers::Layers;
pub use providers::ProviderEnv;
pub use settings::{PROVIDER_SETTINGS, SETTINGS, Setting};
use values as read;

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Flag(&'static str),
    Environment(&'static str),
    /// A file that `..._FILE` names.
    EnvironmentFile(&'static str),
    File(String),
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::EnvironmentFile(name) => write!(f, "environment {name}_FILE"),
            Self::File(file) => write!(f, "file {file}"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value that was set from outside, so that the page may not change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned<T> {
    pub value: T,
    pub source: Source,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{name} ({origin}): {value:?} is not {expects}")]
    Invalid { name: &'static str, origin: Source, value: String, expects: &'static str },
    #[error("{file}: {key:?} is no setting; the settings are {known}")]
    UnknownKey { file: String, key: String, known: String },
    #[error("{file}: {key:?} must be a text, a number or a list of texts")]
    Shape { file: String, key: String },
    #[error("{file}, line {line}: {why}")]
    NotToml { file: String, line: usize, why: String },
    #[error("{origin}: {file} cannot be read: {why}")]
    Unreadable { origin: Source, file: String, why: io::Error },
    #[error("{0} and {0}_FILE are both set; set one of them")]
    SetTwice(&'static str),
    #[error("this platform has no folder for data; name one with --data or HAMLET_DATA")]
    NoDataFolder,
}

/// The flags that were given: setting's name to text.
#[derive(Debug, Clone, Default)]
pub struct Flags(pub BTreeMap<&'static str, String>);

/// What the settings are read from.
pub struct Outside<'a> {
    pub env: &'a dyn Fn(&str) -> Option<String>,
    pub read_file: &'a dyn Fn(&Path) -> io::Result<String>,
    /// The platform's folder for this program's data.
    pub data: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// Settings of the Village that were set from outside; what is `None` the page decides.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VillagePins {
    pub default_provider: Option<Pinned<String>>,
    pub default_model: Option<Pinned<String>>,
    pub hop_limit: Option<Pinned<u32>>,
    pub step_limit: Option<Pinned<u32>>,
    pub window_tokens: Option<Pinned<u32>>,
    pub when_unwatched: Option<Pinned<WhenUnwatched>>,
    pub sign_up: Option<Pinned<SignUp>>,
    pub titles: Option<Pinned<bool>>,
    pub fetch_private_addresses: Option<Pinned<bool>>,
}

/// One setting as `hamlet config` prints it; a secret's value is never here.
#[derive(Debug, Clone)]
pub struct Shown {
    pub setting: &'static Setting,
    pub value: Option<String>,
    pub source: Source,
}

/// Everything that is decided before the server starts.
#[derive(Debug, Clone)]
pub struct Config {
    pub listen: SocketAddr,
    pub data: DataFolder,
    /// Where browsers reach the server, when that is not the listen address.
    pub public_url: Option<Url>,
    pub trusted_proxies: Vec<IpNet>,
    pub cors_origins: Vec<Origin>,
    /// A filter as `tracing` reads it.
    pub log: String,
    pub log_format: LogFormat,
    /// How long running turns may go on after SIGTERM.
    pub shutdown_deadline: Duration,
    pub rehearsal_tokens_per_second: u32,
    /// Seals Provider keys in place of the key file.
    pub secret: Option<SecretString>,
    /// Lets a scraper read `/metrics`.
    pub metrics_token: Option<SecretString>,
    pub village: VillagePins,
    pub providers: ProviderEnv,
    pub shown: Vec<Shown>,
}

impl Config {
    /// The address of the page: the public one, else the one that was taken, as a browser on this machine can open it.
    pub fn page_url(&self, taken: SocketAddr) -> String {
        match &self.public_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("http://{}", reachable(taken)),
        }
    }
}

/// An address that listens on every interface is reached by the loopback one.
pub fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// Reads every setting.
///
/// # Errors
/// The first setting that is wrong, with where it was set and what it should be.
pub fn load(flags: &Flags, outside: &Outside<'_>) -> Result<Config, ConfigError> {
    let layers = Layers::read(flags, outside)?;
    let data = layers.value("data", read::path)?.or_else(|| outside.data.clone()).ok_or(ConfigError::NoDataFolder)?;
    let village = VillagePins {
        default_provider: layers.pinned("default_provider", read::text)?,
        default_model: layers.pinned("default_model", read::text)?,
        hop_limit: layers.pinned("hop_limit", read::limit)?,
        step_limit: layers.pinned("step_limit", read::positive)?,
        window_tokens: layers.pinned("window_tokens", read::window)?,
        when_unwatched: layers.pinned("when_unwatched", read::when_unwatched)?,
        sign_up: layers.pinned("sign_up", read::parsed)?,
        titles: layers.pinned("titles", read::parsed)?,
        fetch_private_addresses: layers.pinned("fetch_private_addresses", read::parsed)?,
    };
    Ok(Config {
        listen: layers.required("listen", read::address)?,
        public_url: layers.value("public_url", read::public_url)?,
        trusted_proxies: layers.value("trusted_proxies", read::networks)?.unwrap_or_default(),
        cors_origins: layers.value("cors_origins", read::list)?.unwrap_or_default(),
        log: layers.required("log", read::log_filter)?,
        log_format: layers.required("log_format", read::log_format)?,
        shutdown_deadline: layers.required("shutdown_deadline_seconds", read::seconds)?,
        rehearsal_tokens_per_second: layers.required("rehearsal_tokens_per_second", read::limit)?,
        secret: layers.value("secret", read::secret)?,
        metrics_token: layers.value("metrics_token", read::secret)?,
        village,
        providers: ProviderEnv::read(&layers)?,
        shown: layers.shown(&data),
        data: DataFolder::new(data),
    })
}

#[cfg(test)]
mod tests;
