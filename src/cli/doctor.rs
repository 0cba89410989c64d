//! Looks at everything that keeps a server from starting or working, and says of each whether it is well.

use std::{fmt, fs, io, net::TcpListener, process::ExitCode};

use super::{CliError, probe};
use crate::{
    config::{Config, DataFolder, reachable},
    store,
    vault::Vault,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Ok,
    Warn,
    Fail,
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "FAIL",
        })
    }
}

struct Finding {
    health: Health,
    text: String,
}

fn finding(health: Health, text: impl Into<String>) -> Finding {
    Finding { health, text: text.into() }
}

/// Prints one line a finding.
///
/// # Errors
/// When the findings can't be written.
pub fn run(config: &Config, out: &mut dyn io::Write) -> Result<ExitCode, CliError> {
    let findings = [
        folder(&config.data),
        store_file(&config.data),
        key_file(config),
        port(config),
        exposure(config),
        providers(config),
    ];
    for Finding { health, text } in &findings {
        writeln!(out, "{health:<5}{text}")?;
    }
    let failed = findings.iter().any(|finding| finding.health == Health::Fail);
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn folder(data: &DataFolder) -> Finding {
    let shown = data.path().display();
    if !data.path().exists() {
        return finding(Health::Warn, format!("the data folder {shown} is not there yet; the first start makes it"));
    }
    let probe = data.path().join(".doctor");
    match fs::write(&probe, b"written").and_then(|()| fs::remove_file(&probe)) {
        Ok(()) => finding(Health::Ok, format!("the data folder {shown} can be written")),
        Err(error) => finding(Health::Fail, format!("the data folder {shown} cannot be written: {error}")),
    }
}

fn store_file(data: &DataFolder) -> Finding {
    if !data.store().exists() {
        return finding(Health::Warn, "there is no store yet; the first start makes it");
    }
    match store::backup::check(&data.store()) {
        Ok(()) => finding(Health::Ok, "the store opens and is sound"),
        Err(error) => finding(Health::Fail, format!("the store is not well: {error}")),
    }
}

fn key_file(config: &Config) -> Finding {
    if config.secret.is_some() {
        return finding(Health::Ok, "HAMLET_SECRET takes the place of the key file");
    }
    match fs::metadata(config.data.key_file()) {
        Ok(metadata) if is_open_to_others(&metadata) => finding(
            Health::Fail,
            format!("other users can read the key file; run chmod 600 {}", config.data.key_file().display()),
        ),
        // There is one, so that this makes none.
        Ok(_) => match Vault::from_data_folder(config.data.path()) {
            Ok(_) => finding(Health::Ok, "the key file is whole, and its owner's only"),
            Err(error) => finding(Health::Fail, error.to_string()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            finding(Health::Warn, "there is no key file yet; the first start makes it")
        }
        Err(error) => finding(Health::Fail, format!("the key file cannot be read: {error}")),
    }
}

#[cfg(unix)]
fn is_open_to_others(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0
}

/// Elsewhere the folder's own access list decides.
#[cfg(not(unix))]
fn is_open_to_others(_metadata: &fs::Metadata) -> bool {
    false
}

fn port(config: &Config) -> Finding {
    let address = config.listen;
    match TcpListener::bind(address) {
        Ok(_) => finding(Health::Ok, format!("{address} is free to listen on")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => match probe::get(reachable(address), "/readyz") {
            Ok(200) => finding(Health::Ok, format!("a server runs on {address} and is well")),
            Ok(status) => finding(Health::Warn, format!("{address} is taken; /readyz answers with status {status}")),
            Err(_) => finding(Health::Fail, format!("another program has {address}; choose a port with --listen")),
        },
        Err(error) => finding(Health::Fail, format!("{address} cannot be listened on: {error}")),
    }
}

/// Listening beyond this machine without saying under which name: browsers are refused by name, and nothing is encrypted.
fn exposure(config: &Config) -> Finding {
    match &config.public_url {
        Some(url) => finding(Health::Ok, format!("browsers come by {url}")),
        None if config.listen.ip().is_loopback() => finding(Health::Ok, "only this machine reaches the server"),
        None => finding(
            Health::Warn,
            "other machines reach the server by its address only, unencrypted; set --public-url when a proxy stands before it",
        ),
    }
}

fn providers(config: &Config) -> Finding {
    match config.providers.names().as_slice() {
        [] => finding(
            Health::Warn,
            "no Provider comes from the environment; the embedded rehearsal answers until the page has one",
        ),
        names => finding(Health::Ok, format!("Providers from the environment: {}", names.join(", "))),
    }
}
