//! How much of a tool's output is kept: one limit over everything that the model would see.

use serde_json::Value;

/// Characters of one result at most.
pub const OUTPUT_LIMIT: usize = 32_000;

/// The output within the limit, and whether something was left out. What is no text, and too long, becomes the beginning
/// of its JSON.
pub fn bounded(output: Value) -> (Value, bool) {
    let text = match output {
        Value::String(text) => text,
        other => {
            let json = other.to_string();
            if json.len() <= OUTPUT_LIMIT {
                return (other, false);
            }
            json
        }
    };
    match text.char_indices().nth(OUTPUT_LIMIT) {
        None => (Value::String(text), false),
        Some((at, _)) => {
            let left_out = text[at..].chars().count();
            let note = format!("\n(cut here: {left_out} more characters were left out)");
            (Value::String(text[..at].to_owned() + &note), true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_fits_is_kept_as_it_is() {
        for output in [json!(""), json!("é".repeat(OUTPUT_LIMIT)), json!({"a": [1, null]}), Value::Null] {
            assert_eq!(bounded(output.clone()), (output, false));
        }
    }

    #[test]
    fn what_is_longer_is_cut_between_two_characters_and_says_how_much_is_missing() {
        let (cut, truncated) = bounded(json!("é".repeat(OUTPUT_LIMIT + 7)));
        let expected = "é".repeat(OUTPUT_LIMIT) + "\n(cut here: 7 more characters were left out)";
        assert_eq!((cut, truncated), (json!(expected), true));
    }

    #[test]
    fn structured_output_does_not_escape_the_limit() {
        let (cut, truncated) = bounded(json!({"rows": vec!["x"; OUTPUT_LIMIT]}));
        assert!(truncated && cut.as_str().is_some_and(|text| text.starts_with(r#"{"rows":["x","x""#)), "{truncated}");
    }
}
