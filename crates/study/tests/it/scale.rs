//! The built-in studies of streams and checks against the documents that they repeat, and what the
//! command line may change in any study.

use std::collections::BTreeSet;

use params::engine::Kind;
use params::stream::{Between, Test};
use study::estimate::{Rates, estimate};
use study::{
    AgeSpec, Bytes, Cell, FillSpec, Limit, Order, Overrides, Plan, StreamSpec, Study, WorkloadSpec,
    plan,
};

fn overrides(profile: &str, set: &[&str], filter: &[&str]) -> Overrides {
    Overrides {
        profile: Some(profile.to_owned()),
        set: set.iter().map(|&text| text.to_owned()).collect(),
        filter: filter.iter().map(|&text| text.to_owned()).collect(),
        ..Overrides::default()
    }
}

fn planned(study: &str, profile: &str, set: &[&str], filter: &[&str]) -> Plan {
    let study = Study::load(study).unwrap();
    plan(&study, &overrides(profile, set, filter)).unwrap()
}

fn level<'a>(cell: &'a Cell, factor: &str) -> &'a str {
    cell.levels.get(factor).map_or("-", String::as_str)
}

fn streams(plan: &Plan) -> impl Iterator<Item = (&Cell, &StreamSpec)> {
    plan.cells.iter().filter_map(|cell| match &cell.workload {
        WorkloadSpec::Stream(spec) => Some((cell, spec)),
        _ => None,
    })
}

fn fills(plan: &Plan) -> impl Iterator<Item = (&Cell, &FillSpec)> {
    plan.cells.iter().filter_map(|cell| match &cell.workload {
        WorkloadSpec::Fill(spec) => Some((cell, spec)),
        _ => None,
    })
}

#[test]
fn streaming_on_paper_is_the_message_of_2008() {
    let plan = planned("streaming", "paper", &[], &[]);
    assert_eq!((plan.blocks, plan.order), (1, Order::Sequential));
    assert_eq!(streams(&plan).count(), plan.cells.len());
    // aiod -S -B -b4M -w 3500000 -W, unmount, mount, -R; ext3 up to its 2 TB.
    for (cell, spec) in streams(&plan) {
        let about = cell.label();
        assert_eq!(spec.block, Bytes(4 << 20), "{about}");
        assert!(!spec.direct && !spec.verify, "{about}");
        assert_eq!((spec.engine, spec.queue_depth), (Kind::Sync, 1));
        assert_eq!(
            (spec.test, spec.between),
            (Test::WriteRead, Between::Remount)
        );
        let bytes = spec.block.get() * spec.count;
        if level(cell, "filesystem") == "ext3" {
            assert!(bytes > 2_000_000_000_000 && bytes < 2 << 40, "{about}");
        } else {
            assert_eq!(bytes, 14_680_064_000_000, "{about}");
        }
        assert!(cell.check.is_some() && cell.memory.is_none(), "{about}");
    }
    let readahead: BTreeSet<_> = plan.cells.iter().map(|c| c.device.readahead).collect();
    assert_eq!(readahead, BTreeSet::from([256, 4096, 65536].map(Some)));
}

#[test]
fn streaming_varies_one_thing_at_a_time() {
    for profile in ["paper", "standard", "quick"] {
        let plan = planned("streaming", profile, &[], &[]);
        let mut seen: Vec<(&str, &str, &str)> = streams(&plan)
            .map(|(cell, _)| {
                let levels = ["filesystem", "mount", "readahead"];
                let [filesystem, mount, readahead] = levels.map(|name| level(cell, name));
                (filesystem, mount, readahead)
            })
            .collect();
        seen.sort_unstable();
        let mut expected: Vec<(&str, &str, &str)> = Vec::new();
        for filesystem in ["ext3", "ext4", "xfs"] {
            let read = ["256", "4096", "65536"].map(|sectors| (filesystem, "default", sectors));
            expected.extend(read);
        }
        for mount in ["delalloc,journal_async_commit,data=writeback", "nodelalloc"] {
            expected.push(("ext4", mount, "256"));
        }
        expected.sort_unstable();
        assert_eq!(seen, expected, "{profile}");
    }
}

