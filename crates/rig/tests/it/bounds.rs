//! Limits of a device and of memory: that they hold, are reported and are removed.

use crate::common;
use progress::Silent;

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use common::{MIB, files, kill, open, root, start, throttles, traces, v1, wait_until_prepared};
use rig::limits::Limits;
use rig::{Class, Prepared, Request, Rig, Target};
use workload::buffer::Buffer;
use workload::residency;

fn request(kind: &str) -> Request {
    common::request(kind, 1024 * MIB)
}

fn rates(read: u64, write: u64) -> Limits {
    Limits {
        read_bytes: Some(read),
        write_bytes: Some(write),
        ..Limits::default()
    }
}

/// How long it takes to move `bytes` of a file, 1 MiB at a time.
fn moved(file: &File, bytes: u64, write: bool) -> Duration {
    let mut buffer = Buffer::for_child(0, MIB as usize, MIB as usize, 4096).unwrap();
    let buffer = buffer.as_mut_slice();
    let begun = Instant::now();
    for offset in (0..bytes).step_by(MIB as usize) {
        if write {
            file.write_all_at(buffer, offset).unwrap();
        } else {
            file.read_exact_at(buffer, offset).unwrap();
        }
    }
    if write {
        file.sync_all().unwrap();
    }
    begun.elapsed()
}

fn file(path: &Path, direct: bool) -> File {
    let direct = if direct {
        rustix::fs::OFlags::DIRECT.bits()
    } else {
        0
    };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.custom_flags(direct as i32).open(path).unwrap()
}

/// Never faster than the limit, but for the slice of 0.1 s that the kernel gives in advance (blk-throttle.c), and another that it may
/// begin at the end. A busy machine may be slower; a wrong unit would be a thousandth.
#[track_caller]
fn assert_limited(what: &str, took: Duration, bytes: u64, limit: u64) {
    let (took, least) = (took.as_secs_f64(), bytes as f64 / limit as f64);
    println!("{what}: {took:.3} s, {least:.3} s at the limit");
    assert!(
        (0.95 * least - 0.2..=10.0 * least).contains(&took),
        "{what}: {took:.3} s, {least:.3} s at the limit"
    );
}

#[test]
fn a_limited_device_moves_what_it_may_and_no_more_needs_root() {
    let Some(_alone) = root() else { return };
    let Some(blkio) = v1("blkio") else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut rig = open(run.path());
    let (read, write) = (20 * MIB, 10 * MIB);
    for kind in ["ext4", "xfs"] {
        let asked = Request {
            limit: Some(rates(read, write)),
            ..request(kind)
        };
        let prepared = rig.prepare(&asked, &Silent).unwrap();
        let limit = &prepared.facts().device["limit"];
        assert!(
            limit.starts_with(
                "asked read 20971520 B/s, write 10485760 B/s; by cgroup v1 blkio.throttle"
            ),
            "{limit}"
        );
        assert!(limit.contains("read_bps_device 20971520"), "{limit}");
        let node = prepared.device_node().unwrap().to_path_buf();
        assert_eq!(
            throttles(&blkio, &node),
            ["read_bps 20971520", "write_bps 10485760"]
        );
        let path = prepared.mount_point().join("file");
        assert_limited(
            "direct write",
            moved(&file(&path, true), 12 * MIB, true),
            12 * MIB,
            write,
        );
        assert_limited(
            "direct read",
            moved(&file(&path, true), 12 * MIB, false),
            12 * MIB,
            read,
        );
        let other = prepared.mount_point().join("other");
        assert_limited(
            "buffered write and fsync",
            moved(&file(&other, false), 12 * MIB, true),
            12 * MIB,
            write,
        );
        prepared.drop_caches(&[&other]).unwrap();
        assert_limited(
            "buffered read",
            moved(&file(&other, false), 12 * MIB, false),
            12 * MIB,
            read,
        );
        prepared.finish().unwrap();
        assert_eq!(throttles(&blkio, &node), Vec::<String>::new());
    }
    drop(rig);
    assert_eq!(files(run.path()), ["undo.jsonl"]);
}

#[test]
fn operations_are_limited_as_well_needs_root() {
    let Some(_alone) = root() else { return };
    if v1("blkio").is_none() {
        return;
    }
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let asked = Request {
        limit: Some(Limits {
            read_ops: Some(100),
            ..Limits::default()
        }),
        ..request("ext4")
    };
    let prepared = open(run.path()).prepare(&asked, &Silent).unwrap();
    let path = prepared.mount_point().join("file");
    moved(&file(&path, true), MIB, true);
    let file = file(&path, true);
    let mut buffer = Buffer::for_child(0, 4096, 4096, 4096).unwrap();
    let begun = Instant::now();
    for block in 0..200 {
        file.read_exact_at(buffer.as_mut_slice(), block * 4096)
            .unwrap();
    }
    let rate = 200.0 / begun.elapsed().as_secs_f64();
    assert!((10.0..=110.0).contains(&rate), "{rate} reads a second");
    drop(file);
    prepared.finish().unwrap();
}

