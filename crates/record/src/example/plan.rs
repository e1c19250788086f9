//! The example's plan.

use std::collections::BTreeMap;

use study::{
    Bytes, Cell, Clock, DeviceSpec, FilesystemKind, FilesystemVariant, Order, Plan, RowSpec, Slot,
    TableSpec, ThroughputSpec, TreeSpec, WorkloadSpec,
};

use super::numbers::{THROUGHPUT, TREE, mix};

const FILESYSTEMS: [&str; 2] = ["ext4", "xfs"];
const WORKLOADS: [&str; 2] = ["iozone", "compilebench"];
const BLOCKS: u32 = 3;
/// The cells of each block in running order: a fixed shuffle.
const ORDER: [[u32; 4]; 3] = [[2, 0, 3, 1], [1, 3, 0, 2], [3, 2, 1, 0]];

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
        grids: Vec::new(),
        growth: Vec::new(),
        needs: study::NeedsSpec::default(),
        reference_seconds: 0.0,
        notes: Vec::new(),
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
        memory: None,
        check: None,
        layout: None,
        crash: None,
        trace: false,
        kernel: None,
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
