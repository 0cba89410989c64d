//! What can be set in the Village: each setting's name, what it may be, and which value holds: one pinned from outside
//! (flag, environment, file), else the stored one, else the default. `effective` is the one way to a value.

use std::{collections::BTreeMap, fmt, time::Duration};

use hamlet_actors::{turn::WhenUnwatched, vocabulary::ProviderId};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::text::{self, Invalid};
use crate::{
    auth::SignUp,
    store::{StoreError, settings},
};

/// The values that hold now.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// None: the first that can be asked (`resolve::default_provider`).
    pub default_provider: Option<ProviderName>,
    /// None: the default Provider's own.
    pub default_model: Option<String>,
    pub hop_limit: u32,
    pub step_limit: u32,
    pub window_tokens: u32,
    pub when_unwatched: WhenUnwatched,
    pub sign_up: SignUp,
    /// Whether `fetch_url` may reach this machine and its networks.
    pub fetch_private_addresses: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            default_provider: None,
            default_model: None,
            hop_limit: 6,
            step_limit: 16,
            window_tokens: 60_000,
            when_unwatched: WhenUnwatched::Finish,
            sign_up: SignUp::default(),
            fetch_private_addresses: false,
        }
    }
}

/// Stored settings name a Provider by its id; from outside (`LLM_PROVIDER`) it may be a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProviderName {
    Id(ProviderId),
    Name(String),
}

impl ProviderName {
    /// Whether a Provider of this id and name is meant.
    pub fn means(&self, id: ProviderId, name: &str) -> bool {
        match self {
            Self::Id(named) => *named == id,
            Self::Name(named) => named.eq_ignore_ascii_case(name),
        }
    }
}

impl fmt::Display for ProviderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// The name of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    DefaultProviderId,
    DefaultModel,
    HopLimit,
    StepLimit,
    WindowTokens,
    WhenUnwatched,
    SignUp,
    FetchPrivateAddresses,
}

impl Setting {
    pub const ALL: [Self; 8] = [
        Self::DefaultProviderId,
        Self::DefaultModel,
        Self::HopLimit,
        Self::StepLimit,
        Self::WindowTokens,
        Self::WhenUnwatched,
        Self::SignUp,
        Self::FetchPrivateAddresses,
    ];

    /// As on the wire and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Self::DefaultProviderId => "defaultProviderId",
            Self::DefaultModel => "defaultModel",
            Self::HopLimit => "hopLimit",
            Self::StepLimit => "stepLimit",
            Self::WindowTokens => "windowTokens",
            Self::WhenUnwatched => "whenUnwatched",
            Self::SignUp => "signUp",
            Self::FetchPrivateAddresses => "fetchPrivateAddresses",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|setting| setting.name() == name)
    }
}

/// Settings that flags, environment or file hold fast: the value, and what set it, in words for the operator.
#[derive(Debug, Clone, Default)]
pub struct Pins {
    pinned: BTreeMap<Setting, (Value, String)>,
}

impl Pins {
    /// Holds `setting` at `value`; a later pin of the same setting replaces an earlier one.
    ///
    /// # Errors
    /// A value that the setting can't have, before anything runs with it.
    pub fn pin(&mut self, setting: Setting, value: Value, source: impl Into<String>) -> Result<(), Invalid> {
        Settings::default().set(setting, &value)?;
        self.pinned.insert(setting, (value, source.into()));
        Ok(())
    }

    /// What pinned it.
    pub fn source(&self, setting: Setting) -> Option<&str> {
        self.pinned.get(&setting).map(|(_, source)| source.as_str())
    }
}

/// The values that hold now. One short read.
pub fn effective(conn: &Connection, pins: &Pins) -> Result<Settings, StoreError> {
    let mut effective = Settings::default();
    let stored = settings::all(conn)?;
    for setting in Setting::ALL {
        let pinned = pins.pinned.get(&setting).map(|(value, _)| value);
        if let Some(value) = pinned.or_else(|| stored.get(setting.name())) {
            effective.set(setting, value).map_err(|invalid| StoreError::Damaged(format!("the setting {invalid}")))?;
        }
    }
    Ok(effective)
}

impl Settings {
    /// Takes the value over when it fits the setting.
    pub fn set(&mut self, setting: Setting, value: &Value) -> Result<(), Invalid> {
        let field = setting.name();
        match setting {
            Setting::DefaultProviderId => {
                let text = text::name(field, &read::<String>(setting, value)?, 80)?;
                self.default_provider = Some(text.parse().map_or(ProviderName::Name(text), ProviderName::Id));
            }
            Setting::DefaultModel => {
                self.default_model = Some(text::name(field, &read::<String>(setting, value)?, 200)?);
            }
            Setting::HopLimit => self.hop_limit = within(setting, value, 0, 50)?,
            Setting::StepLimit => self.step_limit = within(setting, value, 1, 100)?,
            Setting::WindowTokens => self.window_tokens = within(setting, value, 1_000, 2_000_000)?,
            Setting::WhenUnwatched => {
                self.when_unwatched = match read(setting, value)? {
                    Unwatched::Finish(true) => WhenUnwatched::Finish,
                    Unwatched::AbortAfterSeconds(seconds @ 0..=86_400) => {
                        WhenUnwatched::AbortAfter(Duration::from_secs(seconds))
                    }
                    Unwatched::Finish(false) | Unwatched::AbortAfterSeconds(_) => {
                        return Err(Invalid::new(
                            field,
                            r#"is not {"finish": true} or {"abortAfterSeconds": 0 to 86400}"#,
                        ));
                    }
                };
            }
            Setting::SignUp => self.sign_up = read(setting, value)?,
            Setting::FetchPrivateAddresses => self.fetch_private_addresses = read(setting, value)?,
        }
        Ok(())
    }

