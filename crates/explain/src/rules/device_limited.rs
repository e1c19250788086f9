//! Limited by the device: the slower side goes as fast as its device can or may.
//!
//! The reference is the limit that the study set, in bytes or operations per second, or for reads
//! without a limit the raw device's sequential rate, measured before the first trial; for writes
//! without a limit there is no reference, and the rule cannot judge. It holds when the slower side
//! reaches 85 % of the reference (a limit is enforced over slices of 100 ms, and the phase has edges),
//! and the sides differ: by a lower limit, or at the same limit by at least 5 % more device bytes or
//! requests for the same work. Two sides at one limit with the same bytes deny it.

use crate::comparison::{CellComparison, Direction};
use crate::rule::{Grounds, Judgement, Rule};
use crate::value::{Unit, digits, print};

/// Share of what the device can do.
const REACHED: f64 = 0.85;
/// A limit below this share of the other side's is lower.
const LOWER: f64 = 0.95;
/// Least ratio of bytes or requests for the same work.
const MORE: f64 = 1.05;

/// See the module.
pub(crate) struct DeviceLimited;

/// One way in which a device limits: a rate, what it may be, and what consumes it.
struct Way {
    rate: &'static str,
    may: &'static str,
    consumes: &'static str,
    unit: Unit,
}

const READS: [Way; 3] = [
    Way {
        rate: "read_rate",
        may: "read_limit",
        consumes: "read_ratio",
        unit: Unit::BytesPerS,
    },
    Way {
        rate: "reads_per_s",
        may: "read_iops_limit",
        consumes: "read_requests",
        unit: Unit::PerS,
    },
    Way {
        rate: "read_rate",
        may: "raw_sequential",
        consumes: "read_ratio",
        unit: Unit::BytesPerS,
    },
];
const WRITES: [Way; 2] = [
    Way {
        rate: "write_rate",
        may: "write_limit",
        consumes: "written_ratio",
        unit: Unit::BytesPerS,
    },
    Way {
        rate: "writes_per_s",
        may: "write_iops_limit",
        consumes: "write_requests",
        unit: Unit::PerS,
    },
];

