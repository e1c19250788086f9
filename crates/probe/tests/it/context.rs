//! Whole records: of this machine, of loop-mounted filesystems, and of a made-up tree.

// Helpers of tests may fail loudly, as the tests themselves.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use probe::Roots;
use probe::context::{
    ContextRecord, Options, Subject, catalogue, devices, difference, difference_all, document,
    take, take_with,
};
use serde_json::{Value, json};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/small")
}

/// What must be true of every record, on any machine.
fn check_whole(record: &ContextRecord) {
    for number in 1..=60 {
        assert!(
            record.items.values().any(|item| item.number == number),
            "item {number} is absent"
        );
    }
    for (name, item) in &record.items {
        assert!((1..=60).contains(&item.number), "{name} has no number");
        assert_eq!(
            item.value.is_null(),
            item.reason.is_some(),
            "{name}: a reason in place of the value: {item:?}"
        );
        assert!(item.reason.as_deref() != Some(""), "{name}");
    }
}

#[test]
fn this_machine_tells_most_items() {
    let target = std::env::temp_dir();
    let subject = Subject {
        target_folder: Some(&target),
        working_set_bytes: Some(1 << 30),
        ..Subject::default()
    };
    let first = take(&subject);
    let record = take(&subject);
    check_whole(&record);
    assert_eq!(
        difference(&first, &record),
        [],
        "what changes by itself is marked volatile"
    );
    for name in [
        "system.kernel.release",
        "system.kernel.command_line",
        "cpu.threads",
        "memory.total_kib",
        "memory.working_set_ratio",
        "vm.dirty_ratio",
        "clock.source",
        "time.uptime_s",
        "process.limits.open_files",
        "run.binary_sha256",
        "run.faults.minor",
        "filesystem.measured.type",
        "filesystem.measured.options.per_mount",
    ] {
        assert!(
            record.value(name).is_some(),
            "{name}: {:?}",
            record.items.get(name)
        );
    }
    let read = record.items.values().filter(|i| !i.value.is_null()).count();
    println!(
        "{read} of {} items read; {:.1} ms first, {:.1} ms again",
        record.items.len(),
        first.took_ms,
        record.took_ms
    );
    for (name, item) in record.items.iter().filter(|(_, i)| i.value.is_null()) {
        println!(
            "  {:2} {name}: {}",
            item.number,
            item.reason.as_deref().unwrap_or_default()
        );
    }
    assert!(
        read * 10 >= record.items.len() * 6,
        "{read} of {}",
        record.items.len()
    );
    assert_eq!(record.observed_idle_ms, 0.0);
}

#[test]
fn a_record_survives_json() {
    let record = take(&Subject::default());
    let text = serde_json::to_string(&record).unwrap();
    let back: ContextRecord = serde_json::from_str(&text).unwrap();
    assert_eq!(back, record);
}

#[test]
fn watching_says_how_long_it_watched() {
    let options = Options {
        observe_idle: Duration::from_millis(60),
        ..Options::default()
    };
    let record = take_with(&Subject::default(), &options);
    assert!(record.observed_idle_ms >= 60.0);
    let seen = record.value("load.other_io").unwrap();
    assert!(seen["watched_ms"].as_f64().unwrap() >= 60.0);
    assert!(seen["devices"].is_object());
}

#[test]
fn what_the_caller_tells_is_kept() {
    let subject = Subject {
        manual: BTreeMap::from([
            (
                "block.controller_cache".to_owned(),
                "512 MiB, battery ok".to_owned(),
            ),
            ("rack".to_owned(), "cold aisle".to_owned()),
            ("run.seeds".to_owned(), "42".to_owned()),
        ]),
        ..Subject::default()
    };
    let record = take(&subject);
    check_whole(&record);
    assert_eq!(record.items["block.controller_cache"].number, 44);
    assert_eq!(
        record.items["block.controller_cache"].source,
        "given by the caller"
    );
    assert_eq!(record.value("manual.rack"), Some(&json!("cold aisle")));
    assert_eq!(record.value("run.seeds"), Some(&json!("42")));
}

/// A machine with LVM on a partition, a loop image on it, and hardly anything else readable.
fn fixture() -> (Options, Subject<'static>) {
    let options = Options {
        roots: Roots::under(&data()),
        observe_idle: Duration::ZERO,
    };
    let subject = Subject {
        mount_point: Some(Path::new("/lab/a dir")),
        working_set_bytes: Some(8_174_288 * 512),
        ..Subject::default()
    };
    (options, subject)
}

