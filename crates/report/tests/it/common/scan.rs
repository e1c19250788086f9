//! A run of `fsck-io` as a reader without surprises would leave it.

use record::{Run, Sample, Status};
use study::{Clock, Overrides, Reader, ScanSpec, Study, WorkloadSpec};

use super::{empty, noise};

const BLOCK: f64 = 4096.0;
const GROUPS: f64 = 128.0;
const INODES: f64 = 4262.0;
const DIRECTORIES: f64 = 251.0;
/// Bitmaps of groups in use.
const USED: f64 = 120.0;
/// Bytes from group to group.
const APART: f64 = 134_217_728.0;

/// Bytes from disk, bytes from the cache, requests.
type Moved = [f64; 3];

/// Bytes that a head travels between the bitmaps of all groups: along chain after chain, or once across.
fn travelled(spec: &ScanSpec) -> f64 {
    let across = APART * GROUPS;
    let chains = f64::from(spec.chains);
    if spec.prefill {
        across
    } else {
        across * (2.0 * chains - 1.0)
    }
}

/// What each pass of each reader moves.
fn moves(spec: &ScanSpec) -> Vec<(&'static str, Moved)> {
    let (bitmaps, tables) = (GROUPS * BLOCK, INODES * BLOCK);
    let entries = DIRECTORIES * BLOCK;
    let nothing = [0.0; 3];
    let inodes = |request: f64| [tables, 0.0, (tables / request).ceil()];
    match spec.reader {
        Reader::Model => passes(spec).into(),
        Reader::Check => vec![
            ("scan_pass_0", [BLOCK, 0.0, 3.0]),
            ("scan_pass_1", inodes(f64::from(1 << 20))),
            ("scan_pass_2", [entries, 0.0, 4.0]),
            ("scan_pass_3", nothing),
            ("scan_pass_4", nothing),
            ("scan_pass_5", [2.0 * bitmaps, 0.0, GROUPS]),
            ("scan_pass_after", [32.0 * BLOCK, 0.0, 1.0]),
        ],
        Reader::Fsck => vec![
            ("scan_pass_1", inodes(f64::from(1 << 17))),
            ("scan_pass_2", [entries, 0.0, DIRECTORIES]),
            ("scan_pass_3", nothing),
            ("scan_pass_4", nothing),
            ("scan_pass_5", [2.0 * bitmaps, 0.0, 2.0 * GROUPS]),
        ],
    }
}

