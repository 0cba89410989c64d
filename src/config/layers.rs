//! Finds the text of each setting: the first of flag, variable, file and default that has one.

use std::{collections::HashMap, path::Path};

use toml::{Table, Value};

use super::{
    ConfigError, Flags, Outside, Pinned, Shown, Source,
    settings::{InFile, Kind, Setting, all},
};

/// The text that was found for each setting, by its name.
pub struct Layers {
    found: HashMap<&'static str, Found>,
}

struct Found {
    setting: &'static Setting,
    text: Option<String>,
    source: Source,
}

impl Layers {
    pub fn read(flags: &Flags, outside: &Outside<'_>) -> Result<Self, ConfigError> {
        let mut file = None;
        let mut found = HashMap::new();
        // `config` is the table's first entry: the file is open when the others are looked up.
        for setting in all() {
            let entry = look_up(setting, flags, outside, file.as_ref())?;
            if setting.name == "config"
                && let Some(path) = &entry.text
            {
                file = Some(open(path, &entry.source, outside)?);
            }
            found.insert(setting.name, entry);
        }
        Ok(Self { found })
    }

    /// The value, when one is set or built in.
    pub fn value<T>(&self, name: &'static str, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, ConfigError> {
        Ok(self.pinned(name, read)?.map(|pinned| pinned.value))
    }

    /// The value of a setting whose default is in the table.
    pub fn required<T>(&self, name: &'static str, read: impl Fn(&str) -> Option<T>) -> Result<T, ConfigError> {
        let missing = || ConfigError::Invalid { name, origin: Source::Default, value: String::new(), expects: "set" };
        self.value(name, read)?.ok_or_else(missing)
    }

    /// The value with its source.
    pub fn pinned<T>(
        &self,
        name: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<Pinned<T>>, ConfigError> {
        let Some(Found { setting, text: Some(text), source }) = self.found.get(name) else { return Ok(None) };
        match read(text) {
            Some(value) => Ok(Some(Pinned { value, source: source.clone() })),
            None => Err(ConfigError::Invalid {
                name,
                origin: source.clone(),
                value: match setting.kind {
                    Kind::Plain => text.clone(),
                    Kind::Secret => "(hidden)".to_owned(),
                },
                expects: setting.expects,
            }),
        }
    }

    /// Every setting in the table's order, secrets without their values.
    pub fn shown(&self, data: &Path) -> Vec<Shown> {
        all()
            .filter_map(|setting| self.found.get(setting.name))
            .map(|Found { setting, text, source }| Shown {
                setting,
                value: match setting.kind {
                    Kind::Secret => text.as_ref().map(|_| "set".to_owned()),
                    Kind::Plain if setting.name == "data" => Some(data.display().to_string()),
                    Kind::Plain => text.clone(),
                },
                source: source.clone(),
            })
            .collect()
    }
}

fn look_up(
    setting: &'static Setting,
    flags: &Flags,
    outside: &Outside<'_>,
    file: Option<&(String, Table)>,
) -> Result<Found, ConfigError> {
    let found = |text: String, source| Found { setting, text: Some(text), source };
    if let (Some(text), Some(flag)) = (flags.0.get(setting.name), setting.flag) {
        return Ok(found(text.clone(), Source::Flag(flag)));
    }
    // Compose files set empty variables for what is not set.
    let variable = |name: &str| (outside.env)(name).filter(|text| !text.trim().is_empty());
    let pointer = variable(&format!("{}_FILE", setting.env));
    match (variable(setting.env), pointer) {
        (Some(_), Some(_)) => return Err(ConfigError::SetTwice(setting.env)),
        (Some(text), None) => return Ok(found(text, Source::Environment(setting.env))),
        (None, Some(path)) => {
            let source = Source::EnvironmentFile(setting.env);
            let text = read_file(&path, &source, outside)?;
            return Ok(found(text.trim_end_matches(['\r', '\n']).to_owned(), source));
        }
        (None, None) => {}
    }
    if let (InFile::Yes, Some((name, table))) = (setting.in_file, file)
        && let Some(value) = table.get(setting.name)
    {
        let shape = || ConfigError::Shape { file: name.clone(), key: setting.name.to_owned() };
        return Ok(found(as_text(value).ok_or_else(shape)?, Source::File(name.clone())));
    }
    Ok(Found { setting, text: setting.default.map(str::to_owned), source: Source::Default })
}

fn open(path: &str, source: &Source, outside: &Outside<'_>) -> Result<(String, Table), ConfigError> {
    let text = read_file(path, source, outside)?;
    let table: Table = text.parse().map_err(|why: toml::de::Error| ConfigError::NotToml {
        file: path.to_owned(),
        line: why.span().and_then(|span| text.get(..span.start)).map_or(1, |before| before.matches('\n').count() + 1),
        // Only the message: the whole error quotes the line, and a secret may be in it.
        why: why.message().to_owned(),
    })?;
    let known: Vec<&str> = all().filter(|setting| setting.in_file == InFile::Yes).map(|setting| setting.name).collect();
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(ConfigError::UnknownKey { file: path.to_owned(), key: key.clone(), known: known.join(", ") }),
        None => Ok((path.to_owned(), table)),
    }
}

fn read_file(path: &str, source: &Source, outside: &Outside<'_>) -> Result<String, ConfigError> {
    (outside.read_file)(Path::new(path)).map_err(|why| ConfigError::Unreadable {
        origin: source.clone(),
        file: path.to_owned(),
        why,
    })
}

/// A list is written with commas everywhere else.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Array(items) => Some(items.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?.join(",")),
        Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Table(_) => None,
    }
}