#[test]
fn a_made_up_machine_is_read_from_its_tree() {
    let (options, subject) = fixture();
    let record = take_with(&subject, &options);
    check_whole(&record);
    for (name, value) in [
        ("system.kernel.release", json!("6.1.0-18-amd64")),
        (
            "system.kernel.command_line",
            json!("root=/dev/mapper/vg-root ro luks.token=*** quiet"),
        ),
        (
            "system.distribution.name",
            json!("Debian GNU/Linux 12 (bookworm)"),
        ),
        ("cpu.model", json!("Made-up CPU @ 2.00GHz")),
        ("cpu.sockets", json!(1)),
        ("cpu.cores", json!(1)),
        ("cpu.threads", json!(2)),
        ("memory.working_set_ratio", json!(0.5)),
        ("vm.dirty_ratio", json!(20)),
        ("vm.effective_dirty_threshold_pages", json!(356_232)),
        ("virtualisation.hypervisor", json!("qemu")),
        ("load.average", json!("0.49 0.38 0.30")),
        (
            "cgroup.limits.memory",
            json!([{ "file": "memory.max", "levels_up": 1, "value": "4294967296" }]),
        ),
        ("cgroup.limits.cpu", json!("none")),
        ("filesystem.measured.type", json!("ext4")),
        ("filesystem.measured.device", json!("loop3")),
        (
            "filesystem.measured.options.per_mount",
            json!(["rw", "noatime"]),
        ),
        ("filesystem.measured.barriers", json!(false)),
        ("filesystem.measured.delalloc", json!(true)),
        ("filesystem.measured.commit_s", json!(5)),
        ("filesystem.measured.atime", json!("noatime")),
        ("filesystem.measured.lifetime_write_kib", Value::Null),
        ("filesystem.host.device", json!("dm-0")),
        ("block.loop3.loop.backing_file", json!("/images/ext4.img")),
        ("block.loop3.loop.dio", json!(1)),
        ("block.loop3.queue.scheduler", json!("none")),
        ("block.sda.queue.scheduler", json!("mq-deadline")),
        ("block.sda.queue.read_ahead_kb", json!(4096)),
        ("block.sda.iosched.fifo_batch", json!("16")),
        ("block.sda1.partition_offset_bytes", json!(1_048_576)),
        ("block.sda.flushes", json!(4715)),
    ] {
        assert_eq!(
            record.items[name].value, value,
            "{name}: {:?}",
            record.items[name]
        );
    }
    assert_eq!(
        record.items["block.sda.queue.scheduler"].source,
        "/sys/class/block/sda/queue/scheduler"
    );
    assert!(
        !record.items.contains_key("block.sda1.queue.scheduler"),
        "a partition has no queue"
    );
    let serial = record
        .value("block.sda.serial_sha256")
        .unwrap()
        .as_str()
        .unwrap();
    assert_eq!(serial.len(), 16);
    assert!(
        !serde_json::to_string(&record)
            .unwrap()
            .contains("WD-SECRET123")
    );
}

#[test]
fn the_stack_is_a_tree_down_to_the_disk() {
    let (options, subject) = fixture();
    let record = take_with(&subject, &options);
    let top = record.value("block.stack").unwrap();
    assert_eq!(top["name"], "loop3");
    assert_eq!(top["kind"], "loop");
    assert_eq!(top["backing_file"], "/images/ext4.img");
    assert_eq!(top["backing_filesystem"], "ext4");
    let mapped = &top["on"][0];
    assert_eq!(
        (&mapped["name"], &mapped["kind"]),
        (&json!("dm-0"), &json!("dm"))
    );
    let partition = &mapped["on"][0];
    assert_eq!(
        (&partition["name"], &partition["kind"]),
        (&json!("sda1"), &json!("partition"))
    );
    let disk = &partition["on"][0];
    assert_eq!(
        (&disk["name"], &disk["kind"]),
        (&json!("sda"), &json!("disk"))
    );
    assert_eq!(disk["bytes"], 1_000_204_886_016_u64);
}

#[test]
fn a_machine_without_anything_still_has_sixty_items() {
    let empty = tempfile::tempdir().unwrap();
    let options = Options {
        roots: Roots::under(empty.path()),
        observe_idle: Duration::ZERO,
    };
    let record = take_with(&Subject::default(), &options);
    check_whole(&record);
    assert_eq!(record.value("cpu.model"), None);
    assert_eq!(
        record.items["vm.dirty_ratio"].reason.as_deref(),
        Some("no such file on this kernel or machine")
    );
}

#[test]
fn the_difference_shows_what_changed_and_nothing_else() {
    let (options, subject) = fixture();
    let before = take_with(&subject, &options);
    let again = take_with(&subject, &options);
    assert_eq!(difference(&before, &again), []);
    assert!(
        difference_all(&before, &again)
            .iter()
            .any(|c| c.name == "time.wall")
    );
    let mut after = again;
    for (name, value) in [
        ("vm.dirty_ratio", json!(40)),
        ("block.sda.queue.scheduler", json!("none")),
        ("load.average", json!("9 9 9")),
    ] {
        after.items.get_mut(name).unwrap().value = value;
    }
    after.items.remove("clock.source");
    let changes = difference(&before, &after);
    let seen: Vec<(&str, &Value, &Value)> = changes
        .iter()
        .map(|c| (c.name.as_str(), &c.before, &c.after))
        .collect();
    assert_eq!(
        seen,
        [
            ("clock.source", &json!("tsc"), &Value::Null),
            ("vm.dirty_ratio", &json!(20), &json!(40)),
            (
                "block.sda.queue.scheduler",
                &json!("mq-deadline"),
                &json!("none")
            ),
        ]
    );
}

