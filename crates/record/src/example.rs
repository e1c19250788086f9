//! A small, made-up, realistic run for the tests of everything that reads runs.
//!
//! It has the shape of the built-in `journal` study: two filesystems (`ext4`, `xfs`) times two
//! workloads (`iozone`: the six throughput phases; `compilebench`: ten tree phases) in three
//! blocks, twelve trials. Trial 7 fails (the disk fills up), so its cell has two values. Numbers
//! are invented but fixed: a level for each filesystem and phase, and a spread of about 1 % from a
//! hash of the trial. Nothing here is a measurement, and nothing outside tests may call it.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use study::{
    Bytes, Cell, Clock, DeviceSpec, FilesystemKind, FilesystemVariant, Order, Plan, RowSpec, Slot,
    TableSpec, ThroughputSpec, TreeSpec, WorkloadSpec,
};

use crate::event::{Entry, Event, Evidence, FORMAT, FailureKind, Ledger, Mounted, Sample};
use crate::run::Run;

/// The trial that fails.
pub const FAILED_TRIAL: u32 = 7;
/// The trial, of the cell `ext4` with `iozone`, whose read phase was not cold.
pub const FAILED_EVIDENCE: u32 = 6;

const MIB: f64 = 1_048_576.0;
const FILESYSTEMS: [&str; 2] = ["ext4", "xfs"];
const WORKLOADS: [&str; 2] = ["iozone", "compilebench"];
const BLOCKS: u32 = 3;
/// The cells of each block in running order: a fixed shuffle.
const ORDER: [[u32; 4]; 3] = [[2, 0, 3, 1], [1, 3, 0, 2], [3, 2, 1, 0]];

/// Phase, label of its row, level on ext4 and on xfs in MiB/s.
const THROUGHPUT: [(&str, &str, f64, f64); 6] = [
    ("initial_write", "initl_writers", 812.0, 870.0),
    ("rewrite", "rewriters", 930.0, 955.0),
    ("read", "readers", 1480.0, 1475.0),
    ("reread", "re-readers", 1490.0, 1491.0),
    ("random_read", "random_readers", 640.0, 652.0),
    ("random_write", "random_writers", 505.0, 611.0),
];

