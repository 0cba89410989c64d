//! All Providers that this instance knows, from four sources: built in, named by the environment, found on this machine at
//! start, stored. Their ids are the same after every restart, so that an NPC can name any of them. Data only: what speaks to
//! a Provider is built elsewhere.

use hamlet_actors::vocabulary::ProviderId;
use rusqlite::Connection;
use secrecy::SecretString;
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use url::Url;

use super::address;
use crate::{
    store::{StoreError, providers, providers::ProviderRow},
    vault::Vault,
};

pub const OPENAI_CHAT: &str = "openai-chat";
pub const REHEARSAL: &str = "rehearsal";
/// The kinds that this build speaks.
pub const KINDS: [&str; 2] = [OPENAI_CHAT, REHEARSAL];

/// The quirk that says: this server asks for no key, wherever it is. Read here, and by no adapter.
pub const KEYLESS: &str = "keyless";

const OPENAI: &str = "OpenAI";
const OPENROUTER: &str = "OpenRouter";
const OLLAMA: &str = "Ollama";
const OPENAI_HOST: &str = "api.openai.com";
pub const OPENAI_URL: &str = "https://api.openai.com/v1";
const OPENROUTER_URL: &str = "https://openrouter.ai/api/v1";
/// For who sets a key and nothing else; `defaultModel` comes before it.
const OPENAI_MODEL: &str = "gpt-4.1-mini";
/// OpenRouter's own name for "choose one for me".
const OPENROUTER_MODEL: &str = "openrouter/auto";

/// What the environment says of Providers. ANTHROPIC_API_KEY and GEMINI_API_KEY are not here: this build does not speak
/// their wire formats.
#[derive(Debug, Clone, Default)]
pub struct EnvironmentProviders {
    /// OPENAI_API_KEY
    pub openai_api_key: Option<SecretString>,
    /// OPENAI_BASE_URL
    pub openai_base_url: Option<Url>,
    /// OPENROUTER_API_KEY
    pub openrouter_api_key: Option<SecretString>,
    /// OLLAMA_HOST, as the URL that is compatible with OpenAI's (`http://127.0.0.1:11434/v1`).
    pub ollama_url: Option<Url>,
}

/// A server that answered at start. One of the same name as a Provider of the environment is that Provider, and only adds
/// the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    pub base_url: Url,
    /// The first model that answers in words; None: it has none.
    pub model: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    Stored,
    Environment,
    Found,
    BuiltIn,
}

#[derive(Debug, Clone)]
pub enum KeyState {
    None,
    Held(SecretString),
    /// There is one, sealed with a key that is not here.
    Unopenable,
}

/// One known Provider.
#[derive(Debug, Clone)]
pub struct Known {
    pub id: ProviderId,
    pub name: String,
    /// One of [`KINDS`], or what another build stored.
    pub kind: String,
    /// None: this kind is nowhere on a network.
    pub base_url: Option<Url>,
    pub key: KeyState,
    pub quirks: Map<String, Value>,
    pub source: Source,
    /// What it is asked for where nothing else names a model.
    pub default_model: Option<String>,
}

impl Known {
    /// Servers on this machine ask for none, as a rule; `keyless` says it of any other.
    pub fn needs_key(&self) -> bool {
        let keyless = self.quirks.get(KEYLESS) == Some(&Value::Bool(true));
        self.kind != REHEARSAL && !keyless && !self.base_url.as_ref().is_some_and(address::is_loopback)
    }

    pub fn has_key(&self) -> bool {
        matches!(self.key, KeyState::Held(_))
    }

    pub fn speaks_here(&self) -> bool {
        KINDS.contains(&self.kind.as_str())
    }

    /// Whether a turn could ask it now.
    pub fn is_ready(&self) -> bool {
        self.speaks_here() && (self.has_key() || !self.needs_key())
    }

