//! Least, mean, largest and number of a quantity: what btt keeps of each interval.

use serde::{Deserialize, Serialize};

/// Samples of a quantity: ns of an interval, sectors of a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Average {
    /// Samples.
    pub n: u64,
    /// The least.
    pub min: u64,
    /// The largest.
    pub max: u64,
    /// Their sum.
    pub total: u64,
}

impl Average {
    /// One more sample.
    #[inline]
    pub fn add(&mut self, sample: u64) {
        if self.n == 0 {
            self.min = sample;
        }
        self.n += 1;
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
        self.total = self.total.wrapping_add(sample);
    }

    /// Takes the samples of another one as well.
    pub(crate) fn join(&mut self, other: &Average) {
        if other.n > 0 {
            self.min = if self.n == 0 {
                other.min
            } else {
                self.min.min(other.min)
            };
            self.n += other.n;
            self.max = self.max.max(other.max);
            self.total = self.total.wrapping_add(other.total);
        }
    }

    /// The mean of samples in ns, in seconds; none without samples.
    pub fn mean_seconds(&self) -> Option<f64> {
        (self.n > 0).then(|| seconds(self.total) / self.n as f64)
    }
}

/// ns as seconds, rounded as btt rounds: whole seconds and the rest apart.
pub fn seconds(ns: u64) -> f64 {
    (ns / 1_000_000_000) as f64 + (ns % 1_000_000_000) as f64 / 1e9
}

/// From one step to another; a step that comes first, or at the same time, is 1 ns away.
#[inline]
pub(crate) fn delta(from: u64, to: u64) -> u64 {
    if from < to { to - from } else { 1 }
}

/// The steps of an I/O between which time is taken, in btt's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interval {
    /// Between the queueing of two bios of a stacked device.
    Q2QDm,
    /// From the queueing on a stacked device to the remap to a lower one.
    Q2ADm,
    /// From the queueing on a stacked device to its completion.
    Q2CDm,
    /// Between the queueing of two bios.
    Q2Q,
    /// From the queueing to the remap to a lower device.
    Q2A,
    /// From the queueing to the request got for it.
    Q2G,
    /// From sleeping for want of a request to getting it.
    S2G,
    /// From getting a request to its insertion in the scheduler.
    G2I,
    /// From the queueing to the merge with a request.
    Q2M,
    /// From the insertion to the issue to the driver.
    I2D,
    /// From the merge to the issue.
    M2D,
    /// From the issue to the completion.
    D2C,
    /// From the queueing to the completion.
    Q2C,
    /// From the queueing to the issue: not btt's, which has nothing between them where a queue has no
    /// scheduler.
    Q2D,
}

impl Interval {
    /// How many there are.
    pub const COUNT: usize = 14;

    /// All, in btt's order; the last is ours.
    pub const ALL: [Interval; Interval::COUNT] = [
        Interval::Q2QDm,
        Interval::Q2ADm,
        Interval::Q2CDm,
        Interval::Q2Q,
        Interval::Q2A,
        Interval::Q2G,
        Interval::S2G,
        Interval::G2I,
        Interval::Q2M,
        Interval::I2D,
        Interval::M2D,
        Interval::D2C,
        Interval::Q2C,
        Interval::Q2D,
    ];

    /// btt's name.
    pub const fn name(self) -> &'static str {
        match self {
            Interval::Q2QDm => "Q2Qdm",
            Interval::Q2ADm => "Q2Adm",
            Interval::Q2CDm => "Q2Cdm",
            Interval::Q2Q => "Q2Q",
            Interval::Q2A => "Q2A",
            Interval::Q2G => "Q2G",
            Interval::S2G => "S2G",
            Interval::G2I => "G2I",
            Interval::Q2M => "Q2M",
            Interval::I2D => "I2D",
            Interval::M2D => "M2D",
            Interval::D2C => "D2C",
            Interval::Q2C => "Q2C",
            Interval::Q2D => "Q2D",
        }
    }
}

/// An average for each interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Averages([Average; Interval::COUNT]);

impl Averages {
    /// One of them.
    #[inline]
    pub fn of(&self, interval: Interval) -> &Average {
        &self.0[interval as usize]
    }

    #[inline]
    pub(crate) fn add(&mut self, interval: Interval, sample: u64) {
        self.0[interval as usize].add(sample);
    }
}
