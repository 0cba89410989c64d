//! Commands about Players: the same functions of the store that the server uses, each in one transaction.

use std::io::{self, BufRead, IsTerminal, Write};

use hamlet_actors::vocabulary::Timestamp;
use rusqlite::Connection;
use secrecy::SecretString;

use super::{
    CliError,
    args::{TokenArgs, UserCommand},
};
use crate::{
    auth::{
        PlayerRole,
        accounts::{LOGIN_LINK, new_player},
        name::PlayerName,
        password::{LONGEST_BYTES, Password},
        secret::Secret,
    },
    config::Config,
    store::accounts::{
        self as rows, AccountError, ApiToken, Change, NewPlayer, Player, in_transaction, open_for_admin,
    },
};

/// Players in one read of `user list`.
const PAGE: usize = 500;

pub fn token(config: &Config, args: &TokenArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let name = PlayerName::new(&args.player)?;
    let label = PlayerName::new(&args.name)?.to_string();
    let secret = Secret::generate()?;
    let mut conn = create(config)?;
    let player = match rows::find_by_name(&conn, &name)? {
        Some(player) if args.role.is_some_and(|role| role != player.role) => {
            return Err(CliError::OtherRole { name: player.name, is: player.role });
        }
        Some(player) if player.disabled => return Err(CliError::Disabled(player.name)),
        found => found,
    };
    let new = new_player(name, args.role.unwrap_or(PlayerRole::Player));
    let token = ApiToken { id: uuid::Uuid::now_v7(), name: label, created_at: Timestamp::now() };
    in_transaction(&mut conn, |conn| {
        let id = match &player {
            Some(player) => player.id,
            None => rows::add(conn, &new)?.id,
        };
        rows::add_token(conn, id, secret.hash(), &token)
    })?;
    writeln!(out, "{}", secret.token_text())?;
    Ok(())
}

pub fn login_link(config: &Config, player: &str, out: &mut dyn Write) -> Result<(), CliError> {
    let mut conn = existing(config)?;
    let player = named(&conn, player)?;
    if player.disabled {
        return Err(CliError::Disabled(player.name));
    }
    let secret = Secret::generate()?;
    let expires_at = Timestamp::now().plus_millis(LOGIN_LINK);
    in_transaction(&mut conn, |conn| Ok(rows::add_login_link(conn, player.id, secret.hash(), expires_at)?))?;
    writeln!(out, "{}/sign-in?token={}", config.page_url(config.listen), secret.text())?;
    Ok(())
}

pub fn user(config: &Config, command: UserCommand, out: &mut dyn Write) -> Result<(), CliError> {
    match command {
        UserCommand::Add { name, role, password } => {
            let name = PlayerName::new(&name)?;
            let password_hash = if password { Some(read_password()?.hash()?) } else { None };
            let new = NewPlayer { password_hash, ..new_player(name, role) };
            let player = in_transaction(&mut create(config)?, |conn| rows::add(conn, &new))?;
            writeln!(out, "Added {} ({}).", player.name, player.role)?;
        }
        UserCommand::List => list(&existing(config)?, out)?,
        UserCommand::Passwd { name } => {
            let mut conn = existing(config)?;
            let player = named(&conn, &name)?;
            let hash = read_password()?.hash()?;
            in_transaction(&mut conn, |conn| Ok(rows::set_password(conn, player.id, &hash, None)?))?;
            writeln!(out, "Set the password of {}; sessions have ended.", player.name)?;
        }
        UserCommand::Role { name, role } => {
            change(config, &name, Change { role: Some(role), ..Change::default() }, out)?
        }
        UserCommand::Disable { name } => {
            change(config, &name, Change { disabled: Some(true), ..Change::default() }, out)?;
        }
        UserCommand::Enable { name } => {
            change(config, &name, Change { disabled: Some(false), ..Change::default() }, out)?;
        }
        UserCommand::Delete { name } => {
            let mut conn = existing(config)?;
            let player = named(&conn, &name)?;
            in_transaction(&mut conn, |conn| rows::delete(conn, player.id))?;
            writeln!(out, "Deleted {}.", player.name)?;
        }
    }
    Ok(())
}

fn change(config: &Config, name: &str, change: Change, out: &mut dyn Write) -> Result<(), CliError> {
    let mut conn = existing(config)?;
    let player = named(&conn, name)?;
    let player = in_transaction(&mut conn, |conn| rows::change(conn, player.id, &change))?;
    writeln!(out, "{}", line(&player))?;
    Ok(())
}

fn list(conn: &Connection, out: &mut dyn Write) -> Result<(), CliError> {
    let mut after = String::new();
    loop {
        let page = rows::list(conn, &after, PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.list_key();
        for player in &page {
            writeln!(out, "{}", line(player))?;
        }
    }
}

fn line(player: &Player) -> String {
    let state = if player.disabled { "disabled" } else { "enabled" };
    let password = if player.has_password { "password" } else { "no password" };
    format!("{}  {}  {state}  {password}  since {}", player.name, player.role, player.created_at)
}

fn named(conn: &Connection, name: &str) -> Result<Player, CliError> {
    let absent = || CliError::NoSuchPlayer(name.to_owned());
    let key = PlayerName::new(name).map_err(|_| absent())?;
    rows::find_by_name(conn, &key)?.ok_or_else(absent)
}

/// A wrong `--data` must not make an empty Village somewhere.
fn existing(config: &Config) -> Result<Connection, CliError> {
    if !config.data.store().exists() {
        return Err(CliError::NoStore(config.data.path().display().to_string()));
    }
    Ok(open_for_admin(&config.data.store())?)
}

/// Tokens and Players can be made before the first start: a script sets a Village up.
fn create(config: &Config) -> Result<Connection, CliError> {
    config.data.create()?;
    Ok(open_for_admin(&config.data.store()).map_err(AccountError::from)?)
}

/// A line of stdin, or what is typed unseen at the terminal.
fn read_password() -> Result<Password, CliError> {
    let stdin = io::stdin();
    let text: SecretString = if stdin.is_terminal() {
        rpassword::prompt_password("Password: ").map_err(CliError::PasswordInput)?.into()
    } else {
        read_line(&mut stdin.lock()).map_err(CliError::PasswordInput)?.into()
    };
    Ok(Password::new(text)?)
}

fn read_line(input: &mut dyn BufRead) -> io::Result<String> {
    let mut line = String::new();
    // Bounded: a pipe may never end its line. What is longer than a password may be is refused as one.
    let most = u64::try_from(LONGEST_BYTES + 3).unwrap_or(u64::MAX);
    io::Read::take(input, most).read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_one_line_of_stdin_without_its_end() {
        assert_eq!(read_line(&mut &b" correct horse \r\nmore"[..]).unwrap(), " correct horse ");
        assert_eq!(read_line(&mut &b"no line end"[..]).unwrap(), "no line end");
        assert!(read_line(&mut &[b'x'; 9000][..]).unwrap().len() > LONGEST_BYTES);
    }
}
