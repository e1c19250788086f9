//! What the removals of all rounds took.

use crate::calls::Calls;
use crate::clock::Cpu;
use crate::fill::count::Counts;
use crate::{Clocks, Evidence, PhaseReport, RunReport};

/// Time and counts of all removals.
#[derive(Default)]
pub(super) struct Removed {
    pub(super) runs: Vec<RunReport>,
    pub(super) counts: Counts,
    pub(super) seconds: f64,
    pub(super) synced: f64,
    pub(super) cpu: Cpu,
    pub(super) calls: Calls,
    pub(super) asked: u64,
}

impl Removed {
    /// Files/sec under (a) and `seconds` end with the last rmdir, under (c) with syncfs.
    pub(super) fn phase(&self, name: &str, size: u64, figures: &[(&str, f64)]) -> PhaseReport {
        let files = self.counts.files as f64;
        let rate = |seconds: f64| Some(files / seconds.max(1e-9));
        let mut all = self.calls.figures();
        all.insert("total_over_elapsed".into(), files / self.seconds.max(1e-9));
        for (name, value) in figures {
            all.insert((*name).into(), *value);
        }
        PhaseReport {
            name: name.into(),
            bytes: self.counts.files * size,
            bytes_asked: self.counts.files * size,
            operations: self.counts.files,
            seconds: self.seconds,
            clock_seconds: Clocks {
                original: Some(self.seconds),
                fsync: None,
                syncfs: Some(self.synced),
            },
            user_seconds: self.cpu.user,
            system_seconds: self.cpu.system,
            files_per_s: Some(Clocks {
                original: rate(self.seconds),
                fsync: None,
                syncfs: rate(self.synced),
            }),
            figures: all,
            runs: self.runs.clone(),
            latency: self.calls.reports(),
            evidence: vec![Evidence {
                name: "removed_directories".into(),
                holds: Some(self.counts.directories >= self.asked),
                detail: format!(
                    "{} chosen, {} removed with those inside them, {} files",
                    self.asked, self.counts.directories, self.counts.files
                ),
            }],
            ..PhaseReport::default()
        }
    }
}
