//! A device of a given rate.

use std::time::{Duration, Instant};

use super::paced::{Pace, Paced};
use crate::source::BlockSource;

/// How late a thread may be without loss of rate: a sleeping thread wakes 0.05 ms late or more, and
/// may catch up.
const CREDIT: Duration = Duration::from_millis(5);

/// What a device can do. Both limits hold at once, as in the kernel's own (`io.max`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThrottleLimits {
    /// Bytes a second; `None`, or anything that is not a positive number: any.
    pub bytes_per_second: Option<f64>,
    /// Requests a second, likewise.
    pub requests_per_second: Option<f64>,
}

/// A source limited to a number of bytes and of requests per second, over all its threads and
/// queues. Any window of T seconds sees at most what T and 5 ms allow, and one request.
pub struct Throttle<S> {
    paced: Paced<S, Rates>,
}

impl<S: BlockSource> Throttle<S> {
    /// Holds `inner` to `limits`.
    pub fn new(inner: S, limits: ThrottleLimits) -> Throttle<S> {
        let pace = |rate: Option<f64>| rate.filter(|r| *r > 0.0).map_or(0.0, f64::recip);
        let rates = Rates {
            per_byte: pace(limits.bytes_per_second),
            per_request: pace(limits.requests_per_second),
            bytes_free: None,
            requests_free: None,
        };
        Throttle {
            paced: Paced::with(inner, rates),
        }
    }
}

/// Two clocks that run ahead of real time: each request moves both.
pub(crate) struct Rates {
    /// Seconds.
    per_byte: f64,
    per_request: f64,
    bytes_free: Option<Instant>,
    requests_free: Option<Instant>,
}

/// Moves a clock by `cost` seconds, from now or from a little earlier.
fn advance(free: &mut Option<Instant>, now: Instant, cost: f64) -> Instant {
    let floor = now.checked_sub(CREDIT).unwrap_or(now);
    // A clock that has not run yet has nothing to catch up.
    let start = free.map_or(now, |free| free.max(floor));
    let cost = Duration::try_from_secs_f64(cost).unwrap_or(Duration::MAX);
    // A time that the clock cannot represent: a year is as good.
    let due = start
        .checked_add(cost)
        .unwrap_or(start + Duration::from_secs(31_536_000));
    *free = Some(due);
    due
}

impl Pace for Rates {
    fn due(&mut self, now: Instant, _offset: u64, len: u64) -> Instant {
        let bytes = advance(&mut self.bytes_free, now, len as f64 * self.per_byte);
        let requests = advance(&mut self.requests_free, now, self.per_request);
        bytes.max(requests)
    }
}

impl<S: BlockSource> crate::source::Layer for Throttle<S> {
    type Below = Paced<S, Rates>;

    fn below(&self) -> &Paced<S, Rates> {
        &self.paced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(bytes: f64, requests: f64) -> Rates {
        Rates {
            per_byte: 1.0 / bytes,
            per_request: 1.0 / requests,
            bytes_free: None,
            requests_free: None,
        }
    }

    #[test]
    fn both_limits_hold_and_the_slower_decides() {
        let begin = Instant::now();
        let mut device = rates(1e6, 100.0);
        // 10 small ones: 10 ms each by the requests.
        let last = (0..10).map(|i| device.due(begin, i * 4096, 100)).last();
        assert_eq!(last, Some(begin + Duration::from_millis(100)));
        // A large one: 1 s by the bytes, after the 1 ms of the small ones.
        let due = device.due(begin, 0, 1_000_000);
        assert_eq!(due, begin + Duration::from_millis(1001));
    }

    #[test]
    fn a_late_sleeper_catches_up_but_an_idle_time_is_lost() {
        let begin = Instant::now();
        let ms = Duration::from_millis;
        let mut device = rates(f64::INFINITY, 1000.0);
        assert_eq!(device.due(begin, 0, 1), begin + ms(1));
        // Asked 3 ms late: the clock goes on as if in time.
        assert_eq!(device.due(begin + ms(4), 0, 1), begin + ms(2));
        // Asked a second late: only the credit is caught up.
        let late = begin + ms(1000);
        assert_eq!(device.due(late, 0, 1) + CREDIT, late + ms(1));
    }

    #[test]
    fn rates_beyond_the_clock_are_due_in_a_year_and_none_are_due_at_once() {
        let now = Instant::now();
        let year = Duration::from_secs(31_536_000);
        for rate in [f64::MIN_POSITIVE, 1e-300] {
            assert_eq!(rates(rate, 1.0).due(now, 0, u64::MAX), now + year, "{rate}");
            assert_eq!(rates(1e9, rate).due(now, 0, 0), now + year, "{rate}");
        }
        let mut unlimited = rates(f64::INFINITY, f64::INFINITY);
        assert_eq!(unlimited.due(now, 0, u64::MAX), now);
    }
}
