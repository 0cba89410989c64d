//! The address that a request came from: the peer's, or, when the peer is a trusted proxy, the rightmost address that no
//! trusted proxy has. What stands left of it anybody could have written.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use ipnet::IpNet;

pub fn is_trusted(address: IpAddr, proxies: &[IpNet]) -> bool {
    let address = address.to_canonical();
    proxies.iter().any(|net| net.contains(&address))
}

/// Reads `X-Forwarded-For`, else `Forwarded`: the proxy must set the one that it uses, so that no client can.
pub fn client_address(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> IpAddr {
    let mut client = peer.to_canonical();
    let mut hops = forwarded_for(headers);
    while is_trusted(client, proxies) {
        match hops.pop() {
            Some(Some(hop)) => client = hop,
            // An address that does not read ends the chain at the last one that is sure.
            Some(None) | None => break,
        }
    }
    client
}

/// The chain as the proxies wrote it, nearest last; `None` where it does not read as an address.
fn forwarded_for(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let lines = |name: &str| {
        let lines = headers.get_all(name).iter().map(|line| line.to_str().unwrap_or_default());
        lines.flat_map(|line| line.split(',')).map(str::trim).map(str::to_owned).collect::<Vec<_>>()
    };
    let simple = lines("x-forwarded-for");
    if !simple.is_empty() {
        return simple.iter().map(|hop| address(hop)).collect();
    }
    lines("forwarded").iter().map(|hop| address(for_parameter(hop)?)).collect()
}

/// `for="[2001:db8::1]:4711";proto=https` -> `[2001:db8::1]:4711`
fn for_parameter(hop: &str) -> Option<&str> {
    let mut parameters = hop.split(';').filter_map(|parameter| parameter.split_once('='));
    let (_, value) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
    Some(value.trim().trim_matches('"'))
}

fn address(text: &str) -> Option<IpAddr> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>()
        .or_else(|_| text.parse::<SocketAddr>().map(|address| address.ip()))
        .map(|address| address.to_canonical())
        .ok()
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[track_caller]
    fn check(peer: &str, headers: &[(&str, &str)], expected: &str) {
        let proxies: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()];
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        assert_eq!(client_address(peer.parse().unwrap(), &map, &proxies).to_string(), expected);
    }

    #[test]
    fn a_peer_that_is_no_trusted_proxy_speaks_for_itself() {
        check("203.0.113.9", &[("x-forwarded-for", "198.51.100.1")], "203.0.113.9");
        check("203.0.113.9", &[], "203.0.113.9");
    }

    #[test]
    fn behind_trusted_proxies_the_rightmost_untrusted_address_is_the_client() {
        check("10.0.0.1", &[("x-forwarded-for", "1.1.1.1, 198.51.100.1, 10.0.0.2")], "198.51.100.1");
        check("10.0.0.1", &[("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "198.51.100.1:4711")], "198.51.100.1");
        check("::ffff:10.0.0.1", &[("x-forwarded-for", "198.51.100.1")], "198.51.100.1");
        check("::1", &[("forwarded", "for=1.1.1.1, For=\"[2001:db8::7]:4711\";proto=https")], "2001:db8::7");
    }

    #[test]
    fn a_chain_that_does_not_read_ends_at_the_last_sure_address() {
        check("10.0.0.1", &[("x-forwarded-for", "198.51.100.1, unknown, 10.0.0.2")], "10.0.0.2");
        check("10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.1", &[("forwarded", "proto=https")], "10.0.0.1");
    }
}
