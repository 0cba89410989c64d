//! Which characters the bytes of a page are: a byte order mark, else what the header names, else what the page says of
//! itself near its beginning, else UTF-8.

use encoding_rs::{Encoding, UTF_8};

/// As far as browsers look for what a page says of itself.
const DECLARED_WITHIN: usize = 1_024;

/// What does not fit the encoding becomes replacement characters.
pub fn decoded(bytes: &[u8], content_type: &str, is_html: bool) -> String {
    let declared = || if is_html { of_page(bytes) } else { None };
    let encoding = named(content_type).or_else(declared).unwrap_or(UTF_8);
    // A byte order mark decides over both.
    let (text, _, _) = encoding.decode(bytes);
    text.into_owned()
}

fn of_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let beginning = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARED_WITHIN)]).into_owned();
    // What could be read as ASCII to get here is not of two bytes a character.
    named(&beginning).map(|encoding| if encoding.is_ascii_compatible() { encoding } else { UTF_8 })
}

fn named(text: &str) -> Option<&'static Encoding> {
    let lower = text.to_ascii_lowercase();
    let (_, behind) = lower.split_once("charset")?;
    let behind = behind.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let label = behind.split(['"', '\'', ';', ' ', '>', '/', ',']).next()?;
    Encoding::for_label(label.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn a_page_is_read_in_the_characters_that_it_is_written_in() {
        let latin = b"caf\xe9";
        assert_eq!(decoded(latin, "text/plain; charset=ISO-8859-1", false), "café");
        assert_eq!(decoded(latin, "text/plain; charset=\"windows-1252\"", false), "café");
        assert_eq!(
            decoded(b"<meta charset=\"iso-8859-1\">caf\xe9", "text/html", true),
            "<meta charset=\"iso-8859-1\">café"
        );
        assert_eq!(decoded("caf\u{e9}".as_bytes(), "text/html", true), "café");
        assert_eq!(
            decoded(b"\xff\xfea\0b\0", "text/plain; charset=utf-8", false),
            "ab",
            "a mark comes before the header"
        );
        assert_eq!(decoded(b"\xef\xbb\xbfa", "text/plain; charset=iso-8859-1", false), "a");
        assert_eq!(decoded(b"\x82\xb1\x82\xf1", "text/plain; charset=shift_jis", false), "こん");
        assert_eq!(decoded(latin, "text/plain; charset=nonsense", false), "caf\u{fffd}");
        assert_eq!(decoded(b"<meta charset=utf-16>x", "text/html", true), "<meta charset=utf-16>x");
    }
}
