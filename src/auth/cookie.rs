//! The session cookie: what it is called, how it is set, cleared and read.

use axum_extra::extract::cookie::{Cookie, SameSite};
use http::{HeaderMap, HeaderValue, header};

use super::secret::Secret;

/// Browsers keep no cookie for longer. The store decides when a session ends; were the cookie to end with it, each
/// renewal would have to set it again.
const BROWSERS_LIMIT_DAYS: i64 = 400;

/// Whether browsers reach this server by https only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Plain,
    Secure,
}

impl Transport {
    /// `__Host-`: no other host or path of the site can plant the cookie. Browsers allow it on https only.
    pub fn cookie_name(self) -> &'static str {
        match self {
            Self::Plain => "hamlet_session",
            Self::Secure => "__Host-hamlet_session",
        }
    }

    /// The `Set-Cookie` that signs in.
    pub fn set(self, secret: &Secret) -> Option<HeaderValue> {
        self.write(secret.text(), BROWSERS_LIMIT_DAYS)
    }

    /// The `Set-Cookie` that signs out.
    pub fn clear(self) -> Option<HeaderValue> {
        self.write(String::new(), 0)
    }

    /// Made of ASCII only, so a header value always comes of it.
    fn write(self, value: String, days: i64) -> Option<HeaderValue> {
        let cookie = Cookie::build((self.cookie_name(), value))
            .path("/")
            .http_only(true)
            .same_site(SameSite::Lax)
            .secure(self == Self::Secure)
            .build();
        HeaderValue::from_str(&format!("{cookie}; Max-Age={}", days * 24 * 3600)).ok()
    }

    /// The session that a request brings. Browsers send the cookie of the narrowest path first, which is ours.
    pub fn read(self, headers: &HeaderMap) -> Option<Secret> {
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == self.cookie_name())
            .and_then(|(_, value)| Secret::parse(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_http_only_lax_and_secure_when_the_page_is() {
        let secret = Secret::generate().unwrap();
        let text = secret.text();
        assert_eq!(
            Transport::Plain.set(&secret).unwrap(),
            format!("hamlet_session={text}; HttpOnly; SameSite=Lax; Path=/; Max-Age=34560000")
        );
        assert_eq!(
            Transport::Secure.set(&secret).unwrap(),
            format!("__Host-hamlet_session={text}; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=34560000")
        );
        assert_eq!(Transport::Plain.clear().unwrap(), "hamlet_session=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0");
    }

    #[test]
    fn a_cookie_is_found_among_others_and_by_its_own_name_only() {
        let secret = Secret::generate().unwrap();
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("theme=dark; hamlet_session_old=x"));
        headers
            .append(header::COOKIE, HeaderValue::from_str(&format!("a=b; hamlet_session={}", secret.text())).unwrap());
        assert_eq!(Transport::Plain.read(&headers).unwrap().hash(), secret.hash());
        assert!(Transport::Secure.read(&headers).is_none());
    }
}
