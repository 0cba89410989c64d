//! The open form of a skill: `SKILL.md`, YAML front matter between two lines of dashes, then the instructions as Markdown.
//! Strict where a skill could become another one than its maker meant, tolerant where files of the world differ: line
//! ends, a byte order mark, unknown fields, and an unquoted colon in a description, which is no YAML and common.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Deserialize;
use serde_saphyr::{Options, budget, options};

use crate::{
    store::skills::{SkillAbout, SkillText},
    village::{skill::checked, text::Invalid},
};

/// Bytes of a `SKILL.md` at most.
pub const FORM_MAX: usize = 512 * 1024;
/// Bytes of its front matter at most.
const MATTER_MAX: usize = 64 * 1024;

/// Why a text is no skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    #[error("SKILL.md has more than {FORM_MAX} bytes")]
    TooLarge,
    #[error("SKILL.md is not UTF-8 text")]
    NotText,
    #[error("SKILL.md does not begin with a line ---")]
    NoMatter,
    #[error("the front matter of SKILL.md is not closed by a line ---")]
    OpenMatter,
    #[error("the front matter of SKILL.md has more than {MATTER_MAX} bytes")]
    LargeMatter,
    #[error("the front matter of SKILL.md can't be read: {0}")]
    Yaml(String),
    #[error("SKILL.md has a field that does not fit: {0}")]
    Field(#[from] Invalid),
    #[error("SKILL.md names the skill {name}, and its folder is called {folder}")]
    OtherFolder { name: String, folder: String },
}

/// Reads a `SKILL.md`. `folder` is the name of the folder that it lies in, where there is one.
pub fn parse(bytes: &[u8], folder: Option<&str>) -> Result<SkillText, FormError> {
    if bytes.len() > FORM_MAX {
        return Err(FormError::TooLarge);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| FormError::NotText)?;
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let (matter, body) = split(&text)?;
    if matter.len() > MATTER_MAX {
        return Err(FormError::LargeMatter);
    }
    let matter = read(matter)?;
    let missing = |field| FormError::Field(Invalid::new(field, "is missing"));
    let text = SkillText {
        about: SkillAbout {
            name: matter.name.ok_or_else(|| missing("name"))?.trim().to_owned(),
            description: matter.description.ok_or_else(|| missing("description"))?,
            license: said(matter.license),
            compatibility: said(matter.compatibility),
            metadata: matter.metadata,
            allowed_tools: matter.allowed_tools.map(Tools::names).unwrap_or_default(),
        },
        instructions: body.trim().to_owned(),
    };
    let text = checked(text)?;
    if let Some(folder) = folder.filter(|folder| *folder != text.about.name) {
        return Err(FormError::OtherFolder { name: text.about.name, folder: folder.chars().take(80).collect() });
    }
    Ok(text)
}

/// Front matter and body, without the lines that part them.
fn split(text: &str) -> Result<(&str, &str), FormError> {
    let text = text.trim_start();
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    if first.trim_end() != "---" {
        return Err(FormError::NoMatter);
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return Ok((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    Err(FormError::OpenMatter)
}

/// The fields that the form knows; others are for other programs.
struct Matter {
    name: Option<String>,
    description: Option<String>,
    license: Option<String>,
    compatibility: Option<String>,
    metadata: BTreeMap<String, String>,
    allowed_tools: Option<Tools>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Fields<M> {
    name: Option<String>,
    description: Option<String>,
    license: Option<String>,
    compatibility: Option<String>,
    metadata: Option<BTreeMap<String, M>>,
    allowed_tools: Option<Tools>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Tools {
    Text(String),
    List(Vec<String>),
}

impl Tools {
    fn names(self) -> Vec<String> {
        match self {
            Self::Text(text) => parted(&text),
            Self::List(names) => names,
        }
    }
}

/// The names in a text, parted by spaces or commas, but not inside brackets: `Bash(git add:*) Read`.
fn parted(text: &str) -> Vec<String> {
    let (mut names, mut name, mut depth) = (Vec::new(), String::new(), 0_u32);
    for char in text.chars() {
        match char {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (char.is_whitespace() || char == ',') {
            names.push(std::mem::take(&mut name));
        } else {
            name.push(char);
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

fn said(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn read(matter: &str) -> Result<Matter, FormError> {
    match fields(matter) {
        Ok(matter) => Ok(matter),
        // What is wrong with the text as it was written is told, not what is wrong with what was made of it.
        Err(error) => fields(&quoted(matter)).map_err(|_| FormError::Yaml(error)),
    }
}

fn fields(matter: &str) -> Result<Matter, String> {
    if matter.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    // As texts first: `1.10` is a version and not a number. Lists and the like are kept as JSON.
    let matter = match serde_saphyr::from_str_with_options::<Fields<String>>(matter, limits()) {
        Ok(fields) => fields,
        Err(_) => {
            let fields: Fields<serde_json::Value> =
                serde_saphyr::from_str_with_options(matter, limits()).map_err(|error| told(&error))?;
            let text = |value| match value {
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            };
            let metadata = fields.metadata.map(|map| map.into_iter().map(|(key, value)| (key, text(value))).collect());
            Fields {
                name: fields.name,
                description: fields.description,
                license: fields.license,
                compatibility: fields.compatibility,
                metadata,
                allowed_tools: fields.allowed_tools,
            }
        }
    };
    Ok(Matter {
        name: matter.name,
        description: matter.description,
        license: matter.license,
        compatibility: matter.compatibility,
        metadata: matter.metadata.unwrap_or_default(),
        allowed_tools: matter.allowed_tools,
    })
}

/// Far beyond any front matter, and far below what an alias bomb needs.
fn limits() -> Options {
    options! {
        budget: budget! {
            max_depth: 16,
            max_nodes: 2_000,
            max_events: 10_000,
            max_aliases: 16,
            max_anchors: 16,
            max_documents: 1,
            max_total_scalar_bytes: 2 * MATTER_MAX,
        },
        // `y` is a letter.
        strict_booleans: true,
        with_snippet: false,
    }
}

/// The error's first line: the rest is for a terminal.
fn told(error: &serde_saphyr::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().chars().take(200).collect()
}

/// The same with the plain values of its first level in quotes, where a colon or a hash inside makes them no YAML.
fn quoted(matter: &str) -> String {
    let lines = matter.lines().map(|line| {
        let Some((key, value)) = line.split_once(": ") else { return Cow::Borrowed(line) };
        let value = value.trim();
        let is_key = !key.is_empty() && key.chars().all(|char| char.is_ascii_alphanumeric() || "-_".contains(char));
        let is_plain = !value.is_empty() && !value.starts_with(['"', '\'', '|', '>', '[', '{', '&', '*', '!', '#']);
        if is_key
            && is_plain
            && (value.contains(": ")
                || value.ends_with(':')
                || value.contains(" #")
                || value.starts_with(['@', '`', '%']))
        {
            Cow::Owned(format!("{key}: '{}'", value.replace('\'', "''")))
        } else {
            Cow::Borrowed(line)
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
