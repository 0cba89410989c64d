//! Where a Provider is on the network: what an address may hold, what of it is shown, and whether a key would leave this
//! machine or change servers with it.

use url::{Host, Url};

use super::text::Invalid;

/// An address that a Provider may have. Credentials and a query belong into `apiKey`: an address is shown to every Player.
pub fn parse(address: &str) -> Result<Url, Invalid> {
    let refuse = |reason: &str| Err(Invalid::new("baseUrl", reason));
    if address.len() > 2_048 {
        return refuse("has more than 2048 bytes");
    }
    // The parser drops them without a word.
    if address.chars().any(|char| char.is_whitespace() || char.is_control()) {
        return refuse("holds spaces or control characters");
    }
    let Ok(url) = Url::parse(address) else { return refuse("is no URL") };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return refuse("is not http:// or https:// with a host");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("holds credentials; send them as apiKey");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return refuse("has a query or a fragment");
    }
    Ok(url)
}

/// Whether the address is this machine's own.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(domain)) => domain == "localhost" || domain.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback()),
        None => false,
    }
}

/// Whether both are reached under the same scheme, host and port.
pub fn same_server(one: &str, other: &str) -> bool {
    match (Url::parse(one), Url::parse(other)) {
        (Ok(one), Ok(other)) => one.origin() == other.origin(),
        _ => false,
    }
}

/// Scheme, host, port and path. An address that comes from the environment may hold a user and a password.
pub fn shown(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_http_with_a_host_and_nothing_secret() {
        for good in ["https://a.example/v1", "http://127.0.0.1:11434/v1/", "http://[::1]:1/v1", "https://ä.example"] {
            assert!(parse(good).is_ok(), "{good}");
        }
        let long = format!("https://a.example/{}", "x".repeat(2_048));
        for bad in [
            "",
            "a.example/v1",
            "ftp://a.example",
            "file:///etc/passwd",
            "https://",
            "https://u@a.example",
            "https://u:p@a.example",
            "https://:p@a.example",
            "https://a.example/v1?key=1",
            "https://a.example/#a",
            "data:text/plain,a",
            "javascript:alert(1)",
            "https://a.example/\nv1",
            " https://a.example",
            &long,
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_server_is_the_same_by_scheme_host_and_port() {
        assert!(same_server("https://a.example/v1", "https://A.example:443/v2"));
        for other in ["http://a.example/v1", "https://b.example/v1", "https://a.example:444/v1", ""] {
            assert!(!same_server("https://a.example/v1", other), "{other}");
        }
    }

    #[test]
    fn what_is_shown_of_an_address_holds_no_credentials() {
        let url = Url::parse("https://user:pass@a.example:444/v1?token=abc#x").unwrap();
        assert_eq!(shown(&url), "https://a.example:444/v1");
    }
}
