//! What a stored Provider may be, and what becomes of its key. The functions that take a connection are one change each and
//! run inside the store's writer.

use hamlet_actors::vocabulary::{ProviderId, Timestamp};
use rusqlite::Connection;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use super::{
    patch::present,
    registry::{self, KEYLESS, KINDS, OPENAI_CHAT, OPENAI_URL},
    settings::{self, Pins, ProviderName},
    text::{self, Invalid},
};
use crate::{
    store::{StoreError, npcs, providers, providers::ProviderRow},
    vault::{Vault, VaultError},
};

/// Every turn reads them all.
const PROVIDERS_MAX: usize = 100;
const KEY_MAX: usize = 4_096;
const QUIRKS_MAX: usize = 4_096;
/// NPCs that a refusal names.
const NAMED_MAX: u32 = 20;

/// The body of POST and PATCH alike: POST needs a name and a kind. `quirks` are replaced as a whole.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ProviderFields {
    #[serde(deserialize_with = "present")]
    pub name: Option<String>,
    #[serde(deserialize_with = "present")]
    pub kind: Option<String>,
    /// Null: the kind's own address.
    #[serde(deserialize_with = "present")]
    pub base_url: Option<Option<String>>,
    /// Null: no key, or no key any more.
    #[serde(deserialize_with = "present")]
    pub api_key: Option<Option<SecretString>>,
    #[serde(deserialize_with = "present")]
    pub quirks: Option<Map<String, Value>>,
}

/// Why a Provider is not made, changed or deleted.
#[derive(Debug, thiserror::Error)]
pub enum ProviderRefusal {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("the name {0} is taken")]
    NameTaken(String),
    #[error("there are {PROVIDERS_MAX} Providers already")]
    Full,
    /// A key must not be readable by sending it somewhere else.
    #[error("apiKey has to be sent again (or null) along with a baseUrl of another server: a stored key stays with its server")]
    KeyWouldMove,
    #[error("the Provider is still in use")]
    InUse { npcs: Vec<String>, is_default: bool },
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// What DELETE does with a Provider that an NPC or the default names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenInUse {
    Refuse,
    /// Who names it keeps naming it, and is refused with NO_PROVIDER_KEY until that is changed.
    DeleteAllTheSame,
}

pub fn create(
    conn: &Connection,
    vault: &Vault,
    fields: ProviderFields,
    id: ProviderId,
    at: Timestamp,
) -> Result<Result<ProviderRow, ProviderRefusal>, StoreError> {
    let (Some(_), Some(kind)) = (&fields.name, fields.kind.clone()) else {
        let missing = if fields.name.is_none() { "name" } else { "kind" };
        return Ok(Err(Invalid::new(missing, "is missing").into()));
    };
    if let Err(invalid) = check_kind(&kind) {
        return Ok(Err(invalid.into()));
    }
    if providers::count(conn)? >= PROVIDERS_MAX {
        return Ok(Err(ProviderRefusal::Full));
    }
    let mut row = ProviderRow {
        id,
        name: String::new(),
        base_url: own_address(&kind).to_owned(),
        kind,
        sealed_key: None,
        quirks: Map::new(),
        created_at: at,
        updated_at: at,
    };
    if let Err(refusal) = set(&mut row, fields, vault) {
        return Ok(Err(refusal));
    }
    if providers::of_name(conn, &row.name)?.is_some() {
        return Ok(Err(ProviderRefusal::NameTaken(row.name)));
    }
    providers::insert(conn, &row)?;
    Ok(Ok(row))
}

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn change(
    conn: &Connection,
    vault: &Vault,
    id: ProviderId,
    fields: ProviderFields,
    at: Timestamp,
) -> Result<Result<ProviderRow, ProviderRefusal>, StoreError> {
    let mut row = providers::get(conn, id)?;
    if let Err(refusal) = set(&mut row, fields, vault) {
        return Ok(Err(refusal));
    }
    if providers::of_name(conn, &row.name)?.is_some_and(|other| other != id) {
        return Ok(Err(ProviderRefusal::NameTaken(row.name)));
    }
    row.updated_at = at;
    providers::update(conn, &row)?;
    Ok(Ok(row))
}

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn delete(
    conn: &Connection,
    pins: &Pins,
    id: ProviderId,
    when_in_use: WhenInUse,
) -> Result<Result<(), ProviderRefusal>, StoreError> {
    if when_in_use == WhenInUse::Refuse {
        let npcs = npcs::names_with_provider(conn, id, NAMED_MAX)?;
        let is_default = settings::effective(conn, pins)?.default_provider == Some(ProviderName::Id(id));
        if is_default || !npcs.is_empty() {
            // Absent comes before in use: an NPC may still name one that is long gone.
            providers::get(conn, id)?;
            return Ok(Err(ProviderRefusal::InUse { npcs, is_default }));
        }
    }
    providers::delete(conn, id)?;
    Ok(Ok(()))
}

