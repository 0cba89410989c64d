//! What a stored tool server may be, and what becomes of what it is given secretly. The functions that take a connection
//! are one change each and run inside the store's writer.

use std::collections::BTreeMap;

use hamlet_actors::vocabulary::{Timestamp, ToolServerId};
use rusqlite::Connection;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::{address, patch::present, text::Invalid};
use crate::{
    store::{StoreError, tool_servers, tool_servers::ToolServerRow},
    tools::servers::{
        definition::{Definition, NAME_MAX, Secrets, Way, is_name},
        document::Entry,
        resolve::{Misfit, resolve},
    },
    vault::{Vault, VaultError},
};

/// Each is a connection that is kept.
pub const SERVERS_MAX: usize = 50;

/// The body of PATCH, and of POST for one server, which needs a name and either a command or a url.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ToolServerFields {
    #[serde(deserialize_with = "present")]
    pub name: Option<String>,
    #[serde(deserialize_with = "present")]
    pub command: Option<String>,
    #[serde(deserialize_with = "present")]
    pub args: Option<Vec<String>>,
    /// Null: Hamlet's own.
    #[serde(deserialize_with = "present")]
    pub cwd: Option<Option<String>>,
    #[serde(deserialize_with = "present")]
    pub url: Option<String>,
    /// Names that are absent stay as they are, and null takes one away: their values can't be read back to be sent again.
    #[serde(deserialize_with = "present")]
    pub env: Option<BTreeMap<String, Option<SecretString>>>,
    /// As `env`.
    #[serde(deserialize_with = "present")]
    pub headers: Option<BTreeMap<String, Option<SecretString>>>,
    #[serde(deserialize_with = "present")]
    pub enabled: Option<bool>,
}

/// Why a tool server is not made or changed.
#[derive(Debug, thiserror::Error)]
pub enum ToolServerRefusal {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// One of a document.
    #[error("the server {name} does not fit: {reason}")]
    Misfit { name: String, reason: String },
    #[error("the name {0} is taken")]
    NameTaken(String),
    #[error("there can be {SERVERS_MAX} tool servers at most")]
    Full,
    /// A header's value must not be readable by sending it somewhere else.
    #[error(
        "headers have to be sent again (or null, each) along with a url of another server: stored values stay with their server"
    )]
    HeadersWouldMove,
    #[error(
        "what the server is given was sealed with another key file and can't be opened; send env and headers again"
    )]
    Unopenable,
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// One server's fields as the entry of a document.
///
/// # Errors
/// The field that does not fit.
pub fn entry(fields: ToolServerFields) -> Result<Entry, Invalid> {
    let Some(name) = fields.name else { return Err(Invalid::new("name", "is missing")) };
    if !is_name(&name) {
        return Err(Invalid::new("name", format!("is not 1 to {NAME_MAX} of a-z, 0-9 and -")));
    }
    let way = match (fields.command, fields.url) {
        (Some(command), None) => {
            Way::Stdio { command, args: fields.args.unwrap_or_default(), cwd: fields.cwd.flatten() }
        }
        (None, Some(_)) if fields.args.is_some() || fields.cwd.is_some() => {
            return Err(Invalid::new("url", "has neither args nor a cwd"));
        }
        (None, Some(url)) => Way::Http { url },
        (Some(_), Some(_)) => return Err(Invalid::new("url", "does not go with a command")),
        (None, None) => return Err(Invalid::new("command", "or url is missing")),
    };
    let mut secrets = Secrets::default();
    merge(&mut secrets.env, fields.env.unwrap_or_default());
    merge(&mut secrets.headers, fields.headers.unwrap_or_default());
    let definition = Definition { way, secrets };
    check(&definition)?;
    Ok(Entry { name, enabled: fields.enabled.unwrap_or(true), definition: Ok(definition) })
}

/// All of them, or none. `taken` are names of servers that have no row.
pub fn add(
    conn: &Connection,
    vault: &Vault,
    entries: Vec<Entry>,
    taken: &[String],
    at: Timestamp,
) -> Result<Result<Vec<ToolServerRow>, ToolServerRefusal>, StoreError> {
    if tool_servers::count(conn)? + entries.len() > SERVERS_MAX {
        return Ok(Err(ToolServerRefusal::Full));
    }
    let mut added = Vec::with_capacity(entries.len());
    for Entry { name, enabled, definition } in entries {
        let definition = match definition.and_then(|it| check(&it).map(|()| it).map_err(|invalid| invalid.to_string()))
        {
            Ok(definition) => definition,
            Err(reason) => return Ok(Err(ToolServerRefusal::Misfit { name, reason })),
        };
        if taken.contains(&name) || tool_servers::of_name(conn, &name)?.is_some() {
            return Ok(Err(ToolServerRefusal::NameTaken(name)));
        }
        let id = ToolServerId::generate();
        let sealed = match seal(vault, id, &definition.secrets) {
            Ok(sealed) => sealed,
            Err(error) => return Ok(Err(error.into())),
        };
        let row = ToolServerRow { id, name, way: definition.way, sealed, enabled, created_at: at, updated_at: at };
        tool_servers::insert(conn, &row)?;
        added.push(row);
    }
    Ok(Ok(added))
}

