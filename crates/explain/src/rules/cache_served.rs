//! Served by the cache: the faster side did not wait for the device.
//!
//! Reads: for each byte, the faster side read at most half as much from the device as the slower, and
//! the slower read at least half of its bytes from it. Writes at clock (a): the same difference at
//! clock (c), with the data on the device, is at most half as large (in its logarithm), so (a)
//! compares memory with a disk. It is denied where both read equal shares, where (c) shows the same
//! difference, and where no data was still in memory at the end of (a).

use study::Clock;

use crate::comparison::{CellComparison, Direction, reads_metadata};
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Row, Unit, digits, print};

/// Share of bytes from the device below which the other side was served.
const HALF: f64 = 0.5;
/// Data is still in memory at the end of (a) when the rate at (a) is this many times that at (c).
const AHEAD: f64 = 1.2;

/// See the module.
pub(crate) struct CacheServed;

impl Rule for CacheServed {
    fn id(&self) -> &'static str {
        "cache_served"
    }

    fn title(&self) -> &'static str {
        "served by the cache"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        match pair.direction() {
            Direction::Read if reads_metadata(pair.phase) => None,
            Direction::Read => reads(pair),
            Direction::Write if pair.clock == Clock::Original => writes(pair),
            Direction::Write => None,
        }
    }
}

fn reads(pair: &CellComparison<'_>) -> Option<Judgement> {
    let Some([slower, faster]) = pair.both("read_ratio") else {
        return Judgement::not_judged(pair.needs_counters());
    };
    let mut grounds = Grounds::of(pair, &["read_ratio", "device_read", "bytes"]);
    if let Some([s, f]) = pair.facts("evidence.cold_cache") {
        grounds = grounds.row(Row::words("cold_cache", "proven cold", s, f, "residency"));
    }
    if slower < HALF || faster > HALF * slower {
        return grounds.denied(format!(
            "bytes from the device for each byte read: {}",
            pair.against(digits(slower), digits(faster))
        ));
    }
    grounds
        .carries(slower / faster.max(1e-3))
        .apart("read_ratio")
        .holds(
            format!(
                "share of the bytes read that came from the device: {}",
                pair.against(
                    print(slower.min(1.0), Unit::Share),
                    print(faster.min(1.0), Unit::Share)
                )
            ),
            "a cold cache: between = \"remount\" (stream), cold_reads = true (throughput)",
        )
}

fn writes(pair: &CellComparison<'_>) -> Option<Judgement> {
    let clocks = ["throughput", "files", "seconds"]
        .iter()
        .find_map(|metric| {
            let of = |clock: &str| pair.both(&format!("{metric}.{clock}"));
            let rate = |[slower, faster]: [f64; 2]| match *metric {
                // Times turn into rates, so that more is faster.
                "seconds" => [1.0 / slower, 1.0 / faster],
                _ => [slower, faster],
            };
            Some((rate(of("original")?), rate(of("syncfs")?)))
        });
    let Some((early, late)) = clocks else {
        return Judgement::not_judged(
            "needs clock (c): this phase has no time to the end of syncfs",
        );
    };
    let (at_a, at_c) = (early[1] / early[0], late[1] / late[0]);
    let ahead = early[1] / late[1];
    if ![at_a, at_c, ahead]
        .iter()
        .all(|ratio| ratio.is_finite() && *ratio > 0.0)
    {
        return Judgement::not_judged("needs rates above 0 under both clocks");
    }
    let grounds =
        Grounds::of(pair, &["throughput.original", "throughput.syncfs"]).row(Row::numbers(
            "ahead",
            "(a) over (c)",
            Unit::Times,
            [early[0] / late[0], ahead],
            "clocks",
        ));
    if ahead < AHEAD {
        return grounds.denied(format!(
            "with {} the data was already on the device at the end of (a)",
            pair.sides()[1]
        ));
    }
    if at_c.ln() > 0.5 * at_a.ln() {
        return grounds.denied(format!(
            "with the data on the device (c) {} still takes {} times as long",
            pair.sides()[0],
            digits(at_c)
        ));
    }
    grounds.apart("throughput.original").holds(
        format!(
            "(a) ended with data in memory; with the data on the device (c) {} is {} times as fast as {}, not {}",
            pair.sides()[1],
            digits(at_c),
            pair.sides()[0],
            digits(at_a)
        ),
        "compare clock (c), or flush = \"fsync\" (stream), include_fsync = true (throughput)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    fn clocks(a: [f64; 2], c: [f64; 2]) -> ComparisonBuilder {
        ComparisonBuilder::new("write")
            .both("throughput.original", a[0], a[1])
            .both("throughput.syncfs", c[0], c[1])
    }

    #[test]
    fn a_difference_that_goes_at_c_was_the_cache() {
        let sides = clocks([100.0, 400.0], [80.0, 82.0]);
        let answer = CacheServed.judge(&sides.pair(4.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
        assert!(
            CacheServed
                .judge(&sides.clock(Clock::Syncfs).pair(4.0))
                .is_none()
        );
    }

    #[test]
    fn a_difference_that_stays_or_waits_for_the_device_denies_it() {
        for sides in [
            clocks([100.0, 400.0], [25.0, 95.0]),
            clocks([100.0, 400.0], [100.0, 395.0]),
        ] {
            let answer = CacheServed.judge(&sides.pair(4.0)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
    }

    #[test]
    fn reads_without_the_device_hold() {
        let sides = ComparisonBuilder::new("reread").both("read_ratio", 1.0, 0.01);
        let answer = CacheServed.judge(&sides.pair(20.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
    }

    #[test]
    fn reads_from_the_device_deny_it_and_checks_are_not_asked() {
        for ratios in [(1.0, 1.0), (0.1, 0.01), (1.0, 0.6)] {
            let sides = ComparisonBuilder::new("read").both("read_ratio", ratios.0, ratios.1);
            let answer = CacheServed.judge(&sides.pair(2.0)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
        assert!(
            CacheServed
                .judge(&ComparisonBuilder::new("check").pair(2.0))
                .is_none()
        );
        for phase in ["read", "write"] {
            let answer = CacheServed
                .judge(&ComparisonBuilder::new(phase).pair(2.0))
                .unwrap();
            assert!(
                matches!(answer.verdict, Verdict::NotJudged { .. }),
                "{phase}"
            );
        }
    }
}
