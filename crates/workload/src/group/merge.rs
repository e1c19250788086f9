//! Figures of all ranks together, from what each did and when.
//!
//! Of rank r, in rank 0's clock: o, w, v, c = begin of open, begin and end of transfers (with an fsync of its own, where asked for), end of
//! close; k bytes, n operations; N ranks. A difference of two moments of one rank is taken by its own clock, so clocks matter only where
//! moments of two ranks meet. Formulas are those of IOR 4.1 and mdtest 4.1, and of elbencho 3.1 for the first and the last that is done.

use std::collections::BTreeMap;

use super::{Offsets, Part, Place};

/// Moments of one rank in seconds of rank 0's clock, since rank 0 began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// o: see [`Part::begin`].
    pub begin: f64,
    /// The open has ended.
    pub opened: f64,
    /// w: transfers begin.
    pub first: f64,
    /// v: transfers have ended.
    pub last: f64,
    /// c: the close has ended.
    pub end: f64,
    /// An fsync has ended.
    pub synced: Option<f64>,
    /// A syncfs has ended.
    pub settled: Option<f64>,
}

/// A phase of all ranks.
#[derive(Debug)]
pub struct Merged<'a> {
    parts: &'a [Part],
    places: &'a [Place],
    moments: Vec<Moments>,
}

