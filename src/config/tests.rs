use std::io::{Error, ErrorKind};

use secrecy::ExposeSecret;

use super::*;

#[derive(Default)]
struct Given<'a> {
    flags: &'a [(&'static str, &'a str)],
    env: &'a [(&'a str, &'a str)],
    files: &'a [(&'a str, &'a str)],
}

impl Given<'_> {
    fn load(&self) -> Result<Config, ConfigError> {
        let flags = Flags(self.flags.iter().map(|(name, text)| (*name, (*text).to_owned())).collect());
        let find = |list: &[(&str, &str)], name: &str| {
            list.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned())
        };
        load(
            &flags,
            &Outside {
                env: &|name| find(self.env, name),
                read_file: &|path| {
                    find(self.files, &path.display().to_string()).ok_or_else(|| Error::from(ErrorKind::NotFound))
                },
                data: Some("/home/ada/.local/share/hamlet".into()),
            },
        )
    }

    fn error(&self) -> String {
        self.load().unwrap_err().to_string()
    }
}

fn source(config: &Config, name: &str) -> String {
    config.shown.iter().find(|shown| shown.setting.name == name).unwrap().source.to_string()
}

#[test]
fn without_anything_set_the_defaults_stand() {
    let config = Given::default().load().unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8787");
    assert_eq!(config.data.path(), Path::new("/home/ada/.local/share/hamlet"));
    assert_eq!((config.log.as_str(), config.log_format), ("info", LogFormat::Text));
    assert_eq!((config.shutdown_deadline, config.rehearsal_tokens_per_second), (Duration::from_secs(20), 40));
    assert_eq!(config.village, VillagePins::default());
    assert!(config.public_url.is_none() && config.secret.is_none());
    assert_eq!(source(&config, "listen"), "default");
}

#[test]
fn a_flag_beats_a_variable_beats_the_file_beats_the_default() {
    let file = ("h.toml", "listen = \"127.0.0.1:1\"\nlog = \"warn\"\nlog_format = \"json\"\nhop_limit = 3");
    let mut given = Given {
        flags: &[("config", "h.toml"), ("listen", "127.0.0.1:3")],
        env: &[("HAMLET_LISTEN", "127.0.0.1:2"), ("HAMLET_LOG", "debug"), ("HAMLET_CONFIG", "other.toml")],
        files: &[file],
    };
    let config = given.load().unwrap();
    assert_eq!((config.listen.port(), source(&config, "listen")), (3, "flag --listen".to_owned()));
    assert_eq!((config.log.as_str(), source(&config, "log")), ("debug", "environment HAMLET_LOG".to_owned()));
    assert_eq!((config.log_format, source(&config, "log_format")), (LogFormat::Json, "file h.toml".to_owned()));
    assert_eq!(config.village.hop_limit, Some(Pinned { value: 3, source: Source::File("h.toml".to_owned()) }));
    given.flags = &[("config", "h.toml")];
    assert_eq!(given.load().unwrap().listen.port(), 2);
    given.env = &[];
    assert_eq!(given.load().unwrap().listen.port(), 1);
}

#[test]
fn a_variable_can_name_a_file_that_has_the_value() {
    let given = Given {
        env: &[("HAMLET_SECRET_FILE", "/run/secret"), ("OPENAI_API_KEY_FILE", "/run/key"), ("HAMLET_PUBLIC_URL", " ")],
        files: &[("/run/secret", "sixteen characters\n"), ("/run/key", "sk-123\r\n")],
        ..Given::default()
    };
    let config = given.load().unwrap();
    assert_eq!(config.secret.as_ref().unwrap().expose_secret(), "sixteen characters");
    assert_eq!(config.providers.openai_api_key.as_ref().unwrap().expose_secret(), "sk-123");
    assert_eq!(config.providers.names(), ["OPENAI_API_KEY"]);
    assert_eq!(source(&config, "secret"), "environment HAMLET_SECRET_FILE");
    assert!(config.public_url.is_none(), "an empty variable counts as not set");
    let printed = format!("{config:?}");
    assert!(!printed.contains("sixteen") && !printed.contains("sk-123"), "{printed}");
}

