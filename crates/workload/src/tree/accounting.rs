//! From single operations to phases: the original's figures, and what it lacked.

use super::sequence::{Row, Step};
use super::worker::Tally;
use crate::calls::Calls;
use crate::clock::Cpu;
use crate::{Clocks, Evidence, PhaseReport, RunReport, ThreadReport};

/// Bytes of the original's MB.
const MIB: f64 = 1_048_576.0;

/// Everything booked under one row.
#[derive(Clone, Debug, Default)]
struct Account {
    runs: Vec<RunReport>,
    tally: Tally,
    calls: Calls,
    evidence: Vec<Evidence>,
    figures: Vec<(&'static str, f64)>,
    /// Seconds of the sync that closed the phase outside the original's clock.
    closing: Option<f64>,
}

/// All rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounting {
    accounts: [Account; Row::ALL.len()],
    /// Operations sync inside their clock.
    synced: bool,
}

impl Accounting {
    /// `synced`: the random operations end with a sync inside their clock.
    pub(super) fn new(synced: bool) -> Self {
        Accounting {
            synced,
            ..Accounting::default()
        }
    }

    /// Accounting one operation.
    pub(super) fn add(&mut self, step: &Step, tally: Tally, taken: f64, cpu: Cpu) {
        let account = &mut self.accounts[step.row as usize];
        account.runs.push(RunReport {
            number: step.number,
            target: step.tree.clone(),
            note: step.note(),
            bytes: tally.counted,
            files: tally.files,
            seconds: taken,
            user_seconds: cpu.user,
            system_seconds: cpu.system,
            ..RunReport::default()
        });
        let sum = &mut account.tally;
        sum.counted += tally.counted;
        sum.written += tally.written;
        sum.read += tally.read;
        sum.files += tally.files;
        sum.short += tally.short;
    }

    /// Adds what the calls of an operation took.
    pub(super) fn time(&mut self, row: Row, calls: &Calls) {
        self.accounts[row as usize].calls.merge(calls);
    }

    /// Adds evidence to a row.
    pub(super) fn prove(&mut self, row: Row, evidence: Evidence) {
        self.accounts[row as usize].evidence.push(evidence);
    }

    /// Adds a figure to a row.
    pub(super) fn figure(&mut self, row: Row, name: &'static str, value: f64) {
        self.accounts[row as usize].figures.push((name, value));
    }

    /// The sync after a row's last operation took so long.
    pub(super) fn close(&mut self, row: Row, seconds: f64) {
        self.accounts[row as usize].closing = Some(seconds);
    }

    /// Whether nothing was booked under a row.
    pub(super) fn is_empty(&self, row: Row) -> bool {
        self.accounts[row as usize].runs.is_empty()
    }

    /// The report of a row.
    pub(super) fn report(&self, row: Row) -> PhaseReport {
        let account = &self.accounts[row as usize];
        // Not `sum()`, whose sum of nothing is -0.0.
        let sum = |of: fn(&RunReport) -> f64| account.runs.iter().map(of).fold(0.0, |a, b| a + b);
        let (tally, total) = (account.tally, sum(|r| r.seconds));
        let inside = self.synced && row != Row::InitialCreate;
        let closed = if inside {
            Some(total)
        } else {
            account.closing.map(|s| total + s)
        };
        let some = (!account.runs.is_empty()).then_some(());
        let clock_seconds = Clocks {
            original: some.map(|()| total),
            fsync: some.and(closed),
            syncfs: some.and(closed),
        };
        let mut report = PhaseReport {
            name: row.phase().into(),
            bytes_asked: tally.counted,
            bytes: tally.counted,
            bytes_transferred: tally.written + tally.read,
            operations: account.runs.len() as u64,
            short_operations: tally.short,
            seconds: total,
            clock_seconds,
            user_seconds: sum(|r| r.user_seconds),
            system_seconds: sum(|r| r.system_seconds),
            runs: account.runs.clone(),
            evidence: account.evidence.clone(),
            figures: account.calls.figures(),
            latency: account.calls.reports(),
            ..PhaseReport::default()
        };
        let own = account.figures.iter();
        report
            .figures
            .extend(own.map(|(n, v)| ((*n).to_owned(), *v)));
        rates(&mut report, tally, row, inside);
        if !account.runs.is_empty() {
            // compilebench is one process of one thread.
            report.threads.push(ThreadReport {
                thread: 0,
                bytes: report.bytes,
                bytes_transferred: report.bytes_transferred,
                operations: report.operations,
                seconds: total,
                bytes_per_s: over(report.bytes as f64, total).unwrap_or(0.0),
            });
        }
        report
    }
}