/// What each pass moves: 128 groups with their bitmaps, inodes and directory blocks of 4 KiB.
fn passes(spec: &ScanSpec) -> [(&'static str, Moved); 4] {
    let (bitmaps, tables) = (GROUPS * BLOCK, INODES * BLOCK);
    let blocks = DIRECTORIES * BLOCK;
    let hit = if spec.prefill { bitmaps } else { 0.0 };
    let group = f64::from(4 << 20);
    let (first, scan) = match (spec.precache, spec.cache >= 1.0) {
        (true, true) => ((tables, tables / group), [0.0, tables, 0.0]),
        (precache, _) => {
            let buffer = spec.scan_buffer.get() as f64;
            let scan = [tables, 0.0, (tables / buffer).ceil()];
            let first = if precache { tables } else { 0.0 };
            ((first, first / group), scan)
        }
    };
    let entries = match spec.batch {
        1 => [blocks, 0.0, DIRECTORIES],
        batch => [blocks, blocks, (DIRECTORIES / f64::from(batch)).ceil()],
    };
    [
        ("scan_pass_0a", [bitmaps, hit, GROUPS]),
        (
            "scan_pass_0b",
            [bitmaps + first.0, hit, GROUPS + first.1.ceil()],
        ),
        ("scan_pass_1", scan),
        ("scan_pass_2", entries),
    ]
}

/// What a pass met, and how it asked.
fn looked(spec: &ScanSpec, phase: &str) -> [(&'static str, f64); 4] {
    let chains = if spec.prefill {
        f64::from(spec.chains)
    } else {
        1.0
    };
    let (objects, verified, batched) = match phase {
        "scan_pass_0a" | "scan_pass_0b" => (GROUPS, USED, chains),
        "scan_pass_1" => (INODES, INODES, 1.0),
        _ => (
            DIRECTORIES,
            DIRECTORIES,
            f64::from(spec.batch).min(DIRECTORIES),
        ),
    };
    let way = match phase {
        "scan_pass_0a" | "scan_pass_0b" => travelled(spec),
        _ => APART * GROUPS,
    };
    [
        ("objects", objects),
        ("verified", verified),
        ("batched", batched),
        ("seek_bytes", way),
    ]
}

fn unit_of(metric: &str) -> &'static str {
    if metric.ends_with("bytes") || metric == "cache_size" {
        "bytes"
    } else {
        "count"
    }
}

/// Samples of a phase that are counts and bytes.
fn counted(phase: &str, counts: &[(&str, f64)]) -> Vec<Sample> {
    let sample = |(metric, value): &(&str, f64)| Sample {
        phase: phase.to_owned(),
        metric: (*metric).to_owned(),
        clock: Clock::Original,
        value: *value,
        unit: unit_of(metric).to_owned(),
    };
    counts.iter().map(sample).collect()
}

fn samples(phase: &str, moved: Moved, real: f64) -> Vec<Sample> {
    let [disk, cache, requests] = moved;
    let all = [
        ("seconds", real, "s"),
        ("user_seconds", real / 10.0, "s"),
        ("system_seconds", real / 20.0, "s"),
        ("disk_bytes", disk, "bytes"),
        ("cache_bytes", cache, "bytes"),
        ("requests", requests, "count"),
        ("seeks", (requests / 2.0).floor(), "count"),
        ("throughput", disk / real, "bytes_per_s"),
        ("rate_with_cache", (disk + cache) / real, "bytes_per_s"),
        ("rate_without_user", disk / (0.9 * real), "bytes_per_s"),
        ("peak_rss", 30e6, "bytes"),
    ];
    let mut found: Vec<Sample> = all
        .map(|(metric, value, unit)| Sample {
            phase: phase.to_owned(),
            metric: metric.to_owned(),
            clock: Clock::Original,
            value,
            unit: unit.to_owned(),
        })
        .into();
    // No request has no mean.
    if requests > 0.0 {
        let mean = Sample {
            metric: "request_mean".to_owned(),
            value: disk / requests,
            unit: "bytes".to_owned(),
            ..found[0].clone()
        };
        found.push(mean);
    }
    found
}

/// The study's quick profile with this many blocks.
pub(crate) fn fsck_io(blocks: u32) -> Run {
    of_profile("quick", blocks)
}

/// One of the study's profiles with this many blocks.
pub(crate) fn of_profile(profile: &str, blocks: u32) -> Run {
    let study = Study::load("fsck-io").expect("built in");
    let overrides = Overrides {
        profile: Some(profile.to_owned()),
        blocks: Some(blocks),
        ..Overrides::default()
    };
    let plan = study::plan(&study, &overrides).expect("a good plan");
    let mut run = empty(plan, "fsck-io-20260102-030405");
    for slot in run.plan.slots.clone() {
        let cell = &run.plan.cells[slot.cell as usize];
        let WorkloadSpec::Scan(spec) = &cell.workload else {
            continue;
        };
        let limited = cell.device.limit.is_some();
        let trial = &mut run.trials[slot.trial as usize];
        trial.status = Status::Finished;
        let mut whole = [0.0; 3];
        let mut seconds = 0.0;
        for (at, (phase, moved)) in moves(spec).into_iter().enumerate() {
            let [disk, cache, requests] = moved;
            let device = if limited {
                (requests / 200.0).max(disk / 36_700_160.0)
            } else {
                requests * 1e-4 + disk / 2e9
            };
            let spread = 1.0 + 0.02 * noise(u64::from(slot.trial) * 8 + at as u64);
            let real = (device + cache / 5e9 + 1e-4) * spread;
            trial.samples.extend(samples(phase, moved, real));
            if spec.reader == Reader::Model {
                trial.samples.extend(counted(phase, &looked(spec, phase)));
            }
            for (sum, value) in whole.iter_mut().zip(moved) {
                *sum += value;
            }
            seconds += real;
        }
        trial.samples.extend(samples("scan", whole, seconds));
        if spec.reader == Reader::Fsck {
            // e2fsck counts neither, and prints no rate with them.
            let uncounted = ["cache_bytes", "seeks", "rate_with_cache"];
            let known = |sample: &Sample| !uncounted.contains(&sample.metric.as_str());
            trial.samples.retain(known);
        }
        if spec.reader != Reader::Model {
            continue;
        }
        let metadata = (2.0 * GROUPS + INODES + DIRECTORIES) * BLOCK;
        let links = (GROUPS / f64::from(spec.chains)).ceil();
        let whole = [
            ("metadata_bytes", metadata),
            ("cache_size", spec.cache * metadata),
            ("chain_links", links),
            ("seek_bytes", 2.0 * travelled(spec) + 2.0 * APART * GROUPS),
        ];
        trial.samples.extend(counted("scan", &whole));
    }
    run
}
