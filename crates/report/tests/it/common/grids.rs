//! Runs with grids: one like Dokos's streams, one like the matrix of 2012. Made up, but fixed.

use record::{Evidence, Ledger, Middle, Mounted, Phase, Reference, Run, Sample, Status, Usage};
use serde_json::json;
use study::{
    Bytes, Cell, Clock, DeviceSpec, FilesystemKind, FilesystemVariant, FillSpec, GridColumn,
    GridLabel, GridSpec, Order, Overrides, Plan, Slot, StreamSpec, WorkloadSpec,
};

use super::{MIB, empty, journal, noise};

/// A cell as the test wants it: its levels, and the rest from them.
pub(crate) fn cell(id: u32, levels: &[(&str, &str)], workload: WorkloadSpec) -> Cell {
    let levels = levels
        .iter()
        .map(|(f, l)| ((*f).to_owned(), (*l).to_owned()));
    let levels: std::collections::BTreeMap<String, String> = levels.collect();
    let name = levels["filesystem"].clone();
    let device = DeviceSpec {
        size: levels
            .get("device_size")
            .map_or(Bytes(Bytes::GIB), |s| s.parse().expect("a good level")),
        limit: levels
            .get("limit")
            .map(|l| l.parse().expect("a good level")),
        ..DeviceSpec::default()
    };
    Cell {
        id,
        filesystem: variant(&name),
        device,
        workload_name: workload.kind().to_owned(),
        memory: levels.get("memory").and_then(|m| m.parse().ok()),
        check: None,
        levels,
        workload,
        layout: None,
        crash: None,
        estimate: None,
        trace: false,
        kernel: None,
        volume: study::Volume::Filled,
    }
}

fn variant(name: &str) -> FilesystemVariant {
    FilesystemVariant {
        kind: match name {
            "xfs" => FilesystemKind::Xfs,
            "ext3" => FilesystemKind::Ext3,
            _ => FilesystemKind::Ext4,
        },
        mkfs: Vec::new(),
        mount: Vec::new(),
        about: String::new(),
    }
}

/// A plan of these cells in blocks, without tables.
pub(crate) fn plan(study: &str, title: &str, doc: &str, cells: Vec<Cell>, blocks: u32) -> Plan {
    let mut plan = journal(&Overrides::default());
    study.clone_into(&mut plan.study);
    title.clone_into(&mut plan.title);
    "What do the readers of that mail ask?".clone_into(&mut plan.question);
    plan.repeats = Some(doc.to_owned());
    "quick".clone_into(&mut plan.profile);
    plan.order = Order::Blocked;
    plan.blocks = blocks;
    plan.tables.clear();
    let names: std::collections::BTreeSet<&String> =
        cells.iter().map(|c| &c.levels["filesystem"]).collect();
    plan.filesystems = names.into_iter().map(|n| (n.clone(), variant(n))).collect();
    plan.factors.clear();
    for cell in &cells {
        for (factor, level) in &cell.levels {
            match plan.factors.iter_mut().find(|(name, _)| name == factor) {
                Some((_, levels)) if levels.contains(level) => {}
                Some((_, levels)) => levels.push(level.clone()),
                None => plan.factors.push((factor.clone(), vec![level.clone()])),
            }
        }
    }
    let slot = |trial: u32| Slot {
        trial,
        block: trial / cells.len() as u32,
        cell: trial % cells.len() as u32,
        seed: u64::from(trial) * 77,
    };
    plan.slots = (0..blocks * cells.len() as u32).map(slot).collect();
    plan.cells = cells;
    plan
}

pub(crate) fn column(
    label: &str,
    phase: &str,
    metric: &str,
    unit: &str,
    filter: &[(&str, &str)],
) -> GridColumn {
    GridColumn {
        label: label.to_owned(),
        phase: phase.to_owned(),
        metric: metric.to_owned(),
        clock: Clock::Original,
        unit: unit.to_owned(),
        filter: filter
            .iter()
            .map(|(f, l)| ((*f).to_owned(), (*l).to_owned()))
            .collect(),
        published: None,
    }
}

pub(crate) fn label(factor: &str, label: &str) -> GridLabel {
    GridLabel {
        factor: factor.to_owned(),
        label: label.to_owned(),
    }
}

fn sample(phase: &str, metric: &str, value: f64, unit: &str) -> Sample {
    Sample {
        phase: phase.to_owned(),
        metric: metric.to_owned(),
        clock: Clock::Original,
        value,
        unit: unit.to_owned(),
    }
}