#[test]
fn the_grid_is_the_table_of_the_message() {
    let plan = planned("streaming", "quick", &[], &[]);
    let grid = &plan.grids[0];
    assert_eq!(grid.title, "Throughput results (in MB/s):");
    assert_eq!(grid.published.as_deref(), Some("dokos2008"));
    assert!(grid.footnotes);
    let labels: Vec<&str> = grid.columns.iter().map(|c| c.label.as_str()).collect();
    let printed = [
        "Read",
        "Read (RA=4K)",
        "Read (RA=64K)",
        "Write",
        "Write(+mntopts)",
    ];
    assert_eq!(labels[..5], printed);
    for column in &grid.columns {
        let held: Vec<&Cell> = plan
            .cells
            .iter()
            .filter(|cell| grid.holds(cell) && column.holds(cell))
            .collect();
        let headings: BTreeSet<&str> = held.iter().map(|c| level(c, "filesystem")).collect();
        assert_eq!(held.len(), headings.len(), "one cell a place: {column:?}");
    }
}

#[test]
fn fsck_scale_on_paper_is_the_article_of_2012() {
    let plan = planned("fsck-scale", "paper", &[], &[]);
    assert_eq!((plan.blocks, plan.order), (1, Order::Sequential));
    let mut seen: Vec<(String, String, u64, u64, u32)> = fills(&plan)
        .map(|(cell, spec)| {
            let levels = ["filesystem", "device_size"].map(|name| level(cell, name).to_owned());
            let [filesystem, size] = levels;
            (
                filesystem,
                size,
                spec.size.get(),
                spec.files,
                spec.directories,
            )
        })
        .collect();
    seen.sort_unstable();
    let commands = [
        ("38t", 200_000, 35_000_000, 35_000),
        ("38t", 400_000, 17_000_000, 17_000),
        ("38t", 2_000_000, 3_400_000, 3400),
        ("72t", 400_000, 35_000_000, 35_000),
        ("72t", 800_000, 17_000_000, 17_000),
        ("72t", 4_000_000, 3_400_000, 3400),
    ];
    let expected: Vec<_> = ["ext4", "xfs"]
        .iter()
        .flat_map(|&filesystem| {
            commands.map(|(device, size, files, directories)| {
                (
                    filesystem.to_owned(),
                    device.to_owned(),
                    size,
                    files,
                    directories,
                )
            })
        })
        .collect();
    assert_eq!(seen, expected);
    for (cell, spec) in fills(&plan) {
        assert!(spec.keep && cell.check.is_some());
        assert_eq!(
            (
                spec.processes,
                spec.sync_method,
                spec.per_directory,
                spec.iterations
            ),
            (3, 0, 1000, 1)
        );
        assert_eq!(cell.memory, None);
    }
    let aged: Vec<&Cell> = plan
        .cells
        .iter()
        .filter(|cell| matches!(cell.workload, WorkloadSpec::Age(_)))
        .collect();
    assert_eq!(aged.len(), 1);
    assert_eq!(level(aged[0], "filesystem"), "xfs");
    assert_eq!(aged[0].workload, WorkloadSpec::Age(AgeSpec::default()));
    assert!(plan.filesystems["ext4"].mount == ["journal_checksum"]);
}

/// Every cell of the article with its size, forged and checked by both programs.
#[test]
fn fsck_scale_forged_has_the_articles_cells() {
    let article = planned("fsck-scale", "paper", &[], &[]);
    let plan = planned("fsck-scale", "paper-forged", &[], &["memory=none"]);
    assert!(plan.cells.iter().all(|cell| cell.volume.is_forged()));
    for theirs in &article.cells {
        let same = |cell: &&Cell| {
            let places = ["filesystem", "device_size", "total_files", "size"];
            let at = |factor: &&str| level(cell, factor) == level(theirs, factor);
            places.iter().all(at) && cell.workload_name == theirs.workload_name
        };
        let ours: Vec<&Cell> = plan.cells.iter().filter(same).collect();
        let checkers: Vec<&str> = ours.iter().map(|cell| level(cell, "checker")).collect();
        assert_eq!(checkers, ["own", "fslab"], "{}", theirs.label());
        assert!(ours.iter().all(|cell| cell.workload == theirs.workload));
    }
    // With 2.1 million files on each device, and 420 million on two filesystems.
    let further = 2 * 2 + 2;
    assert_eq!(plan.cells.len(), 2 * (article.cells.len() + further));
    let limited = planned("fsck-scale", "paper-forged", &[], &["memory=24g"]);
    assert_eq!(limited.cells.len(), 4, "105 million files on 72 TB");
}

