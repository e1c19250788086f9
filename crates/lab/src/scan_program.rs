//! A reading by the filesystem's own checker: fsck.ocfs2 on OCFS2, e2fsck on ext.
//!
//! The experiments of 2011 were made with fsck.ocfs2. Its check is the reading: the same run as any other check (device cold, output kept, a fault fails the trial), under the
//! names of a reading's phases and metrics, so that its rows are shown with the model reader's.
//!
//! The figures of fsck.ocfs2 are its own, as it prints them: MB rounded up, seconds to the millisecond. Requests are
//! the device's, because it counts none. What our clock and the device's counters say of the same
//! passes is in the evidence (`clock_agrees`, `io_agrees`). e2fsck prints hundredths of a second and what it asked the page cache for;
//! so of it our clock and the device's counters are taken. Which of the two a program is, its figures say: one that counts what came from its
//! cache has counted the rest as well.

use record::{Event, Evidence, Sample};
use study::{Cell, Clock, Reader, WorkloadSpec};

use crate::checked::Checked;

/// The phase of a check and of a reading.
const CHECK: &str = "check";
const SCAN: &str = "scan";

/// A program's own figures in place of those from outside: what it prints, and what that is of a reading.
const OWN: [(&str, &str); 5] = [
    ("reported_seconds", "seconds"),
    ("reported_user_seconds", "user_seconds"),
    ("reported_system_seconds", "system_seconds"),
    ("reported_read", "disk_bytes"),
    ("reported_cache", "cache_bytes"),
];

/// Whether a cell's reading is done by its filesystem's checker.
pub(crate) fn reads(cell: &Cell) -> bool {
    matches!(&cell.workload, WorkloadSpec::Scan(spec) if spec.reader == Reader::Fsck)
}

/// A check as a reading.
pub(crate) fn reading(checked: Checked) -> Checked {
    let counts_cache = |sample: &Sample| sample.metric == "reported_cache";
    let mut samples = if checked.samples.iter().any(counts_cache) {
        own_figures(checked.samples)
    } else {
        from_outside(checked.samples)
    };
    for sample in &mut samples {
        sample.phase = renamed(&sample.phase);
    }
    let derived = derived(&samples);
    samples.extend(derived);
    Checked {
        events: checked.events.into_iter().map(event).collect(),
        samples,
        evidence: checked.evidence.into_iter().map(of_reading).collect(),
        failure: checked.failure,
    }
}

/// Evidence of a check as that of a reading.
pub(crate) fn of_reading(evidence: Evidence) -> Evidence {
    Evidence {
        phase: evidence.phase.map(|phase| renamed(&phase)),
        ..evidence
    }
}

/// `check_pass_1` is `scan_pass_1`; other names stay.
fn renamed(phase: &str) -> String {
    match phase.strip_prefix(CHECK) {
        Some(rest) if rest.is_empty() || rest.starts_with("_pass_") => format!("{SCAN}{rest}"),
        _ => phase.to_owned(),
    }
}

fn event(event: Event) -> Event {
    match event {
        Event::PhaseFinished {
            trial,
            phase,
            begin_ns,
            end_ns,
            detail,
            usage,
            memory,
            middle,
        } => Event::PhaseFinished {
            phase: renamed(&phase),
            trial,
            begin_ns,
            end_ns,
            detail,
            usage,
            memory,
            middle,
        },
        other => other,
    }
}