/// Phase, label, metric, level on ext4 and on xfs in MiB/s or seconds.
const TREE: [(&str, &str, &str, f64, f64); 10] = [
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

/// The run, folded.
///
/// # Panics
/// Never: the log begins with `RunStarted`.
pub fn run() -> Run {
    Run::fold(&entries()).unwrap_or_else(|| unreachable!("the log begins with RunStarted"))
}

/// Its log, as `events.jsonl` would hold it.
pub fn entries() -> Vec<Entry> {
    let mut log = Script::default();
    let plan = plan();
    log.push(
        0.0,
        Event::RunStarted {
            format: FORMAT,
            run: "journal-20260102-030405".into(),
            tool: "fslab 0.1.0 (0123456789ab)".into(),
            command: ["fslab", "run", "journal", "--profile", "quick"]
                .map(String::from)
                .into(),
            target: "loop images".into(),
            plan: Box::new(plan.clone()),
        },
    );
    log.push(
        0.1,
        Event::Context {
            when: "start".into(),
            context: context("6.18.5", 300),
        },
    );
    log.push(
        0.0,
        Event::Note {
            message: "3 blocks: fewer than 5, intervals are wide".into(),
        },
    );
    for slot in &plan.slots {
        trial(&mut log, &plan, *slot);
    }
    log.push(
        0.1,
        Event::Context {
            when: "end".into(),
            context: context("6.18.5", 412),
        },
    );
    log.push(
        0.0,
        Event::RunFinished {
            finished: 11,
            failed: 1,
            skipped: 0,
            seconds: log.seconds(),
            peak_rss: 21_504_000,
        },
    );
    log.entries
}

/// The plan of the example.
pub fn plan() -> Plan {
    let filesystems: BTreeMap<String, FilesystemVariant> = [
        (
            "ext4",
            FilesystemKind::Ext4,
            "extents, journal, delayed allocation",
        ),
        ("xfs", FilesystemKind::Xfs, "XFS as mkfs.xfs makes it"),
    ]
    .into_iter()
    .map(|(name, kind, about)| {
        let variant = FilesystemVariant {
            kind,
            mkfs: Vec::new(),
            mount: Vec::new(),
            about: about.into(),
        };
        (name.to_owned(), variant)
    })
    .collect();
    let mut cells = Vec::new();
    for filesystem in FILESYSTEMS {
        for workload in WORKLOADS {
            cells.push(cell(
                cells.len() as u32,
                filesystem,
                workload,
                &filesystems[filesystem],
            ));
        }
    }
    Plan {
        study: "journal".into(),
        title: "What does a journal cost?".into(),
        question: "How fast are ext4 and XFS for large files and for kernel trees?".into(),
        repeats: Some("wohlgemuth2009".into()),
        profile: "quick".into(),
        seed: 2009,
        order: Order::Blocked,
        blocks: BLOCKS,
        band: 0.02,
        filesystems,
        factors: vec![
            ("filesystem".into(), FILESYSTEMS.map(String::from).into()),
            ("workload".into(), WORKLOADS.map(String::from).into()),
        ],
        cells,
        slots: slots(),
        tables: tables(),
    }
}

fn cell(id: u32, filesystem: &str, workload: &str, variant: &FilesystemVariant) -> Cell {
    let spec = if workload == "iozone" {
        WorkloadSpec::Throughput(ThroughputSpec {
            size: Bytes(256 * Bytes::MIB),
            direct: true,
            ..ThroughputSpec::default()
        })
    } else {
        WorkloadSpec::Tree(TreeSpec {
            initial: 2,
            runs: 10,
            scale: 0.1,
            ..TreeSpec::default()
        })
    };
    Cell {
        id,
        levels: [("filesystem", filesystem), ("workload", workload)]
            .into_iter()
            .map(|(factor, level)| (factor.to_owned(), level.to_owned()))
            .collect(),
        filesystem: variant.clone(),
        device: DeviceSpec::default(),
        workload_name: workload.into(),
        workload: spec,
    }
}

fn slots() -> Vec<Slot> {
    let order = ORDER
        .iter()
        .zip(0_u32..)
        .flat_map(|(cells, block)| cells.map(|cell| (block, cell)));
    order
        .zip(0_u32..)
        .map(|((block, cell), trial)| Slot {
            trial,
            block,
            cell,
            seed: mix(u64::from(trial)),
        })
        .collect()
}

fn tables() -> Vec<TableSpec> {
    let table = |title: &str, subtitle: &str, workload: &str, rows: Vec<RowSpec>| TableSpec {
        title: title.into(),
        subtitle: subtitle.into(),
        filter: [("workload".to_owned(), workload.to_owned())].into(),
        columns: "filesystem".into(),
        rows,
        published_columns: [("ext4".to_owned(), "ext4-stock".to_owned())].into(),
        published_table: Some(if workload == "iozone" {
            "Iozone {column} : 1 thread".into()
        } else {
            "Compilebench {column}".into()
        }),
    };
    let row = |phase: &str, label: &str, metric: &str, unit: &str| RowSpec {
        phase: phase.into(),
        metric: metric.into(),
        clock: Clock::Original,
        label: label.into(),
        unit: unit.into(),
        published: Some(match label {
            "initl_writers" => "initial_writers".into(),
            _ if metric == "children" => label.into(),
            _ => phase.into(),
        }),
    };
    let iozone = THROUGHPUT
        .iter()
        .map(|(phase, label, ..)| row(phase, label, "children", "MB/s"));
    let tree = TREE.iter().map(|(phase, label, metric, ..)| {
        row(
            phase,
            label,
            metric,
            if *metric == "seconds" { "secs" } else { "MB_s" },
        )
    });
    vec![
        table(
            "Iozone, 1 Thread",
            "Average throughput",
            "iozone",
            iozone.collect(),
        ),
        table(
            "Compilebench",
            "Average values",
            "compilebench",
            tree.collect(),
        ),
    ]
}

/// The log being written: it keeps the time and the numbers of the lines.
#[derive(Default)]
struct Script {
    entries: Vec<Entry>,
    nanoseconds: i64,
}

impl Script {
    fn push(&mut self, after_seconds: f64, event: Event) {
        self.nanoseconds += (after_seconds * 1e9) as i64;
        let begin = Timestamp::constant(1_767_323_045, 0);
        let at = begin + SignedDuration::from_nanos(self.nanoseconds);
        self.entries.push(Entry {
            seq: self.entries.len() as u64,
            at,
            event,
        });
    }

    fn seconds(&self) -> f64 {
        self.nanoseconds as f64 / 1e9
    }
}

fn trial(log: &mut Script, plan: &Plan, slot: Slot) {
    let cell = &plan.cells[slot.cell as usize];
    let filesystem = &cell.levels["filesystem"];
    let telemetry = Some(format!("telemetry/{:04}.tele", slot.trial));
    log.push(0.05, Event::TrialStarted { slot, telemetry });
    log.push(
        0.3,
        Event::FilesystemReady {
            trial: slot.trial,
            mounted: mounted(filesystem),
        },
    );
    let begin = log.seconds();
    let mut samples = Vec::new();
    for (phase, seconds, of_phase) in phases(cell, slot) {
        if slot.trial == FAILED_TRIAL && phase == "random_write" {
            return fail(log, slot.trial, begin);
        }
        let begin_ns = 5_000_000_000_000 + log.nanoseconds as u64;
        let end_ns = begin_ns + (seconds * 1e9) as u64;
        let detail = json!({ "name": phase, "seconds": seconds, "operations": 1024 });
        let event = Event::PhaseFinished {
            trial: slot.trial,
            phase: phase.into(),
            begin_ns,
            end_ns,
            detail,
        };
        log.push(seconds, event);
        samples.extend(of_phase);
    }
    let workload = log.seconds() - begin;
    let warnings = if cell.workload_name == "compilebench" {
        vec!["scale 0.1: trees are a tenth of the original's".to_owned()]
    } else {
        Vec::new()
    };
    let event = Event::TrialFinished {
        trial: slot.trial,
        samples,
        evidence: evidence(slot.trial, cell),
        warnings,
        ledger: ledger(workload),
    };
    log.push(0.1, event);
}

fn fail(log: &mut Script, trial: u32, begin: f64) {
    let message = "random_write: /mnt/7/iozone.DUMMY.0: no space left on device after 201m of \
                   256m; give the image more with --set device.size=1g"
        .into();
    let ledger = ledger(log.seconds() - begin);
    log.push(
        0.1,
        Event::TrialFailed {
            trial,
            kind: FailureKind::Trial,
            message,
            ledger,
        },
    );
}

/// Name, seconds and samples of each phase of a cell.
fn phases(cell: &Cell, slot: Slot) -> Vec<(&'static str, f64, Vec<Sample>)> {
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

fn evidence(trial: u32, cell: &Cell) -> Vec<Evidence> {
    let item = |phase: Option<&str>, name: &str, holds: Option<bool>, detail: &str| Evidence {
        phase: phase.map(str::to_owned),
        name: name.into(),
        holds,
        detail: detail.into(),
    };
    let lazy = match cell.filesystem.kind {
        FilesystemKind::Xfs => item(None, "lazy_init_finished", None, "XFS has no lazy init"),
        _ => item(
            None,
            "lazy_init_finished",
            Some(true),
            "ext4lazyinit ended after 0.2 s",
        ),
    };
    if cell.workload_name == "iozone" {
        let asked = "device wrote 268713984 bytes for 268435456 asked (ratio 1.001)";
        let cached = "512 of 65536 pages of iozone.DUMMY.0 still in cache after the drop";
        let cold = if trial == FAILED_EVIDENCE {
            item(Some("read"), "cold_cache", Some(false), cached)
        } else {
            item(
                Some("read"),
                "cold_cache",
                Some(true),
                "0 of 65536 pages in cache after the drop",
            )
        };
        vec![
            lazy,
            item(
                Some("initial_write"),
                "direct_io_honoured",
                Some(true),
                "0 pages in cache",
            ),
            item(Some("initial_write"), "bytes_on_device", Some(true), asked),
            cold,
        ]
    } else {
        let cold = "0 of 812 pages of 40 files in cache after the drop";
        vec![
            lazy,
            item(Some("read_tree"), "cold_cache", Some(true), cold),
        ]
    }
}

fn mounted(filesystem: &str) -> Mounted {
    let (options, facts): (&[&str], &[(&str, &str)]) = if filesystem == "xfs" {
        (
            &["rw", "relatime", "attr2", "inode64"],
            &[("block_size", "4096"), ("agcount", "4")],
        )
    } else {
        let features = "has_journal ext_attr resize_inode dir_index filetype extent 64bit";
        (
            &["rw", "relatime"],
            &[
                ("block_size", "4096"),
                ("inode_size", "256"),
                ("features", features),
            ],
        )
    };
    Mounted {
        device: "/dev/loop0".into(),
        mount_point: "mnt".into(),
        mkfs: vec![
            format!("mkfs.{filesystem}"),
            "-q".into(),
            "/dev/loop0".into(),
        ],
        mkfs_version: if filesystem == "xfs" {
            "mkfs.xfs version 6.13.0"
        } else {
            "mke2fs 1.47.2"
        }
        .into(),
        asked_type: filesystem.into(),
        mounted_type: filesystem.into(),
        driver: filesystem.into(),
        options: options.iter().map(|&o| o.to_owned()).collect(),
        superblock: facts
            .iter()
            .map(|&(k, v)| (k.to_owned(), v.to_owned()))
            .collect(),
    }
}

fn ledger(workload: f64) -> Ledger {
    let (device, mkfs, mount, wait, umount, own) = (0.02, 0.11, 0.04, 0.21, 0.06, 0.03);
    Ledger {
        device,
        mkfs,
        mount,
        wait,
        workload,
        umount,
        total: device + mkfs + mount + wait + workload + umount + own,
    }
}

fn context(kernel: &str, free_mib: u64) -> serde_json::Value {
    json!({
        "kernel_release": { "value": kernel, "source": "uname(2)" },
        "cpu_model": { "value": "Example CPU at 2.4 GHz", "source": "/proc/cpuinfo" },
        "memory_free": { "value": free_mib << 20, "source": "/proc/meminfo" },
        "microcode": { "value": null, "source": "/proc/cpuinfo", "reason": "not in this guest" },
    })
}

/// splitmix64: a fixed number from a number.
fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Status;

    #[test]
    fn the_example_is_a_whole_run_with_one_failure() {
        let run = run();
        assert_eq!(run.trials.len(), 12);
        let finished = run
            .trials
            .iter()
            .filter(|t| t.status == Status::Finished)
            .count();
        assert_eq!(finished, 11);
        assert!(matches!(
            run.trials[FAILED_TRIAL as usize].status,
            Status::Failed(FailureKind::Trial, _)
        ));
        assert_eq!(run.closing.map(|c| (c.finished, c.failed)), Some((11, 1)));
        assert!(run.remaining().is_empty());
        let doubts = |t: &crate::TrialRecord| t.evidence.iter().any(|e| e.holds == Some(false));
        let doubtful: Vec<usize> = (0..12).filter(|&n| doubts(&run.trials[n])).collect();
        assert_eq!(doubtful, [FAILED_EVIDENCE as usize]);
    }

    #[test]
    fn every_row_of_every_table_finds_its_values() {
        let run = run();
        for table in &run.plan.tables {
            for row in &table.rows {
                for cell in &run.plan.cells {
                    if cell.levels["workload"] != table.filter["workload"] {
                        continue;
                    }
                    let n = run.values(cell, &row.phase, &row.metric, row.clock).len();
                    let failed = run.plan.slots[FAILED_TRIAL as usize].cell == cell.id;
                    assert_eq!(
                        n,
                        if failed { 2 } else { 3 },
                        "{} {}",
                        cell.label(),
                        row.phase
                    );
                }
            }
        }
    }

    #[test]
    fn an_iozone_trial_is_the_one_that_fails() {
        let plan = plan();
        let slot = plan.slots[FAILED_TRIAL as usize];
        assert_eq!(plan.cells[slot.cell as usize].workload_name, "iozone");
    }
}