#[test]
fn a_limit_of_a_killed_run_does_not_hit_the_next_user_needs_root() {
    let Some(_alone) = root() else { return };
    let Some(blkio) = v1("blkio") else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut child = start(run.path(), "ext4", &["limit=10485760"]);
    wait_until_prepared(&mut child);
    let node = loop_of(run.path());
    let set = throttles(&blkio, &node);
    assert_eq!(set, ["read_bps 10485760", "write_bps 10485760"]);
    kill(child);
    assert_eq!(throttles(&blkio, &node), set, "it outlives the process");
    let planned = rig::clean(run.path(), true).unwrap();
    assert_eq!(throttles(&blkio, &node), set, "a dry run changes nothing");
    let undone = rig::clean(run.path(), false).unwrap();
    assert_eq!(planned, undone);
    assert_eq!((undone[0].what, &undone[0].thing), ("device limit", &node));
    assert_eq!(throttles(&blkio, &node), Vec::<String>::new());
    assert_eq!(traces(run.path()), Vec::<String>::new());
    assert_eq!(rig::clean(run.path(), false).unwrap(), Vec::new());
}

#[test]
fn clean_leaves_the_limit_of_another_living_run_on_the_same_device_needs_root() {
    let Some(_alone) = root() else { return };
    let Some(blkio) = v1("blkio") else { return };
    let (dead, living) = (run_folder(), run_folder());
    let mut child = start(dead.path(), "ext4", &["limit=10485760"]);
    wait_until_prepared(&mut child);
    let node = loop_of(dead.path());
    kill(child);
    // The device is detached by hand, and the next run gets its number.
    let umount = Command::new("umount")
        .arg(dead.path().join("mnt/1"))
        .status();
    assert!(umount.unwrap().success());
    let detach = Command::new("/usr/sbin/losetup")
        .arg("-d")
        .arg(&node)
        .status();
    assert!(detach.unwrap().success());
    let mut neighbour = start(living.path(), "ext4", &["limit=10485760"]);
    wait_until_prepared(&mut neighbour);
    assert_eq!(loop_of(living.path()), node, "the first free number");
    let set = throttles(&blkio, &node);
    rig::clean(dead.path(), false).unwrap();
    assert_eq!(throttles(&blkio, &node), set, "the neighbour's");
    drop(neighbour.stdin.take());
    assert!(neighbour.wait().unwrap().success());
    assert_eq!(throttles(&blkio, &node), Vec::<String>::new());
}

fn run_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn loop_of(run: &Path) -> PathBuf {
    let loops = rig::host::Host::default().loops().into_iter();
    let run = run.canonicalize().unwrap();
    { loops }
        .find(|lo| lo.backing.starts_with(&run))
        .unwrap()
        .node()
}

#[test]
fn a_disk_gets_back_the_limit_that_it_had_needs_root() {
    let Some(_alone) = root() else { return };
    let Some(blkio) = v1("blkio") else { return };
    let folder = run_folder();
    let image = folder.path().join("whole.img");
    File::create(&image).unwrap().set_len(512 * MIB).unwrap();
    let output = Command::new("/usr/sbin/losetup")
        .args(["--find", "--show"])
        .arg(&image)
        .output()
        .unwrap();
    let node = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    let number = fs::read_to_string(format!(
        "/sys/class/block/{}/dev",
        node.file_name().unwrap().to_str().unwrap()
    ));
    let number = number.unwrap().trim().to_string();
    let by_hand = |rate: u64| {
        let file = blkio.join("blkio.throttle.read_bps_device");
        fs::write(file, format!("{number} {rate}")).unwrap();
    };
    by_hand(50 * MIB);
    let run = run_folder();
    let target = Target::Block {
        device: node.clone(),
        serial: Some("loop:whole.img".into()),
    };
    let mut rig = Rig::open(target, run.path()).unwrap();
    let prepared = rig.prepare(&request("ext4"), &Silent).unwrap();
    let warning = &prepared.warnings()[0];
    assert!(
        warning.contains("that this run did not set") && warning.contains("52428800"),
        "{warning}"
    );
    prepared.finish().unwrap();
    let asked = Request {
        limit: Some(rates(20 * MIB, 20 * MIB)),
        ..request("ext4")
    };
    let prepared = rig.prepare(&asked, &Silent).unwrap();
    assert_eq!(
        throttles(&blkio, &node),
        ["read_bps 20971520", "write_bps 20971520"]
    );
    prepared.finish().unwrap();
    assert_eq!(throttles(&blkio, &node), ["read_bps 52428800"]);
    by_hand(0);
    drop(rig);
    let detach = Command::new("/usr/sbin/losetup")
        .arg("-d")
        .arg(&node)
        .status();
    assert!(detach.unwrap().success());
}