#[test]
fn a_wrong_value_is_told_with_its_place_and_what_it_should_be() {
    for (env, expected) in [
        (
            ("HAMLET_LISTEN", "8787"),
            "listen (environment HAMLET_LISTEN): \"8787\" is not an address and port, like 127.0.0.1:8787 or 0.0.0.0:8787",
        ),
        (("HAMLET_SIGN_UP", "maybe"), "sign_up (environment HAMLET_SIGN_UP): \"maybe\" is not closed, invite or open"),
        (("HAMLET_SECRET", "short"), "secret (environment HAMLET_SECRET): \"(hidden)\" is not at least 16 characters"),
        (
            ("HAMLET_CORS_ORIGINS", "https://a.test/path"),
            "cors_origins (environment HAMLET_CORS_ORIGINS): \"https://a.test/path\" is not a list of origins, like https://app.example.com",
        ),
        (("HAMLET_LOG_FILE", "gone"), "environment HAMLET_LOG_FILE: gone cannot be read: entity not found"),
    ] {
        assert_eq!(Given { env: &[env], ..Given::default() }.error(), expected);
    }
    let twice = [("HAMLET_LOG", "info"), ("HAMLET_LOG_FILE", "x")];
    let twice = Given { env: &twice, files: &[("x", "info")], ..Given::default() };
    assert_eq!(twice.error(), "HAMLET_LOG and HAMLET_LOG_FILE are both set; set one of them");
}

#[test]
fn an_unknown_key_of_the_file_is_refused_with_the_known_ones() {
    let error = |text| Given { flags: &[("config", "h.toml")], files: &[("h.toml", text)], ..Given::default() }.error();
    let unknown = error("listne = \"x\"");
    assert!(
        unknown.starts_with("h.toml: \"listne\" is no setting; the settings are listen, data, public_url"),
        "{unknown}"
    );
    // A Provider's key does not belong into a file that is passed around.
    assert!(error("openai_api_key = \"x\"").contains("is no setting"));
    let broken = error("log = \"info\"\nsecret = \"hidden treasure\" x");
    assert!(broken.starts_with("h.toml, line 2: ") && !broken.contains("treasure"), "{broken}");
}

#[test]
fn the_file_takes_lists_and_numbers_as_toml_writes_them() {
    let text =
        "cors_origins = [\"https://a.test\", \"https://b.test\"]\nshutdown_deadline_seconds = 5\nwhen_unwatched = 0";
    let config =
        Given { flags: &[("config", "h.toml")], files: &[("h.toml", text)], ..Given::default() }.load().unwrap();
    assert_eq!(config.cors_origins.len(), 2);
    assert_eq!(config.shutdown_deadline, Duration::from_secs(5));
    assert_eq!(config.village.when_unwatched.unwrap().value, WhenUnwatched::AbortAfter(Duration::ZERO));
    let wrong = Given { flags: &[("config", "h.toml")], files: &[("h.toml", "log = true")], ..Given::default() };
    assert_eq!(wrong.error(), "h.toml: \"log\" must be a text, a number or a list of texts");
}

#[test]
fn a_platform_without_a_data_folder_needs_one_named() {
    let outside = Outside { env: &|_| None, read_file: &|_| Err(Error::from(ErrorKind::NotFound)), data: None };
    assert!(matches!(load(&Flags::default(), &outside), Err(ConfigError::NoDataFolder)));
}

#[test]
fn the_page_is_opened_under_an_address_that_a_browser_can_reach() {
    let mut config = Given::default().load().unwrap();
    assert_eq!(config.page_url("0.0.0.0:8787".parse().unwrap()), "http://127.0.0.1:8787");
    assert_eq!(config.page_url("[::]:1".parse().unwrap()), "http://[::1]:1");
    config.public_url = "https://chat.example.com/".parse().ok();
    assert_eq!(config.page_url("0.0.0.0:8787".parse().unwrap()), "https://chat.example.com");
}

#[test]
fn every_setting_is_in_the_table_once_and_fits_its_own_default() {
    let mut names: Vec<&str> = settings::all().map(|setting| setting.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
    for setting in SETTINGS {
        if let Some(flag) = setting.flag {
            assert_eq!(flag, format!("--{}", setting.name.replace('_', "-")));
        }
    }
}
