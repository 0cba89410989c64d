//! How a setting's text becomes its value; `None` where it does not fit what the table says.

use std::{net::SocketAddr, path::PathBuf, str::FromStr, time::Duration};

use hamlet_actors::turn::WhenUnwatched;
use ipnet::IpNet;
use secrecy::SecretString;
use tracing_subscriber::EnvFilter;
use url::Url;

use super::LogFormat;

const SHORTEST_SECRET: usize = 16;
/// Ollama's own.
const OLLAMA_PORT: u16 = 11434;

pub fn parsed<T: FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

pub fn text(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

pub fn path(given: &str) -> Option<PathBuf> {
    text(given).map(PathBuf::from)
}

/// `localhost` is what people write; to look other names up would make the address depend on the network.
pub fn address(given: &str) -> Option<SocketAddr> {
    match given.trim().strip_prefix("localhost:") {
        Some(port) => Some(SocketAddr::from(([127, 0, 0, 1], port.parse().ok()?))),
        None => parsed(given),
    }
}

pub fn public_url(text: &str) -> Option<Url> {
    let url: Url = parsed(text)?;
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    (bare && matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

pub fn http_url(text: &str) -> Option<Url> {
    parsed::<Url>(text).filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

pub fn list<T: FromStr>(text: &str) -> Option<Vec<T>> {
    items(text).map(|item| item.parse().ok()).collect()
}

/// A bare address is a network of one.
pub fn networks(text: &str) -> Option<Vec<IpNet>> {
    items(text)
        .map(|item| item.parse().ok().or_else(|| Some(IpNet::from(item.parse::<std::net::IpAddr>().ok()?))))
        .collect()
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

pub fn log_filter(given: &str) -> Option<String> {
    EnvFilter::try_new(given).ok()?;
    text(given)
}

pub fn log_format(text: &str) -> Option<LogFormat> {
    match text.trim() {
        "text" => Some(LogFormat::Text),
        "json" => Some(LogFormat::Json),
        _ => None,
    }
}

pub fn seconds(text: &str) -> Option<Duration> {
    parsed(text).filter(|seconds| *seconds <= 3600).map(Duration::from_secs)
}

pub fn positive(text: &str) -> Option<u32> {
    parsed(text).filter(|number| *number >= 1)
}

pub fn limit(text: &str) -> Option<u32> {
    parsed(text).filter(|number| *number <= 1000)
}

pub fn window(text: &str) -> Option<u32> {
    parsed(text).filter(|tokens| *tokens >= 1000)
}

pub fn when_unwatched(text: &str) -> Option<WhenUnwatched> {
    match text.trim() {
        "finish" => Some(WhenUnwatched::Finish),
        seconds => parsed(seconds)
            .filter(|seconds| *seconds <= 86_400)
            .map(|s| WhenUnwatched::AbortAfter(Duration::from_secs(s))),
    }
}

pub fn secret(text: &str) -> Option<SecretString> {
    (text.chars().count() >= SHORTEST_SECRET).then(|| text.into())
}

/// A Provider's key goes into a header.
pub fn key(text: &str) -> Option<SecretString> {
    let key = text.trim();
    key.bytes().all(|byte| byte.is_ascii_graphic()).then(|| key.into())
}

/// As Ollama reads it: a host alone is enough, and the address to listen on everywhere is reached by the loopback one.
pub fn ollama(text: &str) -> Option<Url> {
    let text = text.trim();
    if text.contains("://") {
        return http_url(text);
    }
    let mut url = http_url(&format!("http://{text}"))?;
    // The URL itself does not tell whether port 80 was written.
    let written = text.rsplit(']').next().is_some_and(|end| end.contains(':'));
    if !written {
        url.set_port(Some(OLLAMA_PORT)).ok()?;
    }
    if matches!(url.host_str(), Some("0.0.0.0" | "[::]")) {
        url.set_host(Some("127.0.0.1")).ok()?;
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollamas_host_is_read_as_ollama_does() {
        for (text, expected) in [
            ("127.0.0.1", "http://127.0.0.1:11434/"),
            ("0.0.0.0:1234", "http://127.0.0.1:1234/"),
            ("[::1]", "http://[::1]:11434/"),
            ("gpu.lan:80", "http://gpu.lan/"),
            ("https://ollama.example.com", "https://ollama.example.com/"),
        ] {
            assert_eq!(ollama(text).map(|url| url.to_string()).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(ollama("ftp://x"), None);
    }

    #[test]
    fn lists_and_networks_read_with_or_without_spaces() {
        let networks = networks("10.0.0.0/8, 127.0.0.1,::1").unwrap();
        let texts: Vec<String> = networks.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["10.0.0.0/8", "127.0.0.1/32", "::1/128"]);
        assert_eq!(super::networks("10.0.0.0/8 and more"), None);
        assert_eq!(super::networks(""), Some(vec![]));
    }

    #[test]
    fn a_public_url_has_no_path_of_its_own() {
        assert!(public_url("https://chat.example.com").is_some());
        assert!(public_url("https://chat.example.com/hamlet").is_none());
        assert!(public_url("chat.example.com").is_none());
    }
}