#[test]
fn a_memory_limit_bounds_the_page_cache_needs_root() {
    let Some(_alone) = root() else { return };
    let run = run_folder();
    let before = own_groups();
    let limit = 128 * MIB;
    let asked = Request {
        memory: Some(limit),
        ..request("ext4")
    };
    let prepared = open(run.path()).prepare(&asked, &Silent).unwrap();
    assert_ne!(own_groups(), before, "the process is in a group of its own");
    assert_eq!(
        prepared.facts().device["memory_limit"].split(' ').next(),
        Some("134217728")
    );
    let path = prepared.mount_point().join("file");
    moved(&file(&path, false), 512 * MIB, true);
    prepared.drop_caches(&[&path]).unwrap();
    let cold = prepared.memory_group().unwrap();
    let file = file(&path, false);
    moved(&file, 512 * MIB, false);
    let page = rustix::param::page_size() as u64;
    let resident = residency::of(file.as_fd()).unwrap().resident * page;
    let reading = prepared.memory_group().unwrap();
    println!("{} MiB resident, {reading:?}", resident / MIB);
    assert!(resident <= limit, "{resident} bytes resident");
    assert!(
        resident > limit / 4,
        "only {resident} bytes resident: was it read?"
    );
    assert_eq!(reading.limit, limit);
    assert!(reading.usage <= limit && reading.peak <= limit && reading.peak >= reading.usage);
    assert!(reading.limit_met > cold.limit_met, "{cold:?} {reading:?}");
    let child = fs::read_to_string("/proc/self/cgroup").unwrap();
    let of_child = Command::new("cat")
        .arg("/proc/self/cgroup")
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(of_child.stdout).unwrap(),
        child,
        "children inherit it"
    );
    drop(file);
    prepared.finish().unwrap();
    assert_eq!(own_groups(), before, "and back");
    assert_eq!(groups_of(std::process::id()), Vec::<PathBuf>::new());
}

fn own_groups() -> String {
    fs::read_to_string("/proc/self/cgroup").unwrap()
}

/// Groups of ours that a process of this id left.
fn groups_of(pid: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo: Vec<PathBuf> = vec!["/sys/fs/cgroup".into()];
    while let Some(folder) = todo.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().unwrap().is_dir() {
                continue;
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&format!("fslab-{pid}-")) {
                found.push(entry.path());
            }
            todo.push(entry.path());
        }
    }
    found
}

#[test]
fn a_group_of_a_killed_run_is_removed_needs_root() {
    let Some(_alone) = root() else { return };
    let run = run_folder();
    let mut child = start(run.path(), "xfs", &["memory=268435456", "limit=52428800"]);
    wait_until_prepared(&mut child);
    let pid = child.id();
    let group = groups_of(pid);
    assert_eq!(group.len(), 1, "{group:?}");
    kill(child);
    assert_eq!(groups_of(pid), group, "it outlives the process");
    let planned = rig::clean(run.path(), true).unwrap();
    let undone = rig::clean(run.path(), false).unwrap();
    assert_eq!(planned, undone);
    assert_eq!(
        undone.last().unwrap().to_string(),
        format!("control group {}", group[0].display())
    );
    assert_eq!(groups_of(pid), Vec::<PathBuf>::new());
    assert_eq!(rig::clean(run.path(), false).unwrap(), Vec::new());
}

#[test]
fn a_group_in_use_is_reported_with_its_processes_needs_root() {
    let Some(_alone) = root() else { return };
    let run = run_folder();
    let mut child = start(run.path(), "ext4", &["memory=268435456"]);
    wait_until_prepared(&mut child);
    let group = groups_of(child.id()).pop().unwrap();
    let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
    fs::write(group.join("cgroup.procs"), sleeper.id().to_string()).unwrap();
    kill(child);
    let error = rig::clean(run.path(), false).unwrap_err().to_string();
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert!(
        error.contains(&format!("sleep (pid {})", sleeper.id())),
        "{error}"
    );
    rig::clean(run.path(), false).unwrap();
    assert!(!group.exists());
}