/// What the larger images take, measured for the smaller: 36 GB of XFS, 40 GB of ext4.
#[test]
fn the_images_of_the_article_fit_a_disk_of_60_gb() {
    let plan = planned("fsck-scale", "paper-forged", &[], &["workload=fill"]);
    for (cell, spec) in fills(&plan) {
        let gb = study::forged::image_bytes(cell) / 1e9;
        match spec.total_files {
            Some(420_000_000) => assert!((90.0..150.0).contains(&gb), "{} {gb}", cell.label()),
            _ => assert!(gb < 45.0, "{} {gb}", cell.label()),
        }
    }
}

#[test]
fn small_fills_keep_the_ratios_of_the_large_ones() {
    for (profile, scale) in [("quick", 2500), ("standard", 250)] {
        let plan = planned("fsck-scale", profile, &[], &[]);
        let sizes: BTreeSet<u64> = plan.cells.iter().map(|c| c.device.size.get()).collect();
        let sizes: Vec<u64> = sizes.into_iter().collect();
        assert_eq!(sizes[1] * 38, sizes[0] * 72, "{profile}: 72 to 38");
        let totals: BTreeSet<u64> = fills(&plan).filter_map(|(_, s)| s.total_files).collect();
        let expected = [10_200_000, 25_500_000, 51_000_000, 105_000_000].map(|n| n / scale);
        assert_eq!(totals, BTreeSet::from(expected), "{profile}");
        for (cell, spec) in fills(&plan) {
            let (about, total) = (cell.label(), spec.files * 3);
            assert_eq!(Some(total), spec.total_files, "{about}");
            let share = (total * spec.size.get()) as f64 / cell.device.size.get() as f64;
            assert!((share - 0.5).abs() < 0.001, "{about}: {share}");
            let largest = 1000 * u64::from(spec.directories);
            assert!(spec.files <= largest.max(2000), "{about}");
        }
        // The aged case has as many files as the largest fill, and removes a tenth at first.
        let aged = plan.cells.iter().find_map(|cell| match &cell.workload {
            WorkloadSpec::Age(spec) => Some(spec.clone()),
            _ => None,
        });
        let aged = aged.unwrap();
        assert_eq!(aged.files * 3 * 5, 105_000_000 / scale, "{profile}");
        assert_eq!(aged.step * 10, aged.directories, "{profile}");
        assert_eq!(
            aged.files,
            u64::from(aged.directories) * aged.per_directory,
            "{profile}"
        );
    }
}

#[test]
fn every_law_has_four_sizes_and_every_matrix_place_one_cell() {
    for profile in ["quick", "standard", "forged"] {
        let plan = planned("fsck-scale", profile, &[], &[]);
        let law = &plan.growth[0];
        assert_eq!(law.projections, [10.2e6, 51e6, 105e6, 415e6]);
        let held: Vec<&Cell> = plan.cells.iter().filter(|cell| law.holds(cell)).collect();
        let group = |cell: &Cell| -> Vec<String> {
            law.by.iter().map(|f| level(cell, f).to_owned()).collect()
        };
        let groups: BTreeSet<Vec<String>> = held.iter().map(|cell| group(cell)).collect();
        for name in &groups {
            let points = held.iter().filter(|cell| group(cell) == *name).count();
            assert_eq!(points, 4, "{profile} {name:?}");
        }
        let limited = groups.iter().any(|g| g[2] != "none");
        assert!(limited || profile == "forged", "under a limit too");
        let matrix = &plan.grids[0];
        for column in &matrix.columns {
            let cells: Vec<&Cell> = plan
                .cells
                .iter()
                .filter(|cell| matrix.holds(cell) && column.holds(cell))
                .collect();
            assert_eq!(cells.len(), 8, "{profile} {}", column.label);
        }
    }
}

#[test]
fn quick_is_minutes_and_has_its_five_blocks() {
    // Of fsck-io most is spent on a device held to 200 requests a second, and that is its subject.
    for (study, most) in [
        ("streaming", 300.0),
        ("fsck-scale", 300.0),
        ("fsck-io", 900.0),
    ] {
        let plan = planned(study, "quick", &[], &[]);
        assert_eq!(plan.blocks, 5, "{study}");
        let cost = estimate(&plan, Rates::default());
        assert!(cost.seconds < most, "{study} {cost:?}");
        assert!(cost.disk_bytes_peak < 2 << 30, "{study} {cost:?}");
    }
}

