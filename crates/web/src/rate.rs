//! How many requests an address may send: enough for a wall of live pages, too few to keep the disk of the store busy.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::options::RequestRate;

/// Addresses that are remembered.
const ADDRESSES_MAX: usize = 1024;

/// What each address has left.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    by_address: HashMap<IpAddr, Allowance>,
}

/// Requests that an address may still send, and when that was so.
#[derive(Debug, Clone, Copy)]
struct Allowance {
    left: f64,
    at: Instant,
}

impl Allowance {
    fn at(self, now: Instant, most: RequestRate) -> f64 {
        let spent: Duration = now.saturating_duration_since(self.at);
        (self.left + spent.as_secs_f64() * most.per_s).min(most.at_once)
    }
}

impl Rates {
    /// Takes a request from the allowance of its address. Returns false if nothing is left.
    pub(crate) fn allows(&mut self, most: RequestRate, from: IpAddr, now: Instant) -> bool {
        let left = self.by_address.get(&from).map_or(most.at_once, |known| known.at(now, most));
        if self.by_address.len() >= ADDRESSES_MAX && !self.by_address.contains_key(&from) {
            // Whoever was silent has all of it again and need not be remembered.
            self.by_address.retain(|_, known| known.at(now, most) < most.at_once);
            if self.by_address.len() >= ADDRESSES_MAX {
                return false;
            }
        }
        let is_allowed = left >= 1.0;
        let left = if is_allowed { left - 1.0 } else { left };
        self.by_address.insert(from, Allowance { left, at: now });
        is_allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: RequestRate = RequestRate { per_s: 100.0, at_once: 300.0 };

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn a_flood_is_stopped_after_its_burst_and_others_are_not() {
        let (mut rates, now) = (Rates::default(), Instant::now());
        let allowed = (0..1000).filter(|_| rates.allows(MOST, address(1), now)).count();
        assert_eq!(allowed, 300);
        assert!(rates.allows(MOST, address(2), now));
        let later = now + Duration::from_millis(500);
        let allowed = (0..1000).filter(|_| rates.allows(MOST, address(1), later)).count();
        assert_eq!(allowed, 50);
        assert!((0..300).all(|_| rates.allows(MOST, address(1), later + Duration::from_secs(60))));
    }

    #[test]
    fn addresses_that_are_silent_give_way() {
        let (mut rates, now) = (Rates::default(), Instant::now());
        for number in 0..ADDRESSES_MAX {
            let [.., high, low] = number.to_be_bytes();
            assert!(rates.allows(MOST, IpAddr::from([10, 1, high, low]), now));
        }
        assert!(!rates.allows(MOST, address(1), now), "all of them have just been here");
        assert!(rates.allows(MOST, address(1), now + Duration::from_secs(1)));
        assert_eq!(rates.by_address.len(), 1);
    }
}