/// The samples with the program's own figures under a reading's names. Where it prints one, that from outside goes.
fn own_figures(samples: Vec<Sample>) -> Vec<Sample> {
    let own = |metric: &str| OWN.iter().find(|(printed, _)| *printed == metric);
    let replaced: Vec<(String, &str)> = samples
        .iter()
        .filter_map(|sample| Some((sample.phase.clone(), own(&sample.metric)?.1)))
        // With its seconds goes what was divided by ours.
        .flat_map(|(phase, metric)| match metric {
            "seconds" => vec![(phase.clone(), metric), (phase, "throughput")],
            _ => vec![(phase, metric)],
        })
        .collect();
    let kept = |sample: &Sample| {
        let mut all = replaced.iter();
        !all.any(|(phase, metric)| *phase == sample.phase && *metric == sample.metric)
    };
    let mut all: Vec<Sample> = samples.into_iter().filter(kept).collect();
    for sample in &mut all {
        if let Some((_, metric)) = own(&sample.metric) {
            sample.metric = (*metric).to_owned();
            sample.clock = Clock::Original;
        }
        rename(sample);
    }
    all
}

/// The samples with the device's figures under a reading's names.
fn from_outside(samples: Vec<Sample>) -> Vec<Sample> {
    let read = |sample: &Sample| sample.metric == "device_read";
    let disk = samples.iter().filter(|sample| read(sample));
    let disk: Vec<Sample> = disk
        .map(|sample| Sample {
            metric: "disk_bytes".to_owned(),
            ..sample.clone()
        })
        .collect();
    let mut all = samples;
    all.extend(disk);
    all.iter_mut().for_each(rename);
    all
}

/// What a checker's metrics are called of a reading.
fn rename(sample: &mut Sample) {
    match sample.metric.as_str() {
        "read_requests" => "requests".clone_into(&mut sample.metric),
        "inodes_used" => "objects".clone_into(&mut sample.metric),
        _ => {}
    }
}

/// What follows from a pass's figures: the mean request, and the rates of 2011 and of today.
fn derived(samples: &[Sample]) -> Vec<Sample> {
    let mut phases: Vec<&str> = samples.iter().map(|sample| sample.phase.as_str()).collect();
    phases.dedup();
    phases.sort_unstable();
    phases.dedup();
    phases
        .into_iter()
        .flat_map(|phase| of_phase(samples, phase))
        .collect()
}