/// Checks what is present and takes it over. The key is sealed last, for what the row is by then.
fn set(row: &mut ProviderRow, fields: ProviderFields, vault: &Vault) -> Result<(), ProviderRefusal> {
    if let Some(name) = fields.name {
        row.name = text::name("name", &name, 80)?;
    }
    if fields.kind.is_some_and(|kind| kind != row.kind) {
        return Err(Invalid::new("kind", "can't be changed: make another Provider").into());
    }
    if let Some(address) = fields.base_url {
        let before = std::mem::take(&mut row.base_url);
        row.base_url = match address {
            Some(_) if row.kind != OPENAI_CHAT => return Err(Invalid::new("baseUrl", "does not belong to this kind").into()),
            Some(address) => base_url(&address)?.as_str().trim_end_matches('/').to_owned(),
            None => own_address(&row.kind).to_owned(),
        };
        if row.sealed_key.is_some() && fields.api_key.is_none() && server(&before) != server(&row.base_url) {
            return Err(ProviderRefusal::KeyWouldMove);
        }
    }
    if let Some(quirks) = fields.quirks {
        check_quirks(&quirks)?;
        row.quirks = quirks;
    }
    if let Some(key) = fields.api_key {
        row.sealed_key = match key {
            Some(key) => {
                check_key(&key)?;
                Some(vault.seal(row.id.0.as_bytes(), &key)?)
            }
            None => None,
        };
    }
    Ok(())
}

/// An address that a Provider may have. Credentials and a query belong into `apiKey`: an address is shown to every Player.
pub fn base_url(address: &str) -> Result<Url, Invalid> {
    let refuse = |reason: &str| Err(Invalid::new("baseUrl", reason));
    if address.len() > 2_048 {
        return refuse("has more than 2048 bytes");
    }
    let Ok(url) = Url::parse(address) else { return refuse("is no URL") };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return refuse("is not http:// or https:// with a host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("holds credentials; send them as apiKey");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refuse("has a query or a fragment");
    }
    Ok(url)
}

/// Where a Provider of this kind is when nothing else is said; empty: nowhere on a network.
fn own_address(kind: &str) -> &'static str {
    if kind == OPENAI_CHAT { OPENAI_URL } else { "" }
}

fn server(address: &str) -> Option<url::Origin> {
    Url::parse(address).ok().map(|url| url.origin())
}

fn check_kind(kind: &str) -> Result<(), Invalid> {
    if KINDS.contains(&kind) {
        return Ok(());
    }
    Err(Invalid::new("kind", format!("is not known to this build, which speaks {}", KINDS.join(", "))))
}

/// A key goes into a header: visible ASCII.
fn check_key(key: &SecretString) -> Result<(), Invalid> {
    let key = key.expose_secret();
    if (1..=KEY_MAX).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Invalid::new("apiKey", format!("is not 1 to {KEY_MAX} visible ASCII characters without spaces")))
}

fn check_quirks(quirks: &Map<String, Value>) -> Result<(), Invalid> {
    if Value::Object(quirks.clone()).to_string().len() > QUIRKS_MAX {
        return Err(Invalid::new("quirks", format!("has more than {QUIRKS_MAX} bytes")));
    }
    if quirks.get(KEYLESS).is_some_and(|keyless| !keyless.is_boolean()) {
        return Err(Invalid::new("quirks", format!("holds a {KEYLESS} that is neither true nor false")));
    }
    Ok(())
}

/// What an admin should know of this Provider, beyond what is refused.
pub fn warning(known: &registry::Known) -> Option<String> {
    if matches!(known.key, registry::KeyState::Unopenable) {
        return Some("The stored key was sealed with another key file and can't be opened. Enter it again.".to_owned());
    }
    if !known.speaks_here() {
        return Some(format!("This build speaks {} only; the Provider can't be asked.", KINDS.join(", ")));
    }
    let url = known.base_url.as_ref()?;
    if known.has_key() && url.scheme() == "http" && !registry::is_loopback(url) {
        return Some("The key is sent to another machine without encryption. Use https if you can.".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::EPOCH;

    fn vault() -> Vault {
        Vault::new(&[7; 32])
    }
}
