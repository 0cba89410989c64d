//! How often one address, and one account, may try a password or make an account. What it remembers is bounded: beyond
//! that, strangers share one allowance.

use std::{
    net::IpAddr,
    num::NonZeroU32,
    sync::{Arc, atomic::{AtomicU64, Ordering}},
    time::Duration,
};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::{Clock, DefaultClock}};

const TRIES_A_MINUTE: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// Keys remembered at most.
const REMEMBERED: usize = 50_000;
/// Tries between two times of forgetting those who have their whole allowance back.
const FORGET_EVERY: u64 = 1024;

/// Who is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// IPv6 by its /64: one household, and what one attacker has at least.
    Address(IpAddr),
    Account(String),
    /// Everyone, while too many are remembered.
    Crowd,
}

/// Counts tries to get in.
#[derive(Debug, Clone)]
pub struct Limits {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limiter: DefaultKeyedRateLimiter<Key>,
    clock: DefaultClock,
    tries: AtomicU64,
    remembered: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self::remembering(REMEMBERED)
    }
}

impl Limits {
    fn remembering(remembered: usize) -> Self {
        let limiter = RateLimiter::keyed(Quota::per_minute(TRIES_A_MINUTE));
        Self { inner: Arc::new(Inner { limiter, clock: DefaultClock::default(), tries: AtomicU64::new(0), remembered }) }
    }

    /// Counts a try of this address.
    ///
    /// # Errors
    /// How long to wait, when it has no try left.
    pub fn try_address(&self, address: IpAddr) -> Result<(), Duration> {
        self.count(Key::Address(household(address)))
    }

    /// Counts a try at this account, by the key of its name.
    ///
    /// # Errors
    /// How long to wait, when no try is left.
    pub fn try_account(&self, name_key: &str) -> Result<(), Duration> {
        self.count(Key::Account(name_key.to_owned()))
    }

    fn count(&self, key: Key) -> Result<(), Duration> {
        let Inner { limiter, clock, tries, remembered } = &*self.inner;
        if tries.fetch_add(1, Ordering::Relaxed) % FORGET_EVERY == FORGET_EVERY - 1 {
            limiter.retain_recent();
            limiter.shrink_to_fit();
        }
        let key = if limiter.len() < *remembered { key } else { Key::Crowd };
        limiter.check_key(&key).map_err(|full| full.wait_time_from(clock.now()).max(Duration::from_secs(1)))
    }
}

fn household(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() & !u128::from(u64::MAX)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_eleventh_try_of_an_address_waits_and_another_address_does_not() {
        let limits = Limits::default();
        let address: IpAddr = "2001:db8::1".parse().unwrap();
        for _ in 0..10 {
            limits.try_address(address).unwrap();
        }
        let wait = limits.try_address("2001:db8::ffff:2".parse().unwrap()).unwrap_err();
        assert!((Duration::from_secs(1)..=Duration::from_secs(6)).contains(&wait), "{wait:?}");
        limits.try_address("2001:db8:0:1::1".parse().unwrap()).unwrap();
        limits.try_account("ada").unwrap();
    }

    #[test]
    fn beyond_what_is_remembered_strangers_share_one_allowance() {
        let limits = Limits::remembering(2);
        for name in ["a", "b"] {
            limits.try_account(name).unwrap();
        }
        let shared = (0..20).filter(|n| limits.try_account(&format!("stranger {n}")).is_ok()).count();
        assert_eq!(shared, 10);
        assert_eq!(limits.inner.limiter.len(), 3);
    }
}
