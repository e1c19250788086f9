//! A device with a head that moves.

use std::time::{Duration, Instant};

use super::paced::{Pace, Paced};
use crate::source::BlockSource;

/// What a request costs besides its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyModel {
    /// Of every request: the way there and back (a bus, a network, flash). Requests in flight share it.
    pub fixed: Duration,
    /// Of a request that does not begin where the one before it ended: settling, half a turn. There
    /// is one head, so it is not shared.
    pub seek: Duration,
    /// On top of `seek`, for a move over the whole source; less distance costs by the square root, as
    /// an arm that accelerates and brakes (Ruemmler and Wilkes, An introduction to disk drive
    /// modeling, 1994).
    pub full_stroke: Duration,
}

/// A source that answers as late as a disk with one head would.
///
/// Requests are served in the order of submission, as by a disk without its own queue: a reader that
/// wants an elevator sorts first. Transfer takes no time here; [`super::Throttle`] limits that.
pub struct Latency<S> {
    paced: Paced<S, Head>,
}

impl<S: BlockSource> Latency<S> {
    /// Delays what is read from `inner`.
    pub fn new(inner: S, model: LatencyModel) -> Latency<S> {
        let head = Head {
            model,
            len: inner.len(),
            at: 0,
            free: None,
        };
        Latency {
            paced: Paced::with(inner, head),
        }
    }
}

pub(crate) struct Head {
    model: LatencyModel,
    len: u64,
    /// End of the last request.
    at: u64,
    /// When the head has arrived there.
    free: Option<Instant>,
}

impl Head {
    fn moved(&self, offset: u64) -> Duration {
        if offset == self.at {
            return Duration::ZERO;
        }
        let share = offset.abs_diff(self.at) as f64 / self.len.max(1) as f64;
        let stroke = self.model.full_stroke.as_secs_f64() * share.min(1.0).sqrt();
        let stroke = Duration::try_from_secs_f64(stroke).unwrap_or(self.model.full_stroke);
        self.model.seek.saturating_add(stroke)
    }
}

impl Pace for Head {
    fn due(&mut self, now: Instant, offset: u64, len: u64) -> Instant {
        let start = self.free.map_or(now, |free| free.max(now));
        let arrived = start.checked_add(self.moved(offset)).unwrap_or(start);
        self.at = offset.saturating_add(len);
        self.free = Some(arrived);
        arrived.checked_add(self.model.fixed).unwrap_or(arrived)
    }
}

impl<S: BlockSource> crate::source::Layer for Latency<S> {
    type Below = Paced<S, Head>;

    fn below(&self) -> &Paced<S, Head> {
        &self.paced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeks_queue_up_and_the_fixed_part_does_not() {
        let ms = Duration::from_millis;
        let mut head = Head {
            model: LatencyModel {
                fixed: ms(1),
                seek: ms(4),
                full_stroke: ms(12),
            },
            len: 1_000_000,
            at: 0,
            free: None,
        };
        let begin = Instant::now();
        // From the head's position: the fixed part only, and shared.
        assert_eq!(head.due(begin, 0, 1000), begin + ms(1));
        assert_eq!(head.due(begin, 1000, 1000), begin + ms(1));
        // A quarter of the disk: half of the full stroke.
        assert_eq!(head.due(begin, 252_000, 0), begin + ms(4 + 6 + 1));
        // Back, at once: after the first move.
        assert_eq!(head.due(begin, 2000, 0), begin + ms(10 + 10 + 1));
        // Later: from the time of asking.
        let later = begin + ms(100);
        assert_eq!(head.due(later, 2000, 0), later + ms(1));
    }
    #[test]
    fn requests_in_flight_share_the_fixed_part() {
        let fixed = Duration::from_millis(60);
        let model = LatencyModel {
            fixed,
            ..LatencyModel::default()
        };
        let head = || Head {
            model,
            len: 1 << 20,
            at: 0,
            free: None,
        };
        let begin = Instant::now();
        let offsets = (0..8).map(|i| i * 4096);
        // All at once: the last is due when the first is.
        let mut together = head();
        let last = offsets.clone().map(|at| together.due(begin, at, 4096));
        assert_eq!(last.max(), Some(begin + fixed));
        // One after the other: each is submitted when the one before is done.
        let mut alone = head();
        let last = offsets.fold(begin, |now, at| alone.due(now, at, 4096));
        assert_eq!(last, begin + 8 * fixed);
    }
}
