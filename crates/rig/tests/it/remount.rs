//! Unmounting and mounting again within a trial.

use crate::common;
use progress::Silent;

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{MIB, files, open, root, traces};
use rig::{Class, Error, Request, Rig, Target};
use workload::residency;

fn request(kind: &str) -> Request {
    common::request(kind, 512 * MIB)
}

fn resident(path: &Path) -> u64 {
    residency::of(File::open(path).unwrap().as_fd())
        .unwrap()
        .resident
}

/// What a proof says of a cold device: before Linux 6.5 nothing counts a device's pages (cachestat(2)).
fn proven() -> Option<bool> {
    let file = tempfile::tempfile().unwrap();
    let (_, by) = residency::counted(file.as_fd()).unwrap();
    (by == "cachestat").then_some(true)
}

#[test]
fn every_kind_is_mounted_again_as_it_was_and_cold_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut rig = open(run.path());
    for (kind, mount) in [
        ("ext2", "noatime"),
        ("ext3", "data=writeback"),
        ("ext4", "noatime,commit=30,nodelalloc"),
        ("xfs", "noatime,logbufs=8"),
        ("btrfs", "noatime,compress=zstd"),
    ] {
        let asked = Request {
            mount: vec![mount.into()],
            readahead_sectors: Some(4096),
            ..request(kind)
        };
        let prepared = rig.prepare(&asked, &Silent).unwrap();
        let path = prepared.mount_point().join("file");
        fs::write(&path, vec![7; 8 * MIB as usize]).unwrap();
        assert!(resident(&path) > 0);
        let readahead = readahead_of(&prepared);
        for _ in 0..2 {
            let before = prepared.timings();
            let proof = prepared
                .remount()
                .unwrap()
                .expect("a device can be remounted");
            assert_eq!(proof.holds, proven(), "{kind}: {proof:?}");
            assert!(
                proof.method.starts_with("umount, BLKFLSBUF, drop_caches 3"),
                "{proof:?}"
            );
            assert!(
                proof
                    .method
                    .ends_with("mounted again with the same effective options")
            );
            assert_eq!(
                proof.pages,
                2 * 512 * MIB / 4096,
                "the device and the image"
            );
            assert_eq!(resident(&path), 0, "{kind}");
            let now = prepared.timings();
            assert!(now.mount > before.mount && now.umount > before.umount);
        }
        assert_eq!(readahead_of(&prepared), readahead, "{kind}");
        assert_eq!(fs::read(&path).unwrap().len() as u64, 8 * MIB);
        prepared.finish().unwrap();
    }
    drop(rig);
    assert_eq!(traces(run.path()), Vec::<String>::new());
    assert_eq!(files(run.path()), ["undo.jsonl"]);
}

/// KiB that the filesystem reads ahead.
fn readahead_of(prepared: &rig::Prepared) -> String {
    let name = prepared.block_name().unwrap();
    let uuid = prepared
        .facts()
        .superblock
        .get("uuid")
        .cloned()
        .unwrap_or_default();
    let own = format!("/sys/fs/btrfs/{uuid}/bdi/read_ahead_kb");
    let device = format!("/sys/block/{name}/queue/read_ahead_kb");
    fs::read_to_string(own)
        .or_else(|_| fs::read_to_string(device))
        .unwrap()
}

#[test]
fn a_busy_mount_is_reported_with_its_holders_and_stays_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut prepared = open(run.path()).prepare(&request("ext4"), &Silent).unwrap();
    let path = prepared.mount_point().join("file");
    let held = File::create(&path).unwrap();
    let own = format!("(pid {})", std::process::id());
    for answer in [prepared.remount().map(|_| ()), prepared.unmount()] {
        match answer {
            Err(Error::Busy { holders, .. }) => assert!(holders.contains(&own), "{holders}"),
            other => panic!("{other:?}"),
        }
    }
    assert!(path.exists(), "mounted still");
    drop(held);
    prepared.remount().unwrap().unwrap();
    prepared.finish().unwrap();
    assert_eq!(traces(run.path()), Vec::<String>::new());
}

