//! Offsets of requests over time, as points: at most some thousands, evenly thinned.

use serde::{Deserialize, Serialize};

use super::{Direction, Kind};

/// The most points.
const POINTS: usize = 8192;

/// A request as it was issued.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Seconds from the first event.
    pub seconds: f64,
    /// Device: major << 20 | minor.
    pub device: u32,
    /// First sector.
    pub sector: u64,
    /// Sectors.
    pub sectors: u32,
    /// Where it went.
    pub direction: Direction,
    /// What it carried.
    pub kind: Kind,
}

/// Every `every`-th request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scatter {
    /// One of this many is kept.
    pub every: u64,
    /// By time.
    pub points: Vec<Point>,
}

#[derive(Default)]
pub(super) struct Sampler {
    seen: u64,
    scatter: Scatter,
}

impl Sampler {
    #[inline]
    pub(super) fn add(&mut self, point: impl FnOnce() -> Point) {
        let every = self.scatter.every.max(1);
        if self.seen.is_multiple_of(every) {
            self.keep(point());
        }
        self.seen += 1;
    }

    fn keep(&mut self, point: Point) {
        self.scatter.every = self.scatter.every.max(1);
        if self.scatter.points.len() == POINTS {
            let mut number = 0;
            self.scatter.points.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.scatter.every *= 2;
            if !self.seen.is_multiple_of(self.scatter.every) {
                return;
            }
        }
        self.scatter.points.push(point);
    }

    pub(super) fn scatter(&self) -> Scatter {
        self.scatter.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_thinned_evenly() {
        let mut sampler = Sampler::default();
        for n in 0..100_000_u64 {
            sampler.add(|| Point {
                seconds: 0.0,
                device: 8 << 20,
                sector: n,
                sectors: 8,
                direction: Direction::Read,
                kind: Kind::Data,
            });
        }
        let scatter = sampler.scatter();
        assert_eq!(scatter.every, 16);
        assert!(scatter.points.len() <= POINTS);
        for (n, point) in scatter.points.iter().enumerate() {
            assert_eq!(point.sector, n as u64 * 16);
        }
    }
}
