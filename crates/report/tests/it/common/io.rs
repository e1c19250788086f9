//! A run like Piszcz's of 2010: dd on XFS and ext4, with layouts, and with each cell traced and not.
//! Made up, but fixed.

use std::collections::BTreeMap;

use record::{FileLayout, Layout, Run, Sample, Status, Trace, Usage};
use serde_json::json;
use study::{Bytes, Cell, Clock, StreamSpec, WorkloadSpec};

use super::{empty, grids, noise};

const GIB: u64 = 1 << 30;
const SIZE: u64 = 10 * GIB;

/// Filesystem, mount options, seconds, system seconds, gaps by cause.
type Setup = (
    &'static str,
    &'static str,
    f64,
    f64,
    &'static [(&'static str, u64)],
);

const EXT4_GAPS: &[(&str, u64)] = &[
    ("backup superblock", 6),
    ("flex_bg metadata", 5),
    ("free space", 1),
];

const EXT4_METADATA: &[(&str, u64)] = &[("backup superblock", 6), ("flex_bg metadata", 5)];

const SETUPS: [Setup; 4] = [
    ("xfs", "", 17.9816, 16.10, &[]),
    ("ext4", "", 35.2676, 19.40, EXT4_GAPS),
    (
        "ext4",
        "data=writeback,nobarrier",
        34.755,
        19.38,
        EXT4_METADATA,
    ),
    (
        "ext4",
        "data=writeback,nobarrier,nodelalloc",
        29.5299,
        28.95,
        EXT4_GAPS,
    ),
];

fn dd(id: u32, setup: &Setup, traced: bool) -> Cell {
    let levels = [
        ("filesystem", setup.0),
        ("mount", setup.1),
        ("trace", if traced { "true" } else { "false" }),
        ("workload", "dd"),
    ];
    let workload = WorkloadSpec::Stream(StreamSpec {
        block: Bytes(1 << 20),
        count: 10_240,
        ..StreamSpec::default()
    });
    let mut cell = grids::cell(id, &levels, workload);
    "dd".clone_into(&mut cell.workload_name);
    let words = setup.1.split(',').filter(|word| !word.is_empty());
    cell.filesystem.mount = words.map(str::to_owned).collect();
    cell
}

/// The run, in this many blocks. The trace of the last cell lost events in block 2.
pub(crate) fn allocation(blocks: u32) -> Run {
    let setups = SETUPS
        .iter()
        .flat_map(|setup| [(setup, false), (setup, true)]);
    let cells: Vec<Cell> = setups
        .zip(0..)
        .map(|((s, traced), id)| dd(id, s, traced))
        .collect();
    let title = "Why does ext4 write slower than XFS here?";
    let mut plan = grids::plan("allocation", title, "piszcz2010", cells, blocks);
    let column = |label: &str, clock| study::GridColumn {
        label: label.to_owned(),
        phase: "write".to_owned(),
        metric: "throughput".to_owned(),
        clock,
        unit: "MB/s".to_owned(),
        filter: [("trace".to_owned(), "false".to_owned())].into(),
        published: None,
    };
    let label = |factor: &str, label: &str| study::GridLabel {
        factor: factor.to_owned(),
        label: label.to_owned(),
    };
    plan.grids = vec![study::GridSpec {
        title: "dd, one file".to_owned(),
        filter: BTreeMap::new(),
        heading: None,
        rows: vec![label("filesystem", "Filesystem"), label("mount", "Options")],
        columns: vec![
            column("dd", Clock::Original),
            column("dd, synced", Clock::Syncfs),
        ],
        published: None,
        footnotes: false,
    }];
    let mut run = empty(plan, "allocation-20260102-030405");
    for index in 0..run.plan.slots.len() {
        trial(&mut run, index);
    }
    run
}

fn trial(run: &mut Run, index: usize) {
    let slot = run.plan.slots[index];
    let cell = &run.plan.cells[slot.cell as usize];
    let setup = &SETUPS[slot.cell as usize / 2];
    let traced = cell.levels["trace"] == "true";
    let slower = if traced { 1.021 } else { 1.0 };
    let seconds = setup.2 * slower * (1.0 + 0.004 * (noise(slot.seed) - 0.5));
    let flushed = seconds + 4.2;
    let sample = |metric: &str, clock, value, unit: &str| Sample {
        phase: "write".to_owned(),
        metric: metric.to_owned(),
        clock,
        value,
        unit: unit.to_owned(),
    };
    let trial = &mut run.trials[index];
    trial.status = Status::Finished;
    trial.started_at = Some(run.started_at);
    let mut mounted = grids::mounted(setup.0);
    mounted.options.extend(
        cell.filesystem
            .mount
            .iter()
            .filter(|o| *o != "delalloc")
            .cloned(),
    );
    trial.mounted = Some(mounted);
    trial.samples = vec![
        sample(
            "throughput",
            Clock::Original,
            SIZE as f64 / seconds,
            "bytes_per_s",
        ),
        sample(
            "throughput",
            Clock::Syncfs,
            SIZE as f64 / flushed,
            "bytes_per_s",
        ),
        sample("seconds", Clock::Original, seconds, "s"),
        sample("seconds", Clock::Syncfs, flushed, "s"),
    ];
    trial.phases = vec![record::Phase {
        name: "write".to_owned(),
        begin_ns: 0,
        end_ns: (flushed * 1e9) as u64,
        detail: json!({"bytes": SIZE, "operations": 10_240, "seconds": seconds}),
        usage: Some(Usage {
            of: "fslab".to_owned(),
            elapsed: flushed,
            user: 0.02,
            system: setup.3,
            max_rss: 7312,
            major_faults: 3,
            minor_faults: 493,
            ..Usage::default()
        }),
        memory: None,
        middle: None,
    }];
    trial.layouts = vec![layout(setup.4, slot.trial)];
    if traced {
        trial.traces = vec![trace(setup, slot.trial, slot.cell == 7 && slot.block == 1)];
    }
}

