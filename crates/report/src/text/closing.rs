//! Where the run's own time went: the report shows when a lab takes longer than it measures.

use super::wrap;
use crate::Report;

/// Two lines: the ledger of all trials, and the process. Empty for a run without both.
pub(super) fn print(report: &Report<'_>, width: usize) -> String {
    let lines = lines(report);
    if lines.is_empty() {
        return String::new();
    }
    let mut out = String::from("\nWhere the time went\n");
    for line in lines {
        out.push_str(&wrap("  ", 4, &line, width));
    }
    out
}

/// The same for other formats.
pub(crate) fn lines(report: &Report<'_>) -> Vec<String> {
    let spent = record::show::spent(report.run);
    let mut lines = Vec::new();
    if spent.total > 0.0 {
        let shares: Vec<String> = [
            ("mkfs", spent.mkfs),
            ("mount", spent.mount),
            ("waiting for lazy initialisation", spent.wait),
            ("workload", spent.workload),
            ("umount", spent.umount),
            ("fslab's own", spent.own()),
        ]
        .iter()
        .filter(|(name, seconds)| *seconds > 0.0005 * spent.total || !name.starts_with("waiting"))
        .map(|(name, seconds)| format!("{name} {:.1} %", 100.0 * seconds / spent.total))
        .collect();
        lines.push(format!(
            "trials {:.1} s: {}",
            spent.total,
            shares.join(", ")
        ));
    }
    let reference: f64 = report.run.references.iter().map(|r| r.seconds).sum();
    if reference > 0.0 {
        lines.push(format!("raw-device reference {reference:.1} s"));
    }
    if let Some(closing) = &report.run.closing {
        let last = match report.run.resumed {
            0 => "",
            _ => ", of the last process",
        };
        lines.push(format!(
            "run {:.1} s of wall time, {:.1} MiB of memory at its peak{last}",
            closing.seconds,
            closing.peak_rss as f64 / 1_048_576.0
        ));
    }
    lines
}
