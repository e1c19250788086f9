//! Small requests: the slower side moves as many bytes in more requests.
//!
//! A request has a fixed cost: a round trip, an interrupt, a lock, on a disk perhaps a rotation, under a
//! limit of operations one operation. The mean size of requests comes from a trace where there is one,
//! otherwise from the device's counters.
//!
//! Thresholds: the slower side's requests must be at most 0.8 of the faster's (a quarter
//! more requests; chance and the last request of a file make less), and below
//! 1 MiB: a larger request takes a millisecond on a disk of 1 GB/s, and its fixed cost no longer matters.
//! It is denied where the device moves as many bytes per second for both sides (nine tenths): the
//! requests then do not slow it. A slower side that also completes a third fewer requests per second is
//! evidence against it: if their number were the limit, it would complete as many.

use crate::comparison::CellComparison;
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Unit, print};

/// Requests below this share of the other side's size are smaller.
const SMALLER: f64 = 0.8;
/// From this size on, bytes, the number of requests does not matter.
const LARGE: f64 = 1_048_576.0;
/// Fewer requests per second than this share of the other side's are evidence against it.
const FEWER: f64 = 0.67;

/// See the module.
pub(crate) struct SmallRequests;

impl Rule for SmallRequests {
    fn id(&self) -> &'static str {
        "small_requests"
    }

    fn title(&self) -> &'static str {
        "small requests"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        let verb = pair.verb();
        let counted = format!("{verb}_request_mean");
        let rate = format!("{verb}s_per_s");
        let name = if pair.both("trace_request_mean").is_some() {
            "trace_request_mean"
        } else {
            &counted
        };
        let Some([slower, faster]) = pair.both(name) else {
            return Judgement::not_judged(pair.needs_counters());
        };
        let grounds = Grounds::of(pair, &[name, &rate, "trace_bios", "trace_bio_mean"]);
        if slower <= 0.0 || slower > SMALLER * faster {
            return grounds.denied(format!(
                "the requests are not smaller with {}",
                pair.sides()[0]
            ));
        }
        if slower >= LARGE {
            return grounds.denied(format!(
                "requests of {} are too large for their number to matter",
                print(slower, Unit::Bytes)
            ));
        }
        if let Some(row) = pair.device_as_fast() {
            return grounds
                .against(Some(row))
                .denied("the requests are smaller, but the device moves as many bytes per second");
        }
        let fewer = pair.both(&rate).filter(|[s, f]| *s < FEWER * f);
        grounds
            .carries(faster / slower)
            .bounded()
            .apart(name)
            .against(fewer.and_then(|_| pair.row(&rate)))
            .holds(
                format!(
                    "{}s of {}: {} times as many for the same bytes",
                    verb,
                    pair.against(print(slower, Unit::Bytes), print(faster, Unit::Bytes)),
                    crate::value::digits(faster / slower)
                ),
                experiment(pair),
            )
    }
}

/// What makes the slower side's requests larger.
fn experiment(pair: &CellComparison<'_>) -> String {
    let name = &pair.slower_cell.workload_name;
    match (&pair.slower_cell.workload, pair.direction()) {
        (study::WorkloadSpec::Throughput(spec), _) if spec.direct => {
            format!("--set {name}.record=4m")
        }
        (study::WorkloadSpec::Stream(spec), _) if spec.direct => {
            format!("--set {name}.block=16m")
        }
        (study::WorkloadSpec::Mix(_), _) => format!("--set {name}.block=64k"),
        (study::WorkloadSpec::Scan(_), _) => match pair.phase {
            "scan_pass_2" => format!("--set {name}.batch=1024"),
            _ => format!("--set {name}.scan_buffer=4m"),
        },
        (_, crate::Direction::Read) => "--set device.readahead=4096".to_owned(),
        (study::WorkloadSpec::Stream(_), _) => {
            format!("--set {name}.write_through=none, or a larger {name}.block where it is set")
        }
        (study::WorkloadSpec::Fill(_), _) => {
            format!("--set {name}.size=1m, fewer and larger files")
        }
        _ => "the same with one large file: fslab run streaming".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    const KIB: f64 = 1024.0;

    fn judge(sides: &ComparisonBuilder) -> Judgement {
        SmallRequests.judge(&sides.pair(4.0)).unwrap()
    }

    #[test]
    fn four_times_as_many_requests_explain_four_times_the_time() {
        let sides = ComparisonBuilder::new("write")
            .both("write_request_mean", 16.0 * KIB, 64.0 * KIB)
            .both("writes_per_s", 1000.0, 1000.0);
        let answer = judge(&sides);
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
        assert!(
            answer.because.contains("16 KiB with")
                && answer.because.contains("against 64 KiB with"),
            "{}",
            answer.because
        );
    }

    #[test]
    fn fewer_requests_a_second_speak_against_it() {
        let sides = ComparisonBuilder::new("read")
            .both("read_request_mean", 16.0 * KIB, 64.0 * KIB)
            .both("reads_per_s", 300.0, 1000.0);
        let answer = judge(&sides);
        assert_eq!(answer.confidence(), Some(Confidence::Medium), "{answer:?}");
        assert_eq!(answer.against[0].name, "reads_per_s");
    }

    #[test]
    fn equal_or_large_requests_deny_it() {
        for (slow, fast) in [(64.0, 64.0), (80.0, 64.0), (2048.0, 8192.0)] {
            let sides =
                ComparisonBuilder::new("write").both("write_request_mean", slow * KIB, fast * KIB);
            assert_eq!(judge(&sides).verdict, Verdict::Denied, "{slow} {fast}");
        }
    }

    /// Under a limit of bytes a second the journal's double bytes are the cause, not its requests.
    #[test]
    fn a_device_that_moves_as_many_bytes_denies_it() {
        let sides = ComparisonBuilder::new("write")
            .both("write_request_mean", 83.0 * KIB, 848.0 * KIB)
            .both("write_rate", 41e6, 38e6);
        let answer = judge(&sides);
        assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        assert!(answer.against.iter().any(|row| row.name == "write_rate"));
    }

    #[test]
    fn the_trace_is_asked_first() {
        let sides = ComparisonBuilder::new("write")
            .both("write_request_mean", 16.0 * KIB, 64.0 * KIB)
            .both("trace_request_mean", 64.0 * KIB, 64.0 * KIB);
        assert_eq!(judge(&sides).verdict, Verdict::Denied);
    }

    #[test]
    fn without_counters_it_says_why() {
        let mut sides = ComparisonBuilder::new("write").slow("write_request_mean", 4096.0);
        let why = "a directory has no device".to_owned();
        sides.faster.absent.insert("diskstats", why);
        let Verdict::NotJudged { needs } = judge(&sides).verdict else {
            panic!("it judged one side alone");
        };
        assert!(needs.contains("a directory has no device"), "{needs}");
    }
}
