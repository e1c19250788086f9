//! Two cells that differ in one figure of one phase, as a rule sees them.

use study::{Cell, Clock, WorkloadSpec};

pub use compare::Direction;
pub(crate) use compare::reads_metadata;

use crate::evidence::{CellEvidence, describe};
use crate::value::{Row, Value};

/// Two cells of which one is slower.
#[derive(Clone, Copy, Debug)]
pub struct CellComparison<'a> {
    /// The slower cell's evidence.
    pub slower: &'a CellEvidence,
    /// The faster cell's evidence.
    pub faster: &'a CellEvidence,
    /// The slower cell of the plan.
    pub slower_cell: &'a Cell,
    /// The faster cell of the plan.
    pub faster_cell: &'a Cell,
    /// Ratio of times, slower to faster: above 1.
    pub times: f64,
    /// The factor in which the cells differ.
    pub factor: &'a str,
    /// Phase.
    pub phase: &'a str,
    /// Metric.
    pub metric: &'a str,
    /// The clock of the metric.
    pub clock: Clock,
}

/// A level as it is printed: that of no options has no name of its own.
pub fn level_name(level: &str) -> &str {
    if level.is_empty() { "default" } else { level }
}

/// A level in a sentence, as `--filter` takes it: `threads=8`, `mount=noatime`; a filesystem and a kernel have names of
/// their own: `xfs`, `kernel 6.12`.
pub fn subject(factor: &str, level: &str) -> String {
    let level = level_name(level);
    match factor {
        "filesystem" => level.to_owned(),
        "kernel" => format!("kernel {level}"),
        factor => format!("{factor}={level}"),
    }
}

