//! What one cell showed in one phase: figures, one value a trial, and facts in words.
//!
//! Everything that a rule may ask has one name here, whichever source it came from, so that a rule
//! reads `write_request_mean` and need not know whether the device's counters or a block trace
//! gave it. [`CATALOGUE`] says for each name what it is and where it comes from; docs/explain.md
//! prints the same.

use std::collections::BTreeMap;

use crate::value::Unit;

/// Name, label, unit and source of the figures.
// A table: one figure a line.
#[rustfmt::skip]
pub const CATALOGUE: &[(&str, &str, Unit, &str)] = &[
    ("elapsed", "wall time of the phase", Unit::Seconds, "event log"),
    ("bytes", "bytes moved by the workload", Unit::Bytes, "workload"),
    ("operations", "operations", Unit::Count, "workload"),
    ("threads", "threads", Unit::Count, "workload"),
    ("cpu_seconds", "CPU time", Unit::Seconds, "rusage"),
    ("user_seconds", "user time", Unit::Seconds, "rusage"),
    ("system_seconds", "system time", Unit::Seconds, "rusage"),
    ("cpu_share", "CPU of each thread, clock (a)", Unit::Share, "rusage"),
    ("cpu_share_all", "CPU of each thread, whole phase", Unit::Share, "rusage"),
    ("device_read", "bytes read from the device", Unit::Bytes, "diskstats"),
    ("device_written", "bytes written to the device", Unit::Bytes, "diskstats"),
    ("read_requests", "reads", Unit::Count, "diskstats"),
    ("write_requests", "writes", Unit::Count, "diskstats"),
    ("read_request_mean", "mean read request", Unit::Bytes, "diskstats"),
    ("write_request_mean", "mean write request", Unit::Bytes, "diskstats"),
    ("read_rate", "device reads", Unit::BytesPerS, "diskstats"),
    ("write_rate", "device writes", Unit::BytesPerS, "diskstats"),
    ("reads_per_s", "reads per second", Unit::PerS, "diskstats"),
    ("writes_per_s", "writes per second", Unit::PerS, "diskstats"),
    ("read_ratio", "device bytes per byte read", Unit::Times, "diskstats"),
    ("written_ratio", "device bytes per byte written", Unit::Times, "diskstats"),
    ("read_merge_share", "reads merged", Unit::Share, "telemetry"),
    ("write_merge_share", "writes merged", Unit::Share, "telemetry"),
    ("flushes", "cache flushes", Unit::Count, "telemetry"),
    ("flush_seconds", "time in flushes", Unit::Seconds, "telemetry"),
    ("device_queue", "mean requests in flight", Unit::Count, "telemetry"),
    ("device_busy", "device busy", Unit::Share, "telemetry"),
    ("psi_io_some", "waiting for I/O (PSI some)", Unit::Share, "telemetry"),
    ("psi_io_full", "all tasks waiting for I/O (PSI full)", Unit::Share, "telemetry"),
    ("psi_memory_some", "waiting for memory (PSI some)", Unit::Share, "telemetry"),
    ("dirty_max", "most dirty data", Unit::Bytes, "telemetry"),
    ("dirty_near", "most dirty data, of the threshold", Unit::Share, "telemetry"),
    ("dirty_threshold", "dirty threshold", Unit::Bytes, "context"),
    ("busiest_task", "busiest task of the workload, of a CPU", Unit::Share, "telemetry"),
    ("foreign_task", "busiest other program, of a CPU", Unit::Share, "telemetry"),
    ("lazyinit_seconds", "CPU time of ext4lazyinit", Unit::Seconds, "telemetry"),
    ("swap_ins", "pages swapped in", Unit::Count, "vmstat"),
    ("swap_outs", "pages swapped out", Unit::Count, "vmstat"),
    ("pages_scanned", "pages scanned", Unit::Count, "vmstat"),
    ("allocation_stalls", "allocations in direct reclaim", Unit::Count, "vmstat"),
    ("limit_met", "memory limit hit", Unit::Count, "cgroup"),
    ("memory_limit", "memory limit", Unit::Bytes, "plan"),
    ("readahead", "readahead", Unit::Bytes, "sysfs"),
    ("stripe_width", "stripe width", Unit::Bytes, "superblock"),
    ("read_limit", "read limit", Unit::BytesPerS, "plan"),
    ("write_limit", "write limit", Unit::BytesPerS, "plan"),
    ("read_iops_limit", "read limit", Unit::PerS, "plan"),
    ("write_iops_limit", "write limit", Unit::PerS, "plan"),
    ("raw_sequential", "raw device, sequential read", Unit::BytesPerS, "reference"),
    ("raw_random_read", "raw device, 4 KiB random read", Unit::Seconds, "reference"),
    ("layout_avoidable", "gaps not explained by metadata", Unit::Count, "layout"),
    ("layout_discontiguities", "discontiguities", Unit::Count, "layout"),
    ("layout_extents", "extents", Unit::Count, "layout"),
    ("layout_mapped", "bytes mapped", Unit::Bytes, "layout"),
    ("layout_weighted_run", "mean run of a byte", Unit::Bytes, "layout"),
    ("trace_bios", "bios", Unit::Count, "trace"),
    ("trace_bio_mean", "mean bio", Unit::Bytes, "trace"),
    ("trace_requests", "requests", Unit::Count, "trace"),
    ("trace_request_mean", "mean request", Unit::Bytes, "trace"),
    ("trace_merge_ratio", "bios in a request", Unit::Times, "trace"),
    ("trace_seek_mean", "mean seek", Unit::Bytes, "trace"),
    ("trace_sequential", "requests that continue the last one", Unit::Share, "trace"),
    ("trace_d2c_mean", "mean service time", Unit::Seconds, "trace"),
    ("trace_journal_bytes", "bytes to the journal", Unit::Bytes, "trace"),
    ("trace_journal_share", "bytes to the journal", Unit::Share, "trace"),
    ("trace_metadata_share", "bytes to metadata", Unit::Share, "trace"),
    ("trace_kind_switches", "jumps between data and metadata", Unit::Count, "trace"),
    ("trace_switch_share", "requests that jump between kinds", Unit::Share, "trace"),
    ("trace_flushes", "cache flushes", Unit::Count, "trace"),
    ("trace_lost", "trace events lost", Unit::Count, "trace"),
];