#[test]
fn memory_limit_readahead_and_check_are_set_on_any_study() {
    let set = [
        "memory=512M",
        "limit=70m",
        "readahead=512",
        "device_size=2g",
        "check=true",
        "check.e2fsck=-v -C0",
    ];
    let plan = planned("journal", "quick", &set, &[]);
    assert_eq!(plan.cells.len(), 18);
    for cell in &plan.cells {
        assert_eq!(cell.memory, Some(Bytes(512 << 20)));
        assert_eq!(cell.device.limit, Some("70m".parse::<Limit>().unwrap()));
        assert_eq!(cell.device.readahead, Some(512));
        assert_eq!(cell.device.size, Bytes(2 << 30));
        assert_eq!(cell.check.as_ref().unwrap().e2fsck, ["-v", "-C0"]);
        assert!(
            !cell.levels.contains_key("memory"),
            "no factor of this study"
        );
    }
}

#[test]
fn lists_of_the_rig_become_factors_with_levels_in_their_shortest_form() {
    let set = [
        "memory=['none', '65536k']",
        "limit=['none', '71680k', 'write=35m']",
    ];
    let plan = planned("journal", "quick", &set, &["filesystem=xfs", "threads=1"]);
    let levels = |name: &str| {
        let found = plan.factors.iter().find(|(factor, _)| factor == name);
        found.unwrap().1.clone()
    };
    assert_eq!(levels("memory"), ["none", "64m"]);
    assert_eq!(levels("limit"), ["none", "70m", "write=35m"]);
    let unlimited = plan.cells.iter().filter(|c| c.device.limit.is_none());
    assert_eq!((plan.cells.len(), unlimited.count()), (6, 2));
}

#[test]
fn a_factor_of_the_rig_is_fixed_by_its_short_name() {
    let plan = planned(
        "fsck-scale",
        "quick",
        &["memory=128m", "device_size=2g"],
        &[],
    );
    assert!(plan.cells.iter().all(|cell| {
        cell.memory == Some(Bytes(128 << 20)) && cell.device.size == Bytes(2 << 30)
    }));
    // Exclusions speak of levels that are gone: 2 x (4 fills and an ageing).
    assert_eq!((plan.cells.len(), plan.notes.len()), (10, 0));
    let plan = planned("streaming", "quick", &["readahead=1024"], &[]);
    assert!(
        plan.cells
            .iter()
            .all(|cell| cell.device.readahead == Some(1024))
    );
}

#[test]
fn a_value_of_the_command_line_is_never_ignored() {
    let study = Study::load("fsck-scale").unwrap();
    for (set, expected) in [
        (
            &["fill.files=1000"][..],
            "--set fill.files=1000: total_files sets files here, so this value would be ignored (set \
             total_files instead)",
        ),
        (
            &["fill.total_files=3000", "fill.files=1000"],
            "--set fill.files=1000: total_files sets files here",
        ),
        (
            &["fill.size=4k"],
            "--set fill.size=4k: fill_share sets size here, so this value would be ignored (set \
             fill_share instead)",
        ),
        (&["fill.files=[1000, 2000]"], "a factor here"),
    ] {
        let error = plan(&study, &overrides("quick", set, &[])).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{set:?}: {text}");
    }
    // A profile's law goes before the study's own value.
    let plan = planned("fsck-scale", "quick", &["fill.total_files=3000"], &[]);
    assert!(fills(&plan).all(|(_, spec)| spec.files == 1000));
}

#[test]
fn a_disk_has_one_size_and_fills_follow_it() {
    let study = Study::load("fsck-scale").unwrap();
    let overrides = Overrides {
        target_size: Some(Bytes(1 << 30)),
        ..overrides("quick", &[], &[])
    };
    let plan = plan(&study, &overrides).unwrap();
    assert!(
        plan.cells
            .iter()
            .all(|cell| level(cell, "device_size") == "1080m")
    );
    assert_eq!(plan.cells.len(), 18);
    assert!(plan.notes.last().unwrap().contains("has one size, 1g"));
    for (_, spec) in fills(&plan) {
        let share = (spec.files * 3 * spec.size.get()) as f64 / f64::from(1 << 30);
        assert!((share - 0.5).abs() < 0.001, "{share}");
    }
    let there = plan.in_directory();
    assert!(there.cells.iter().all(|cell| cell.check.is_none()));
    assert!(there.growth.is_empty(), "nothing is checked in a directory");
    assert!(
        there
            .grids
            .iter()
            .flat_map(|grid| &grid.columns)
            .all(|column| !column.phase.starts_with("check"))
    );
}