fn layout(causes: &[(&str, u64)], trial: u32) -> Layout {
    let gaps: u64 = causes.iter().map(|(_, times)| times).sum();
    let avoidable = causes.iter().filter(|(cause, _)| *cause == "free space");
    let avoidable: u64 = avoidable.map(|(_, times)| times).sum();
    let rows = if gaps == 0 { 1 } else { 69 + gaps };
    let file = FileLayout {
        path: "bigfile".to_owned(),
        size: SIZE,
        rows,
        extents: gaps + 1,
        runs: gaps + 1,
        discontiguities: gaps,
        causes: causes.iter().map(|(c, n)| ((*c).to_owned(), *n)).collect(),
        mapped: SIZE,
        extent: Some([142_606_336, 142_606_336 + SIZE]),
        ..FileLayout::default()
    };
    let figures = [
        ("layout_rows", rows as f64),
        ("layout_extents", (gaps + 1) as f64),
        ("layout_discontiguities", gaps as f64),
        ("layout_avoidable", avoidable as f64),
        (
            "layout_weighted_run",
            SIZE as f64 / (gaps as f64 * 0.8 + 1.0),
        ),
        (
            "layout_delalloc",
            if gaps == 11 { 268_435_456.0 } else { 0.0 },
        ),
    ];
    let folder = format!("layouts/trial-{:04}", trial + 1);
    Layout {
        phase: "write".to_owned(),
        files: vec![file],
        files_total: 1,
        figures: named(&figures),
        listings: [(
            "filefrag -v bigfile".to_owned(),
            format!("{folder}/write.filefrag.txt"),
        )]
        .into(),
        notes: Vec::new(),
    }
}

fn trace(setup: &Setup, trial: u32, lossy: bool) -> Trace {
    let ext4 = setup.0 == "ext4";
    let bios = if ext4 { 163_840.0 } else { 20_480.0 };
    let requests = if ext4 { 81_920.0 } else { 20_480.0 };
    let wiggle = 1.0 + 0.01 * noise(u64::from(trial));
    let figures = named(&[
        ("trace_events", 2_557_902.0 * wiggle),
        ("trace_lost", if lossy { 31_200.0 } else { 0.0 }),
        ("trace_bios", bios),
        ("trace_bio_mean", SIZE as f64 / bios),
        ("trace_requests", requests),
        ("trace_request_mean", SIZE as f64 / requests),
        ("trace_merges", bios - requests),
        ("trace_merge_ratio", bios / requests),
        ("trace_seek_mean", if ext4 { 2.1e6 } else { 4096.0 }),
        ("trace_sequential", if ext4 { 0.941 } else { 0.998 }),
        ("trace_q2c_mean", 0.0312 * wiggle),
        ("trace_q2c_p99", 0.214 * wiggle),
        ("trace_d2c_mean", 0.0021 * wiggle),
        ("trace_d2c_p99", 0.0133 * wiggle),
        ("trace_depth", 7.31 * wiggle),
        ("trace_busy", 0.993),
        ("trace_data_bytes", SIZE as f64),
        ("trace_metadata_bytes", 3_145_728.0),
        (
            "trace_journal_bytes",
            if ext4 { 8_388_608.0 } else { 131_072.0 },
        ),
        (
            "trace_journal_share",
            if ext4 { 0.00078 } else { 0.000_012 },
        ),
        ("trace_metadata_share", 0.00029),
        ("trace_flushes", 0.0),
        ("trace_kind_switches", if ext4 { 412.0 } else { 12.0 }),
    ]);
    Trace {
        base: format!("traces/trial-{:04}/loop0", trial + 1),
        device: format!("loop{} (the filesystem's device)", trial % 3),
        events: 2_557_902,
        lost: if lossy { 31_200 } else { 0 },
        bytes: 122_779_648,
        figures: [("write".to_owned(), figures)].into(),
        notes: Vec::new(),
    }
}

fn named(figures: &[(&str, f64)]) -> BTreeMap<String, f64> {
    figures
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect()
}