fn phase(name: &str, begin: u64, seconds: f64, usage: Option<Usage>) -> Phase {
    Phase {
        name: name.to_owned(),
        begin_ns: begin,
        end_ns: begin + (seconds * 1e9) as u64,
        detail: json!({}),
        usage,
        memory: None,
        middle: None,
    }
}

fn usage(of: &str, elapsed: f64, busy: f64) -> Usage {
    Usage {
        of: of.to_owned(),
        elapsed,
        user: 0.03 * elapsed,
        system: busy * elapsed,
        max_rss: 7312,
        inputs: 2_097_152,
        outputs: 16,
        major_faults: 1,
        minor_faults: 495,
        voluntary_switches: 812,
        involuntary_switches: 31,
    }
}

/// The last row of `iostat -x` and the summary of top as the programs print them.
fn middle(reading: bool, seconds: f64) -> Middle {
    let lines = |text: &str| text.lines().map(str::to_owned).collect();
    let device = if reading {
        "loop0            56.04     0.00  449.05    0.00 129304.30     0.00   287.95     1.51    3.37   2.00  89.59"
    } else {
        "loop0             0.00   252.15    0.00   95.80     0.00 75623.58   789.36     0.29    3.04   3.01  28.81"
    };
    let below = device.replacen("loop0", "vda  ", 1);
    let classic = format!(
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           0.00    0.00   14.50    0.57    0.00   84.92\n\n\
         Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\n{below}\n{device}"
    );
    let top = "top - 15:07:20 up 2 days, 20:08,  0 users,  load average: 1.12, 1.38, 1.33\n\
        Tasks: 189 total,   1 running, 188 sleeping,   0 stopped,   0 zombie\n\
        Cpu(s):  0.0%us, 13.1%sy,  0.0%ni, 84.8%id,  0.6%wa,  0.2%hi,  1.2%si,  0.0%st\n\
        Mem:   8123456k total,  8005660k used,   109228k free,     4196k buffers\n\
        Swap:        0k total,        0k used,        0k free,  6773724k cached\n\n  \
        PID USER      PR  NI  VIRT  RES  SHR S %CPU %MEM    TIME+  COMMAND\n\
        80046 root      20   0 18808 4796  564 S   86  0.0   0:01.78 fslab";
    let today = "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\n\
        loop0          449.05  64652.15    56.04  11.09    3.37   143.98    0.00      0.00     0.00   0.00    0.00     0.00    0.00      0.00     0.00   0.00    0.00     0.00    0.00    0.00    1.51  89.59";
    Middle {
        seconds,
        iostat_classic: lines(&classic),
        iostat_modern: lines(today),
        top_classic: lines(top),
        top_modern: lines(
            "top - 15:07:20 up 2 days, 20:08,  0 users,  load average: 1.12, 1.38, 1.33\n%Cpu(s):  0.0 us, 13.1 sy",
        ),
    }
}

pub(crate) fn mounted(name: &str) -> Mounted {
    Mounted {
        device: "/dev/loop0".to_owned(),
        asked_type: name.to_owned(),
        mounted_type: name.to_owned(),
        driver: if name == "xfs" { "xfs" } else { "ext4" }.to_owned(),
        options: vec!["rw".to_owned(), "relatime".to_owned()],
        mkfs: vec![
            format!("mkfs.{name}"),
            "-q".to_owned(),
            "/dev/loop0".to_owned(),
        ],
        mkfs_version: "1.47.2".to_owned(),
        ..Mounted::default()
    }
}

/// Kernel, RAM, closing.
fn close(run: &mut Run, failed: u32) {
    let context = json!({"items": {
        "system.kernel.release": {"value": "6.18.5", "source": "/proc/sys/kernel/osrelease"},
        "memory.total_kib": {"value": 8_123_456, "source": "/proc/meminfo"},
    }});
    run.contexts.insert("start".to_owned(), context);
    run.closing = Some(record::Closing {
        at: run.started_at,
        finished: run.plan.slots.len() as u32 - failed,
        failed,
        skipped: 0,
        seconds: 212.4,
        peak_rss: 21_504_000,
    });
}