/// Label, unit and source of a figure; a name that is not listed is its own label.
pub(crate) fn describe(name: &str) -> (&str, Unit, &'static str) {
    let known = CATALOGUE.iter().find(|(known, ..)| *known == name);
    known.map_or(
        (name, Unit::Count, "samples"),
        |(_, label, unit, source)| (*label, *unit, *source),
    )
}

/// What one cell showed in one phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellEvidence {
    /// Number of the cell.
    pub cell: u32,
    /// Trials whose phase is in it.
    pub trials: usize,
    /// Values by figure, one for each trial that had it, in base units (bytes, seconds, shares of 1).
    pub figures: BTreeMap<String, Vec<f64>>,
    /// Facts in words, each value once (`device.scheduler` to `none`).
    pub facts: BTreeMap<String, Vec<String>>,
    /// Why a source of figures gave nothing (`telemetry`, `trace`, `layout`, `diskstats`).
    pub absent: BTreeMap<&'static str, String>,
}

impl CellEvidence {
    /// Median of a figure's values.
    pub fn median(&self, name: &str) -> Option<f64> {
        let mut values = self.figures.get(name)?.clone();
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let n = values.len();
        (n > 0).then(|| f64::midpoint(values[(n - 1) / 2], values[n / 2]))
    }

    /// Least and largest value and their number.
    pub(crate) fn range(&self, name: &str) -> Option<(f64, f64, usize)> {
        let values = self.figures.get(name)?;
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        Some((least, most, values.len()))
    }

    /// A fact, when all trials agree.
    pub fn fact(&self, name: &str) -> Option<&str> {
        match self.facts.get(name)?.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }

    /// Adds a trial's value.
    pub(crate) fn add(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.figures.entry(name.to_owned()).or_default().push(value);
        }
    }

    /// Adds a trial's fact; one that is known already adds nothing.
    pub(crate) fn add_fact(&mut self, name: &str, value: &str) {
        let values = self.facts.entry(name.to_owned()).or_default();
        if !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }

    /// Why a source gave nothing, in words that end a sentence.
    pub(crate) fn why_absent(&self, source: &str) -> Option<&str> {
        self.absent.get(source).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_needs_values_and_a_fact_agreement() {
        let mut side = CellEvidence::default();
        assert_eq!(side.median("x"), None);
        for value in [3.0, 1.0, f64::NAN, 2.0, 10.0] {
            side.add("x", value);
        }
        assert_eq!(side.median("x"), Some(2.5));
        assert_eq!(side.range("x"), Some((1.0, 10.0, 4)));
        side.add_fact("scheduler", "none");
        side.add_fact("scheduler", "none");
        assert_eq!(side.fact("scheduler"), Some("none"));
        side.add_fact("scheduler", "bfq");
        assert_eq!(side.fact("scheduler"), None);
    }

    #[test]
    fn names_are_once_in_the_catalogue() {
        let mut names: Vec<&str> = CATALOGUE.iter().map(|(name, ..)| *name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        assert_eq!(describe("flushes").0, "cache flushes");
        assert_eq!(describe("creat_p99").0, "creat_p99");
    }
}
