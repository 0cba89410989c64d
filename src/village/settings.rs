//! What can be set in the Village: each setting's name, what it may be, and which value holds: one pinned from outside
//! (flag, environment, file), else the stored one, else the default. `effective` is the one way to a value.

use std::{collections::BTreeMap, fmt, time::Duration};

use hamlet_actors::{turn::WhenUnwatched, vocabulary::ProviderId};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    patch::Object,
    text::{self, Invalid},
};
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
    /// Whether a model gives a Conversation its title after the first exchange.
    pub titles: bool,
    pub model_roles: ModelRoles,
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
            titles: true,
            model_roles: ModelRoles::default(),
            fetch_private_addresses: false,
        }
    }
}

/// Which models do what; what is null is left to other rules (`resolve::resolve_role`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ModelRoles {
    /// Of NPCs that name none; it comes before the default model.
    pub main: Option<RoleModel>,
    pub subagent: Option<RoleModel>,
    /// For titles and summaries.
    pub utility: Option<RoleModel>,
}

impl ModelRoles {
    /// The Providers that are named.
    pub fn providers(&self) -> impl Iterator<Item = ProviderId> {
        [&self.main, &self.subagent, &self.utility].into_iter().flatten().filter_map(|role| role.provider_id)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RoleModel {
    /// None: the default Provider.
    #[serde(default)]
    pub provider_id: Option<ProviderId>,
    pub model: String,
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
    Titles,
    ModelRoles,
    FetchPrivateAddresses,
}

impl Setting {
    pub const ALL: [Self; 10] = [
        Self::DefaultProviderId,
        Self::DefaultModel,
        Self::HopLimit,
        Self::StepLimit,
        Self::WindowTokens,
        Self::WhenUnwatched,
        Self::SignUp,
        Self::Titles,
        Self::ModelRoles,
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
            Self::Titles => "titles",
            Self::ModelRoles => "modelRoles",
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
            Setting::Titles => self.titles = read(setting, value)?,
            Setting::ModelRoles => self.model_roles = roles(setting, value)?,
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
            Setting::Titles => json!(self.titles),
            Setting::ModelRoles => json!(self.model_roles),
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

/// As it is written; lists are no objects here.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct WrittenRoles {
    main: Option<Object<RoleModel>>,
    subagent: Option<Object<RoleModel>>,
    utility: Option<Object<RoleModel>>,
}

fn roles(setting: Setting, value: &Value) -> Result<ModelRoles, Invalid> {
    let Object(written) = read::<Object<WrittenRoles>>(setting, value)?;
    let checked = |role: Option<Object<RoleModel>>| {
        role.map(|Object(RoleModel { provider_id, model })| {
            let model = text::name(setting.name(), &model, 200)?;
            Ok(RoleModel { provider_id, model })
        })
        .transpose()
    };
    Ok(ModelRoles {
        main: checked(written.main)?,
        subagent: checked(written.subagent)?,
        utility: checked(written.utility)?,
    })
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
mod tests;
