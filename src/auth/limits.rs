//! How often one address, and one account, may try a password or make an account. What it remembers is bounded: beyond
//! that, strangers share one allowance.

use std::{
    hash::Hash,
    net::IpAddr,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
};

/// Tries a minute of one address, and at once.
const OF_ADDRESS: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// Tries a minute at one account: more than one address has, so that one stranger can't keep the owner out.
const AT_ACCOUNT: NonZeroU32 = NonZeroU32::new(30).unwrap();
/// Keys remembered at most, of each sort.
const REMEMBERED: usize = 50_000;
/// Tries between two times of forgetting those who have their whole allowance back.
const FORGET_EVERY: u64 = 1024;

/// Counts tries to get in.
#[derive(Debug, Clone)]
pub struct Limits {
    addresses: Arc<Counter<IpAddr>>,
    accounts: Arc<Counter<String>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            addresses: Arc::new(Counter::new(OF_ADDRESS, REMEMBERED)),
            accounts: Arc::new(Counter::new(AT_ACCOUNT, REMEMBERED)),
        }
    }
}

impl Limits {
    /// Counts a try of this address; IPv6 by its /64: one household, and what one attacker has at least.
    ///
    /// # Errors
    /// How long to wait, when it has no try left.
    pub fn try_address(&self, address: IpAddr) -> Result<(), Duration> {
        self.addresses.count(household(address))
    }

    /// Counts a try at this account, by the key of its name.
    ///
    /// # Errors
    /// How long to wait, when no try is left.
    pub fn try_account(&self, name_key: &str) -> Result<(), Duration> {
        self.accounts.count(name_key.to_owned())
    }
}

#[derive(Debug)]
struct Counter<K: Clone + Hash + Eq> {
    /// `None` is everyone, while too many are remembered.
    limiter: DefaultKeyedRateLimiter<Option<K>>,
    clock: DefaultClock,
    tries: AtomicU64,
    remembered: usize,
}

impl<K: Clone + Hash + Eq> Counter<K> {
    fn new(a_minute: NonZeroU32, remembered: usize) -> Self {
        let limiter = RateLimiter::keyed(Quota::per_minute(a_minute));
        Self { limiter, clock: DefaultClock::default(), tries: AtomicU64::new(0), remembered }
    }

    fn count(&self, key: K) -> Result<(), Duration> {
        let tries = self.tries.fetch_add(1, Ordering::Relaxed);
        if tries % FORGET_EVERY == FORGET_EVERY - 1 {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
        let key = (self.limiter.len() < self.remembered).then_some(key);
        self.limiter.check_key(&key).map_err(|full| full.wait_time_from(self.clock.now()).max(Duration::from_secs(1)))
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
    fn one_address_cannot_use_up_the_tries_at_an_account() {
        let limits = Limits::default();
        let tries = (0..100).take_while(|_| limits.try_account("ada").is_ok()).count();
        assert_eq!(tries, 30);
    }

    #[test]
    fn beyond_what_is_remembered_strangers_share_one_allowance() {
        let counter = Counter::new(OF_ADDRESS, 2);
        for name in ["a", "b"] {
            counter.count(name.to_owned()).unwrap();
        }
        let shared = (0..20).filter(|n| counter.count(format!("stranger {n}")).is_ok()).count();
        assert_eq!(shared, 10);
        assert_eq!(counter.limiter.len(), 3);
    }
}
