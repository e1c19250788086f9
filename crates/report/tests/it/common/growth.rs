//! A run of checks of growing filesystems, with and without a memory limit. Made up, but fixed.

use std::collections::BTreeMap;

use record::{Ledger, MemoryPressure, Mounted, Phase, Run, Sample, Status};
use serde_json::json;
use study::{
    AgeSpec, Bytes, Cell, CheckSpec, Clock, DeviceSpec, FilesystemKind, FilesystemVariant,
    FillSpec, GrowthSpec, Order, Overrides, Plan, Slot, WorkloadSpec,
};

use super::{MIB, empty, journal, noise};

/// Files asked for.
const FILES: [u32; 5] = [3000, 12_000, 48_000, 96_000, 192_000];
/// The limit of the cells that have one.
const LIMIT: u64 = 96 << 20;

/// ext4: a constant and a slope. xfs: a power law. xfs aged: a proportion, which is both. btrfs: three
/// sizes, from which there is no law. ext4 is slower under the limit where its inodes do not fit.
pub(crate) fn run(blocks: u32) -> Run {
    let mut run = empty(plan(blocks), "fsck-scale-20260102-030405");
    for index in 0..run.plan.slots.len() {
        trial(&mut run, index);
    }
    run.contexts
        .insert("start".to_owned(), json!({"format": 1, "items": {}}));
    run
}

fn plan(blocks: u32) -> Plan {
    let mut cells = Vec::new();
    for (filesystem, workload) in [
        ("ext4", "fill"),
        ("xfs", "fill"),
        ("xfs", "age"),
        ("btrfs", "fill"),
    ] {
        for files in FILES {
            if filesystem == "btrfs" && files > 48_000 {
                continue;
            }
            for memory in ["none", "96m"] {
                if workload == "fill" || memory == "none" {
                    cells.push(cell(
                        cells.len() as u32,
                        filesystem,
                        workload,
                        files,
                        memory,
                    ));
                }
            }
        }
    }
    let mut plan = journal(&Overrides::default());
    "fsck-scale".clone_into(&mut plan.study);
    "How the time of a check grows".clone_into(&mut plan.title);
    "How long would a check of a hundred million files take?".clone_into(&mut plan.question);
    plan.repeats = Some("layton2012".to_owned());
    plan.order = Order::Blocked;
    plan.blocks = blocks;
    plan.tables.clear();
    plan.filesystems = cells
        .iter()
        .map(|c| (c.levels["filesystem"].clone(), c.filesystem.clone()))
        .collect();
    let levels = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    plan.factors = vec![
        ("filesystem".to_owned(), levels(&["ext4", "xfs", "btrfs"])),
        ("workload".to_owned(), levels(&["fill", "age"])),
        ("files".to_owned(), FILES.map(|f| f.to_string()).into()),
        ("memory".to_owned(), levels(&["none", "96m"])),
    ];
    plan.slots = (0..blocks * cells.len() as u32)
        .map(|trial| Slot {
            trial,
            block: trial / cells.len() as u32,
            cell: trial % cells.len() as u32,
            seed: u64::from(trial) * 77,
        })
        .collect();
    plan.cells = cells;
    plan.growth = vec![GrowthSpec {
        title: "Time of a check and number of files".to_owned(),
        x: "count".to_owned(),
        x_unit: "files".to_owned(),
        phase: "check".to_owned(),
        metric: "seconds".to_owned(),
        clock: Clock::Original,
        by: levels(&["filesystem", "workload"]),
        filter: [("memory".to_owned(), "none".to_owned())].into(),
        projections: vec![10.2e6, 51e6, 105e6, 415e6],
    }];
    plan
}

