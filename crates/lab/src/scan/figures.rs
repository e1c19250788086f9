//! What a pass cost, as a phase of a trial.

use std::fs;

use workload::{Clocks, Evidence, PhaseReport};

/// The cost of a pass, with any reader.
pub(super) struct Costs {
    pub(super) real_s: f64,
    pub(super) user_s: f64,
    pub(super) system_s: f64,
    pub(super) disk_bytes: u64,
    /// From the reader's own cache.
    pub(super) cache_bytes: u64,
    /// Objects: descriptors, inodes, directory blocks.
    pub(super) objects: u64,
    /// Requests, seeks and its other counts, by the names of metrics.
    pub(super) counts: Vec<(&'static str, u64)>,
}

impl Costs {
    /// As a phase. Operations are objects.
    pub(super) fn phase(&self, name: String, evidence: Vec<Evidence>) -> PhaseReport {
        let mut report = PhaseReport {
            name,
            operations: self.objects,
            seconds: self.real_s,
            user_seconds: self.user_s,
            system_seconds: self.system_s,
            evidence,
            ..PhaseReport::default()
        };
        let own = [("cache_bytes", self.cache_bytes), ("objects", self.objects)];
        for (name, value) in self.counts.iter().chain(&own) {
            report.figures.insert((*name).into(), *value as f64);
        }
        if let Some(peak) = peak() {
            report.figures.insert("peak_rss".into(), peak as f64);
        }
        derive(&mut report, self.disk_bytes, self.cache_bytes);
        report
    }
}

/// All passes as one phase: sums, and the highest peak.
pub(super) fn whole(name: &str, phases: &[PhaseReport], evidence: Vec<Evidence>) -> PhaseReport {
    let sum = |of: fn(&PhaseReport) -> f64| phases.iter().map(of).sum::<f64>();
    let mut report = PhaseReport {
        name: name.into(),
        operations: phases.iter().map(|phase| phase.operations).sum(),
        seconds: sum(|phase| phase.seconds),
        user_seconds: sum(|phase| phase.user_seconds),
        system_seconds: sum(|phase| phase.system_seconds),
        evidence,
        ..PhaseReport::default()
    };
    let figure = |name: &'static str| {
        let figures = phases.iter();
        figures.filter_map(move |phase| phase.figures.get(name).copied())
    };
    for name in [
        "cache_bytes",
        "requests",
        "seeks",
        "seek_bytes",
        "objects",
        "verified",
        "faults",
    ] {
        if let Some(sum) = figure(name).reduce(|a, b| a + b) {
            report.figures.insert(name.into(), sum);
        }
    }
    if let Some(peak) = figure("peak_rss").reduce(f64::max) {
        report.figures.insert("peak_rss".into(), peak);
    }
    let disk = phases.iter().map(|phase| phase.bytes).sum();
    let cache = figure("cache_bytes").sum::<f64>() as u64;
    derive(&mut report, disk, cache);
    report
}

/// Bytes, and what follows from them: the mean request, and three rates. fsck.ocfs2 printed the one with the
/// bytes of its cache in 2011 and prints the one without its own processor time today.
fn derive(report: &mut PhaseReport, disk: u64, cache: u64) {
    report.bytes_asked = disk;
    report.bytes = disk;
    report.bytes_transferred = disk;
    report.clock_seconds = Clocks {
        original: Some(report.seconds),
        ..Clocks::default()
    };
    let disk = disk as f64;
    let requests = report.figures.get("requests").copied().unwrap_or(0.0);
    let waited = report.seconds - report.user_seconds;
    let rate = |bytes: f64, seconds: f64| (seconds > 0.0).then(|| bytes / seconds);
    report.bytes_per_s.original = rate(disk, report.seconds);
    let figures = [
        ("disk_bytes", Some(disk)),
        ("user_seconds", Some(report.user_seconds)),
        ("system_seconds", Some(report.system_seconds)),
        ("request_mean", rate(disk, requests)),
        ("rate_with_cache", rate(disk + cache as f64, report.seconds)),
        ("rate_without_user", rate(disk, waited)),
    ];
    for (name, value) in figures {
        if let Some(value) = value {
            report.figures.insert(name.into(), value);
        }
    }
}

/// From here on the peak of resident memory is that of what follows (proc(5): `clear_refs`, 5). Where the kernel
/// does not know that, the peak is the process's.
pub(super) fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Peak of resident memory, bytes: this process's, the lab in it included.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs() -> Costs {
        Costs {
            real_s: 2.0,
            user_s: 0.5,
            system_s: 0.25,
            disk_bytes: 3 << 20,
            cache_bytes: 1 << 20,
            objects: 768,
            counts: vec![
                ("requests", 96),
                ("seeks", 4),
                ("seek_bytes", 8 << 20),
                ("batched", 1),
                ("faults", 0),
            ],
        }
    }

    fn pass(costs: &Costs) -> PhaseReport {
        costs.phase("scan_pass_1".into(), Vec::new())
    }

    #[test]
    fn a_pass_has_the_rates_of_2011_of_today_and_of_the_disk() {
        let report = pass(&costs());
        assert_eq!(
            (report.name.as_str(), report.operations),
            ("scan_pass_1", 768)
        );
        let mib = f64::from(1 << 20);
        assert_eq!(report.figures["rate_with_cache"], 2.0 * mib);
        assert_eq!(report.figures["rate_without_user"], 2.0 * mib);
        assert_eq!(report.bytes_per_s.original, Some(1.5 * mib));
        assert_eq!(report.figures["request_mean"], 32768.0);
        assert!(report.figures["peak_rss"] > 1e6);
    }

    #[test]
    fn a_pass_without_a_request_has_no_mean() {
        let idle = Costs {
            disk_bytes: 0,
            counts: vec![("requests", 0)],
            ..costs()
        };
        let report = pass(&idle);
        assert!(!report.figures.contains_key("request_mean"));
        assert_eq!(report.bytes_per_s.original, Some(0.0));
    }

    #[test]
    fn the_whole_is_the_sum_and_its_peak_the_highest() {
        let one = pass(&costs());
        let mut two = one.clone();
        two.figures.insert("peak_rss".into(), 9e9);
        let whole = whole("scan", &[one, two], Vec::new());
        assert_eq!((whole.bytes, whole.seconds), (6 << 20, 4.0));
        assert_eq!(
            (whole.figures["requests"], whole.figures["peak_rss"]),
            (192.0, 9e9)
        );
        assert_eq!(whole.figures["rate_with_cache"], 2.0 * f64::from(1 << 20));
        assert_eq!(whole.figures["seek_bytes"], 16_777_216.0);
        assert!(!whole.figures.contains_key("batched"));
        assert!(
            !whole.figures.contains_key("verified"),
            "it was not counted"
        );
    }
}
