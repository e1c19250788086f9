//! Clocks of nodes: compared before and after each phase, and read as if they were one.
//!
//! Rank 0 asks one rank of each clock for its time, [`ROUNDS`] times. Of the round with the smallest round trip, between t0 and t1 of
//! rank 0, the offset of that clock is `t - (t0 + t1) / 2`, and its error at most `(t1 - t0) / 2` (Cristian 1989). Between two
//! comparisons the offset is interpolated, which removes a drift that is even. No wall clock enters a result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Group, Place};
use crate::Error;

/// Messages exchanged about each clock.
pub const ROUNDS: u32 = 100;

/// One clock beside that of rank 0, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Rank 0's clock at that moment, ns.
    pub at_ns: f64,
    /// How much this clock is ahead, ns.
    pub offset_ns: f64,
    /// At most by so much is that wrong, ns.
    pub error_ns: f64,
}

impl Comparison {
    /// From the readings of one round.
    pub fn of(t0: u64, there: u64, t1: u64) -> Comparison {
        let half = t1.saturating_sub(t0) as f64 / 2.0;
        let at_ns = t0 as f64 + half;
        Comparison {
            at_ns,
            offset_ns: there as f64 - at_ns,
            error_ns: half,
        }
    }
}

/// The clocks in the order of their first ranks, and the first rank that reads each.
fn clocks(places: &[Place]) -> Vec<(String, u32)> {
    let mut clocks: Vec<(String, u32)> = Vec::new();
    for (place, rank) in places.iter().zip(0..) {
        let clock = place.clock();
        if !clocks.iter().any(|(known, _)| *known == clock) {
            clocks.push((clock, rank));
        }
    }
    clocks
}

/// Compares all clocks with that of rank 0: at rank 0 by [`Place::clock`], elsewhere empty. Collective.
///
/// # Errors
/// Another rank has failed.
pub fn compare(group: &dyn Group) -> Result<BTreeMap<String, Comparison>, Error> {
    let places = group.places();
    let mut found = BTreeMap::new();
    for (clock, first) in clocks(places).into_iter().filter(|(_, first)| *first != 0) {
        if group.rank() == 0 {
            let mut best: Option<Comparison> = None;
            for _ in 0..ROUNDS {
                let t0 = group.now_ns();
                group.send(first, 0)?;
                let there = group.receive(first)?;
                let seen = Comparison::of(t0, there, group.now_ns());
                if best.is_none_or(|best| seen.error_ns < best.error_ns) {
                    best = Some(seen);
                }
            }
            found.extend(best.map(|best| (clock, best)));
        } else if group.rank() == first {
            for _ in 0..ROUNDS {
                group.receive(0)?;
                group.send(0, group.now_ns())?;
            }
        }
    }
    Ok(found)
}

/// The clocks of a phase, from a comparison before it and one after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Offsets {
    before: BTreeMap<String, Comparison>,
    after: BTreeMap<String, Comparison>,
}

impl Offsets {
    /// From two comparisons.
    pub fn new(before: BTreeMap<String, Comparison>, after: BTreeMap<String, Comparison>) -> Self {
        Offsets { before, after }
    }

    /// How much a clock is ahead of rank 0's, when the former shows `ns`.
    fn offset(&self, clock: &str, ns: f64) -> f64 {
        let (Some(before), Some(after)) = (self.before.get(clock), self.after.get(clock)) else {
            return 0.0;
        };
        let length = after.at_ns - before.at_ns;
        if length <= 0.0 {
            return after.offset_ns;
        }
        let share = (ns - before.offset_ns - before.at_ns) / length;
        before.offset_ns + share.clamp(0.0, 1.0) * (after.offset_ns - before.offset_ns)
    }

    /// A reading of a clock, in seconds of rank 0's since `origin_ns` of rank 0's.
    pub fn seconds(&self, clock: &str, ns: u64, origin_ns: u64) -> f64 {
        let ahead = self.offset(clock, ns as f64);
        // Differences first: a time since boot has more digits than a double keeps of a nanosecond.
        let since = i128::from(ns) - i128::from(origin_ns);
        (since as f64 - ahead) / 1e9
    }

    /// The reading that a clock has when rank 0's is `seconds` after `origin_ns`.
    pub fn reading(&self, clock: &str, seconds: f64, origin_ns: u64) -> u64 {
        let here = origin_ns as f64 + seconds * 1e9;
        let guess = here + self.offset(clock, here);
        let ahead = self.offset(clock, guess);
        (here + ahead).max(0.0) as u64
    }

    /// The largest error of a comparison and the largest change between the two, in seconds. None: one clock.
    pub fn doubt(&self) -> Option<(f64, f64)> {
        let errors = self.before.values().chain(self.after.values());
        let error = errors.map(|seen| seen.error_ns).fold(0.0, f64::max);
        let drift = self.before.iter().filter_map(|(clock, before)| {
            let after = self.after.get(clock)?;
            Some((after.offset_ns - before.offset_ns).abs())
        });
        let drift = drift.fold(0.0, f64::max);
        (!self.before.is_empty()).then_some((error / 1e9, drift / 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(before: Comparison, after: Comparison) -> Offsets {
        let one = |seen| [("b".to_owned(), seen)].into();
        Offsets::new(one(before), one(after))
    }

    #[test]
    fn of_a_round_the_middle_is_compared() {
        let seen = Comparison::of(1_000, 501_100, 1_200);
        assert_eq!(
            seen,
            Comparison {
                at_ns: 1_100.0,
                offset_ns: 500_000.0,
                error_ns: 100.0
            }
        );
    }

    #[test]
    fn an_even_drift_is_removed() {
        // A clock 0.5 s ahead that gains 1 ms in each second.
        let there = |here: f64| here + 0.5e9 + here / 1000.0;
        let at = |here: f64| Comparison {
            at_ns: here,
            offset_ns: there(here) - here,
            error_ns: 50.0,
        };
        let offsets = offsets(at(0.0), at(10e9));
        for here in [0.0, 1e9, 5e9, 10e9] {
            let seconds = offsets.seconds("b", there(here) as u64, 0);
            assert!((seconds - here / 1e9).abs() < 1e-5, "{seconds} {here}");
            let reading = offsets.reading("b", here / 1e9, 0);
            assert!((reading as f64 - there(here)).abs() < 2e4, "{reading}");
        }
        let (error, drift) = offsets.doubt().unwrap();
        assert!((error - 50e-9).abs() < 1e-15 && (drift - 0.01).abs() < 1e-9);
        assert_eq!(offsets.seconds("another", 7_000_000_000, 0), 7.0);
        assert_eq!(Offsets::default().doubt(), None);
    }
}