    /// The quirks without those that are read here: what an adapter gets.
    pub fn wire_quirks(&self) -> Map<String, Value> {
        self.quirks
            .iter()
            .filter(|(name, _)| *name != KEYLESS)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}

/// Every known Provider: those of the environment, the found, the stored, the built-in one. One short read.
pub fn known(
    conn: &Connection,
    vault: &Vault,
    environment: &EnvironmentProviders,
    found: &[Found],
) -> Result<Vec<Known>, StoreError> {
    let mut known = given(environment, found);
    let built_in = known.pop();
    for row in providers::list(conn)? {
        known.push(of_row(row, vault)?);
    }
    known.extend(built_in);
    Ok(known)
}

/// Those that have no row, the built-in one last.
pub fn given(environment: &EnvironmentProviders, found: &[Found]) -> Vec<Known> {
    let mut given = of_environment(environment);
    for server in found {
        let id = fixed_id(&server.name);
        match given.iter_mut().find(|known| known.id == id) {
            Some(known) => known.default_model = known.default_model.take().or_else(|| server.model.clone()),
            None => given.push(Known {
                base_url: Some(server.base_url.clone()),
                quirks: keyless(),
                source: Source::Found,
                default_model: server.model.clone(),
                ..openai_chat(&server.name)
            }),
        }
    }
    given.push(Known {
        kind: REHEARSAL.to_owned(),
        source: Source::BuiltIn,
        default_model: Some(REHEARSAL.to_owned()),
        ..openai_chat("Rehearsal")
    });
    given
}

/// A stored Provider with its key as far as it opens.
pub fn of_row(row: ProviderRow, vault: &Vault) -> Result<Known, StoreError> {
    let key = match row.sealed_key.as_deref().map(|sealed| vault.open(row.id.0.as_bytes(), sealed)) {
        None => KeyState::None,
        Some(Ok(secret)) => KeyState::Held(secret),
        Some(Err(error)) => {
            tracing::debug!(provider = %row.id, %error, "a stored key stays closed");
            KeyState::Unopenable
        }
    };
    let base_url = match row.base_url.as_str() {
        "" => None,
        text => {
            Some(Url::parse(text).map_err(|error| StoreError::Damaged(format!("the address of {}: {error}", row.id)))?)
        }
    };
    let default_model = (row.kind == REHEARSAL).then(|| REHEARSAL.to_owned());
    Ok(Known {
        id: row.id,
        name: row.name,
        kind: row.kind,
        base_url,
        key,
        quirks: row.quirks,
        source: Source::Stored,
        default_model,
    })
}

/// In the order in which they become the default.
fn of_environment(environment: &EnvironmentProviders) -> Vec<Known> {
    let mut known = Vec::new();
    let EnvironmentProviders { openai_api_key, openai_base_url, openrouter_api_key, ollama_url } = environment;
    if openai_api_key.is_some() || openai_base_url.is_some() {
        let own = openai_base_url.as_ref().filter(|url| url.host_str() != Some(OPENAI_HOST));
        known.push(Known {
            base_url: openai_base_url.clone().or_else(|| Url::parse(OPENAI_URL).ok()),
            // Who gives an address of their own and no key has a server that asks for none.
            quirks: if own.is_some() && openai_api_key.is_none() { keyless() } else { Map::new() },
            key: openai_api_key.clone().map_or(KeyState::None, KeyState::Held),
            // Another server behind the same variables has other models.
            default_model: own.is_none().then(|| OPENAI_MODEL.to_owned()),
            ..openai_chat(OPENAI)
        });
    }
    if let Some(key) = openrouter_api_key {
        known.push(Known {
            base_url: Url::parse(OPENROUTER_URL).ok(),
            key: KeyState::Held(key.clone()),
            default_model: Some(OPENROUTER_MODEL.to_owned()),
            ..openai_chat(OPENROUTER)
        });
    }
    if let Some(url) = ollama_url {
        known.push(Known { base_url: Some(url.clone()), quirks: keyless(), ..openai_chat(OLLAMA) });
    }
    known
}

/// A Provider of the environment before anything is said of it but its name.
fn openai_chat(name: &str) -> Known {
    Known {
        id: fixed_id(name),
        name: name.to_owned(),
        kind: OPENAI_CHAT.to_owned(),
        base_url: None,
        key: KeyState::None,
        quirks: Map::new(),
        source: Source::Environment,
        default_model: None,
    }
}

fn keyless() -> Map<String, Value> {
    Map::from_iter([(KEYLESS.to_owned(), Value::Bool(true))])
}

/// A UUID (version 8) made of the name alone.
fn fixed_id(name: &str) -> ProviderId {
    let digest: [u8; 32] = Sha256::digest(format!("hamlet provider {}", name.to_lowercase())).into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    ProviderId(uuid::Builder::from_custom_bytes(bytes).into_uuid())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn summary(known: &[Known]) -> Vec<(String, Source, Option<String>, bool)> {
        known.iter().map(|k| (k.name.clone(), k.source, k.default_model.clone(), k.is_ready())).collect()
    }

    fn entry(name: &str, source: Source, model: Option<&str>, ready: bool) -> (String, Source, Option<String>, bool) {
        (name.to_owned(), source, model.map(str::to_owned), ready)
    }

    #[test]
    fn the_ids_of_providers_without_a_row_never_change() {
        let ids = ["Rehearsal", "OpenAI", "OpenRouter", "Ollama", "LM Studio"].map(|name| fixed_id(name).to_string());
        assert_eq!(
            ids,
            [
                "c5e43c42-031f-8ec2-ac3f-66ff626a8ffc",
                "49aa2f82-015a-82de-bb15-1ff8c83881cb",
                "ff8aed5b-fb4a-8a0a-9658-e8a892e61790",
                "e494428a-b811-8d6e-875e-b19a8c3e61be",
                "64b2449a-d7a1-8816-9c43-392297b3b2ea",
            ]
        );
        assert_eq!(fixed_id("ollama"), fixed_id("Ollama"));
    }

    #[test]
    fn with_nothing_set_only_the_built_in_one_is_known_and_it_is_ready() {
        let known = given(&EnvironmentProviders::default(), &[]);
        assert_eq!(summary(&known), [entry("Rehearsal", Source::BuiltIn, Some("rehearsal"), true)]);
    }

    #[test]
    fn the_environment_comes_first_and_what_was_found_adds_its_model_to_it() {
        let environment = EnvironmentProviders {
            openai_api_key: Some("sk".into()),
            openai_base_url: None,
            openrouter_api_key: Some("sk-or".into()),
            ollama_url: Some(url("http://10.0.0.5:11434/v1")),
        };
        let found = [
            Found { name: "Ollama".into(), base_url: url("http://10.0.0.5:11434/v1"), model: Some("qwen3".into()) },
            Found { name: "LM Studio".into(), base_url: url("http://127.0.0.1:1234/v1"), model: None },
        ];
        assert_eq!(
            summary(&given(&environment, &found)),
            [
                entry("OpenAI", Source::Environment, Some("gpt-4.1-mini"), true),
                entry("OpenRouter", Source::Environment, Some("openrouter/auto"), true),
                entry("Ollama", Source::Environment, Some("qwen3"), true),
                entry("LM Studio", Source::Found, None, true),
                entry("Rehearsal", Source::BuiltIn, Some("rehearsal"), true),
            ]
        );
    }

    #[test]
    fn another_server_behind_openais_variables_needs_no_key_and_has_no_model_of_openai() {
        let table = [
            ("https://llm.example/v1", None, None, true),
            ("https://llm.example/v1", Some("sk"), None, true),
            ("http://localhost:8080/v1", None, None, true),
            ("https://api.openai.com/v1", None, Some("gpt-4.1-mini"), false),
            ("https://api.openai.com/v1", Some("sk"), Some("gpt-4.1-mini"), true),
        ];
        for (base_url, key, model, ready) in table {
            let environment = EnvironmentProviders {
                openai_api_key: key.map(SecretString::from),
                openai_base_url: Some(url(base_url)),
                ..EnvironmentProviders::default()
            };
            let given = given(&environment, &[]);
            assert_eq!(summary(&given)[0], entry("OpenAI", Source::Environment, model, ready), "{base_url} {key:?}");
        }
    }

    #[test]
    fn a_key_is_needed_but_on_this_machine_or_where_a_quirk_says_otherwise() {
        let table = [
            ("https://api.example/v1", false, true),
            ("https://api.example/v1", true, false),
            ("http://localhost:1234/v1", false, false),
            ("http://me.localhost/v1", false, false),
            ("http://127.9.9.9/v1", false, false),
            ("http://[::1]:1/v1", false, false),
            ("http://[::ffff:127.0.0.1]/v1", false, false),
            ("http://10.0.0.1/v1", false, true),
            ("http://localhost.example/v1", false, true),
        ];
        for (base_url, quirk, needed) in table {
            let quirks = if quirk { keyless() } else { Map::new() };
            let known = Known { base_url: Some(url(base_url)), quirks, ..openai_chat("x") };
            assert_eq!(known.needs_key(), needed, "{base_url} {quirk}");
            assert_eq!(known.wire_quirks(), Map::new());
        }
    }

    #[test]
    fn a_stored_key_opens_with_its_vault_and_stays_closed_with_another() {
        let vault = Vault::new(&[1; 32]);
        let id = ProviderId::generate();
        let row = ProviderRow {
            id,
            name: "Mine".into(),
            kind: "openai-chat".into(),
            base_url: "https://api.example/v1".into(),
            sealed_key: Some(vault.seal(id.0.as_bytes(), &"sk-mine".into()).unwrap()),
            quirks: Map::new(),
            created_at: Default::default(),
            updated_at: Default::default(),
        };
        let opened = of_row(row.clone(), &vault).unwrap();
        assert!(matches!(&opened.key, KeyState::Held(key) if key.expose_secret() == "sk-mine"));
        assert!(!format!("{opened:?}").contains("sk-mine"), "a key is never printed");
        let closed = of_row(row, &Vault::new(&[2; 32])).unwrap();
        assert!(matches!(closed.key, KeyState::Unopenable));
        assert!(!closed.is_ready() && !closed.has_key());
    }
}