    /// As on the wire; null where the default is only known elsewhere.
    pub fn value(&self, setting: Setting) -> Value {
        match setting {
            Setting::DefaultProviderId => json!(self.default_provider.as_ref().map(ToString::to_string)),
            Setting::DefaultModel => json!(self.default_model),
            Setting::HopLimit => json!(self.hop_limit),
            Setting::StepLimit => json!(self.step_limit),
            Setting::WindowTokens => json!(self.window_tokens),
            Setting::WhenUnwatched => match self.when_unwatched {
                WhenUnwatched::Finish => json!(Unwatched::Finish(true)),
                WhenUnwatched::AbortAfter(delay) => json!(Unwatched::AbortAfterSeconds(delay.as_secs())),
            },
            Setting::SignUp => json!(self.sign_up),
            Setting::FetchPrivateAddresses => json!(self.fetch_private_addresses),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Unwatched {
    Finish(bool),
    AbortAfterSeconds(u64),
}

fn read<T: serde::de::DeserializeOwned>(setting: Setting, value: &Value) -> Result<T, Invalid> {
    T::deserialize(value).map_err(|error| Invalid::new(setting.name(), format!("does not fit: {error}")))
}

fn within(setting: Setting, value: &Value, min: u32, max: u32) -> Result<u32, Invalid> {
    let number: Option<u32> = value.as_u64().and_then(|number| number.try_into().ok());
    number
        .filter(|number| (min..=max).contains(number))
        .ok_or_else(|| Invalid::new(setting.name(), format!("is not a whole number from {min} to {max}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_takes_what_is_in_its_range_and_nothing_else() {
        let id = "0198c0de-0000-7000-8000-000000000000";
        let table = [
            (
                Setting::HopLimit,
                vec![json!(0), json!(50)],
                vec![json!(-1), json!(51), json!(1.5), json!("6"), json!(1e99)],
            ),
            (Setting::StepLimit, vec![json!(1), json!(100)], vec![json!(0), json!(101)]),
            (
                Setting::WindowTokens,
                vec![json!(1_000), json!(2_000_000)],
                vec![json!(999), json!(2_000_001), json!(u64::MAX)],
            ),
            (
                Setting::WhenUnwatched,
                vec![json!({"finish": true}), json!({"abortAfterSeconds": 0}), json!({"abortAfterSeconds": 86_400})],
                vec![
                    json!({"finish": false}),
                    json!({"abortAfterSeconds": 86_401}),
                    json!({"abortAfterSeconds": -1}),
                    json!({"finish": true, "abortAfterSeconds": 1}),
                    json!({}),
                    json!("finish"),
                    json!([true]),
                ],
            ),
            (Setting::SignUp, vec![json!("closed"), json!("invite"), json!("open")], vec![json!("Open"), json!(true)]),
            (Setting::DefaultProviderId, vec![json!(id)], vec![json!(""), json!(1), json!("a\nb")]),
            (Setting::FetchPrivateAddresses, vec![json!(true), json!(false)], vec![json!("true"), json!(1), json!([])]),
            (Setting::DefaultModel, vec![json!("a/b:c")], vec![json!(""), json!("x".repeat(201))]),
        ];
        assert_eq!(table.len(), Setting::ALL.len());
        for (setting, good, bad) in table {
            for value in good {
                let mut settings = Settings::default();
                assert_eq!(settings.set(setting, &value), Ok(()), "{setting:?} {value}");
                assert_eq!(settings.value(setting), value);
            }
            for value in bad {
                let refused = Settings::default().set(setting, &value).map_err(|invalid| invalid.field);
                assert_eq!(refused, Err(setting.name()), "{setting:?} {value}");
            }
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for setting in Setting::ALL {
            assert_eq!(Setting::named(setting.name()), Some(setting));
        }
        assert_eq!(Setting::named("hoplimit"), None);
    }

    #[test]
    fn a_pin_that_does_not_fit_is_refused_at_once() {
        let mut pins = Pins::default();
        assert!(pins.pin(Setting::HopLimit, json!(51), "HAMLET_HOP_LIMIT").is_err());
        assert_eq!(pins.source(Setting::HopLimit), None);
        pins.pin(Setting::HopLimit, json!(2), "HAMLET_HOP_LIMIT").unwrap();
        assert_eq!(pins.source(Setting::HopLimit), Some("HAMLET_HOP_LIMIT"));
    }

    #[test]
    fn a_pin_comes_before_what_is_stored_and_that_before_the_default() {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT").unwrap();
        settings::set(&conn, "hopLimit", &json!(3)).unwrap();
        settings::set(&conn, "stepLimit", &json!(4)).unwrap();
        settings::set(&conn, "_mark", &json!("ours")).unwrap();
        let mut pins = Pins::default();
        pins.pin(Setting::HopLimit, json!(2), "a flag").unwrap();
        let expected = Settings { hop_limit: 2, step_limit: 4, ..Settings::default() };
        assert_eq!(effective(&conn, &pins).unwrap(), expected);
        settings::clear(&conn, "stepLimit").unwrap();
        assert_eq!(effective(&conn, &pins).unwrap(), Settings { hop_limit: 2, ..Settings::default() });
        settings::set(&conn, "signUp", &json!("nobody")).unwrap();
        let error = effective(&conn, &pins).unwrap_err().to_string();
        assert!(error.contains("signUp"), "{error}");
    }
}