fn begin(run: &mut Run, trial: u32, name: &str) -> u64 {
    let record = &mut run.trials[trial as usize];
    let offset = jiff::SignedDuration::from_secs(i64::from(trial) * 4);
    record.started_at = Some(run.started_at + offset);
    record.mounted = Some(mounted(name));
    record.status = Status::Finished;
    record.ledger = Ledger {
        workload: 3.0,
        total: 3.6,
        ..Ledger::default()
    };
    record.evidence = vec![Evidence {
        phase: None,
        name: "lazy_init_finished".to_owned(),
        holds: Some(true),
        detail: "no ext4lazyinit thread after 0.0 s".to_owned(),
    }];
    5_000_000_000_000 + u64::from(trial) * 4_000_000_000
}

/// Dokos's table: ext4 with three readaheads and his mount options, ext3 as he ran it, XFS. One read
/// of trial 2 was not cold; trial 5, ext3's first, failed.
pub(crate) fn streaming(blocks: u32) -> Run {
    let stream = || WorkloadSpec::Stream(StreamSpec::default());
    let of = |fs: &'static str, mount: &'static str, readahead: &'static str| {
        [
            ("filesystem", fs),
            ("mount", mount),
            ("readahead", readahead),
        ]
    };
    let mut levels = vec![];
    for fs in ["ext4", "xfs"] {
        for readahead in ["256", "4096", "65536"] {
            levels.push(of(fs, "default", readahead));
        }
    }
    levels.insert(3, of("ext4", "delalloc,journal_async_commit", "256"));
    levels.insert(4, of("ext3", "default", "256"));
    let cells: Vec<Cell> = (0..)
        .zip(&levels)
        .map(|(id, l)| cell(id, l, stream()))
        .collect();
    let mut plan = plan(
        "streaming",
        "Streaming reads and writes of one file",
        "dokos2008",
        cells,
        blocks,
    );
    let at = |readahead: &'static str| [("mount", "default"), ("readahead", readahead)];
    plan.grids = vec![GridSpec {
        title: "Throughput results (in MB/s):".to_owned(),
        filter: [].into(),
        heading: Some("filesystem".to_owned()),
        rows: vec![label("kernel", "")],
        columns: vec![
            column("Read", "read", "throughput", "MB/s", &at("256")),
            column("Read (RA=4K)", "read", "throughput", "MB/s", &at("4096")),
            column("Read (RA=64K)", "read", "throughput", "MB/s", &at("65536")),
            column("Write", "write", "throughput", "MB/s", &at("256")),
            column(
                "Write(+mntopts)",
                "write",
                "throughput",
                "MB/s",
                &[("mount", "delalloc,journal_async_commit")],
            ),
        ],
        footnotes: true,
        published: Some("dokos2008".to_owned()),
    }];
    let mut run = empty(plan, "streaming-20260102-030405");
    for slot in run.plan.slots.clone() {
        stream_trial(&mut run, slot);
    }
    let reference = Reference {
        device: "/dev/vda".to_owned(),
        about: "the disk under the images".to_owned(),
        limit: None,
        sequential: [512.0, 530.0, 498.0, 540.0, 525.0]
            .map(|mb| mb * MIB)
            .into(),
        sequential_direct: [1210.0, 1190.0, 1225.0, 1204.0, 1188.0]
            .map(|mb| mb * MIB)
            .into(),
        pass_seconds: 3.0,
        random_reads_per_s: 8123.4,
        random_read_us: [118.0, 301.5, 4012.0],
        line: " Timing buffered disk reads: 1576 MB in  3.00 seconds = 525.12 MB/sec".to_owned(),
        notes: vec!["BLKFLSBUF was refused by the second partition; it was not read".to_owned()],
        seconds: 33.1,
    };
    run.references = vec![reference];
    close(&mut run, 1);
    run
}

fn stream_trial(run: &mut Run, slot: Slot) {
    let cell = run.plan.cells[slot.cell as usize].clone();
    let (name, readahead) = (&cell.levels["filesystem"], &cell.levels["readahead"]);
    let begin = begin(run, slot.trial, name);
    let record = &mut run.trials[slot.trial as usize];
    let spread = 1.0 + 0.04 * (noise(slot.seed) - 0.5);
    let read = match readahead.as_str() {
        "256" => 430.0,
        "4096" => 980.0,
        _ => 1340.0,
    } * spread;
    let write = if name == "ext3" { 260.0 } else { 410.0 } * spread;
    for (name, rate) in [("write", write), ("read", read)] {
        let seconds = 1024.0 / rate;
        record
            .samples
            .push(sample(name, "throughput", rate * MIB, "bytes_per_s"));
        let mut phase = phase(name, begin, seconds, Some(usage("fslab", seconds, 0.6)));
        phase.middle = Some(middle(name == "read", seconds.min(1.0)));
        record.phases.push(phase);
    }
    let mut check = phase("check", begin, 1.2, Some(usage("e2fsck", 1.2, 0.2)));
    check.middle = None;
    record.phases.push(check);
    record
        .samples
        .push(sample("check", "seconds", 1.2 * spread, "s"));
    if slot.trial == 2 {
        record.evidence.push(Evidence {
            phase: Some("read".to_owned()),
            name: "cold_cache".to_owned(),
            holds: Some(false),
            detail: "512 of 65536 pages of 1 file still in the cache after the remount".to_owned(),
        });
    }
    if slot.trial == 4 {
        record.status = Status::Failed(
            record::FailureKind::Trial,
            "write: no space left on device after 201m; give the image more".to_owned(),
        );
        record.samples.clear();
    }
}