#[test]
fn a_killed_run_is_undone_whatever_bound_it_was_setting_needs_root() {
    let Some(_alone) = root() else { return };
    let Some(blkio) = v1("blkio") else { return };
    let before = throttle_lines(&blkio);
    let mut bounds = 0;
    // The moments of the kills are spread over what this machine needs.
    let limits = ["memory=268435456", "limit=52428800"];
    let run = run_folder();
    let begun = std::time::Instant::now();
    let mut child = start(run.path(), "ext4", &limits);
    wait_until_prepared(&mut child);
    let takes = begun.elapsed();
    kill(child);
    rig::clean(run.path(), false).unwrap();
    for round in 0..16_u32 {
        let run = run_folder();
        let child = start(run.path(), "ext4", &limits);
        let pid = child.id();
        std::thread::sleep(takes * round / 12);
        kill(child);
        let undone = rig::clean(run.path(), false).unwrap();
        bounds += undone
            .iter()
            .filter(|thing| ["device limit", "control group"].contains(&thing.what))
            .count();
        assert_eq!(traces(run.path()), Vec::<String>::new());
        assert_eq!(groups_of(pid), Vec::<PathBuf>::new());
        assert_eq!(throttle_lines(&blkio), before);
    }
    assert!(bounds > 0, "no bound was left by 16 kills");
}

fn throttle_lines(blkio: &Path) -> Vec<String> {
    let items = ["read_bps", "write_bps", "read_iops", "write_iops"];
    let files = items.map(|item| blkio.join(format!("blkio.throttle.{item}_device")));
    files
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect()
}

#[test]
fn a_directory_and_impossible_bounds_are_refused_before_anything_is_made() {
    let (run, place) = (run_folder(), run_folder());
    let target = Target::Directory {
        path: place.path().into(),
    };
    let mut rig = Rig::open(target, run.path()).unwrap();
    let plain = request("ext4");
    for (asked, expected) in [
        (
            Request {
                limit: Some(rates(MIB, MIB)),
                ..plain.clone()
            },
            "a device limit (read 1048576 B/s, write 1048576 B/s) cannot be set in a directory",
        ),
        (
            Request {
                readahead_sectors: Some(256),
                ..plain.clone()
            },
            "readahead (256 sectors) cannot be set in a directory",
        ),
        (
            Request {
                memory: Some(MIB),
                ..plain.clone()
            },
            "it is too small for the lab itself; the smallest that works here is",
        ),
    ] {
        let error = rig.prepare(&asked, &Silent).unwrap_err();
        assert_eq!(error.class(), Class::Cell);
        let text = error.to_string();
        assert!(text.contains(expected) && !text.contains('\n'), "{text}");
        assert_eq!(files(place.path()), Vec::<String>::new());
    }
    let unbounded = Request {
        limit: Some(Limits::default()),
        ..plain
    };
    let prepared: Prepared = rig.prepare(&unbounded, &Silent).unwrap();
    assert_eq!(prepared.memory_group(), None);
    prepared.finish().unwrap();
}

#[test]
fn a_memory_limit_holds_in_a_directory_too_needs_root() {
    let Some(_alone) = root() else { return };
    let (run, place) = (run_folder(), run_folder());
    let target = Target::Directory {
        path: place.path().into(),
    };
    let mut rig = Rig::open(target, run.path()).unwrap();
    let asked = Request {
        memory: Some(256 * MIB),
        ..request("ext4")
    };
    let before = own_groups();
    let prepared = rig.prepare(&asked, &Silent).unwrap();
    assert_eq!(prepared.memory_group().unwrap().limit, 256 * MIB);
    // One at a time: a second trial of the same process is refused.
    let error = rig.prepare(&asked, &Silent).unwrap_err();
    assert!(
        error.to_string().contains("another trial of this process"),
        "{error}"
    );
    drop(prepared);
    assert_eq!(own_groups(), before);
}

#[test]
fn readahead_that_the_device_does_not_take_ends_the_cell_needs_root() {
    let Some(_alone) = root() else { return };
    let run = run_folder();
    let mut rig = open(run.path());
    for kind in ["ext4", "btrfs"] {
        let asked = Request {
            readahead_sectors: Some(4095),
            ..request(kind)
        };
        let error = rig.prepare(&asked, &Silent).unwrap_err();
        assert_eq!(error.class(), Class::Cell);
        let text = error.to_string();
        assert!(
            text.starts_with("/dev/loop")
                && text.contains("asked for 4095")
                && text.contains("got 4088"),
            "{text}"
        );
    }
    drop(rig);
    assert_eq!(traces(run.path()), Vec::<String>::new());
    assert_eq!(files(run.path()), ["undo.jsonl"]);
}