/// Fills the rates and the original's figures in.
fn rates(report: &mut PhaseReport, tally: Tally, row: Row, inside: bool) {
    let runs = report.runs.len() as f64;
    let mut figure = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            report.figures.insert(name.to_owned(), value);
        }
    };
    figure("runs", Some(runs));
    if report.runs.is_empty() {
        return;
    }
    let seconds: Vec<f64> = report.runs.iter().map(|r| r.seconds).collect();
    figure("mean_seconds", mean(&seconds));
    figure("median_seconds", median(&seconds));
    figure("mean_user_seconds", Some(report.user_seconds / runs));
    figure("mean_system_seconds", Some(report.system_seconds / runs));
    let files = tally.files as f64;
    // Not "files": that is the name of the rate where metrics and figures are side by side.
    figure("file_count", Some(files));
    let clocks = report.clock_seconds;
    let each = |amount: f64| Clocks {
        original: clocks.original.and_then(|s| over(amount, s)),
        fsync: clocks.fsync.and_then(|s| over(amount, s)),
        syncfs: clocks.syncfs.and_then(|s| over(amount, s)),
    };
    report.files_per_s = Some(each(files));
    if row.in_seconds() {
        return;
    }
    let rated = report
        .runs
        .iter()
        .filter_map(|r| over(r.bytes as f64, r.seconds));
    let rated: Vec<f64> = rated.collect();
    figure("mean_mib_per_s", mean(&rated).map(|r| r / MIB));
    figure("median_mib_per_s", median(&rated).map(|r| r / MIB));
    let whole = each(tally.counted as f64);
    figure("total_over_total", whole.original.map(|r| r / MIB));
    let original = mean(&rated);
    report.bytes_per_s = Clocks {
        original,
        fsync: if inside { original } else { whole.fsync },
        syncfs: if inside { original } else { whole.syncfs },
    };
}

/// `amount / seconds`; none where the clock did not move (the original divides by zero).
fn over(amount: f64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| amount / seconds)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 {
        upper
    } else {
        f64::midpoint(sorted[middle - 1], upper)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::sequence::Plan;

    fn booked(synced: bool, row: Row, runs: &[(u64, f64)]) -> PhaseReport {
        let mut accounting = Accounting::new(synced);
        let steps = Plan::standard(10, 30).steps();
        let step = steps.iter().find(|s| s.row == row).unwrap();
        for &(bytes, seconds) in runs {
            let tally = Tally {
                counted: bytes,
                written: bytes,
                files: 10,
                ..Tally::default()
            };
            let cpu = Cpu {
                user: 0.25,
                system: 0.5,
            };
            accounting.add(step, tally, seconds, cpu);
        }
        if row == Row::InitialCreate {
            accounting.close(row, 1.0);
        }
        accounting.report(row)
    }

    /// 1 MiB in 1 s, 4 MiB in 1 s, 4 MiB in 2 s: rates 1, 4, 2.
    const RUNS: [(u64, f64); 3] = [(1 << 20, 1.0), (4 << 20, 1.0), (4 << 20, 2.0)];

    #[test]
    fn the_mean_of_rates_is_not_the_rate_of_the_whole() {
        let report = booked(true, Row::Compile, &RUNS);
        assert_eq!(report.operations, 3);
        assert_eq!(report.figures["mean_mib_per_s"], 7.0 / 3.0);
        assert_eq!(report.figures["median_mib_per_s"], 2.0);
        assert_eq!(report.figures["total_over_total"], 9.0 / 4.0);
        assert_eq!(report.bytes_per_s.original, Some(7.0 / 3.0 * MIB));
        assert_eq!(report.bytes_per_s.syncfs, report.bytes_per_s.original);
        assert_eq!(report.files_per_s.unwrap().original, Some(7.5));
        assert_eq!(
            (report.user_seconds, report.figures["mean_system_seconds"]),
            (0.75, 0.5)
        );
    }

    #[test]
    fn initial_creates_end_their_other_clocks_with_the_sync_after_them() {
        let report = booked(true, Row::InitialCreate, &RUNS);
        assert_eq!(report.clock_seconds.original, Some(4.0));
        assert_eq!(report.clock_seconds.syncfs, Some(5.0));
        assert_eq!(report.bytes_per_s.syncfs, Some(9.0 / 5.0 * MIB));
    }

    #[test]
    fn without_sync_there_are_no_other_clocks() {
        let report = booked(false, Row::Create, &RUNS);
        assert_eq!(report.clock_seconds.syncfs, None);
        assert_eq!(report.bytes_per_s.fsync, None);
    }

    #[test]
    fn deletes_have_seconds_and_files_and_a_still_clock_divides_nothing() {
        let report = booked(true, Row::DeleteTree, &[(0, 1.0), (0, 4.0)]);
        assert_eq!(report.bytes_per_s, Clocks::default());
        assert_eq!(report.figures["mean_seconds"], 2.5);
        assert_eq!(report.figures["median_seconds"], 2.5);
        let still = booked(true, Row::Clean, &[(5, 0.0)]);
        assert_eq!(still.bytes_per_s.original, None);
        assert!(!still.figures.contains_key("mean_mib_per_s"));
    }

    #[test]
    fn a_row_without_runs_says_so() {
        let report = Accounting::new(true).report(Row::DeleteCompiledTree);
        assert_eq!((report.operations, report.figures["runs"]), (0, 0.0));
        assert_eq!(report.clock_seconds, Clocks::default());
        assert!(Accounting::new(true).is_empty(Row::StatTree));
    }
}
