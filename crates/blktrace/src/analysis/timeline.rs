//! Throughput, depth and latency over time, in bins that double their width when time runs past the
//! last one.

use serde::{Deserialize, Serialize};

use super::Direction;

/// The most bins; half as many at least, once the trace is longer than half a second.
const BINS: usize = 512;

/// The least width of a bin, ns.
const WIDTH: u64 = 1_000_000;

/// Classes of latency: two for each doubling from 1 us on.
const CLASSES: usize = 48;

/// What happened in a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Bytes completed: read, written, discarded.
    pub bytes: [u64; 3],
    /// Requests completed, wholly or in part.
    pub completions: u64,
    /// Mean of requests in the hands of the drivers over the bin's time.
    pub depth: f64,
    /// The most of them.
    pub deepest: u32,
}

/// How many bios took about so long to complete in a bin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeatCell {
    /// The number of the bin.
    pub bin: u32,
    /// Lower bound, seconds; the upper is 1.41 times as much; the first class from 0 on.
    pub from: f64,
    /// Bios.
    pub count: u64,
}

/// Time in bins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Seconds of a bin.
    pub width: f64,
    /// From the first event on.
    pub bins: Vec<Bin>,
    /// From issue to completion, where there is anything.
    pub heat: Vec<HeatCell>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    bytes: [u64; 3],
    completions: u64,
    /// Requests times ns.
    area: u128,
    deepest: u32,
}

pub(super) struct Recorder {
    width: u64,
    slots: Vec<Slot>,
    heat: Vec<[u32; CLASSES]>,
    /// Since when the depth is what it is.
    since: u64,
    pub(super) depth: u32,
    pub(super) deepest: u32,
    busy: u64,
}

impl Default for Recorder {
    fn default() -> Recorder {
        Recorder {
            width: WIDTH,
            slots: Vec::new(),
            heat: Vec::new(),
            since: 0,
            depth: 0,
            deepest: 0,
            busy: 0,
        }
    }
}

/// The class of a latency.
fn class(ns: u64) -> usize {
    let micros = ns / 1000;
    if micros == 0 {
        return 0;
    }
    let power = micros.ilog2() as usize;
    // The upper half begins at the root of two.
    let upper = micros as f64 >= (1_u64 << power) as f64 * std::f64::consts::SQRT_2;
    (1 + 2 * power + usize::from(upper)).min(CLASSES - 1)
}

/// Where a class begins, seconds.
fn class_begin(class: usize) -> f64 {
    match class {
        0 => 0.0,
        class => 1e-6 * 2_f64.powf((class - 1) as f64 / 2.0),
    }
}

impl Recorder {
    /// The bin of a time.
    #[inline]
    fn slot(&mut self, time: u64) -> usize {
        let mut at = time / self.width;
        while at >= BINS as u64 {
            self.widen();
            at = time / self.width;
        }
        let at = at as usize;
        if at >= self.slots.len() {
            self.slots.resize(at + 1, Slot::default());
            self.heat.resize(at + 1, [0; CLASSES]);
        }
        at
    }

    #[cold]
    fn widen(&mut self) {
        self.width *= 2;
        let join = |a: &Slot, b: &Slot| Slot {
            bytes: std::array::from_fn(|i| a.bytes[i] + b.bytes[i]),
            completions: a.completions + b.completions,
            area: a.area + b.area,
            deepest: a.deepest.max(b.deepest),
        };
        self.slots = self
            .slots
            .chunks(2)
            .map(|pair| join(&pair[0], pair.get(1).unwrap_or(&Slot::default())))
            .collect();
        let none = [0; CLASSES];
        self.heat = self
            .heat
            .chunks(2)
            .map(|pair| std::array::from_fn(|i| pair[0][i] + pair.get(1).unwrap_or(&none)[i]))
            .collect();
    }

    pub(super) fn complete(&mut self, time: u64, direction: Direction, bytes: u32) {
        let at = self.slot(time);
        let slot = &mut self.slots[at];
        slot.bytes[direction as usize] += u64::from(bytes);
        slot.completions += 1;
    }

