//! Finds a model server that already runs on this machine, so that a first start can talk without a key. Asks the two
//! usual ones at once and briefly; an absent one costs the bound and nothing else.

use std::time::Duration;

use tokio::time::timeout;
use url::Url;

use super::{Clients, models};

/// What each server has to answer within.
pub const BOUND: Duration = Duration::from_millis(300);

const OLLAMA: &str = "http://127.0.0.1:11434/v1";
const LM_STUDIO: &str = "http://127.0.0.1:1234/v1";

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub name: &'static str,
    /// For a Provider of the kind `openai-chat`, without a key.
    pub base_url: Url,
    /// The first model that answers in words; None: it has none.
    pub model: Option<String>,
}

/// The servers that are there, Ollama first. `ollama_host` is the variable OLLAMA_HOST, where it is set.
pub async fn discover(clients: &Clients, ollama_host: Option<&str>) -> Vec<Found> {
    let ollama = ollama_host.and_then(ollama_url).or_else(|| Url::parse(OLLAMA).ok());
    let (ollama, lm_studio) =
        tokio::join!(look(clients, "Ollama", ollama), look(clients, "LM Studio", Url::parse(LM_STUDIO).ok()));
    ollama.into_iter().chain(lm_studio).collect()
}

/// Asks one address.
pub async fn look(clients: &Clients, name: &'static str, base_url: Option<Url>) -> Option<Found> {
    let base_url = base_url?;
    let listed = timeout(BOUND, models::peek(clients, &base_url)).await.ok()??;
    let model = listed.into_iter().find(models::ListedModel::is_for_chat).map(|model| model.id);
    Some(Found { name, base_url, model })
}

/// OLLAMA_HOST as Ollama itself reads it: a host, a port, both or a URL. The address that it listens on everywhere is
/// reached on the loopback.
pub fn ollama_url(host: &str) -> Option<Url> {
    let host = host.trim().trim_end_matches('/');
    if host.is_empty() {
        return None;
    }
    let (scheme, authority) = host.split_once("://").unwrap_or(("http", host));
    let authority = match authority.strip_prefix(':') {
        Some(port) => format!("127.0.0.1:{port}"),
        None => authority.to_owned(),
    };
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = if has_port || host.contains("://") { "" } else { ":11434" };
    let mut url = Url::parse(&format!("{scheme}://{authority}{port}/v1")).ok()?;
    if matches!(url.host_str(), Some("0.0.0.0" | "[::]")) {
        url.set_host(Some("127.0.0.1")).ok()?;
    }
    Some(url)
}