#[test]
fn a_folder_is_filled_as_the_study_s_device_and_not_as_its_disk() {
    let study = Study::load("fsck-scale").unwrap();
    let there = |free: u64| {
        let overrides = Overrides {
            target_size: Some(Bytes(free)),
            target_is_folder: true,
            ..overrides("quick", &[], &["workload=fill"])
        };
        plan(&study, &overrides)
    };
    let plan = there(1 << 40).unwrap().in_directory();
    assert_eq!(plan.cells.len(), 8, "4 sizes under 2 limits");
    for (_, spec) in fills(&plan) {
        let share = (spec.files * 3 * spec.size.get()) as f64 / f64::from(1080 << 20);
        assert!((share - 0.5).abs() < 0.001, "{share}");
    }
    let error = there(200 << 20).unwrap_err().to_string();
    assert!(error.contains("the target of 200m"), "{error}");
}

#[test]
fn a_plan_with_everything_survives_the_log() {
    for study in ["streaming", "fsck-scale", "fsck-io"] {
        let plan = planned(study, "quick", &["limit='read=70m,write=35m'"], &[]);
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }
}

#[test]
fn any_study_takes_kernels_and_they_are_words() {
    let one = planned("journal", "quick", &["kernel=5.10"], &[]);
    assert!(
        one.cells
            .iter()
            .all(|cell| cell.kernel.as_deref() == Some("5.10"))
    );
    assert!(one.factors.iter().all(|(name, _)| name != "kernel"));
    for text in ["kernel=5.10,6.1, 6.12", "kernel=[\"5.10\", 6.1, '6.12']"] {
        let several = planned("journal", "quick", &[text], &[]);
        assert_eq!(several.cells.len(), one.cells.len() * 3);
        let kernels = several.factors.iter().find(|(name, _)| name == "kernel");
        assert_eq!(kernels.unwrap().1, ["5.10", "6.1", "6.12"]);
        for cell in &several.cells {
            assert_eq!(cell.kernel.as_deref(), Some(level(cell, "kernel")));
        }
        // Every kernel in every block, in a drawn order.
        let block = several.cells.len();
        let of_slot = |slot: &study::Slot| level(&several.cells[slot.cell as usize], "kernel");
        let first: Vec<&str> = several.slots[..block].iter().map(of_slot).collect();
        for kernel in ["5.10", "6.1", "6.12"] {
            assert_eq!(first.iter().filter(|k| **k == kernel).count(), block / 3);
        }
        assert!(
            first.windows(2).any(|pair| pair[0] > pair[1]),
            "interleaved"
        );
    }
    let kept = planned("journal", "quick", &["kernel=5.10,6.1"], &["kernel=6.1"]);
    assert_eq!(kept.cells.len(), one.cells.len());
    let study = Study::load("journal").unwrap();
    for (set, expected) in [
        ("kernel=6.1,,6.12", "is not a kernel"),
        ("kernel=../6.1", "is not a kernel"),
        ("kernel=6.1,6.1", "given twice"),
        ("needs.kernel=new", "is not a range of kernels"),
        ("needs.times=fast", "is not a kind of times (any, absolute)"),
        ("needs.fire=1", "no such key"),
    ] {
        let error = plan(&study, &overrides("quick", &[set], &[])).unwrap_err();
        assert!(error.to_string().contains(expected), "{set}: {error}");
    }
}

#[test]
fn needs_are_given_in_the_study_and_on_the_command_line() {
    let plan = planned(
        "journal",
        "quick",
        &["needs.kernel=>=6.1", "needs.times=absolute"],
        &[],
    );
    let range = plan.needs.kernel.as_ref().unwrap();
    assert!(range.holds("6.1.0-56-amd64") && !range.holds("5.10.0-44-amd64"));
    assert_eq!(plan.needs.times, study::Times::Absolute);
    let back: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(back, plan);
}