impl Rule for DeviceLimited {
    fn id(&self) -> &'static str {
        "device_limited"
    }

    fn title(&self) -> &'static str {
        "limited by the device"
    }

    fn judge(&self, pair: &CellComparison<'_>) -> Option<Judgement> {
        let ways: &[Way] = match pair.direction() {
            Direction::Read => &READS,
            Direction::Write => &WRITES,
        };
        let reached = |way: &&Way| {
            let may = pair.slower.median(way.may).filter(|may| *may > 0.0)?;
            Some(pair.slower.median(way.rate)? / may)
        };
        // The tightest way decides.
        let tightest = ways
            .iter()
            .filter_map(|way| Some((way, reached(&way)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((way, share)) = tightest else {
            return Judgement::not_judged(needs(pair, ways));
        };
        let grounds = Grounds::of(pair, &[way.may, way.rate, way.consumes]);
        let may = pair.slower.median(way.may)?;
        if share < REACHED {
            return grounds.denied(format!(
                "{} of the {} that the device is capable of are reached with {}",
                print(share, Unit::Share),
                print(may, way.unit),
                pair.sides()[0]
            ));
        }
        let held = format!(
            "{} of {} is reached with {}",
            print(share, Unit::Share),
            print(may, way.unit),
            pair.sides()[0]
        );
        let theirs = pair.faster.median(way.may);
        if theirs.is_none_or(|theirs| may < LOWER * theirs) {
            let other = theirs.map_or_else(
                || format!("with {} there is no limit", pair.sides()[1]),
                |theirs| {
                    let theirs = print(theirs, way.unit);
                    format!("with {} the limit is {theirs}", pair.sides()[1])
                },
            );
            return grounds
                .carries(theirs.map_or(pair.times, |theirs| theirs / may))
                .apart(way.rate)
                .holds(format!("{held}, and {other}"), EXPERIMENT);
        }
        let asked = if way.consumes.ends_with("ratio") {
            pair.both(way.consumes)
        } else {
            pair.for_the_same_work(way.consumes)
        };
        match asked.map(|[slower, faster]| slower / faster) {
            Some(more) if more.is_finite() && more >= MORE => {
                grounds.carries(more).apart(way.consumes).holds(
                    format!(
                        "{held}, and needs {} times as much of it for the same work",
                        digits(more)
                    ),
                    EXPERIMENT,
                )
            }
            Some(_) => grounds.denied("both sides need the same from the same device"),
            None => Judgement::not_judged(pair.needs_counters()),
        }
    }
}

const EXPERIMENT: &str = "the limit lifted for both: --set device.limit=none";

/// What would let it judge.
fn needs(pair: &CellComparison<'_>, ways: &[Way]) -> String {
    let known = ways.iter().any(|way| pair.slower.median(way.may).is_some());
    match (known, pair.direction()) {
        (true, _) => pair.needs_counters(),
        (false, Direction::Read) => {
            "needs the maximum rate of the device: --set run.reference_seconds=1, or a limit".to_owned()
        }
        (false, Direction::Write) => {
            "needs the maximum write rate of the device: the raw reference only reads; --set device.limit=RATE"
                .to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Confidence, Verdict};
    use crate::testing::ComparisonBuilder;

    const MIB: f64 = 1_048_576.0;

    #[test]
    fn a_lower_limit_that_is_reached_holds() {
        let sides = ComparisonBuilder::new("read")
            .slow("read_limit", 20.0 * MIB)
            .both("read_rate", 19.8 * MIB, 80.0 * MIB);
        let answer = DeviceLimited.judge(&sides.pair(4.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
        assert!(answer.because.contains("no limit"), "{}", answer.because);
        let both = sides.fast("read_limit", 80.0 * MIB);
        let answer = DeviceLimited.judge(&both.pair(4.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
    }

    #[test]
    fn more_bytes_at_the_same_limit_hold() {
        let sides = ComparisonBuilder::new("write")
            .both("write_limit", 20.0 * MIB, 20.0 * MIB)
            .both("write_rate", 19.8 * MIB, 19.9 * MIB)
            .both("written_ratio", 2.0, 1.0);
        let answer = DeviceLimited.judge(&sides.pair(2.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
    }

    #[test]
    fn operations_can_be_the_limit() {
        let sides = ComparisonBuilder::new("read")
            .both("read_iops_limit", 200.0, 200.0)
            .both("reads_per_s", 199.0, 198.0)
            .both("read_requests", 8000.0, 1000.0)
            .both("raw_sequential", 500.0 * MIB, 500.0 * MIB)
            .both("read_rate", 10.0 * MIB, 80.0 * MIB);
        let answer = DeviceLimited.judge(&sides.pair(8.0)).unwrap();
        assert_eq!(answer.confidence(), Some(Confidence::High), "{answer:?}");
        assert_eq!(answer.evidence[0].name, "read_iops_limit");
    }

    #[test]
    fn requests_are_counted_for_the_same_bytes() {
        let sides = ComparisonBuilder::new("write")
            .both("write_iops_limit", 200.0, 200.0)
            .both("writes_per_s", 199.0, 198.0)
            .both("write_requests", 1000.0, 1000.0)
            .both("bytes", 4e6, 32e6);
        let answer = DeviceLimited.judge(&sides.pair(8.0)).unwrap();
        assert_eq!(
            answer.confidence(),
            Some(Confidence::Medium),
            "equal counts overlap: {answer:?}"
        );
    }

    #[test]
    fn an_idle_device_or_equal_bytes_deny_it() {
        let idle = ComparisonBuilder::new("read")
            .both("raw_sequential", 500.0 * MIB, 500.0 * MIB)
            .both("read_rate", 100.0 * MIB, 200.0 * MIB);
        let equal = ComparisonBuilder::new("read")
            .both("read_limit", 20.0 * MIB, 20.0 * MIB)
            .both("read_rate", 19.0 * MIB, 20.0 * MIB)
            .both("read_ratio", 1.0, 1.0);
        for sides in [idle, equal] {
            let answer = DeviceLimited.judge(&sides.pair(2.0)).unwrap();
            assert_eq!(answer.verdict, Verdict::Denied, "{answer:?}");
        }
    }

    #[test]
    fn without_a_reference_it_says_how_to_get_one() {
        let write = DeviceLimited
            .judge(&ComparisonBuilder::new("write").pair(2.0))
            .unwrap();
        let read = DeviceLimited
            .judge(&ComparisonBuilder::new("read").pair(2.0))
            .unwrap();
        let needs = |answer: Judgement| match answer.verdict {
            Verdict::NotJudged { needs } => needs,
            other => panic!("{other:?}"),
        };
        assert!(needs(write).contains("device.limit"));
        assert!(needs(read).contains("reference_seconds"));
    }
}
