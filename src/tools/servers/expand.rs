//! `${VAR}` and `${VAR:-default}` in the texts of a tool server's definition. A pure function of the text and of what
//! looks names up; `$VAR` and everything else stay as they are.

/// Bytes that one text may become.
const EXPANDED_MAX: usize = 64 * 1024;

/// Why a text can't be expanded. Holds names, never values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotExpanded {
    #[error("the environment variable {0} is not set")]
    Missing(String),
    #[error("{0:?} names no environment variable; write ${{NAME}} or ${{NAME:-default}}")]
    NoName(String),
    #[error("a text becomes longer than {EXPANDED_MAX} bytes")]
    TooLong,
}

/// The text with its variables replaced. A variable that is set and empty counts as set for `${VAR}` and as absent for
/// `${VAR:-default}`, as in a shell. What is put in is not expanded again.
///
/// # Errors
/// The first variable that is missing, or what stands between braces and is none.
pub fn expand(text: &str, look_up: &dyn Fn(&str) -> Option<String>) -> Result<String, NotExpanded> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, behind) = (&rest[..start], &rest[start + 2..]);
        let Some(end) = behind.find('}') else { break };
        out.push_str(before);
        let (inside, default) = match behind[..end].split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (&behind[..end], None),
        };
        if !is_name(inside) {
            return Err(NotExpanded::NoName(format!("${{{}}}", inside.chars().take(64).collect::<String>())));
        }
        match (look_up(inside), default) {
            (Some(value), None) => out.push_str(&value),
            (Some(value), Some(_)) if !value.is_empty() => out.push_str(&value),
            (_, Some(default)) => out.push_str(default),
            (None, None) => return Err(NotExpanded::Missing(inside.to_owned())),
        }
        if out.len() > EXPANDED_MAX {
            return Err(NotExpanded::TooLong);
        }
        rest = &behind[end + 1..];
    }
    out.push_str(rest);
    if out.len() > EXPANDED_MAX { Err(NotExpanded::TooLong) } else { Ok(out) }
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<String, NotExpanded> {
        expand(text, &|name| match name {
            "HOME" => Some("/home/ada".to_owned()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${HOME}".to_owned()),
            "LONG" => Some("x".repeat(EXPANDED_MAX)),
            _ => None,
        })
    }

    #[test]
    fn variables_and_defaults_are_put_in_and_all_else_stays() {
        let table = [
            ("", ""),
            ("plain $HOME ~ {HOME} $ {", "plain $HOME ~ {HOME} $ {"),
            ("${HOME}", "/home/ada"),
            ("a${HOME}b${HOME}c", "a/home/adab/home/adac"),
            ("${HOME:-x}", "/home/ada"),
            ("${NONE:-x y}", "x y"),
            ("${NONE:-}", ""),
            ("${NONE:-a:-b}", "a:-b"),
            ("${EMPTY}", ""),
            ("${EMPTY:-x}", "x"),
            ("${NESTED}", "${HOME}"),
            ("$${HOME}", "$/home/ada"),
            ("ö${HOME}ü", "ö/home/adaü"),
            ("open ${HOME", "open ${HOME"),
        ];
        for (text, expanded) in table {
            assert_eq!(check(text).as_deref(), Ok(expanded), "{text}");
        }
    }

    #[test]
    fn a_missing_variable_is_named() {
        assert_eq!(check("Bearer ${API_TOKEN}"), Err(NotExpanded::Missing("API_TOKEN".to_owned())));
    }

    #[test]
    fn what_is_no_name_is_told_and_not_sent_as_it_is() {
        for text in ["${}", "${input:key}", "${1A}", "${a-b}", "${ A}", "${:-x}", "${ä}"] {
            assert!(matches!(check(text), Err(NotExpanded::NoName(_))), "{text}");
        }
    }

    #[test]
    fn a_text_that_grows_too_long_is_refused() {
        assert_eq!(check("${LONG}").map(|text| text.len()), Ok(EXPANDED_MAX));
        assert_eq!(check("${LONG}x"), Err(NotExpanded::TooLong));
        assert_eq!(check("x${LONG}${LONG}"), Err(NotExpanded::TooLong));
    }
}
