//! From a definition to what is started or asked: variables put in, and everything checked. A pure function of the
//! definition and of what looks variables up.

use std::collections::{BTreeMap, HashMap};

use http::{HeaderName, HeaderValue};
use url::Url;

use super::{
    definition::{Definition, Way},
    expand::{NotExpanded, expand},
};

const TEXT_MAX: usize = 32 * 1024;
const URL_MAX: usize = 4_096;
const ARGS_MAX: usize = 256;
const NAMES_MAX: usize = 100;
/// Headers that belong to the transport.
const RESERVED: [&str; 8] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
];

/// A definition that can be acted upon.
#[derive(Debug)]
pub struct Resolved {
    pub target: Target,
    /// What must never be shown, wherever it turns up.
    pub hidden: Vec<String>,
}

#[derive(Debug)]
pub enum Target {
    Stdio { command: String, args: Vec<String>, cwd: Option<String>, env: BTreeMap<String, String> },
    Http { url: Url, headers: HashMap<HeaderName, HeaderValue> },
}

/// Why a definition can't be acted upon. Holds names, never values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// May be right tomorrow, in another environment.
    #[error(transparent)]
    NotExpanded(#[from] NotExpanded),
    #[error("{field} {reason}")]
    Invalid { field: &'static str, reason: String },
}

fn invalid(field: &'static str, reason: impl Into<String>) -> Misfit {
    Misfit::Invalid { field, reason: reason.into() }
}

/// # Errors
/// The first variable that is missing, or the first text that does not fit.
pub fn resolve(definition: &Definition, look_up: &dyn Fn(&str) -> Option<String>) -> Result<Resolved, Misfit> {
    let secrets = &definition.secrets;
    let env = named("env", &secrets.env, look_up)?;
    let headers = named("headers", &secrets.headers, look_up)?;
    let mut hidden: Vec<String> =
        env.values().chain(headers.values()).filter(|value| value.len() >= 4).cloned().collect();
    let target = match &definition.way {
        Way::Stdio { command, args, cwd } => {
            if !headers.is_empty() {
                return Err(invalid("headers", "do not belong to a command"));
            }
            if args.len() > ARGS_MAX {
                return Err(invalid("args", format!("are more than {ARGS_MAX}")));
            }
            if env.keys().any(|name| name.is_empty() || name.contains(['=', '\0'])) {
                return Err(invalid("env", "has a name that is empty or holds = or NUL"));
            }
            let command = text("command", command, look_up)?;
            if command.trim().is_empty() {
                return Err(invalid("command", "is empty"));
            }
            let args = args.iter().map(|arg| text("args", arg, look_up)).collect::<Result<_, _>>()?;
            let cwd = cwd.as_deref().map(|cwd| text("cwd", cwd, look_up)).transpose()?;
            Target::Stdio { command, args, cwd: cwd.filter(|cwd| !cwd.is_empty()), env }
        }
        Way::Http { url } => {
            if !env.is_empty() {
                return Err(invalid("env", "does not belong to a url"));
            }
            let url = address(&text("url", url, look_up)?)?;
            hidden.extend(url.query().filter(|query| query.len() >= 4).map(str::to_owned));
            Target::Http { url, headers: header_map(headers)? }
        }
    };
    Ok(Resolved { target, hidden })
}

fn text(field: &'static str, given: &str, look_up: &dyn Fn(&str) -> Option<String>) -> Result<String, Misfit> {
    let text = expand(given, look_up)?;
    if text.len() > TEXT_MAX {
        return Err(invalid(field, format!("has more than {TEXT_MAX} bytes")));
    }
    if text.contains('\0') {
        return Err(invalid(field, "holds NUL"));
    }
    Ok(text)
}

fn named(
    field: &'static str,
    given: &BTreeMap<String, String>,
    look_up: &dyn Fn(&str) -> Option<String>,
) -> Result<BTreeMap<String, String>, Misfit> {
    if given.len() > NAMES_MAX {
        return Err(invalid(field, format!("has more than {NAMES_MAX} names")));
    }
    if given.keys().any(|name| name.len() > 256) {
        return Err(invalid(field, "has a name of more than 256 bytes"));
    }
    given.iter().map(|(name, value)| Ok((name.clone(), text(field, value, look_up)?))).collect()
}

fn header_map(given: BTreeMap<String, String>) -> Result<HashMap<HeaderName, HeaderValue>, Misfit> {
    let mut headers = HashMap::with_capacity(given.len());
    for (name, value) in given {
        let shown: String = name.chars().take(64).collect();
        let Ok(key) = HeaderName::try_from(name) else {
            return Err(invalid("headers", format!("has {shown:?}, which is no header's name")));
        };
        if RESERVED.contains(&key.as_str()) {
            return Err(invalid("headers", format!("has {shown:?}, which Hamlet sets itself")));
        }
        let Ok(mut value) = HeaderValue::try_from(value) else {
            return Err(invalid("headers", format!("has a value of {shown:?} that no header can hold")));
        };
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

fn address(given: &str) -> Result<Url, Misfit> {
    if given.len() > URL_MAX {
        return Err(invalid("url", format!("has more than {URL_MAX} bytes")));
    }
    // The parser drops them without a word.
    if given.chars().any(|char| char.is_whitespace() || char.is_control()) {
        return Err(invalid("url", "holds spaces or control characters"));
    }
    let Ok(url) = Url::parse(given) else { return Err(invalid("url", "is no URL")) };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(invalid("url", "is not http:// or https:// with a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("url", "holds credentials; send them as headers"));
    }
    if url.fragment().is_some() {
        return Err(invalid("url", "has a fragment"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::servers::definition::Secrets;

    fn look_up(name: &str) -> Option<String> {
        (name == "KEY").then(|| "sk-secret".to_owned())
    }

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn stdio(command: &str, env: &[(&str, &str)]) -> Definition {
        Definition {
            way: Way::Stdio {
                command: command.to_owned(),
                args: vec!["--key=${KEY}".to_owned()],
                cwd: Some("${CWD:-/}".to_owned()),
            },
            secrets: Secrets { env: map(env), headers: BTreeMap::new() },
        }
    }

    fn http(url: &str, headers: &[(&str, &str)]) -> Definition {
        Definition {
            way: Way::Http { url: url.to_owned() },
            secrets: Secrets { env: BTreeMap::new(), headers: map(headers) },
        }
    }

    fn refused(definition: &Definition) -> String {
        resolve(definition, &look_up).unwrap_err().to_string()
    }

    #[test]
    fn variables_are_put_in_everywhere_and_what_they_held_is_hidden() {
        let resolved = resolve(&stdio("run", &[("TOKEN", "${KEY}"), ("SHORT", "1")]), &look_up).unwrap();
        let Target::Stdio { command, args, cwd, env } = resolved.target else { panic!("a command") };
        assert_eq!((command.as_str(), args, cwd.as_deref()), ("run", vec!["--key=sk-secret".to_owned()], Some("/")));
        assert_eq!(env, map(&[("SHORT", "1"), ("TOKEN", "sk-secret")]));
        assert_eq!(resolved.hidden, ["sk-secret"]);
        let resolved = resolve(&http("http://10.0.0.1/mcp?key=${KEY}", &[("X-Api-Key", "${KEY}")]), &look_up).unwrap();
        let Target::Http { url, headers } = resolved.target else { panic!("a url") };
        assert_eq!(url.as_str(), "http://10.0.0.1/mcp?key=sk-secret");
        assert!(headers[&HeaderName::from_static("x-api-key")].is_sensitive());
        assert_eq!(resolved.hidden, ["sk-secret", "key=sk-secret"]);
    }

    #[test]
    fn a_missing_variable_is_named_and_no_value_is_shown() {
        assert_eq!(refused(&stdio("run", &[("A", "${ABSENT}")])), "the environment variable ABSENT is not set");
        assert_eq!(refused(&http("${ABSENT}", &[])), "the environment variable ABSENT is not set");
        let shown = refused(&http("http://a", &[("x-key", "sk-\n${KEY}")]));
        assert!(!shown.contains("sk-"), "{shown}");
    }

    #[test]
    fn an_address_is_http_without_credentials() {
        for good in ["https://a.example/mcp", "http://127.0.0.1:1/mcp?a=b", "http://[::1]:1"] {
            assert!(resolve(&http(good, &[]), &look_up).is_ok(), "{good}");
        }
        for bad in [
            "",
            "a",
            "ftp://a",
            "file:///etc/passwd",
            "https://",
            "https://u:p@a",
            "https://u@a",
            "https://a#b",
            "https://a/ b",
            "ws://a",
        ] {
            assert!(refused(&http(bad, &[])).starts_with("url "), "{bad}");
        }
    }

    #[test]
    fn headers_and_env_have_names_that_can_be_sent() {
        for bad in ["a b", "", "Mcp-Session-Id", "HOST", "ä"] {
            assert!(refused(&http("http://a", &[(bad, "v")])).starts_with("headers "), "{bad}");
        }
        for bad in ["", "A=B", "A\0"] {
            assert!(refused(&stdio("run", &[(bad, "v")])).starts_with("env "), "{bad:?}");
        }
        assert!(refused(&stdio("run", &[("A", "\0")])).starts_with("env "));
        assert!(refused(&stdio(" ", &[])).starts_with("command "));
    }
}
