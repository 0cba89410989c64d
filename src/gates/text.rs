//! What a Player may say in one Message.

use crate::http::error::ApiError;

/// Characters of one Message at most.
pub const TEXT_LIMIT: usize = 32_768;
/// Characters of a client's own id for a Message at most.
const CLIENT_ID_LIMIT: usize = 128;
/// Characters of an idempotency key at most.
const KEY_LIMIT: usize = 255;

pub fn check(text: &str) -> Result<(), ApiError> {
    let characters = text.chars().count();
    if text.trim().is_empty() {
        return Err(ApiError::invalid("\"text\" must hold at least one visible character."));
    }
    if characters > TEXT_LIMIT {
        return Err(ApiError::invalid(format!(
            "\"text\" has {characters} characters; at most {TEXT_LIMIT} are taken."
        )));
    }
    Ok(())
}

pub fn check_client_id(id: Option<&str>) -> Result<(), ApiError> {
    match id {
        Some(id) if id.is_empty() || id.chars().count() > CLIENT_ID_LIMIT || id.chars().any(char::is_control) => {
            Err(ApiError::invalid(format!(
                "\"clientId\" must have 1 to {CLIENT_ID_LIMIT} characters, no control characters."
            )))
        }
        _ => Ok(()),
    }
}

/// The `Idempotency-Key` header, where there is one.
pub fn idempotency_key(headers: &http::HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value.to_str().map(str::trim).unwrap_or_default();
    if key.is_empty() || key.len() > KEY_LIMIT || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ApiError::invalid(format!("Idempotency-Key must have 1 to {KEY_LIMIT} visible ASCII characters.")));
    }
    Ok(Some(key.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_visible_ascii_alone() {
        let key = |text: &str| {
            let mut headers = http::HeaderMap::new();
            headers.insert("idempotency-key", http::HeaderValue::from_bytes(text.as_bytes()).unwrap());
            idempotency_key(&headers).map_err(|_| ())
        };
        assert_eq!(key("a-1~"), Ok(Some("a-1~".to_owned())));
        let long = "a".repeat(KEY_LIMIT + 1);
        for bad in ["", " ", "a b", "a\tb", "é", &long] {
            assert_eq!(key(bad), Err(()), "{bad:?}");
        }
        assert_eq!(idempotency_key(&http::HeaderMap::new()).ok(), Some(None));
    }

    #[test]
    fn a_text_has_one_to_32768_characters() {
        assert!(check("a").is_ok());
        assert!(check(&"é".repeat(TEXT_LIMIT)).is_ok());
        assert!(check(&"a".repeat(TEXT_LIMIT + 1)).is_err());
        assert!(check("").is_err());
        assert!(check(" \n\t\u{3000}").is_err());
    }
}
