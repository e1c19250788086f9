//! The example's invented numbers.

use study::{Cell, Clock, Slot};

use crate::event::Sample;

const MIB: f64 = 1_048_576.0;
/// Phase, label of its row, level on ext4 and on xfs in MiB/s.
pub(super) const THROUGHPUT: [(&str, &str, f64, f64); 6] = [
    ("initial_write", "initl_writers", 812.0, 870.0),
    ("rewrite", "rewriters", 930.0, 955.0),
    ("read", "readers", 1480.0, 1475.0),
    ("reread", "re-readers", 1490.0, 1491.0),
    ("random_read", "random_readers", 640.0, 652.0),
    ("random_write", "random_writers", 505.0, 611.0),
];

/// Phase, label, metric, level on ext4 and on xfs in MiB/s or seconds.
pub(super) const TREE: [(&str, &str, &str, f64, f64); 10] = [
    ("initial_create", "init_create", "throughput", 212.0, 171.0),
    ("new_create", "new_create", "throughput", 98.5, 84.1),
    ("patch", "patch", "throughput", 41.2, 33.7),
    ("compile", "compile", "throughput", 188.0, 192.0),
    ("clean", "clean", "throughput", 1102.0, 640.0),
    ("read_tree", "read_tree", "throughput", 77.4, 69.0),
    (
        "read_compiled_tree",
        "read_compld",
        "throughput",
        96.0,
        90.3,
    ),
    ("delete_tree", "delete_tree", "seconds", 0.61, 1.24),
    ("stat_tree", "stat_tree", "seconds", 0.42, 0.47),
    ("stat_compiled_tree", "stat_compld", "seconds", 0.55, 0.58),
];

/// Name, seconds and samples of each phase of a cell.
pub(super) fn phases(cell: &Cell, slot: Slot) -> Vec<(&'static str, f64, Vec<Sample>)> {
    let xfs = cell.levels["filesystem"] == "xfs";
    let spread = |row: usize| {
        let hash = mix(slot.seed ^ (row as u64 + 1));
        1.0 + 0.02 * ((hash >> 11) as f64 / (1_u64 << 53) as f64 - 0.5)
    };
    if cell.workload_name == "iozone" {
        let rows = THROUGHPUT.iter().enumerate();
        rows.map(|(i, (phase, _, ext4, on_xfs))| {
            let rate = if xfs { on_xfs } else { ext4 } * spread(i) * MIB;
            (*phase, 256.0 * MIB / rate, throughput_samples(phase, rate))
        })
        .collect()
    } else {
        let rows = TREE.iter().enumerate();
        rows.map(|(i, (phase, _, metric, ext4, on_xfs))| {
            let level = if xfs { on_xfs } else { ext4 } * spread(i + 100);
            let (rate, seconds) = if *metric == "seconds" {
                (None, level)
            } else {
                (Some(level * MIB), 45.0 / level)
            };
            (*phase, seconds, tree_samples(phase, rate, seconds))
        })
        .collect()
    }
}

fn sample(phase: &str, metric: &str, clock: Clock, value: f64, unit: &str) -> Sample {
    Sample {
        phase: phase.into(),
        metric: metric.into(),
        clock,
        value,
        unit: unit.into(),
    }
}

fn throughput_samples(phase: &str, rate: f64) -> Vec<Sample> {
    let original =
        |metric: &str, value: f64, unit: &str| sample(phase, metric, Clock::Original, value, unit);
    let mut samples = vec![
        original("children", rate, "bytes_per_s"),
        original("parent", rate * 0.995, "bytes_per_s"),
        original("min", rate, "bytes_per_s"),
        original("max", rate, "bytes_per_s"),
        original("avg", rate, "bytes_per_s"),
        original("min_xfer", 256.0 * MIB, "bytes"),
    ];
    for (clock, share) in [
        (Clock::Original, 1.0),
        (Clock::Fsync, 0.98),
        (Clock::Syncfs, 0.97),
    ] {
        samples.push(sample(
            phase,
            "throughput",
            clock,
            rate * share,
            "bytes_per_s",
        ));
        samples.push(sample(
            phase,
            "seconds",
            clock,
            256.0 * MIB / (rate * share),
            "s",
        ));
    }
    samples
}

fn tree_samples(phase: &str, rate: Option<f64>, seconds: f64) -> Vec<Sample> {
    let mut samples = Vec::new();
    for (clock, share) in [(Clock::Original, 1.0), (Clock::Syncfs, 0.8)] {
        if let Some(rate) = rate {
            samples.push(sample(
                phase,
                "throughput",
                clock,
                rate * share,
                "bytes_per_s",
            ));
        }
        samples.push(sample(phase, "seconds", clock, seconds / share, "s"));
        samples.push(sample(
            phase,
            "files_per_s",
            clock,
            2400.0 * share / seconds,
            "files_per_s",
        ));
    }
    samples
}

/// splitmix64: a fixed number from a number.
pub(super) fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