/// # Errors
/// [`StoreError::NotFound`] when there is none of this id.
pub fn change(
    conn: &Connection,
    vault: &Vault,
    id: ToolServerId,
    fields: ToolServerFields,
    at: Timestamp,
) -> Result<Result<ToolServerRow, ToolServerRefusal>, StoreError> {
    let row = tool_servers::get(conn, id)?;
    match changed(row, fields, vault, at) {
        Ok(row) => {
            tool_servers::update(conn, &row)?;
            Ok(Ok(row))
        }
        Err(refusal) => Ok(Err(refusal)),
    }
}

fn changed(
    mut row: ToolServerRow,
    fields: ToolServerFields,
    vault: &Vault,
    at: Timestamp,
) -> Result<ToolServerRow, ToolServerRefusal> {
    if fields.name.is_some_and(|name| name != row.name) {
        return Err(Invalid::new("name", "can't be changed: grants name its tools by it; add another server").into());
    }
    let mut secrets = match open(vault, row.id, row.sealed.as_deref()) {
        Some(secrets) => secrets,
        // What can't be opened can be replaced, not added to.
        None if fields.env.is_some() || fields.headers.is_some() => Secrets::default(),
        None if fields.command.is_some() || fields.url.is_some() => return Err(ToolServerRefusal::Unopenable),
        None => {
            row.enabled = fields.enabled.unwrap_or(row.enabled);
            row.updated_at = at;
            return Ok(row);
        }
    };
    let sent: Vec<String> = fields.headers.iter().flat_map(BTreeMap::keys).cloned().collect();
    match &mut row.way {
        Way::Stdio { command, args, cwd } => {
            if fields.url.is_some() {
                return Err(Invalid::new("url", "does not belong to a command; add another server").into());
            }
            *command = fields.command.unwrap_or_else(|| std::mem::take(command));
            *args = fields.args.unwrap_or_else(|| std::mem::take(args));
            *cwd = fields.cwd.unwrap_or_else(|| cwd.take());
        }
        Way::Http { url } => {
            if fields.command.is_some() || fields.args.is_some() || fields.cwd.is_some() {
                return Err(Invalid::new("command", "does not belong to a url; add another server").into());
            }
            if let Some(other) = fields.url {
                let stays = address::same_server(url, &other) || secrets.headers.keys().all(|name| sent.contains(name));
                if !stays {
                    return Err(ToolServerRefusal::HeadersWouldMove);
                }
                *url = other;
            }
        }
    }
    merge(&mut secrets.env, fields.env.unwrap_or_default());
    merge(&mut secrets.headers, fields.headers.unwrap_or_default());
    row.enabled = fields.enabled.unwrap_or(row.enabled);
    row.updated_at = at;
    let definition = Definition { way: row.way.clone(), secrets };
    check(&definition)?;
    row.sealed = seal(vault, row.id, &definition.secrets)?;
    Ok(row)
}

/// What a row is given secretly; None, where it is sealed with a key that is not here.
pub fn open(vault: &Vault, id: ToolServerId, sealed: Option<&[u8]>) -> Option<Secrets> {
    let Some(sealed) = sealed else { return Some(Secrets::default()) };
    let opened = vault.open(id.0.as_bytes(), sealed).ok()?;
    serde_json::from_str(opened.expose_secret()).ok()
}

fn seal(vault: &Vault, id: ToolServerId, secrets: &Secrets) -> Result<Option<Vec<u8>>, VaultError> {
    if secrets.is_empty() {
        return Ok(None);
    }
    let text = serde_json::to_string(secrets).map_err(|_| VaultError::TooLong)?;
    vault.seal(id.0.as_bytes(), &SecretString::from(text)).map(Some)
}

fn merge(had: &mut BTreeMap<String, String>, sent: BTreeMap<String, Option<SecretString>>) {
    for (name, value) in sent {
        match value {
            Some(value) => had.insert(name, value.expose_secret().to_owned()),
            None => had.remove(&name),
        };
    }
}

/// A definition that could be acted upon, were its variables set. One that is missing now may be set tomorrow; what stands
/// in its place for the check is as harmless as can be.
fn check(definition: &Definition) -> Result<(), Invalid> {
    let look_up = |_: &str| Some("http".to_owned());
    match resolve(definition, &look_up) {
        Ok(_) => Ok(()),
        // Only the variable's value can tell.
        Err(Misfit::Invalid { field: "url", .. }) if has_variable(&definition.way) => Ok(()),
        Err(Misfit::Invalid { field, reason }) => Err(Invalid::new(field, reason)),
        Err(Misfit::NotExpanded(error)) => Err(Invalid::new("definition", format!("does not read: {error}"))),
    }
}

fn has_variable(way: &Way) -> bool {
    matches!(way, Way::Http { url } if url.contains("${"))
}

#[cfg(test)]
mod tests;
