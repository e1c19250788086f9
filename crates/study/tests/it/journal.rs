//! The built-in study against the message that it repeats.

use std::collections::BTreeSet;

use study::estimate::{Rates, estimate};
use study::{Bytes, Order, Overrides, Plan, Study, TreeSpec, WorkloadSpec, plan};

const FILESYSTEMS: [&str; 6] = ["ext2", "ext3", "ext4", "ext4-nojournal", "xfs", "btrfs"];

fn planned(profile: &str, set: &[&str], filter: &[&str]) -> Plan {
    let overrides = Overrides {
        profile: Some(profile.to_owned()),
        set: set.iter().map(|&text| text.to_owned()).collect(),
        filter: filter.iter().map(|&text| text.to_owned()).collect(),
        ..Overrides::default()
    };
    plan(&Study::load("journal").unwrap(), &overrides).unwrap()
}

fn level<'a>(plan: &'a Plan, factor: &str) -> &'a [String] {
    &plan
        .factors
        .iter()
        .find(|(name, _)| name == factor)
        .unwrap()
        .1
}

fn sizes(plan: &Plan) -> BTreeSet<u64> {
    let size = |cell: &study::Cell| match &cell.workload {
        WorkloadSpec::Throughput(spec) => Some(spec.size.get()),
        _ => None,
    };
    plan.cells.iter().filter_map(size).collect()
}

#[test]
fn paper_is_the_original_to_the_letter() {
    let plan = planned("paper", &[], &[]);
    assert_eq!((plan.blocks, plan.order), (2, Order::Sequential));
    assert_eq!(level(&plan, "filesystem"), FILESYSTEMS);
    for cell in &plan.cells {
        let about = cell.label();
        match &cell.workload {
            // iozone -t N -s 2g -r 256k -I -T -i0 -i1 -i2
            WorkloadSpec::Throughput(spec) => {
                assert_eq!(spec.threads.to_string(), cell.levels["threads"], "{about}");
                assert_eq!((spec.size, spec.record), (Bytes(2 << 30), Bytes(256 << 10)));
                assert!(
                    spec.direct && spec.stonewall && !spec.include_fsync && !spec.include_close
                );
                assert_eq!((spec.settle_seconds, spec.cold_reads), (2.0, false));
            }
            // compilebench -i 10 -r 30
            WorkloadSpec::Tree(spec) => {
                let original = TreeSpec {
                    initial: 10,
                    runs: 30,
                    ..TreeSpec::default()
                };
                assert_eq!(*spec, original, "{about}");
            }
            other => panic!("{about}: the journal study has no {}", other.kind()),
        }
        assert!(
            cell.filesystem.mount.is_empty(),
            "{about}: default mount options"
        );
        let nojournal = cell.levels["filesystem"] == "ext4-nojournal";
        assert_eq!(cell.filesystem.mkfs.is_empty(), !nojournal, "{about}");
    }
    assert_eq!(
        plan.filesystems["ext4-nojournal"].mkfs,
        ["-O", "^has_journal"]
    );
}

#[test]
fn quick_is_whole_and_short() {
    let plan = planned("quick", &[], &[]);
    assert_eq!(
        (plan.cells.len(), plan.blocks, plan.slots.len()),
        (18, 5, 90)
    );
    let cost = estimate(&plan, Rates::default());
    assert!(cost.seconds < 240.0, "{cost:?}");
    assert!(
        plan.cells
            .iter()
            .all(|cell| cell.device.size <= Bytes(2 << 30))
    );
    let ext = ["ext2", "ext3", "ext4", "ext4-nojournal"];
    for name in ext {
        let words = plan.filesystems[name].mkfs.join(" ");
        assert!(words.contains("lazy_itable_init=0"), "{name}: {words}");
    }
}

#[test]
fn standard_is_the_usual_profile() {
    let study = Study::load("journal").unwrap();
    let plan = plan(&study, &Overrides::default()).unwrap();
    assert_eq!((plan.profile.as_str(), plan.blocks), ("standard", 5));
    let names: Vec<&str> = study.profiles().collect();
    assert_eq!(names, ["paper", "standard", "quick"]);
}

