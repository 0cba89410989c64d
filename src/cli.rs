//! The command line: reads the arguments and runs everything but the server itself. Administrative commands work beside
//! a running server, each in one short transaction. What a command answers goes to stdout, what went wrong is one
//! sentence on stderr.

mod args;
mod doctor;
mod people;
mod probe;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Parser;

use crate::{
    auth::{
        PlayerRole,
        name::InvalidName,
        password::{PasswordError, WeakPassword},
        secret::NoRandomness,
    },
    backup::{self, BackupError, Existing},
    config::{self, Config, ConfigError, Outside, Shown, data_folder::DataFolderError},
    store::{StoreError, accounts::AccountError, backup::Secrets},
};
pub use args::Cli;
use args::Command;

/// What is left to do for the caller.
#[derive(Debug)]
pub enum Outcome {
    Serve(Box<Config>),
    Done(ExitCode),
}

#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Folder(#[from] DataFolderError),
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error(transparent)]
    Weak(#[from] WeakPassword),
    #[error(transparent)]
    Password(#[from] PasswordError),
    #[error(transparent)]
    Randomness(#[from] NoRandomness),
    #[error("there is no Player {0:?}; `hamlet user list` shows who is there")]
    NoSuchPlayer(String),
    #[error("{name:?} is there with the role {is}; `hamlet user role` changes it")]
    OtherRole { name: String, is: PlayerRole },
    #[error("{0:?} is disabled; `hamlet user enable` changes that")]
    Disabled(String),
    #[error("there is no store in {0} yet; start the server once, or name the folder with --data")]
    NoStore(String),
    #[error("the password could not be read: {0}")]
    PasswordInput(io::Error),
    #[error("the answer could not be written: {0}")]
    Output(#[from] io::Error),
}

/// The arguments of this process. Prints help, version or what is wrong with them, and then exits, as every program does.
pub fn parse() -> Cli {
    Cli::parse()
}

/// Runs a command, or answers the configuration to serve with.
///
/// # Errors
/// One sentence for stderr; the exit code is then 1.
pub fn run(cli: Cli) -> Result<Outcome, CliError> {
    run_with(cli, &|name| std::env::var(name).ok(), &mut io::stdout().lock())
}

fn run_with(cli: Cli, env: &dyn Fn(&str) -> Option<String>, out: &mut dyn io::Write) -> Result<Outcome, CliError> {
    let read_file = |path: &Path| fs::read_to_string(path);
    let config = config::load(&cli.flags.to_config(), &Outside { env, read_file: &read_file, data: platform_data() })?;
    let done = Outcome::Done(ExitCode::SUCCESS);
    match cli.command.unwrap_or(Command::Serve) {
        Command::Serve => return Ok(Outcome::Serve(Box::new(config))),
        Command::Token(args) => people::token(&config, &args, out)?,
        Command::LoginLink { player } => people::login_link(&config, &player, out)?,
        Command::User(command) => people::user(&config, command, out)?,
        Command::Config => show(&config.shown, out)?,
        Command::Doctor => return Ok(Outcome::Done(doctor::run(&config, out)?)),
        Command::Healthcheck => return healthcheck(&config, out),
        Command::Backup { file, without_secrets } => {
            let secrets = if without_secrets { Secrets::Without } else { Secrets::With };
            backup::write(&config.data, &file, secrets)?;
            writeln!(out, "Wrote {}.", file.display())?;
        }
        Command::Restore { file, force } => {
            let existing = if force { Existing::MoveAside } else { Existing::Refuse };
            let aside = backup::restore(&config.data, &file, existing)?;
            writeln!(out, "Restored {} into {}.", file.display(), config.data.path().display())?;
            if let Some(aside) = aside {
                writeln!(out, "What was there is in {}.", aside.display())?;
            }
        }
    }
    Ok(done)
}

fn platform_data() -> Option<PathBuf> {
    directories::ProjectDirs::from("", "", "hamlet").map(|dirs| dirs.data_dir().to_owned())
}

fn show(shown: &[Shown], out: &mut dyn io::Write) -> Result<(), CliError> {
    for Shown { setting, value, source } in shown {
        let value = value.as_deref().unwrap_or(setting.unset);
        writeln!(out, "{:<28} {value}  ({source})", setting.name)?;
    }
    Ok(())
}

fn healthcheck(config: &Config, out: &mut dyn io::Write) -> Result<Outcome, CliError> {
    let address = config::reachable(config.listen);
    let code = match probe::get(address, "/healthz") {
        Ok(200) => {
            writeln!(out, "Hamlet answers on {address}.")?;
            ExitCode::SUCCESS
        }
        Ok(status) => {
            writeln!(out, "{address} answers with status {status}.")?;
            ExitCode::FAILURE
        }
        Err(error) => {
            writeln!(out, "Nothing answers on {address}: {error}.")?;
            ExitCode::FAILURE
        }
    };
    Ok(Outcome::Done(code))
}

#[cfg(test)]
mod tests;