#[test]
fn a_copy_in_another_mount_namespace_is_waited_for_and_named_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut rig = open(run.path());
    let mut prepared = rig.prepare(&request("ext4"), &Silent).unwrap();
    let mut copy = Command::new("unshare")
        .args(["--mount", "--propagation", "private"])
        .args(["sh", "-c", "echo ready; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    copy.stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    let busy = prepared.unmount().unwrap_err();
    let Error::Busy { holders, .. } = &busy else {
        panic!("{busy}")
    };
    let namespace = format!("in the mount namespace of cat (pid {})", copy.id());
    assert!(holders.contains(&namespace), "{holders}");
    drop(copy.stdin.take());
    copy.wait().unwrap();
    prepared.unmount().unwrap();
    prepared.finish().unwrap();
    assert_eq!(traces(run.path()), Vec::<String>::new());
}

#[test]
fn a_device_that_a_copy_of_its_mount_holds_goes_with_the_copy_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut rig = open(run.path());
    let prepared = rig.prepare(&request("ext4"), &Silent).unwrap();
    let mut copy = Command::new("unshare")
        .args(["--mount", "--propagation", "private"])
        .args(["sh", "-c", "echo ready; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    let out = copy.stdout.as_mut().unwrap();
    out.read_exact(&mut ready).unwrap();
    let busy = prepared.finish().unwrap_err();
    assert!(matches!(busy, Error::Busy { .. }), "{busy}");
    drop(rig);
    assert_eq!(traces(run.path()).len(), 1, "the loop device");
    // As a test or a script does with a folder that it takes for finished.
    fs::remove_dir_all(run.path()).unwrap();
    fs::create_dir(run.path()).unwrap();
    drop(copy.stdin.take());
    copy.wait().unwrap();
    let begun = Instant::now();
    while !traces(run.path()).is_empty() && begun.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(traces(run.path()), Vec::<String>::new());
}

#[test]
fn options_that_do_not_come_back_are_an_error_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let prepared = open(run.path())
        .prepare(&request("btrfs"), &Silent)
        .unwrap();
    // What is written into the filesystem meanwhile makes the next mount another one.
    let subvolume = prepared.mount_point().join("other");
    for arguments in [["create"], ["set-default"]] {
        let done = Command::new("btrfs")
            .arg("subvolume")
            .args(arguments)
            .arg(&subvolume)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    let error = prepared.remount().unwrap_err();
    assert_eq!(error.class(), Class::Cell);
    let text = error.to_string();
    assert!(
        text.contains("cannot mount it again as it was") && text.contains("subvol=/other"),
        "{text}"
    );
    prepared.finish().unwrap();
    assert_eq!(traces(run.path()), Vec::<String>::new());
}

#[test]
fn an_unmounted_device_stays_for_a_checker_and_is_cold_when_asked_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut rig = open(run.path());
    let mut prepared = rig.prepare(&request("ext4"), &Silent).unwrap();
    fs::write(
        prepared.mount_point().join("file"),
        vec![7; 8 * MIB as usize],
    )
    .unwrap();
    prepared.unmount().unwrap();
    let after = prepared.timings();
    assert!(after.umount > 0.0);
    prepared.unmount().unwrap();
    assert_eq!(prepared.timings(), after, "once is enough");
    assert_eq!(files(prepared.mount_point()), Vec::<String>::new());
    let node = prepared.device_node().unwrap().to_path_buf();
    let mut held = File::open(&node).unwrap();
    let mut read = vec![0; 4 * MIB as usize];
    let mut warm = || {
        held.rewind().unwrap();
        held.read_exact(&mut read).unwrap();
        residency::of(held.as_fd()).unwrap().resident >= 1024
    };
    // Another test may drop the whole machine's page cache.
    assert!((0..10).any(|_| warm()));
    let proof = prepared.drop_device_caches().unwrap();
    assert_eq!(
        (proof.resident_pages, proof.holds),
        (0, proven()),
        "{proof:?}"
    );
    assert_eq!(residency::of(held.as_fd()).unwrap().resident, 0);
    drop(held);
    assert_eq!(prepared.drop_caches(&[]).unwrap().holds, proven());
    assert!(
        prepared
            .remount()
            .unwrap_err()
            .to_string()
            .contains("unmounted before")
    );
    let check = Command::new("/usr/sbin/e2fsck")
        .args(["-f", "-n"])
        .arg(&node)
        .output()
        .unwrap();
    assert!(check.status.success(), "{check:?}");
    let timings = prepared.finish().unwrap();
    assert!(timings.umount >= after.umount && timings.device > 0.0);
    drop(rig);
    assert_eq!(traces(run.path()), Vec::<String>::new());
    assert_eq!(files(run.path()), ["undo.jsonl"]);
}

#[test]
fn dropping_an_unmounted_trial_undoes_the_rest_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir_in("/var/tmp").unwrap();
    let mut prepared = open(run.path()).prepare(&request("xfs"), &Silent).unwrap();
    prepared.unmount().unwrap();
    drop(prepared);
    assert_eq!(traces(run.path()), Vec::<String>::new());
    let left = files(run.path());
    assert!(
        left == ["undo.jsonl"] || left == ["mnt", "undo.jsonl"],
        "{left:?}"
    );
    assert_eq!(
        rig::undo::Journal::open(run.path()).unwrap().left(),
        Vec::new()
    );
}

#[test]
fn a_directory_is_not_remounted() {
    let (run, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = Target::Directory {
        path: place.path().into(),
    };
    let mut rig = Rig::open(target, run.path()).unwrap();
    let mut prepared = rig.prepare(&request("ext4"), &Silent).unwrap();
    assert_eq!(prepared.remount().unwrap(), None);
    prepared.unmount().unwrap();
    let error = prepared.drop_device_caches().unwrap_err();
    assert_eq!(error.class(), Class::Cell);
    assert!(
        error
            .to_string()
            .contains("a directory has no device of its own"),
        "{error}"
    );
    assert!(prepared.mount_point().is_dir());
    prepared.finish().unwrap();
    assert_eq!(files(place.path()), Vec::<String>::new());
}