/// The guide's page follows the catalogue.
#[test]
fn the_guide_lists_the_catalogue() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/context.md");
    let wanted = document();
    assert!(catalogue().len() > 150);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &wanted).unwrap();
    }
    let have = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        have == wanted,
        "docs/context.md is older than the catalogue: run UPDATE_DOCS=1 cargo test -p probe"
    );
}

/// A mounted loop image, undone when dropped.
struct Lab {
    folder: tempfile::TempDir,
    device: String,
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {output:?}"
    );
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Lab {
    fn new(mkfs: &str, arguments: &[&str], options: &str, megabytes: u64) -> Lab {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("image");
        let point = folder.path().join("mnt");
        std::fs::create_dir(&point).unwrap();
        std::fs::File::create(&image)
            .unwrap()
            .set_len(megabytes << 20)
            .unwrap();
        let device = run("losetup", &["--find", "--show", image.to_str().unwrap()]);
        let lab = Lab { folder, device };
        run(mkfs, &[arguments, &[lab.device.as_str()]].concat());
        run(
            "mount",
            &["-o", options, &lab.device, point.to_str().unwrap()],
        );
        lab
    }

    fn point(&self) -> PathBuf {
        self.folder.path().join("mnt")
    }

    fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.point()).output();
        let _ = Command::new("losetup").args(["-d", &self.device]).output();
    }
}

fn record_of(lab: &Lab) -> ContextRecord {
    let (point, device) = (lab.point(), PathBuf::from(&lab.device));
    let subject = Subject {
        mount_point: Some(&point),
        device: Some(&device),
        target_folder: Some(lab.folder.path()),
        ..Subject::default()
    };
    let record = take(&subject);
    check_whole(&record);
    record
}

fn check(record: &ContextRecord, wanted: &[(&str, Value)]) {
    for (name, value) in wanted {
        let item = record.items.get(*name);
        assert_eq!(item.map(|i| &i.value), Some(value), "{name}: {item:?}");
    }
}

#[test]
fn an_ext4_on_a_loop_device_is_described_needs_root() {
    if !testkit::root!() {
        return;
    }
    let lab = Lab::new(
        "mkfs.ext4",
        &["-q", "-F", "-b", "4096", "-E", "lazy_itable_init=0"],
        "noatime,data=writeback,nobarrier,nodelalloc,commit=7",
        128,
    );
    let record = record_of(&lab);
    let d = lab.name();
    check(
        &record,
        &[
            ("filesystem.measured.type", json!("ext4")),
            ("filesystem.measured.device", json!(d)),
            ("filesystem.measured.journal.mode", json!("writeback")),
            ("filesystem.measured.journal.location", json!("internal")),
            ("filesystem.measured.barriers", json!(false)),
            ("filesystem.measured.delalloc", json!(false)),
            ("filesystem.measured.commit_s", json!(7)),
            ("filesystem.measured.atime", json!("noatime")),
            ("filesystem.measured.extents", json!(true)),
            ("filesystem.measured.block_size", json!(4096)),
            ("filesystem.measured.errors", json!(0)),
        ],
    );
    // Another mount of the machine may keep the thread alive.
    assert!(record.value("filesystem.measured.lazy_init").is_some());
    let image = lab.folder.path().join("image");
    check(
        &record,
        &[(
            &format!("block.{d}.loop.backing_file"),
            json!(image.to_str()),
        )],
    );
    let tree = record.value("block.stack").unwrap();
    assert_eq!(tree["name"], d);
    let point = lab.point();
    let below = devices(&Subject {
        mount_point: Some(&point),
        ..Subject::default()
    });
    assert_eq!(below.first().map(String::as_str), Some(d), "{below:?}");
    assert!(tree["backing_filesystem"].is_string(), "{tree}");
    assert!(record.value("filesystem.host.type").is_some());
    assert!(record.value("filesystem.measured.fill_percent").is_some());
}

#[test]
fn an_xfs_and_a_btrfs_are_described_needs_root() {
    if !testkit::root!() {
        return;
    }
    let lab = Lab::new("mkfs.xfs", &["-q"], "rw", 400);
    check(
        &record_of(&lab),
        &[
            ("filesystem.measured.type", json!("xfs")),
            ("filesystem.measured.journal.mode", json!("log")),
            ("filesystem.measured.journal.lazy_count", json!(true)),
            ("filesystem.measured.barriers", json!(true)),
            ("filesystem.measured.atime", json!("relatime")),
            ("filesystem.measured.groups", json!(4)),
        ],
    );
    drop(lab);
    let lab = Lab::new("mkfs.btrfs", &["-q", "-f"], "compress=zstd", 256);
    let record = record_of(&lab);
    check(
        &record,
        &[
            ("filesystem.measured.type", json!("btrfs")),
            ("filesystem.measured.device", json!(lab.name())),
            ("filesystem.measured.journal.mode", json!("tree log")),
            ("filesystem.measured.compression", json!("zstd:3")),
            ("filesystem.measured.node_size", json!(16384)),
            ("filesystem.measured.commit_s", json!(30)),
            ("filesystem.measured.read_ahead_kb", json!(4096)),
        ],
    );
}