fn cell(id: u32, filesystem: &str, workload: &str, files: u32, memory: &str) -> Cell {
    let levels = [
        ("filesystem", filesystem),
        ("workload", workload),
        ("files", &files.to_string()),
        ("memory", memory),
    ];
    Cell {
        id,
        levels: levels.map(|(f, l)| (f.to_owned(), l.to_owned())).into(),
        filesystem: FilesystemVariant {
            kind: match filesystem {
                "xfs" => FilesystemKind::Xfs,
                "btrfs" => FilesystemKind::Btrfs,
                _ => FilesystemKind::Ext4,
            },
            mkfs: Vec::new(),
            mount: Vec::new(),
            about: String::new(),
        },
        device: DeviceSpec::default(),
        workload_name: workload.to_owned(),
        workload: if workload == "age" {
            WorkloadSpec::Age(AgeSpec::default())
        } else {
            WorkloadSpec::Fill(FillSpec::default())
        },
        memory: (memory != "none").then_some(Bytes(LIMIT)),
        check: Some(CheckSpec::default()),
        layout: None,
        crash: None,
        estimate: None,
        trace: false,
        kernel: None,
        volume: study::Volume::Filled,
    }
}

fn trial(run: &mut Run, index: usize) {
    let slot = run.plan.slots[index];
    let cell = run.plan.cells[slot.cell as usize].clone();
    let files: f64 = cell.levels["files"].parse().expect("a number");
    let aged = cell.workload_name == "age";
    // Ageing leaves a few files more or less than were asked for.
    let count = if aged {
        (files * (1.0 + 0.01 * (noise(slot.seed + 5) - 0.5))).round()
    } else {
        files
    };
    let vary = (0.04 * (noise(slot.seed + 1) + noise(slot.seed + 2) - 1.0)).exp();
    let short = cell.memory.is_some() && cell.levels["filesystem"] == "ext4" && files > 1e5;
    let seconds = match (cell.levels["filesystem"].as_str(), aged) {
        ("ext4", _) => 0.15 + 8e-6 * count,
        ("xfs", false) => 6e-6 * count.powf(1.08),
        ("xfs", true) => 7e-6 * count,
        _ => 2e-5 * count,
    };
    let seconds = seconds * vary * if short { 1.4 } else { 1.0 };
    let read = (4.0 * MIB + 300.0 * count) * if short { 1.8 } else { 1.0 };
    let met = if short { 300 + slot.seed % 40 } else { 0 };
    let filling = if aged { "age_add" } else { "fill" };
    let sample = |phase: &str, metric: &str, value: f64, unit: &str| Sample {
        phase: phase.to_owned(),
        metric: metric.to_owned(),
        clock: Clock::Original,
        value,
        unit: unit.to_owned(),
    };
    let record = &mut run.trials[index];
    record.samples = vec![
        sample(filling, "count", count, "count"),
        sample("check", "seconds", seconds, "s"),
        sample("check", "device_read", read, "bytes"),
    ];
    if aged {
        // What is there between the rounds is not what is checked.
        record
            .samples
            .insert(0, sample("age_fill", "count", 2.0 * count, "count"));
    }
    let begin = 1_000_000_000 * (u64::from(slot.trial) + 1);
    let phase = |name: &str, met: u64| Phase {
        name: name.to_owned(),
        begin_ns: begin,
        end_ns: begin + 400_000_000,
        detail: json!({}),
        usage: None,
        memory: Some(MemoryPressure {
            memory_total: 8_123_456 << 10,
            limit: cell.memory.map(Bytes::get),
            peak: cell
                .memory
                .map(|limit| if short { limit.get() } else { 20 << 20 }),
            limit_met: cell.memory.map(|_| met),
            ..MemoryPressure::default()
        }),
        middle: None,
    };
    record.phases = vec![
        phase(filling, 0),
        phase("check", met),
        phase("check_pass_1", met),
    ];
    if aged {
        record.phases.insert(0, phase("age_fill", 0));
    }
    record.mounted = Some(Mounted {
        driver: cell.levels["filesystem"].clone(),
        superblock: superblock(&cell),
        ..Mounted::default()
    });
    record.ledger = Ledger {
        workload: 3.0,
        total: 3.6,
        ..Ledger::default()
    };
    record.started_at = Some(run.started_at);
    record.status = Status::Finished;
}

fn superblock(cell: &Cell) -> BTreeMap<String, String> {
    match cell.levels["filesystem"].as_str() {
        "ext4" => [("inode_size".to_owned(), "256".to_owned())].into(),
        "xfs" => [("inode_size".to_owned(), "512".to_owned())].into(),
        _ => BTreeMap::new(),
    }
}
