//! What a disk can do by itself.

use crate::common;
use progress::{Recorder, Silent};

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use common::{MIB, files, root, throttles, traces, v1};
use rig::limits::Limits;
use rig::reference::Options;
use rig::{Class, Error, Rig, Target};

fn open(run: &Path) -> Rig {
    let folder = run.join("images");
    Rig::open(Target::LoopImages { folder }, run).unwrap()
}

fn quick() -> Options {
    Options {
        pass: Duration::from_secs(1),
        passes: 3,
        random: Duration::from_secs(1),
    }
}

#[test]
fn a_limited_image_reads_at_its_limit_needs_root() {
    let Some(_alone) = root() else { return };
    let Some(blkio) = v1("blkio") else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let limit = 40 * MIB;
    let limits = Limits {
        read_bytes: Some(limit),
        ..Limits::default()
    };
    let mut rig = open(run.path());
    let measured = rig
        .reference_image(256 * MIB, Some(limits), &quick(), &Silent)
        .unwrap();
    println!("{measured:#?}");
    for rates in [&measured.sequential, &measured.sequential_direct] {
        assert_eq!(rates.len(), 3);
        // Never faster; slower when others keep the machine busy.
        let most = rates.iter().copied().fold(0.0, f64::max) / limit as f64;
        assert!((0.1..=1.15).contains(&most), "{most:.3} of the limit");
    }
    let most = limit as f64 / 4096.0;
    let rate = measured.random_reads_per_s;
    assert!(
        rate > 10.0 && rate <= most * 1.1,
        "{rate} of at most {most}"
    );
    let [p50, p99, max] = measured.random_us;
    assert!(
        0.0 < p50 && p50 <= p99 && p99 <= max,
        "{:?}",
        measured.random_us
    );
    assert!(
        measured.line.starts_with(" Timing buffered disk reads:  "),
        "{}",
        measured.line
    );
    assert!(measured.line.ends_with(" MB/sec"), "{}", measured.line);
    let is_noted = measured
        .notes
        .iter()
        .any(|note| note.starts_with("limit: asked read 41943040 B/s"));
    assert!(is_noted, "{:?}", measured.notes);
    let ours = format!("read_bps {limit}");
    let left: Vec<String> = rig::host::Host::default()
        .loops()
        .iter()
        .flat_map(|lo| throttles(&blkio, &lo.node()))
        .filter(|line| *line == ours)
        .collect();
    assert_eq!(left, Vec::<String>::new());
    drop(rig);
    assert_eq!(traces(run.path()), Vec::<String>::new());
    assert_eq!(files(run.path()), ["images", "undo.jsonl"]);
}

#[test]
fn an_image_is_read_from_the_disk_and_ends_where_it_ends_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let options = Options {
        pass: Duration::from_secs(60),
        passes: 2,
        random: Duration::from_millis(50),
    };
    let before = read_sectors();
    let measured = open(run.path())
        .reference_image(65 * MIB, None, &options, &Silent)
        .unwrap();
    let read = (read_sectors() - before) * 512;
    assert_eq!(measured.sequential.len(), 2);
    // 64 MiB in whole steps, two passes of each kind, nothing from a cache or a hole.
    assert!(read >= 4 * 64 * MIB, "{read} bytes read below");
    assert!(measured.line.contains(":  64 MB in"), "{}", measured.line);
    assert!(
        measured.notes[0].starts_with("the device ends after 64 MiB"),
        "{:?}",
        measured.notes
    );
}

/// Sectors read from all devices that are no loop devices.
fn read_sectors() -> u64 {
    let text = std::fs::read_to_string("/proc/diskstats").unwrap();
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines
        .filter(|words| !words[2].starts_with("loop"))
        .map(|words| words[5].parse::<u64>().unwrap())
        .sum()
}

#[test]
fn a_disk_is_only_read_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let image = run.path().join("disk.img");
    std::fs::write(&image, vec![3; 16 * MIB as usize]).unwrap();
    let losetup = std::process::Command::new("/usr/sbin/losetup")
        .args(["--read-only", "--find", "--show"])
        .arg(&image)
        .output()
        .unwrap();
    let node = String::from_utf8(losetup.stdout).unwrap();
    let node = Path::new(node.trim());
    let measured = rig::reference::measure(node, &quick(), &Silent).unwrap();
    assert!(measured.sequential.iter().all(|rate| *rate > 0.0));
    let device = File::open(node).unwrap();
    let left = workload::residency::of(device.as_fd()).unwrap().resident;
    assert_eq!(left, 0, "no page of it stays cached");
    drop(device);
    let detach = std::process::Command::new("/usr/sbin/losetup")
        .arg("-d")
        .arg(node)
        .status();
    assert!(detach.unwrap().success());
}

#[test]
fn it_stops_when_asked_at_any_moment_and_leaves_nothing_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut rig = open(run.path());
    for moment in [0, 10, 40, 100] {
        let recorder = Recorder::stopping_at(moment + 1);
        let error = rig
            .reference_image(32 * MIB, None, &quick(), &recorder)
            .unwrap_err();
        assert!(matches!(error, Error::Interrupted { .. }), "{error}");
        assert_eq!(traces(run.path()), Vec::<String>::new());
        assert_eq!(files(run.path()), ["images", "undo.jsonl"]);
    }
}

#[test]
fn what_cannot_be_made_is_reported_in_one_line() {
    let (run, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = Target::Directory {
        path: place.path().into(),
    };
    let mut rig = Rig::open(target, run.path()).unwrap();
    let error = rig
        .reference_image(64 * MIB, None, &quick(), &Silent)
        .unwrap_err();
    assert_eq!(error.class(), Class::Cell);
    let text = error.to_string();
    assert!(
        text.contains("the trials do not run on loop images") && !text.contains('\n'),
        "{text}"
    );
}

#[test]
fn an_image_without_room_is_not_begun_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut rig = open(run.path());
    let error = rig
        .reference_image(1 << 50, None, &quick(), &Silent)
        .unwrap_err();
    assert!(matches!(error, Error::ImageTooLarge { .. }), "{error}");
    assert_eq!(files(run.path()), ["images", "undo.jsonl"]);
}

/// The filesystem of another disk that takes minutes to write back what it has: a measurement that
/// waited for it would take as long.
#[test]
fn a_measurement_waits_for_no_other_filesystem_needs_root() {
    let Some(_alone) = root() else { return };
    if v1("blkio").is_none() {
        return;
    }
    let slow = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut other = common::open(slow.path());
    let request = rig::Request {
        limit: Some(Limits {
            write_bytes: Some(256 << 10),
            ..Limits::default()
        }),
        ..common::request("ext2", 64 * MIB)
    };
    let prepared = other.prepare(&request, &Silent).unwrap();
    let dirty = prepared.mount_point().join("dirty");
    std::fs::write(&dirty, vec![7; 32 * MIB as usize]).unwrap();

    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let options = Options {
        pass: Duration::from_millis(50),
        passes: 1,
        random: Duration::from_millis(50),
    };
    let begun = std::time::Instant::now();
    let measured = open(run.path()).reference_image(16 * MIB, None, &options, &Silent);
    let took = begun.elapsed();
    // What was never written back need not be.
    std::fs::remove_file(&dirty).unwrap();
    prepared.finish().unwrap();
    measured.unwrap();
    assert!(
        took < Duration::from_secs(30),
        "{took:?} of the other's 128 s"
    );
}
