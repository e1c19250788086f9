//! A small, made-up, realistic run for the tests of everything that reads runs.
//!
//! It has the shape of the built-in `journal` study: two filesystems (`ext4`, `xfs`) times two
//! workloads (`iozone`: the six throughput phases; `compilebench`: ten tree phases) in three
//! blocks, twelve trials. Trial 7 fails (the disk fills up), so its cell has two values. Numbers
//! are invented but fixed: a level for each filesystem and phase, and a spread of about 1 % from a
//! hash of the trial. Nothing here is a measurement, and nothing outside tests may call it.

mod numbers;
mod plan;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use study::{Cell, FilesystemKind, Plan, Slot};

use crate::event::{Entry, Event, Evidence, FORMAT, FailureKind, Ledger, Mounted};
use crate::run::Run;

pub use plan::plan;

/// The trial that fails.
pub const FAILED_TRIAL: u32 = 7;
/// The trial, of the cell `ext4` with `iozone`, whose read phase was not cold.
pub const FAILED_EVIDENCE: u32 = 6;

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
    for (phase, seconds, of_phase) in numbers::phases(cell, slot) {
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
            usage: None,
            memory: None,
            middle: None,
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
        device_facts: std::collections::BTreeMap::from([("direct_io".into(), "on".into())]),
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
