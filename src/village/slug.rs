//! The short name of an NPC in addresses, `@` mentions and as a model's name for other people's clients.

use super::text::Invalid;

const MAX: usize = 64;
/// What a name without a Latin letter or digit gives.
const FALLBACK: &str = "npc";

pub fn check(slug: &str) -> Result<(), Invalid> {
    let fits = (1..=MAX).contains(&slug.len())
        && slug.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if fits { Ok(()) } else { Err(Invalid::new("slug", format!("is not 1 to {MAX} of a-z, 0-9 and -"))) }
}

/// A slug for the name: everything but Latin letters and digits becomes one `-`.
pub fn of_name(name: &str) -> String {
    let mut slug = String::new();
    for char in name.chars().flat_map(char::to_lowercase) {
        if char.is_ascii_alphanumeric() {
            slug.push(char);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() == MAX {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { FALLBACK.to_owned() } else { slug.to_owned() }
}

/// The slug with a suffix, still within the limit.
pub fn suffixed(slug: &str, suffix: &str) -> String {
    // ASCII throughout, so that any length is a boundary.
    let room = MAX.saturating_sub(suffix.len() + 1).min(slug.len());
    format!("{}-{suffix}", slug[..room].trim_end_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_made_of_the_names_letters_and_digits() {
        let table = [
            ("Ada", "ada"),
            ("Ann Marie O'Neil", "ann-marie-o-neil"),
            ("  --Bo--  ", "bo"),
            ("R2 D2!", "r2-d2"),
            ("梅", "npc"),
            ("👩‍🍳", "npc"),
            ("İpek", "i-pek"),
        ];
        for (name, slug) in table {
            assert_eq!(of_name(name), slug, "{name}");
            assert_eq!(check(slug), Ok(()));
        }
    }

    #[test]
    fn a_slug_never_exceeds_its_limit_also_with_a_suffix() {
        let long = of_name(&"ab ".repeat(60));
        assert!(long.len() <= 64, "{}", long.len());
        assert_eq!(check(&suffixed(&long, "12")), Ok(()));
        assert_eq!(suffixed("ada", "2"), "ada-2");
    }

    #[test]
    fn other_characters_and_lengths_are_refused() {
        for bad in ["", "Ada", "a b", "a_b", "ä", "a/b", &"a".repeat(65)] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