/// The matrix of 2012, scaled down: two sizes, three counts, each under no memory limit and one.
pub(crate) fn fsck_scale(blocks: u32) -> Run {
    let mut cells = Vec::new();
    for size in ["1g", "512m"] {
        for files in ["20000", "5000", "2000"] {
            for fs in ["xfs", "ext4"] {
                let levels = [
                    ("device_size", size),
                    ("filesystem", fs),
                    ("limit", "70m"),
                    ("total_files", files),
                ];
                let fill = WorkloadSpec::Fill(FillSpec::default());
                cells.push(cell(cells.len() as u32, &levels, fill));
            }
        }
    }
    let title = "How does the time of a check grow with the number of files?";
    let mut plan = plan("fsck-scale", title, "layton2012", cells, blocks);
    plan.grids = vec![GridSpec {
        title: "FSCK Results".to_owned(),
        filter: [].into(),
        heading: None,
        rows: vec![
            label("device_size", "File System Size (in TB)"),
            label("total_files", "Number of Files (in Millions)"),
        ],
        columns: vec![
            column(
                "XFS - xfs_repair time (Seconds)",
                "check",
                "seconds",
                "secs",
                &[("filesystem", "xfs")],
            ),
            column(
                "ext4 - fsck time (Seconds)",
                "check",
                "seconds",
                "secs",
                &[("filesystem", "ext4")],
            ),
        ],
        footnotes: false,
        published: Some("layton2012".to_owned()),
    }];
    let mut run = empty(plan, "fsck-scale-20260102-030405");
    for slot in run.plan.slots.clone() {
        let cell = run.plan.cells[slot.cell as usize].clone();
        let name = &cell.levels["filesystem"];
        let files: f64 = cell.levels["total_files"].parse().expect("a good level");
        let begin = begin(&mut run, slot.trial, name);
        let record = &mut run.trials[slot.trial as usize];
        let spread = 1.0 + 0.04 * (noise(slot.seed) - 0.5);
        let rate = if name == "xfs" { 9000.0 } else { 31_000.0 };
        let seconds = (0.05 + files / rate) * spread;
        let rss = 12.0 * MIB + files * 96.0;
        record.samples = vec![
            sample("fill", "files", 41_000.0 * spread, "files_per_s"),
            sample("fill", "count", files, "count"),
            sample("check", "seconds", seconds, "s"),
            sample("check", "user_seconds", seconds * 0.4, "s"),
            sample("check", "system_seconds", seconds * 0.2, "s"),
            sample("check", "peak_rss", rss, "bytes"),
            sample("check", "device_read", files * 512.0 + 4.0 * MIB, "bytes"),
            sample("check", "swap_ins", 0.0, "count"),
        ];
        record.phases = vec![
            phase("fill", begin, 1.0, Some(usage("fslab", 1.0, 0.9))),
            phase("check", begin, seconds, Some(usage("e2fsck", seconds, 0.2))),
        ];
    }
    run.references = vec![Reference {
        device: "/dev/loop7".to_owned(),
        about: "a loop image like the trials'".to_owned(),
        limit: Some("70m".to_owned()),
        sequential: [69.8, 70.1, 70.0].map(|mb| mb * MIB).into(),
        sequential_direct: [69.9].map(|mb| mb * MIB).into(),
        pass_seconds: 3.0,
        random_reads_per_s: 0.0,
        random_read_us: [0.0; 3],
        line: " Timing buffered disk reads: 210 MB in  3.01 seconds =  69.77 MB/sec".to_owned(),
        notes: Vec::new(),
        seconds: 18.4,
    }];
    close(&mut run, 0);
    run
}
