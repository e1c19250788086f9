//! Readahead too small: the reader waits for each window because the next one was not requested in time.
//!
//! A buffered sequential reader has at most its readahead window in flight. On a stripe a window below
//! the stripe's width keeps some disks idle; on any device with latency it limits the rate to window over
//! latency (2008: 256 sectors against 65536 on eight LUNs, a factor of 2 and more). It holds when the
//! slower side's window is at most 0.67 of the faster's, or below its stripe's width where the
//! faster's is not. Where counters exist the effect must be visible: reads at least 10 % smaller, or
//! fewer in flight; otherwise it is denied. Random reads do not read ahead.

use crate::comparison::{CellComparison, Direction, reads_metadata};
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Unit, print};

const SMALLER: f64 = 0.67;
const SHOWS: f64 = 1.1;

/// See the module.
pub(crate) struct ReadaheadTooSmall;

impl Rule for ReadaheadTooSmall {
    fn id(&self) -> &'static str {
        "readahead_too_small"
    }

    fn title(&self) -> &'static str {
        "readahead too small"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        let sequential = !pair.phase.starts_with("random") && !reads_metadata(pair.phase);
        if pair.direction() == Direction::Write || !sequential || pair.is_direct() {
            return None;
        }
        let Some([slower, faster]) = pair.both("readahead") else {
            return Judgement::not_judged(
                "needs the readahead of both devices, which one cell did not record",
            );
        };
        let names = [
            "readahead",
            "read_request_mean",
            "device_queue",
            "read_requests",
            "stripe_width",
        ];
        let grounds = Grounds::of(pair, &names);
        let below = |window: f64, side: &crate::evidence::CellEvidence| {
            side.median("stripe_width")
                .is_some_and(|width| window < width)
        };
        let stripe = below(slower, pair.slower) && !below(faster, pair.faster);
        if slower > SMALLER * faster && !stripe {
            return grounds.denied(format!(
                "both read ahead enough: {} and {}",
                print(slower, Unit::Bytes),
                print(faster, Unit::Bytes)
            ));
        }
        let grows = |name: &str| {
            let both = pair.both(name).filter(|[slower, _]| *slower > 0.0);
            both.map(|[slower, faster]| faster / slower)
        };
        let effects = [grows("read_request_mean"), grows("device_queue")];
        let largest = effects.iter().flatten().copied().reduce(f64::max);
        if largest.is_some_and(|effect| effect < SHOWS) {
            return grounds.denied(
                "the window is smaller, but reads are not smaller and no fewer are in flight",
            );
        }
        let decisive = if effects[0] >= effects[1] {
            "read_request_mean"
        } else {
            "device_queue"
        };
        // Window over latency: as far as the reads really shrink, the rate does.
        let product: f64 = effects
            .iter()
            .flatten()
            .map(|effect| effect.max(1.0))
            .product();
        grounds
            .inferred(largest.is_none())
            .carries(if largest.is_some() { product } else { 1.0 })
            .apart(decisive)
            .holds(
                format!(
                    "a readahead window of {}",
                    pair.against(print(slower, Unit::Bytes), print(faster, Unit::Bytes))
                ),
                format!(
                    "--set device.readahead={:.0} (sectors) for both",
                    (faster / 512.0).max(1.0)
                ),
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    const KIB: f64 = 1024.0;

    fn sides(windows: [f64; 2], means: [f64; 2]) -> ComparisonBuilder {
        ComparisonBuilder::new("read")
            .both("readahead", windows[0] * KIB, windows[1] * KIB)
            .both("read_request_mean", means[0] * KIB, means[1] * KIB)
    }

    #[test]
    fn a_small_window_with_small_reads_holds() {
        let answer = ReadaheadTooSmall
            .judge(&sides([128.0, 2048.0], [128.0, 512.0]).pair(3.0))
            .unwrap();
        // Windows do not vary, reads do.
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
        assert!(answer.experiment.unwrap().contains("readahead=4096"));
    }

    #[test]
    fn the_same_window_or_no_effect_denies_it() {
        for sides in [
            sides([128.0, 128.0], [64.0, 128.0]),
            sides([128.0, 2048.0], [128.0, 128.0]),
            sides([2048.0, 128.0], [128.0, 512.0]),
        ] {
            let answer = ReadaheadTooSmall.judge(&sides.pair(2.0)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
    }

    #[test]
    fn a_window_below_the_stripe_holds_even_if_it_is_not_smaller() {
        let sides = sides([512.0, 512.0], [256.0, 512.0]).slow("stripe_width", 1024.0 * KIB);
        let answer = ReadaheadTooSmall.judge(&sides.pair(2.0)).unwrap();
        assert!(answer.confidence().is_some(), "{answer:?}");
    }

    #[test]
    fn it_speaks_of_buffered_sequential_reads() {
        for phase in ["write", "random_read", "check"] {
            assert!(
                ReadaheadTooSmall
                    .judge(&ComparisonBuilder::new(phase).pair(2.0))
                    .is_none(),
                "{phase}"
            );
        }
        let answer = ReadaheadTooSmall
            .judge(&ComparisonBuilder::new("read").pair(2.0))
            .unwrap();
        assert!(matches!(answer.verdict, Verdict::NotJudged { .. }));
    }

    #[test]
    fn a_setting_without_counters_is_only_inferred() {
        let sides = ComparisonBuilder::new("read").both("readahead", 128.0 * KIB, 2048.0 * KIB);
        let answer = ReadaheadTooSmall.judge(&sides.pair(2.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::Low), "{answer:?}");
    }
}
