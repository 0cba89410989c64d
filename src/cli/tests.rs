use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

use clap::CommandFactory;

use super::*;
use crate::{
    auth::{PlayerRole, secret::Secret},
    config::SETTINGS,
    store::{Store, accounts as rows},
};

/// A command with a data folder of its own; what it printed, or what it said was wrong.
fn hamlet(data: &tempfile::TempDir, args: &[&str]) -> Result<String, String> {
    let folder = data.path().to_str().unwrap();
    let args = ["hamlet", "--data", folder].into_iter().chain(args.iter().copied());
    let mut out = Vec::new();
    match run_with(Cli::try_parse_from(args).unwrap(), &|_| None, &mut out) {
        Ok(Outcome::Done(code)) if code == ExitCode::SUCCESS => Ok(String::from_utf8(out).unwrap()),
        Ok(Outcome::Done(_)) => Err(String::from_utf8(out).unwrap()),
        Ok(Outcome::Serve(_)) => Err("would serve".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn the_arguments_are_well_formed_and_have_every_flag_of_the_table() {
    let command = Cli::command();
    command.clone().debug_assert();
    let mut flags: Vec<String> =
        command.get_arguments().filter_map(|arg| arg.get_long()).map(|long| format!("--{long}")).collect();
    flags.retain(|flag| flag != "--help" && flag != "--version");
    let table: Vec<String> = SETTINGS.iter().filter_map(|setting| setting.flag).map(str::to_owned).collect();
    assert_eq!(flags, table);
}

#[test]
fn without_a_command_or_with_serve_the_server_starts_with_the_flags() {
    let flags = ["--listen", "127.0.0.1:1", "--data", "d"];
    for command in [&["hamlet"][..], &["hamlet", "serve"]] {
        let args = command.iter().chain(&flags);
        match run_with(Cli::try_parse_from(args).unwrap(), &|_| None, &mut Vec::new()).unwrap() {
            Outcome::Serve(config) => assert_eq!(config.listen.port(), 1),
            Outcome::Done(_) => panic!("not served"),
        }
    }
}

#[test]
fn a_token_is_all_that_is_printed_and_its_player_is_made() {
    let data = folder();
    let printed = hamlet(&data, &["token", "--player", "Bot", "--role", "admin"]).unwrap();
    let hash = Secret::parse_token(printed.trim_end()).unwrap().hash();
    let conn = rows::open_for_admin(&data.path().join("hamlet.db")).unwrap();
    let (player, _) = rows::player_of_token(&conn, hash).unwrap().unwrap();
    assert_eq!((player.name.as_str(), player.role), ("Bot", PlayerRole::Admin));
    let second = hamlet(&data, &["token", "--player", "BOT"]).unwrap();
    assert_ne!(printed, second);
    let refused = hamlet(&data, &["token", "--player", "bot", "--role", "player"]).unwrap_err();
    assert_eq!(refused, "\"Bot\" is there with the role admin; `hamlet user role` changes it");
}

#[test]
fn players_are_administered_beside_a_running_server() {
    let data = folder();
    let _server = Store::open(&data.path().join("hamlet.db")).unwrap();
    assert_eq!(hamlet(&data, &["user", "add", "Ada", "--role", "admin"]).unwrap(), "Added Ada (admin).\n");
    assert_eq!(hamlet(&data, &["user", "add", "Bo"]).unwrap(), "Added Bo (player).\n");
    assert_eq!(hamlet(&data, &["user", "add", "bo"]).unwrap_err(), "the name \"Bo\" is taken");
    let last = "the last admin who can enter must stay one";
    for args in [&["user", "disable", "ada"][..], &["user", "role", "ada", "player"], &["user", "delete", "ada"]] {
        assert_eq!(hamlet(&data, args).unwrap_err(), last);
    }
    assert!(hamlet(&data, &["user", "disable", "Bo"]).unwrap().contains("disabled"));
    assert!(hamlet(&data, &["login-link", "--player", "Bo"]).unwrap_err().contains("is disabled"));
    assert!(hamlet(&data, &["token", "--player", "Bo"]).unwrap_err().contains("is disabled"));
    hamlet(&data, &["user", "enable", "Bo"]).unwrap();
    let link = hamlet(&data, &["login-link", "--player", "Bo"]).unwrap();
    assert!(link.starts_with("http://127.0.0.1:8787/sign-in?token="), "{link}");
    let list = hamlet(&data, &["user", "list"]).unwrap();
    let names: Vec<&str> = list.lines().filter_map(|line| line.split("  ").next()).collect();
    assert_eq!(names, ["Ada", "Bo"]);
    assert_eq!(hamlet(&data, &["user", "delete", "Bo"]).unwrap(), "Deleted Bo.\n");
    assert!(hamlet(&data, &["user", "passwd", "Bo"]).unwrap_err().starts_with("there is no Player \"Bo\""));
}

#[test]
fn a_wrong_data_folder_makes_no_village() {
    let data = folder();
    for args in [&["user", "list"][..], &["login-link", "--player", "Ada"]] {
        assert!(hamlet(&data, args).unwrap_err().starts_with("there is no store in "));
    }
    assert_eq!(fs::read_dir(data.path()).unwrap().count(), 0);
}

#[test]
fn config_prints_every_setting_with_value_and_source() {
    let data = folder();
    let printed = hamlet(&data, &["config", "--listen", "127.0.0.1:1"]).unwrap();
    assert!(printed.contains("listen                       127.0.0.1:1  (flag --listen)"), "{printed}");
    assert!(printed.contains("log_format                   text  (default)"), "{printed}");
    assert!(printed.contains("openai_api_key "), "{printed}");
    assert!(hamlet(&data, &["config", "--log-format", "xml"]).unwrap_err().contains("is not text or json"));
}

#[test]
fn doctor_fails_when_one_thing_does_and_names_it() {
    let data = folder();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let server = thread::spawn(move || {
        let (mut stream, _) = taken.accept().unwrap();
        stream.write_all(b"no HTTP at all\r\n").unwrap();
    });
    let report = hamlet(&data, &["doctor", "--listen", &address]).unwrap_err();
    server.join().unwrap();
    assert!(report.contains(&format!("FAIL another program has {address}")), "{report}");
    assert!(report.contains("warn there is no store yet"), "{report}");

    rows::open_for_admin(&data.path().join("hamlet.db")).unwrap();
    let report = hamlet(&data, &["doctor", "--listen", "127.0.0.1:0"]).unwrap();
    assert!(report.contains("ok   the store opens and is sound"), "{report}");
    fs::write(data.path().join("hamlet.db"), "rubbish".repeat(1000)).unwrap();
    let report = hamlet(&data, &["doctor", "--listen", "127.0.0.1:0"]).unwrap_err();
    assert!(report.contains("FAIL the store is not well"), "{report}");
}

#[test]
fn a_healthcheck_tells_by_its_exit_code() {
    let data = folder();
    for (answer, expected) in [("HTTP/1.1 200 OK\r\n\r\n", true), ("HTTP/1.1 503 Down\r\n\r\n", false)] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 14];
            stream.read_exact(&mut asked).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            asked
        });
        assert_eq!(hamlet(&data, &["healthcheck", "--listen", &address]).is_ok(), expected);
        assert_eq!(&server.join().unwrap(), b"GET /healthz H");
        // Nothing listens there any more.
        assert!(hamlet(&data, &["healthcheck", "--listen", &address]).is_err());
    }
}

#[test]
fn backup_and_restore_are_commands() {
    let data = folder();
    hamlet(&data, &["user", "add", "Ada"]).unwrap();
    let file = data.path().join("village.tar");
    let file = file.to_str().unwrap();
    hamlet(&data, &["backup", file]).unwrap();
    assert!(hamlet(&data, &["restore", file]).unwrap_err().contains("--force"));
    let fresh = folder();
    hamlet(&fresh, &["restore", file]).unwrap();
    assert!(hamlet(&fresh, &["user", "list"]).unwrap().starts_with("Ada  player"));
    assert!(hamlet(&data, &["restore", file, "--force"]).unwrap().contains("What was there is in"));
}