    pub(super) fn latency(&mut self, time: u64, ns: u64) {
        let at = self.slot(time);
        self.heat[at][class(ns)] += 1;
    }

    /// The depth becomes another one.
    pub(super) fn depth(&mut self, time: u64, depth: u32) {
        self.advance(time);
        self.depth = depth;
        self.deepest = self.deepest.max(depth);
        let at = self.slot(self.since);
        let slot = &mut self.slots[at];
        slot.deepest = slot.deepest.max(depth);
    }

    /// Spreads the depth since its last change over the bins.
    pub(super) fn advance(&mut self, time: u64) {
        let last = self.slot(time.max(self.since));
        if self.depth > 0 {
            self.busy += time.saturating_sub(self.since);
            let mut from = self.since;
            while from < time {
                let at = ((from / self.width) as usize).min(last);
                let end = (at as u64 + 1).saturating_mul(self.width);
                let end = end.min(time).max(from + 1);
                let slot = &mut self.slots[at];
                slot.area += u128::from(self.depth) * u128::from(end - from);
                slot.deepest = slot.deepest.max(self.depth);
                from = end;
            }
        }
        self.since = self.since.max(time);
    }

    /// Mean depth over `span` ns and over the time with work.
    pub(super) fn means(&self, span: u64) -> (f64, f64) {
        let area: u128 = self.slots.iter().map(|slot| slot.area).sum();
        let over = |ns: u64| {
            if ns == 0 {
                0.0
            } else {
                area as f64 / ns as f64
            }
        };
        (over(span), over(self.busy))
    }

    pub(super) fn timeline(&self) -> Timeline {
        let bin = |slot: &Slot| Bin {
            bytes: slot.bytes,
            completions: slot.completions,
            depth: slot.area as f64 / self.width as f64,
            deepest: slot.deepest,
        };
        let mut heat = Vec::new();
        for (bin, classes) in self.heat.iter().enumerate() {
            for (class, &count) in classes.iter().enumerate().filter(|(_, count)| **count > 0) {
                heat.push(HeatCell {
                    bin: bin as u32,
                    from: class_begin(class),
                    count: u64::from(count),
                });
            }
        }
        Timeline {
            width: self.width as f64 / 1e9,
            bins: self.slots.iter().map(bin).collect(),
            heat,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_when_bins_widen(
            steps in proptest::collection::vec((0_u64..40_000_000, 0_u32..9, 1_u32..100_000), 1..200)
        ) {
            let mut recorder = Recorder::default();
            let (mut time, mut area, mut bytes, mut depth) = (0, 0_u128, 0_u64, 0);
            for &(step, next, size) in &steps {
                area += u128::from(depth) * u128::from(step);
                time += step;
                depth = next;
                recorder.depth(time, next);
                recorder.complete(time, Direction::Write, size);
                recorder.latency(time, step);
                bytes += u64::from(size);
            }
            let found = recorder.timeline();
            prop_assert!(found.bins.len() <= BINS);
            prop_assert_eq!(found.bins.iter().map(|bin| bin.bytes[1]).sum::<u64>(), bytes);
            prop_assert_eq!(found.heat.iter().map(|cell| cell.count).sum::<u64>(), steps.len() as u64);
            let sum: f64 = found.bins.iter().map(|bin| bin.depth * found.width * 1e9).sum();
            prop_assert!((sum - area as f64).abs() <= 1.0 + area as f64 * 1e-9);
        }
    }

    #[test]
    fn a_latency_lies_in_its_class() {
        for ns in [
            1,
            999,
            1000,
            1415,
            1999,
            2000,
            123_456,
            7_654_321,
            10_000_000_000,
        ] {
            let class = class(ns);
            let seconds = ns as f64 / 1e9;
            assert!(class_begin(class) <= seconds * 1.001, "{ns}");
            assert!(
                class + 1 == CLASSES || seconds < class_begin(class + 1) * 1.42,
                "{ns}"
            );
        }
    }
}