impl CellComparison<'_> {
    /// The slower and the faster side, as subjects of a sentence: by their levels of the factor.
    pub(crate) fn sides(&self) -> [String; 2] {
        let level = |cell: &Cell| cell.levels.get(self.factor).cloned();
        match (level(self.slower_cell), level(self.faster_cell)) {
            (Some(slower), Some(faster)) if slower != faster => {
                [slower, faster].map(|level| subject(self.factor, &level))
            }
            _ => ["the slower side", "the faster side"].map(str::to_owned),
        }
    }

    /// `27.7 MiB with ext4 against 13.5 MiB with xfs`: a figure of both sides, the slower side's first.
    pub(crate) fn against(
        &self,
        slower: impl std::fmt::Display,
        faster: impl std::fmt::Display,
    ) -> String {
        let [slower_side, faster_side] = self.sides();
        format!("{slower} with {slower_side} against {faster} with {faster_side}")
    }

    /// Whether the phase reads or writes.
    pub fn direction(&self) -> Direction {
        Direction::of(self.phase)
    }

    /// `read` or `write`, as names of figures have it.
    pub(crate) fn verb(&self) -> &'static str {
        match self.direction() {
            Direction::Read => "read",
            Direction::Write => "write",
        }
    }

    /// Medians of a figure, slower first; none unless both have it.
    pub fn both(&self, name: &str) -> Option<[f64; 2]> {
        Some([self.slower.median(name)?, self.faster.median(name)?])
    }

    /// As [`CellComparison::both`], of a figure that grows with the work: the faster's is scaled to the bytes that
    /// the slower moved, where the cells moved different ones (a factor that sets the request size).
    pub(crate) fn for_the_same_work(&self, name: &str) -> Option<[f64; 2]> {
        let [slower, faster] = self.both(name)?;
        let work = self
            .both("bytes")
            .map_or(1.0, |[slower, faster]| slower / faster);
        let scale = if work.is_finite() && work > 0.0 {
            work
        } else {
            1.0
        };
        Some([slower, faster * scale])
    }

    /// Ratio of the device's bytes per second, faster to slower.
    pub(crate) fn device_slowed(&self) -> Option<f64> {
        let [slower, faster] = self.both(&format!("{}_rate", self.verb()))?;
        (slower > 0.0).then(|| faster / slower)
    }

    /// The device's rates, where it moves as many bytes per second for the slower side (at least nine
    /// tenths): a cause that slows a device then does not explain the difference.
    pub(crate) fn device_as_fast(&self) -> Option<Row> {
        let name = format!("{}_rate", self.verb());
        let [slower, faster] = self.both(&name)?;
        (slower >= 0.9 * faster).then(|| self.row(&name))?
    }

    /// Facts, slower first; none unless both have it.
    pub(crate) fn facts(&self, name: &str) -> Option<[&str; 2]> {
        Some([self.slower.fact(name)?, self.faster.fact(name)?])
    }

    /// The figure as a row; none when neither has it.
    pub fn row(&self, name: &str) -> Option<Row> {
        let (label, unit, source) = describe(name);
        let value = |side: &CellEvidence| side.median(name).map_or(Value::Absent, Value::Number);
        let (slower, faster) = (value(self.slower), value(self.faster));
        (slower != Value::Absent || faster != Value::Absent).then(|| Row {
            name: name.to_owned(),
            label: label.to_owned(),
            unit,
            slower,
            faster,
            source: source.to_owned(),
        })
    }

    /// Whether three or more trials of each cell do not overlap in a figure.
    pub(crate) fn apart(&self, name: &str) -> bool {
        let ranges = self.slower.range(name).zip(self.faster.range(name));
        ranges.is_some_and(|(slower, faster)| {
            slower.2 >= 3 && faster.2 >= 3 && (slower.0 > faster.1 || slower.1 < faster.0)
        })
    }

    /// Extra seconds of the slower cell, under the clock of the difference.
    pub(crate) fn extra_seconds(&self) -> Option<f64> {
        let name = match self.clock {
            Clock::Original => "seconds.original",
            Clock::Fsync => "seconds.fsync",
            Clock::Syncfs => "seconds.syncfs",
        };
        let of = |name| self.slower.median(name);
        let seconds = of(name).or_else(|| of("elapsed"))?;
        Some(seconds * (1.0 - 1.0 / self.times))
    }

    /// CPU seconds of the load under the clock of the difference, slower first, for the same work. A
    /// check's and a stream's are recorded for clock (a), other loads' to the end of clock (c) alone.
    pub(crate) fn cpu(&self) -> Option<[f64; 2]> {
        let whole = reads_metadata(self.phase);
        let of = |name| {
            if whole {
                self.both(name)
            } else {
                self.for_the_same_work(name)
            }
        };
        let own = of("user_seconds").zip(of("system_seconds"));
        match own {
            Some((user, system)) if whole || self.clock == Clock::Original => {
                Some([user[0] + system[0], user[1] + system[1]])
            }
            _ if self.clock == Clock::Original => None,
            _ => of("cpu_seconds"),
        }
    }

    /// Extra seconds of CPU time of each thread of the slower cell, and their share of its extra
    /// seconds.
    pub(crate) fn more_cpu(&self) -> Option<(f64, f64)> {
        let [slower, faster] = self.cpu()?;
        let threads = self.slower.median("threads").unwrap_or(1.0).max(1.0);
        let more = (slower - faster) / threads;
        let extra = self.extra_seconds().filter(|extra| *extra > 0.0)?;
        Some((more, more / extra))
    }

    /// Whether I/O bypasses the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        match &self.slower_cell.workload {
            WorkloadSpec::Throughput(spec) => spec.direct,
            WorkloadSpec::Stream(spec) => spec.direct,
            WorkloadSpec::Mix(spec) => spec.direct,
            WorkloadSpec::Scan(_) => true,
            _ => false,
        }
    }

    /// Why a source is missing in one of the cells.
    pub(crate) fn why_absent(&self, source: &str) -> Option<&str> {
        let slower = self.slower.why_absent(source);
        slower.or_else(|| self.faster.why_absent(source))
    }

    /// The reason of a rule that lacks the device's counters.
    pub(crate) fn needs_counters(&self) -> String {
        let why = self.why_absent("diskstats");
        format!(
            "needs the device's counters: {}",
            why.unwrap_or("one cell has none for this phase")
        )
    }

    /// The reason of a rule that lacks telemetry.
    pub(crate) fn needs_telemetry(&self) -> String {
        let why = self.why_absent("telemetry");
        format!(
            "needs telemetry: {}",
            why.unwrap_or("one cell has none for this phase")
        )
    }

    /// The reason of a rule that lacks a trace.
    pub(crate) fn needs_trace() -> String {
        "needs a trace: --set trace=true".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ComparisonBuilder;

    #[test]
    fn phases_read_or_write() {
        for phase in [
            "read",
            "reread",
            "random_read",
            "read_tree",
            "stat_tree",
            "check_pass_1",
            "scan_pass_0a",
        ] {
            assert_eq!(Direction::of(phase), Direction::Read, "{phase}");
        }
        for phase in [
            "write",
            "initial_write",
            "rewrite",
            "random_write",
            "fill",
            "create",
        ] {
            assert_eq!(Direction::of(phase), Direction::Write, "{phase}");
        }
    }

    #[test]
    fn the_extra_time_is_what_the_faster_does_not_need() {
        let sides = ComparisonBuilder::new("write").slow("seconds.original", 10.0);
        let extra = sides.pair(4.0).extra_seconds().unwrap();
        assert!((extra - 7.5).abs() < 0.2, "{extra}");
        assert_eq!(
            ComparisonBuilder::new("write").pair(4.0).extra_seconds(),
            None
        );
    }

    #[test]
    fn more_work_is_no_more_of_a_cause() {
        let sides = ComparisonBuilder::new("write")
            .both("bytes", 4e6, 1e6)
            .both("cpu_seconds", 4.0, 1.0);
        let [slower, faster] = sides.pair(2.0).for_the_same_work("cpu_seconds").unwrap();
        assert!((slower - faster).abs() < 1e-9, "{slower} {faster}");
        let unknown = ComparisonBuilder::new("write").both("cpu_seconds", 4.0, 1.0);
        assert_eq!(
            unknown.pair(2.0).for_the_same_work("cpu_seconds"),
            Some([4.0, 1.0])
        );
    }

    #[test]
    fn trials_stand_apart_only_when_none_overlaps() {
        let sides = ComparisonBuilder::new("read")
            .both("flushes", 10.0, 9.0)
            .both("bytes", 10.0, 9.99);
        let pair = sides.pair(2.0);
        assert!(pair.apart("flushes") && !pair.apart("bytes") && !pair.apart("nothing"));
        assert!(pair.row("flushes").is_some() && pair.row("nothing").is_none());
    }
}