fn of_phase(samples: &[Sample], phase: &str) -> Vec<Sample> {
    let of = |metric: &str| {
        let found = samples
            .iter()
            .find(|s| s.phase == phase && s.metric == metric);
        found.map(|sample| sample.value)
    };
    let ratio = |above: Option<f64>, below: Option<f64>| {
        let (above, below) = (above?, below?);
        (below > 0.0).then(|| above / below)
    };
    let (disk, real) = (of("disk_bytes"), of("seconds"));
    let both = disk
        .zip(of("cache_bytes"))
        .map(|(disk, cache)| disk + cache);
    let waited = real.zip(of("user_seconds")).map(|(real, user)| real - user);
    // Where it printed nothing, that from outside has stayed.
    let own_rate = ratio(disk, real).filter(|_| of("throughput").is_none());
    let found = [
        (
            "request_mean",
            ratio(of("device_read"), of("requests")),
            "bytes",
        ),
        ("throughput", own_rate, "bytes_per_s"),
        ("rate_with_cache", ratio(both, real), "bytes_per_s"),
        ("rate_without_user", ratio(disk, waited), "bytes_per_s"),
    ];
    let sample = |(metric, value, unit): (&str, Option<f64>, &str)| {
        Some(Sample {
            phase: phase.to_owned(),
            metric: metric.to_owned(),
            clock: Clock::Original,
            value: value?,
            unit: unit.to_owned(),
        })
    };
    found.into_iter().filter_map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(phase: &str, metric: &str, value: f64) -> Sample {
        Sample {
            phase: phase.into(),
            metric: metric.into(),
            clock: Clock::Original,
            value,
            unit: "s".into(),
        }
    }

    /// A figure of a phase, which has it at most once.
    fn figure(read: &Checked, phase: &str, metric: &str) -> Option<f64> {
        let samples = read.samples.iter();
        let mut found = samples.filter(|s| s.phase == phase && s.metric == metric);
        let value = found.next().map(|sample| sample.value);
        assert!(found.next().is_none(), "{phase} {metric} twice");
        value
    }

    #[test]
    fn the_figures_are_the_programs_own() {
        let mib = f64::from(1 << 20);
        let checked = Checked {
            events: Vec::new(),
            samples: vec![
                sample("check_pass_1", "seconds", 2.1),
                sample("check_pass_1", "user_seconds", 0.9),
                sample("check_pass_1", "throughput", 5.5 * mib / 2.1),
                sample("check_pass_1", "reported_seconds", 2.0),
                sample("check_pass_1", "reported_user_seconds", 1.0),
                sample("check_pass_1", "reported_read", 6.0 * mib),
                sample("check_pass_1", "reported_cache", 2.0 * mib),
                sample("check_pass_1", "device_read", 5.5 * mib),
                sample("check_pass_1", "read_requests", 11.0),
                sample("check_pass_3", "seconds", 0.0),
                sample("fill", "seconds", 9.0),
            ],
            evidence: vec![Evidence {
                phase: Some("check_pass_1".into()),
                name: "clock_agrees".into(),
                holds: Some(true),
                detail: String::new(),
            }],
            failure: None,
        };
        let read = reading(checked);
        let of = |phase: &str, metric: &str| figure(&read, phase, metric);
        assert_eq!(of("scan_pass_1", "seconds"), Some(2.0));
        assert_eq!(of("scan_pass_1", "user_seconds"), Some(1.0));
        assert_eq!(of("scan_pass_1", "disk_bytes"), Some(6.0 * mib));
        assert_eq!(of("scan_pass_1", "requests"), Some(11.0));
        assert_eq!(of("scan_pass_1", "request_mean"), Some(0.5 * mib));
        assert_eq!(of("scan_pass_1", "throughput"), Some(3.0 * mib));
        assert_eq!(of("scan_pass_1", "rate_with_cache"), Some(4.0 * mib));
        assert_eq!(of("scan_pass_1", "rate_without_user"), Some(6.0 * mib));
        assert_eq!(of("scan_pass_1", "reported_read"), None);
        assert_eq!(
            of("scan_pass_3", "rate_with_cache"),
            None,
            "no time, no rate"
        );
        assert_eq!(of("fill", "seconds"), Some(9.0));
        assert_eq!(read.evidence[0].phase.as_deref(), Some("scan_pass_1"));
    }

    #[test]
    fn of_a_program_that_counts_no_cache_the_device_counts() {
        let mib = f64::from(1 << 20);
        let checked = Checked {
            events: Vec::new(),
            samples: vec![
                sample("check_pass_1", "seconds", 2.0),
                sample("check_pass_1", "user_seconds", 1.0),
                sample("check_pass_1", "reported_seconds", 1.99),
                sample("check_pass_1", "reported_read", 17.0 * mib),
                sample("check_pass_1", "device_read", 16.0 * mib),
                sample("check_pass_1", "read_requests", 8.0),
            ],
            evidence: Vec::new(),
            failure: None,
        };
        let read = reading(checked);
        let of = |metric: &str| figure(&read, "scan_pass_1", metric);
        assert_eq!(
            (of("seconds"), of("reported_seconds")),
            (Some(2.0), Some(1.99))
        );
        assert_eq!(of("disk_bytes"), Some(16.0 * mib));
        assert_eq!(
            (of("requests"), of("request_mean")),
            (Some(8.0), Some(2.0 * mib))
        );
        assert_eq!(of("throughput"), Some(8.0 * mib));
        assert_eq!(
            of("rate_with_cache"),
            None,
            "how much came from a cache is not counted"
        );
    }

    #[test]
    fn only_a_checks_phases_are_renamed() {
        for (from, to) in [
            ("check", "scan"),
            ("check_pass_4b", "scan_pass_4b"),
            ("checksum", "checksum"),
            ("fill", "fill"),
        ] {
            assert_eq!(renamed(from), to);
        }
    }
}
