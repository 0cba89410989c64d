//! What a stored Provider may be, and what becomes of its key. The functions that take a connection are one change each and
//! run inside the store's writer.

use hamlet_actors::vocabulary::{ProviderId, Timestamp};
use rusqlite::Connection;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    address,
    patch::present,
    registry::{self, KEYLESS, KINDS, OPENAI_CHAT, OPENAI_URL},
    settings::{self, Pins},
    text::{self, Invalid},
};
use crate::{
    providers::Quirks,
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
    #[error(
        "apiKey has to be sent again (or null) along with a baseUrl of another server: a stored key stays with its server"
    )]
    KeyWouldMove,
    #[error("the Provider is still in use")]
    InUse { npcs: Vec<String>, is_default: bool, has_role: bool },
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
    // Absent comes before in use: an NPC may still name one that is long gone.
    let row = providers::get(conn, id)?;
    if when_in_use == WhenInUse::Refuse {
        let npcs = npcs::names_with_provider(conn, id, NAMED_MAX)?;
        let settings = settings::effective(conn, pins)?;
        let is_default = settings.default_provider.is_some_and(|default| default.means(id, &row.name));
        let has_role = settings.model_roles.providers().any(|named| named == id);
        if is_default || has_role || !npcs.is_empty() {
            return Ok(Err(ProviderRefusal::InUse { npcs, is_default, has_role }));
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
            Some(_) if row.kind != OPENAI_CHAT => {
                return Err(Invalid::new("baseUrl", "does not belong to this kind").into());
            }
            Some(address) => address::parse(&address)?.as_str().trim_end_matches('/').to_owned(),
            None => own_address(&row.kind).to_owned(),
        };
        if row.sealed_key.is_some() && fields.api_key.is_none() && !address::same_server(&before, &row.base_url) {
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

/// Where a Provider of this kind is when nothing else is said; empty: nowhere on a network.
fn own_address(kind: &str) -> &'static str {
    if kind == OPENAI_CHAT { OPENAI_URL } else { "" }
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
    let wire: Map<String, Value> =
        quirks.iter().filter(|(name, _)| *name != KEYLESS).map(|(n, v)| (n.clone(), v.clone())).collect();
    serde_json::from_value::<Quirks>(Value::Object(wire))
        .map(drop)
        .map_err(|error| Invalid::new("quirks", format!("does not fit: {error}")))
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
    if known.has_key() && url.scheme() == "http" && !address::is_loopback(url) {
        return Some("The key is sent to another machine without encryption. Use https if you can.".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use hamlet_actors::vocabulary::NpcId;
    use serde_json::json;
    use url::Url;

    use super::*;
    use crate::village::{
        npc::{self, Making, NpcFields},
        registry::{KeyState, Known},
        settings::Setting,
    };

    fn store() -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(include_str!("../../schema.sql")).unwrap();
        conn
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn vault() -> Vault {
        Vault::new(&[7; 32])
    }

    fn fields(body: Value) -> ProviderFields {
        serde_json::from_value(body).unwrap()
    }

    fn made(conn: &Connection, body: Value) -> Result<ProviderRow, String> {
        let made = create(conn, &vault(), fields(body), ProviderId::generate(), at(1)).unwrap();
        made.map_err(|refusal| refusal.to_string())
    }

    fn changed(conn: &Connection, id: ProviderId, body: Value) -> Result<ProviderRow, String> {
        change(conn, &vault(), id, fields(body), at(2)).unwrap().map_err(|refusal| refusal.to_string())
    }

    fn key(row: &ProviderRow) -> Option<String> {
        match registry::of_row(row.clone(), &vault()).unwrap().key {
            KeyState::Held(key) => Some(key.expose_secret().to_owned()),
            KeyState::None | KeyState::Unopenable => None,
        }
    }

    #[test]
    fn a_new_provider_needs_a_name_and_a_kind_that_this_build_speaks() {
        let conn = store();
        assert_eq!(made(&conn, json!({"kind": "openai-chat"})), Err("name is missing".to_owned()));
        assert_eq!(made(&conn, json!({"name": "A"})), Err("kind is missing".to_owned()));
        assert_eq!(
            made(&conn, json!({"name": "A", "kind": "gemini"})),
            Err("kind is not known to this build, which speaks openai-chat, rehearsal".to_owned())
        );
        let row = made(&conn, json!({"name": "A", "kind": "openai-chat"})).unwrap();
        assert_eq!((row.base_url.as_str(), key(&row)), (OPENAI_URL, None));
        assert_eq!(made(&conn, json!({"name": "A", "kind": "openai-chat"})), Err("the name A is taken".to_owned()));
        let rehearsal = made(&conn, json!({"name": "B", "kind": "rehearsal"})).unwrap();
        assert_eq!(rehearsal.base_url, "");
        let body = json!({"name": "C", "kind": "rehearsal", "baseUrl": "http://a"});
        assert_eq!(made(&conn, body), Err("baseUrl does not belong to this kind".to_owned()));
    }

    #[test]
    fn a_key_is_sealed_kept_replaced_and_cleared() {
        let conn = store();
        let row = made(&conn, json!({"name": "A", "kind": "openai-chat", "apiKey": "sk-one"})).unwrap();
        assert!(!row.sealed_key.as_ref().unwrap().windows(6).any(|window| window == b"sk-one"));
        let after = |body: Value| key(&changed(&conn, row.id, body).unwrap());
        assert_eq!(after(json!({"name": "B"})).as_deref(), Some("sk-one"));
        assert_eq!(after(json!({"apiKey": "sk-two"})).as_deref(), Some("sk-two"));
        assert_eq!(after(json!({"apiKey": null})), None);
        for bad in ["", "sk one", "sk\none", "schlüssel", &"k".repeat(4_097)] {
            let refused = changed(&conn, row.id, json!({"apiKey": bad})).unwrap_err();
            assert!(refused.starts_with("apiKey is not 1 to 4096"), "{refused}");
        }
    }

    #[test]
    fn a_stored_key_is_not_sent_to_another_server() {
        let conn = store();
        let row = made(&conn, json!({"name": "A", "kind": "openai-chat", "apiKey": "sk-one"})).unwrap();
        for elsewhere in ["https://evil.example/v1", "http://api.openai.com/v1", "https://api.openai.com:444/v1"] {
            let refused = changed(&conn, row.id, json!({"baseUrl": elsewhere})).unwrap_err();
            assert!(refused.starts_with("apiKey has to be sent again"), "{refused}");
        }
        assert_eq!(providers::get(&conn, row.id).unwrap(), row, "a refused change changes nothing");
        let same = changed(&conn, row.id, json!({"baseUrl": "https://api.openai.com/v2/"})).unwrap();
        assert_eq!((same.base_url.as_str(), key(&same).as_deref()), ("https://api.openai.com/v2", Some("sk-one")));
        let moved = changed(&conn, row.id, json!({"baseUrl": "https://b.example", "apiKey": "sk-b"})).unwrap();
        assert_eq!((moved.base_url.as_str(), key(&moved).as_deref()), ("https://b.example", Some("sk-b")));
        let bare = changed(&conn, row.id, json!({"baseUrl": null, "apiKey": null})).unwrap();
        assert_eq!((bare.base_url.as_str(), key(&bare)), (OPENAI_URL, None));
    }

    #[test]
    fn a_kind_stays_and_a_name_is_one_providers() {
        let conn = store();
        let row = made(&conn, json!({"name": "A", "kind": "openai-chat"})).unwrap();
        made(&conn, json!({"name": "B", "kind": "openai-chat"})).unwrap();
        assert!(changed(&conn, row.id, json!({"kind": "rehearsal"})).unwrap_err().starts_with("kind can't be changed"));
        assert_eq!(changed(&conn, row.id, json!({"name": "B"})), Err("the name B is taken".to_owned()));
        assert_eq!(changed(&conn, row.id, json!({"kind": "openai-chat", "name": "A"})).unwrap().updated_at, at(2));
        let absent = change(&conn, &vault(), ProviderId::generate(), fields(json!({})), at(2));
        assert!(matches!(absent, Err(StoreError::NotFound)));
    }

    #[test]
    fn quirks_are_bounded_and_keyless_is_a_yes_or_no() {
        let conn = store();
        let body = |quirks: Value| json!({"name": "A", "kind": "openai-chat", "quirks": quirks});
        assert!(made(&conn, body(json!({"keyless": 1}))).unwrap_err().contains("keyless"));
        assert!(made(&conn, body(json!({"a": "x".repeat(4_096)}))).unwrap_err().contains("4096"));
        let row = made(&conn, body(json!({"keyless": true, "thinkTags": true}))).unwrap();
        let known = registry::of_row(row, &vault()).unwrap();
        assert!(!known.needs_key());
        assert_eq!(json!(known.wire_quirks()), json!({"thinkTags": true}));
    }

    #[test]
    fn a_provider_in_use_goes_only_when_that_is_meant() {
        let conn = store();
        let row = made(&conn, json!({"name": "A", "kind": "openai-chat"})).unwrap();
        let fields = NpcFields { name: Some("Ada".into()), provider_id: Some(Some(row.id)), ..NpcFields::default() };
        let npc =
            npc::create(&conn, fields, Making { id: NpcId::generate(), by: None, at: at(1) }, &[]).unwrap().unwrap();
        crate::store::settings::set(&conn, Setting::DefaultProviderId.name(), &json!(row.id)).unwrap();
        let pins = Pins::default();
        let refused = delete(&conn, &pins, row.id, WhenInUse::Refuse).unwrap().unwrap_err();
        assert!(
            matches!(&refused, ProviderRefusal::InUse { npcs, is_default: true, has_role: false } if npcs == &["Ada".to_owned()]),
            "{refused:?}"
        );
        npcs::delete(&conn, npc.npc.id).unwrap();
        let refused = delete(&conn, &pins, row.id, WhenInUse::Refuse).unwrap().unwrap_err();
        assert!(
            matches!(&refused, ProviderRefusal::InUse { npcs, is_default: true, has_role: false } if npcs.is_empty()),
            "{refused:?}"
        );
        assert!(delete(&conn, &pins, row.id, WhenInUse::DeleteAllTheSame).unwrap().is_ok());
        let named = made(&conn, json!({"name": "B", "kind": "openai-chat"})).unwrap();
        let mut pinned = Pins::default();
        pinned.pin(Setting::DefaultProviderId, json!("b"), "LLM_PROVIDER").unwrap();
        let refused = delete(&conn, &pinned, named.id, WhenInUse::Refuse).unwrap().unwrap_err();
        assert!(matches!(&refused, ProviderRefusal::InUse { is_default: true, .. }), "{refused:?}");
        let roles = json!({"utility": {"providerId": named.id, "model": "m"}});
        crate::store::settings::set(&conn, Setting::ModelRoles.name(), &roles).unwrap();
        let refused = delete(&conn, &pins, named.id, WhenInUse::Refuse).unwrap().unwrap_err();
        assert!(matches!(refused, ProviderRefusal::InUse { is_default: false, has_role: true, .. }), "a role names it");
        for when in [WhenInUse::Refuse, WhenInUse::DeleteAllTheSame] {
            assert!(matches!(delete(&conn, &pins, row.id, when), Err(StoreError::NotFound)));
        }
    }

    #[test]
    fn more_providers_than_a_turn_should_read_are_refused() {
        let conn = store();
        for n in 0..PROVIDERS_MAX {
            made(&conn, json!({"name": n.to_string(), "kind": "rehearsal"})).unwrap();
        }
        let refused = made(&conn, json!({"name": "one more", "kind": "rehearsal"}));
        assert_eq!(refused, Err("there are 100 Providers already".to_owned()));
    }

    #[test]
    fn a_warning_is_given_where_a_key_travels_in_the_open_or_stays_closed() {
        let known = |url: &str, key: KeyState| Known {
            id: ProviderId::generate(),
            name: "A".into(),
            kind: "openai-chat".into(),
            base_url: Some(Url::parse(url).unwrap()),
            key,
            quirks: Map::new(),
            source: registry::Source::Stored,
            default_model: None,
        };
        let held = || KeyState::Held("sk".into());
        let open = warning(&known("http://10.0.0.1/v1", held())).unwrap();
        assert!(open.contains("without encryption"), "{open}");
        let closed = warning(&known("https://a.example", KeyState::Unopenable)).unwrap();
        assert!(closed.contains("can't be opened"), "{closed}");
        assert_eq!(warning(&known("https://a.example", held())), None);
        assert_eq!(warning(&known("http://127.0.0.1/v1", held())), None);
        assert_eq!(warning(&known("http://10.0.0.1/v1", KeyState::None)), None);
    }
}