/// Seconds between two readings of one clock.
fn between(from: u64, to: u64) -> f64 {
    crate::clock::seconds(from, to)
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

fn most(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}

/// An amount in a time; 0 where no time has passed.
fn rate(amount: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { amount / seconds } else { 0.0 }
}

impl<'a> Merged<'a> {
    /// Of the ranks' parts and places, both by number; at least one.
    pub fn new(parts: &'a [Part], places: &'a [Place], offsets: &Offsets) -> Merged<'a> {
        let origin = parts.first().map_or(0, |part| part.begin);
        let moments = parts.iter().zip(places).map(|(part, place)| {
            let clock = place.clock();
            let at = |ns| offsets.seconds(&clock, ns, origin);
            let maybe = |ns| (ns > 0).then(|| at(ns));
            Moments {
                begin: at(part.begin),
                opened: at(part.opened),
                first: at(part.first),
                last: at(part.last),
                end: at(part.end),
                synced: maybe(part.synced),
                settled: maybe(part.settled),
            }
        });
        Merged {
            moments: moments.collect(),
            parts,
            places,
        }
    }

    /// Bytes of all ranks.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Operations of all ranks.
    pub fn operations(&self) -> u64 {
        self.parts.iter().map(|part| part.operations).sum()
    }

    /// Of the ranks that had something to do; of all, where none had.
    fn workers(&self) -> impl Iterator<Item = &Moments> {
        let none = self.operations() == 0;
        let all = self.moments.iter().zip(self.parts);
        all.filter(move |(_, part)| none || part.operations > 0)
            .map(|(moments, _)| moments)
    }

    fn span(&self, end: impl Fn(&Moments) -> f64, begin: impl Fn(&Moments) -> f64) -> f64 {
        let end = most(self.workers().map(end));
        let begin = least(self.workers().map(begin));
        (end - begin).max(0.0)
    }

    /// Whether moments of two clocks meet in these figures.
    pub fn has_two_clocks(&self) -> bool {
        let none = self.operations() == 0;
        let all = self.parts.iter().zip(self.places);
        let workers = all.filter(|(part, _)| none || part.operations > 0);
        let mut clocks = workers.map(|(_, place)| place.clock());
        let first = clocks.next();
        clocks.any(|clock| Some(&clock) != first.as_ref())
    }

    /// (a) max c - min o.
    pub fn seconds(&self) -> f64 {
        self.span(|m| m.end, |m| m.begin)
    }

    /// (b) to the last fsync.
    pub fn synced_seconds(&self) -> Option<f64> {
        self.until_last(|m| m.synced)
    }

    /// (c) to the last node's syncfs.
    pub fn settled_seconds(&self) -> Option<f64> {
        self.until_last(|m| m.settled)
    }

    fn until_last(&self, end: impl Fn(&Moments) -> Option<f64>) -> Option<f64> {
        let last = most(self.moments.iter().filter_map(end));
        let begin = least(self.workers().map(|m| m.begin));
        last.is_finite().then(|| (last - begin).max(0.0))
    }

    /// How long each rank took, by its own clock: c - o.
    fn lengths(&self) -> impl Iterator<Item = f64> + '_ {
        self.parts.iter().map(|part| between(part.begin, part.end))
    }

    /// When the first rank was done, in seconds of rank 0's clock since rank 0 began, and how long it had taken.
    pub fn first_done(&self) -> (f64, f64) {
        let all = self.moments.iter().zip(self.lengths());
        let first = all.min_by(|(_, a), (_, b)| a.total_cmp(b));
        first.map_or((0.0, 0.0), |(moments, length)| (moments.end, length))
    }

    /// How much later the last rank began than the first.
    pub fn start_spread(&self) -> f64 {
        self.span(|m| m.begin, |m| m.begin)
    }

    /// What both kinds of phases have: the ranks that were done first and last, and how long ranks waited for others.
    pub fn common(&self) -> BTreeMap<String, f64> {
        let (first, last) = (least(self.lengths()), most(self.lengths()));
        let all: f64 = self.lengths().sum();
        let ranks = self.parts.len() as f64;
        let tail = if last > 0.0 {
            1.0 - all / (ranks * last)
        } else {
            0.0
        };
        named([
            ("first_done", first),
            ("last_done", last),
            ("tail", tail.max(0.0)),
            ("start_spread", self.start_spread()),
        ])
    }

    /// IOR's figures, and elbencho's. `at_first`: bytes of all ranks when the first was done.
    pub fn transfers(&self, transfer: u64, at_first: u64) -> BTreeMap<String, f64> {
        let bytes = self.bytes();
        let whole = (bytes / transfer.max(1)) as f64;
        let latencies = self.parts.iter().filter(|part| part.operations > 0);
        let latencies =
            latencies.map(|part| between(part.first, part.last) / part.operations as f64);
        let first = least(self.lengths());
        let mut figures = self.common();
        figures.extend(self.speeds());
        figures.extend(named([
            ("iops", rate(whole, self.span(|m| m.last, |m| m.first))),
            ("open_seconds", self.span(|m| m.opened, |m| m.begin)),
            ("transfer_seconds", self.span(|m| m.last, |m| m.first)),
            ("close_seconds", self.span(|m| m.end, |m| m.last)),
            ("best_mean_latency", least(latencies)),
            ("throughput_first_done", rate(at_first as f64, first)),
        ]));
        figures.retain(|_, value| value.is_finite());
        figures
    }

    /// Rates of the fastest and the slowest rank and node, and of all by the last.
    pub fn speeds(&self) -> BTreeMap<String, f64> {
        let rates = || {
            let parts = self.parts.iter().zip(self.lengths());
            parts.map(|(part, length)| rate(part.bytes as f64, length))
        };
        let nodes = self.rates_of_nodes();
        let last = most(self.lengths());
        named([
            ("throughput_last_done", rate(self.bytes() as f64, last)),
            ("fastest", most(rates())),
            ("slowest", least(rates())),
            ("fastest_node", most(nodes.iter().copied())),
            ("slowest_node", least(nodes.iter().copied())),
        ])
    }

    /// Bytes per second of each node's ranks, from the first's begin to the last's end.
    fn rates_of_nodes(&self) -> Vec<f64> {
        let mut nodes: BTreeMap<&str, (u64, f64, f64)> = BTreeMap::new();
        for ((part, place), moments) in self.parts.iter().zip(self.places).zip(&self.moments) {
            let none = (0, f64::INFINITY, f64::NEG_INFINITY);
            let node = nodes.entry(&place.node).or_insert(none);
            node.0 += part.bytes;
            node.1 = node.1.min(moments.begin);
            node.2 = node.2.max(moments.end);
        }
        let rates = nodes.values();
        rates
            .map(|(bytes, begin, end)| rate(*bytes as f64, end - begin))
            .collect()
    }

    /// mdtest's rates: of an iteration, N times the least of items / t, and of its table, all items over the largest t; t goes on to the
    /// barrier after the work.
    pub fn items(&self) -> (f64, f64) {
        let times = || self.parts.iter().map(|part| between(part.begin, part.met));
        let rates = self.parts.iter().zip(times());
        let rates = rates.map(|(part, seconds)| rate(part.operations as f64, seconds));
        let ranks = self.parts.len() as f64;
        let slowest = least(rates);
        let slowest = if slowest.is_finite() { slowest } else { 0.0 };
        (
            ranks * slowest,
            rate(self.operations() as f64, most(times())),
        )
    }
}