#[test]
fn the_tables_are_those_of_the_message() {
    let plan = planned("paper", &[], &[]);
    let labels = |title: &str| -> Vec<(String, String, String)> {
        let table = plan
            .tables
            .iter()
            .find(|table| table.title == title)
            .unwrap();
        let row = |row: &study::RowSpec| {
            (
                row.label.clone(),
                row.unit.clone(),
                row.published.clone().unwrap(),
            )
        };
        table.rows.iter().map(row).collect()
    };
    let expect = |title: &str, unit: &str, rows: &[(&str, &str)]| {
        let found = labels(title);
        let units = found.iter().take(rows.len());
        for ((label, shown, published), row) in units.zip(rows) {
            assert_eq!((label.as_str(), published.as_str()), *row, "{title}");
            assert_eq!(shown, unit, "{title} {label}");
        }
        found.len()
    };
    let iozone = [
        ("initl_writers", "initial_writers"),
        ("rewriters", "rewriters"),
        ("readers", "readers"),
        ("re-readers", "re-readers"),
        ("random_readers", "random_readers"),
        ("random_writers", "random_writers"),
    ];
    assert_eq!(expect("Iozone, 1 Thread", "MB/s", &iozone), 6);
    assert_eq!(expect("Iozone, 8 Threads", "MB/s", &iozone), 6);
    let trees = [
        ("init_create", "initial_create"),
        ("new_create", "new_create"),
        ("patch", "patch"),
        ("compile", "compile"),
        ("clean", "clean"),
        ("read_tree", "read_tree"),
        ("read_compld", "read_compiled_tree"),
    ];
    assert_eq!(expect("Compilebench", "MB_s", &trees), 10);
    let seconds: Vec<_> = labels("Compilebench").split_off(7);
    let seconds: Vec<(&str, &str)> = seconds
        .iter()
        .map(|(l, u, _)| (l.as_str(), u.as_str()))
        .collect();
    assert_eq!(
        seconds,
        [
            ("delete_tree", "secs"),
            ("stat_tree", "secs"),
            ("stat_compld", "secs")
        ]
    );
}

#[test]
fn every_level_of_every_table_has_cells_in_every_profile() {
    for profile in ["quick", "standard", "paper", "base"] {
        let plan = planned(profile, &[], &[]);
        assert_eq!(plan.tables.len(), 9, "{profile}");
        for table in &plan.tables {
            let columns: BTreeSet<&str> = plan
                .cells
                .iter()
                .filter(|c| table.holds(c))
                .map(|c| c.levels[&table.columns].as_str())
                .collect();
            assert_eq!(
                columns,
                BTreeSet::from(FILESYSTEMS),
                "{profile} {}",
                table.title
            );
        }
    }
}

#[test]
fn a_set_reaches_one_workload_or_all() {
    let plan = planned(
        "quick",
        &["iozone.size=16m", "run.blocks=2", "device.size=2g"],
        &[],
    );
    assert_eq!((sizes(&plan), plan.blocks), (BTreeSet::from([16 << 20]), 2));
    assert!(
        plan.cells
            .iter()
            .all(|cell| cell.device.size == Bytes(2 << 30))
    );
    let plan = planned("quick", &["workload.iozone.size=16m"], &[]);
    assert_eq!(sizes(&plan), BTreeSet::from([16 << 20]));
    let plan = planned("quick", &["filesystem.ext4.mount=noatime,nobarrier"], &[]);
    assert_eq!(plan.filesystems["ext4"].mount, ["noatime", "nobarrier"]);
}

#[test]
fn a_set_on_a_factor_fixes_it_or_lists_it() {
    let plan = planned("quick", &["threads=4"], &[]);
    assert_eq!(
        (level(&plan, "threads"), plan.cells.len()),
        (&["4".to_owned()][..], 12)
    );
    assert!(
        plan.tables
            .iter()
            .all(|table| !table.filter.contains_key("threads"))
    );
    let plan = planned("quick", &["threads=[1,2,4]"], &[]);
    assert_eq!(level(&plan, "threads"), ["1", "2", "4"]);
    let plan = planned("quick", &["iozone.size=[\"8m\",\"16384k\"]"], &[]);
    assert_eq!(level(&plan, "size"), ["8m", "16m"]);
}

#[test]
fn factors_of_the_rig_add_to_the_variants() {
    let plan = planned(
        "quick",
        &[
            "factors.mount=['', 'noatime']",
            "factors.readahead=[0, 256]",
        ],
        &["filesystem=ext4-nojournal", "workload=compilebench"],
    );
    assert_eq!(level(&plan, "mount"), ["default", "noatime"]);
    let seen: Vec<_> = plan
        .cells
        .iter()
        .map(|c| (c.filesystem.mount.join(","), c.device.readahead.unwrap()))
        .collect();
    let expected = [("", 0), ("", 256), ("noatime", 0), ("noatime", 256)];
    assert_eq!(seen, expected.map(|(mount, n)| (mount.to_owned(), n)));
    let fixed = planned(
        "quick",
        &["factors.readahead=[0, 256]", "device.readahead=8"],
        &[],
    );
    assert!(
        fixed
            .cells
            .iter()
            .all(|cell| cell.device.readahead == Some(8))
    );
}

