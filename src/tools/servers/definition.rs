//! What a tool server is: how it is reached, and what it is given. Texts are kept as they were written, with their
//! variables; what becomes of those is decided when it is connected to.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// Characters of a server's name at most.
pub const NAME_MAX: usize = 40;

/// One server.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    pub way: Way,
    pub secrets: Secrets,
}

/// How it is reached. Its serde form is what the store keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Way {
    /// A child process that speaks over its standard streams.
    Stdio {
        command: String,
        #[serde(default)]
        args: Vec<String>,
        #[serde(default)]
        cwd: Option<String>,
    },
    /// Streamable HTTP.
    Http { url: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    Stdio,
    Http,
}

impl Transport {
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

impl Way {
    pub fn transport(&self) -> Transport {
        match self {
            Self::Stdio { .. } => Transport::Stdio,
            Self::Http { .. } => Transport::Http,
        }
    }
}

/// What it is given that is nobody else's business: the child's environment, the requests' headers.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets {
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

impl Secrets {
    pub fn is_empty(&self) -> bool {
        self.env.is_empty() && self.headers.is_empty()
    }
}

/// Names only.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (env, headers): (Vec<_>, Vec<_>) = (self.env.keys().collect(), self.headers.keys().collect());
        f.debug_struct("Secrets").field("env", &env).field("headers", &headers).finish()
    }
}

/// Whether it can be the first part of a tool's key.
pub fn is_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// The name that a foreign document's name becomes: everything but Latin letters and digits is one `-`. None, where nothing
/// is left.
pub fn name_of(text: &str) -> Option<String> {
    let mut name = String::new();
    for char in text.chars().flat_map(char::to_lowercase) {
        if char.is_ascii_alphanumeric() {
            name.push(char);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        if name.len() == NAME_MAX {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_name_becomes_one_that_a_key_can_begin_with() {
        let table = [
            ("files", Some("files")),
            ("My_Files 2", Some("my-files-2")),
            ("@modelcontextprotocol/server-everything", Some("modelcontextprotocol-server-everything")),
            ("--a--", Some("a")),
            ("梅", None),
            ("", None),
        ];
        for (text, name) in table {
            assert_eq!(name_of(text).as_deref(), name, "{text}");
            assert!(name.is_none_or(is_name));
        }
        assert_eq!(name_of(&"x".repeat(41)).map(|name| name.len()), Some(NAME_MAX));
    }

    #[test]
    fn what_a_log_shows_of_secrets_is_their_names() {
        let secrets = Secrets {
            env: BTreeMap::from([("TOKEN".to_owned(), "sk-secret".to_owned())]),
            headers: BTreeMap::from([("authorization".to_owned(), "Bearer sk-secret".to_owned())]),
        };
        let shown = format!("{secrets:?}");
        assert!(shown.contains("TOKEN") && shown.contains("authorization") && !shown.contains("sk-secret"), "{shown}");
    }
}