fn named<const N: usize>(figures: [(&str, f64); N]) -> BTreeMap<String, f64> {
    figures
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::calls::{Call, Calls};
    use crate::group::Comparison;

    const S: u64 = 1_000_000_000;

    fn place(node: &str) -> Place {
        Place {
            node: node.into(),
            boot: node.into(),
            ..Place::default()
        }
    }

    /// Moments in milliseconds since a boot of 1000 s ago.
    fn part(begin: u64, opened: u64, first: u64, last: u64, end: u64, bytes: u64) -> Part {
        let at = |ms: u64| 1000 * S + ms * 1_000_000;
        Part {
            begin: at(begin),
            opened: at(opened),
            first: at(first),
            last: at(last),
            end: at(end),
            met: at(3000),
            bytes,
            operations: bytes / 10,
            ..Part::default()
        }
    }

    /// Four figures by hand: the formulas are those of the table in docs/metrics.md.
    #[test]
    fn figures_of_two_ranks_by_hand() {
        let parts = [
            part(0, 100, 100, 1100, 1200, 1000),
            part(200, 250, 300, 2300, 2400, 4000),
        ];
        let places = [place("a"), place("b")];
        let merged = Merged::new(&parts, &places, &Offsets::default());
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b.abs().max(1.0), "{a} {b}");
        close(merged.seconds(), 2.4);
        let figures = merged.transfers(10, 3000);
        for (name, value) in [
            ("iops", 500.0 / 2.2),
            ("open_seconds", 0.25),
            ("transfer_seconds", 2.2),
            ("close_seconds", 1.3),
            ("best_mean_latency", 0.005),
            ("first_done", 1.2),
            ("last_done", 2.2),
            ("throughput_first_done", 2500.0),
            ("throughput_last_done", 5000.0 / 2.2),
            ("fastest", 4000.0 / 2.2),
            ("slowest", 1000.0 / 1.2),
            ("slowest_node", 1000.0 / 1.2),
            ("tail", 1.0 - 3.4 / 4.4),
            ("start_spread", 0.2),
        ] {
            close(figures[name], value);
        }
        assert_eq!(merged.first_done(), (1.2, 1.2));
        assert!(merged.has_two_clocks());
        // A rank without work moves nothing, and no two clocks meet.
        let idle = Part {
            operations: 0,
            ..part(2900, 2900, 2900, 2900, 2900, 0)
        };
        let with_idle = [parts[0].clone(), idle];
        let alone = Merged::new(&with_idle, &places, &Offsets::default());
        close(alone.seconds(), 1.2);
        assert!(!alone.has_two_clocks());
        // mdtest: to the barrier at 3 s.
        let (iteration, table) = merged.items();
        close(iteration, 2.0 * 100.0 / 3.0);
        close(table, 500.0 / 3.0);
    }

    fn any_parts() -> impl Strategy<Value = Vec<Part>> {
        let one = (
            0..500_u64,
            0..50_u64,
            0..50_u64,
            1..5000_u64,
            0..50_u64,
            1..1000_u64,
        );
        prop::collection::vec(one, 1..9).prop_map(|parts| {
            let parts = parts
                .into_iter()
                .map(|(begin, open, wait, work, close, n)| {
                    let opened = begin + open;
                    let first = opened + wait;
                    part(
                        begin,
                        opened,
                        first,
                        first + work,
                        first + work + close,
                        10 * n,
                    )
                });
            parts.collect()
        })
    }

    proptest! {
        /// As if all ranks had one clock: half a second of shift, known within 0.3 ms, moves no figure by a millisecond.
        #[test]
        fn a_clock_that_is_ahead_moves_nothing(
            parts in any_parts(), ahead_ms in -500_i64..=500, error_us in 0_i64..300, drift_us in -200_i64..200,
        ) {
            let places: Vec<Place> = (0..parts.len()).map(|rank| place(["a", "b"][rank % 2])).collect();
            let straight = Merged::new(&parts, &places, &Offsets::default()).transfers(10, 7);
            let exact = Merged::new(&parts, &places, &Offsets::default()).seconds();
            let shift = |ns: u64| {
                let along = (ns - 1000 * S) as f64 / 6e9 * drift_us as f64 * 1e3;
                (ns as i64 + ahead_ms * 1_000_000 + along as i64) as u64
            };
            let shifted: Vec<Part> = parts.iter().zip(&places).map(|(part, place)| {
                let mut part = part.clone();
                if place.node == "b" {
                    for moment in [&mut part.begin, &mut part.opened, &mut part.first, &mut part.last, &mut part.end, &mut part.met] {
                        *moment = shift(*moment);
                    }
                }
                part
            }).collect();
            let compared = |at: u64| Comparison {
                at_ns: at as f64,
                offset_ns: shift(at) as f64 - at as f64 + (error_us * 1000) as f64,
                error_ns: 300e3,
            };
            let one = |at| [("b".to_owned(), compared(at))].into();
            let offsets = Offsets::new(one(1000 * S), one(1006 * S));
            let merged = Merged::new(&shifted, &places, &offsets);
            prop_assert!((merged.seconds() - exact).abs() < 1e-3, "{} {exact}", merged.seconds());
            let figures = merged.transfers(10, 7);
            for name in ["open_seconds", "transfer_seconds", "close_seconds", "first_done", "last_done", "start_spread"] {
                prop_assert!((figures[name] - straight[name]).abs() < 1e-3, "{name}");
            }
            for name in ["best_mean_latency", "fastest", "slowest", "tail"] {
                prop_assert!((figures[name] - straight[name]).abs() <= 1e-3 * straight[name].abs() + 1e-3, "{name}");
            }
        }

        /// Times of all ranks counted in one place, or by each rank, sent and merged: the same quantiles.
        #[test]
        fn merged_times_are_those_of_all_values(ranks in prop::collection::vec(prop::collection::vec(1_u64..1 << 40, 1..60), 1..6)) {
            let mut together = Calls::default();
            let mut merged = Calls::default();
            for times in &ranks {
                let mut part = Part::default();
                for ns in times {
                    part.calls.record(Call::Write, *ns);
                    together.record(Call::Write, *ns);
                }
                let sent = serde_json::to_vec(&part).unwrap();
                merged.merge(&serde_json::from_slice::<Part>(&sent).unwrap().calls);
            }
            prop_assert_eq!(merged.figures(), together.figures());
        }

        /// Throughput is all bytes over the time in which any rank was at work, however they are dealt out.
        #[test]
        fn throughput_is_bytes_over_the_union(parts in any_parts()) {
            let places = vec![place("a"); parts.len()];
            let merged = Merged::new(&parts, &places, &Offsets::default());
            let begin = parts.iter().map(|part| part.begin).min().unwrap();
            let end = parts.iter().map(|part| part.end).max().unwrap();
            prop_assert!((merged.seconds() - between(begin, end)).abs() < 1e-9);
            let figures = merged.transfers(10, 0);
            prop_assert!(figures["slowest"] <= figures["fastest"]);
            prop_assert!((0.0..=1.0).contains(&figures["tail"]));
        }
    }
}
