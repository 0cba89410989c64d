//! Which addresses there are to connect to. What is not known to be public is not: for IPv6 that is everything outside
//! 2000::/3, and an IPv6 address that carries an IPv4 one is judged by that.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::{URL_LIMIT, reach::Reach};

/// Why an address is not fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("only http and https addresses are fetched")]
    Scheme,
    #[error("an address with a user name or password in it is not fetched")]
    Credentials,
    #[error("port {0} is not fetched from; 80, 443 and those from 1024 on are")]
    Port(u16),
    #[error("{0} is in a private network, or on this server, and is not fetched")]
    Private(String),
    #[error("{0} is an address that nothing is fetched from")]
    Never(String),
    #[error("the address names no host")]
    NoHost,
    #[error("the address has more than {URL_LIMIT} characters")]
    TooLong,
}

/// What can be said of an address before any name is looked up. A host that is an address itself never reaches the
/// resolver, so it is judged here.
///
/// # Errors
/// Why it is not fetched.
pub fn check(url: &Url, reach: Reach) -> Result<(), Refused> {
    if url.as_str().len() > URL_LIMIT {
        return Err(Refused::TooLong);
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Refused::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Refused::Credentials);
    }
    // Below 1024 speak services that should not be sent a request by somebody else's wish: mail, shells, directories.
    if let Some(port) = url.port().filter(|port| *port < 1024 && !matches!(port, 80 | 443)) {
        return Err(Refused::Port(port));
    }
    match url.host() {
        Some(Host::Ipv4(address)) => connectable(address.into(), reach),
        Some(Host::Ipv6(address)) => connectable(address.into(), reach),
        Some(Host::Domain(_)) => Ok(()),
        None => Err(Refused::NoHost),
    }
}

/// # Errors
/// Why nothing is connected to this address.
pub fn connectable(address: IpAddr, reach: Reach) -> Result<(), Refused> {
    match (standing(address), reach) {
        (Standing::Public, _) | (Standing::Private, Reach::Private) => Ok(()),
        (Standing::Private, Reach::Public) => Err(Refused::Private(address.to_string())),
        (Standing::Never, _) => Err(Refused::Never(address.to_string())),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Public,
    /// Of this machine or its networks: an admin may allow these.
    Private,
    /// What no page is at, and where clouds keep the credentials of their machines.
    Never,
}

fn standing(address: IpAddr) -> Standing {
    match address {
        IpAddr::V4(address) => of_v4(address),
        IpAddr::V6(address) => of_v6(address),
    }
}

fn of_v4(address: Ipv4Addr) -> Standing {
    let metadata = [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(168, 63, 129, 16), Ipv4Addr::new(192, 0, 0, 192)];
    if metadata.contains(&address) {
        return Standing::Never;
    }
    match address.octets() {
        [127, ..] | [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Standing::Private,
        // This network, link-local, protocol assignments, documentation, 6to4 relays, benchmarks, multicast, reserved.
        [0, ..]
        | [169, 254, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18..=19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [224..=255, ..] => Standing::Never,
        _ => Standing::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> Standing {
    if let Some(carried) = carried(address) {
        return of_v4(carried);
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => Standing::Private,
        // The metadata of a large cloud lies among the unique local addresses.
        [0xfd00, 0x0ec2, ..] => Standing::Never,
        [0xfc00..=0xfdff, ..] => Standing::Private,
        // Protocol assignments with Teredo, documentation.
        [0x2001, 0..=0x01ff, ..] | [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Standing::Never,
        [0x2000..=0x3fff, ..] => Standing::Public,
        _ => Standing::Never,
    }
}

/// The IPv4 address that is meant by an IPv6 one: mapped, compatible, NAT64, 6to4.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => of(high, low),
        [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => of(high, low),
        [0x2002, high, low, ..] => of(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Standing {
        standing(text.parse().unwrap())
    }

    #[test]
    fn every_address_that_is_not_of_the_public_internet_is_known_as_such() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "169.253.0.1",
            "192.0.1.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00::1",
            "2002:101:101::",
            "64:ff9b::8.8.8.8",
            "::ffff:8.8.8.8",
        ] {
            assert_eq!(of(public), Standing::Public, "{public}");
        }
        for private in [
            "127.0.0.1",
            "127.255.255.254",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "100.127.255.255",
            "::1",
            "fc00::1",
            "fd12:3456::1",
            "::ffff:127.0.0.1",
            "::ffff:10.1.2.3",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "::ffff:0:10.0.0.1",
        ] {
            assert_eq!(of(private), Standing::Private, "{private}");
        }
        for never in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "169.254.0.1",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "::",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "2001:db8::1",
            "2001::1",
            "2001:10::1",
            "3fff::1",
            "100::1",
            "5f00::1",
            "64:ff9b:1::1",
            "4000::1",
            "::ffff:169.254.169.254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::",
        ] {
            assert_eq!(of(never), Standing::Never, "{never}");
        }
    }

    #[test]
    fn a_url_is_judged_however_its_host_is_written() {
        let check = |url: &str, reach| check(&Url::parse(url).unwrap(), reach).map_err(|refused| refused.to_string());
        for url in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0177.0.0.1/",
            "http://127.1/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
            "http://127.0.0.1.:8080/",
            "http://１２７.0.0.1/",
        ] {
            assert!(check(url, Reach::Public).unwrap_err().contains("private network"), "{url}");
            assert_eq!(check(url, Reach::Private), Ok(()), "{url}");
        }
        for (url, why) in [
            ("ftp://example.com/", "only http"),
            ("file:///etc/passwd", "only http"),
            ("gopher://127.0.0.1:6379/_x", "only http"),
            ("http://a@example.com/", "user name"),
            ("http://:b@example.com/", "user name"),
            ("http://example.com:25/", "port 25"),
            ("https://example.com:22/", "port 22"),
            ("http://example.com:0/", "port 0"),
            ("http://169.254.169.254/latest/meta-data", "nothing is fetched from"),
            ("http://[fe80::1]/", "nothing is fetched from"),
        ] {
            for reach in [Reach::Public, Reach::Private] {
                assert!(check(url, reach).unwrap_err().contains(why), "{url}");
            }
        }
        for url in
            ["http://example.com/", "https://example.com:8443/", "http://example.com:3000/", "http://8.8.8.8:443/"]
        {
            assert_eq!(check(url, Reach::Public), Ok(()), "{url}");
        }
    }
}