#[test]
fn a_filter_keeps_cells_and_numbers_them_anew() {
    let plan = planned("quick", &[], &["filesystem=ext4,xfs", "threads=8"]);
    let labels: Vec<String> = plan.cells.iter().map(study::Cell::label).collect();
    assert_eq!(
        labels,
        [
            "filesystem=ext4 threads=8 workload=iozone",
            "filesystem=xfs threads=8 workload=iozone"
        ]
    );
    assert_eq!(
        plan.cells.iter().map(|cell| cell.id).collect::<Vec<_>>(),
        [0, 1]
    );
    assert_eq!(plan.filesystems.len(), 2);
    assert_eq!(level(&plan, "workload"), ["iozone"]);
    assert!(
        plan.tables
            .iter()
            .all(|table| table.filter["threads"] == "8")
    );
}

#[test]
fn options_of_the_command_line_win() {
    let study = Study::load("journal").unwrap();
    let overrides = Overrides {
        profile: Some("paper".into()),
        blocks: Some(7),
        seed: Some(u64::MAX),
        order: Some(Order::Blocked),
        target_size: Some(Bytes(100 << 30)),
        ..Overrides::default()
    };
    let plan = plan(&study, &overrides).unwrap();
    assert_eq!(
        (plan.blocks, plan.seed, plan.order),
        (7, u64::MAX, Order::Blocked)
    );
    assert_eq!(plan.slots.len(), 18 * 7);
}

#[test]
fn a_plan_survives_the_log() {
    let plan = planned("quick", &[], &[]);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

/// Keys of the embedded files, looked up in the published schema by a walk of its own.
#[test]
fn every_key_of_the_embedded_files_is_in_the_schema() {
    let schema = study::schema::study();
    let mut seen = 0;
    for text in [
        include_str!("../../../../studies/journal.toml"),
        include_str!("../../../../studies/defaults.toml"),
        include_str!("../../../../studies/streaming.toml"),
        include_str!("../../../../studies/fsck-io.toml"),
        include_str!("../../../../studies/fsck-scale.toml"),
    ] {
        let file: toml::Table = text.parse().unwrap();
        walk(&toml::Value::Table(file), schema, schema, &mut seen);
    }
    assert!(seen > 100, "{seen}");
}

fn walk(
    value: &toml::Value,
    schema: &serde_json::Value,
    root: &serde_json::Value,
    seen: &mut usize,
) {
    let schema = match schema["$ref"].as_str() {
        Some(name) => &root["$defs"][name.trim_start_matches("#/$defs/")],
        None => schema,
    };
    if let Some(any) = schema["anyOf"].as_array() {
        let fits = |one: &&serde_json::Value| {
            let mut silent = 0;
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                walk(value, one, root, &mut silent);
            }))
            .is_ok()
        };
        let one = any
            .iter()
            .find(fits)
            .unwrap_or_else(|| panic!("no alternative for {value}"));
        return walk(value, one, root, seen);
    }
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                *seen += 1;
                let known = &schema["properties"][key];
                let schema = if known.is_null() {
                    &schema["additionalProperties"]
                } else {
                    known
                };
                assert!(schema.is_object(), "{key} is not in the schema");
                walk(value, schema, root, seen);
            }
        }
        toml::Value::Array(items) => {
            assert_eq!(schema["type"], "array", "{value}");
            for item in items {
                walk(item, &schema["items"], root, seen);
            }
        }
        toml::Value::Integer(_) | toml::Value::Float(_) => {
            let kinds = schema["type"].to_string();
            assert!(
                kinds.contains("integer") || kinds.contains("number"),
                "{value} {schema}"
            );
        }
        toml::Value::Boolean(_) => {
            let kinds = schema["type"].to_string();
            assert!(kinds.contains("boolean"), "{value} {schema}");
        }
        toml::Value::String(text) => {
            let constant = schema["const"].as_str().is_none_or(|word| word == text);
            assert!(
                constant && schema["type"].as_str().is_none_or(|kind| kind == "string"),
                "{value} {schema}"
            );
        }
        toml::Value::Datetime(_) => panic!("{value}"),
    }
}
