//! A whole disk, played by a loop device that the rig did not make.

use crate::common;
use progress::{Silent, Until};

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{root, traces};
use rig::{Class, Request, Rig, Target};

struct Disk {
    node: PathBuf,
    _folder: tempfile::TempDir,
}

impl Disk {
    fn new() -> Disk {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("whole.img");
        File::create(&image).unwrap().set_len(512 << 20).unwrap();
        let output = Command::new("/usr/sbin/losetup")
            .args(["--find", "--show"])
            .arg(&image)
            .output()
            .unwrap();
        let node = String::from_utf8(output.stdout).unwrap().trim().into();
        Disk {
            node,
            _folder: folder,
        }
    }

    fn target(&self, serial: &str) -> Target {
        Target::Block {
            device: self.node.clone(),
            serial: Some(serial.into()),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("/usr/sbin/losetup")
            .arg("-d")
            .arg(&self.node)
            .status();
    }
}

fn request(kind: &str) -> Request {
    Request {
        kind: kind.into(),
        discard: true,
        ..Request::default()
    }
}

#[test]
fn a_disk_serves_trial_after_trial_and_is_blank_at_the_end_needs_root() {
    let Some(_alone) = root() else { return };
    let disk = Disk::new();
    let run = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(disk.target("loop:whole.img"), run.path()).unwrap();
    for kind in ["ext4", "xfs", "btrfs", "ext2"] {
        let prepared = rig.prepare(&request(kind), &Silent).unwrap();
        assert_eq!(prepared.facts().mounted_type, kind);
        assert_eq!(prepared.device_node(), Some(disk.node.as_path()));
        assert_eq!(prepared.facts().device["serial"], "loop:whole.img");
        // More than the wiped ends, so that something is left in between.
        std::fs::write(prepared.mount_point().join("file"), vec![7; 32 << 20]).unwrap();
        prepared.finish().unwrap();
    }
    drop(rig);
    assert_eq!(traces(run.path()), Vec::<String>::new());
    let journal = rig::undo::Journal::open(run.path()).unwrap();
    assert_eq!(journal.left(), Vec::new());
    rig::gate::examine(&disk.node, Some("loop:whole.img")).unwrap();
    // What the workload wrote is still in the middle, and the next run takes the disk.
    let node = File::options().read(true).write(true).open(&disk.node);
    let node = node.unwrap();
    let mut middle = vec![0; 256 << 20];
    node.read_exact_at(&mut middle, 16 << 20).unwrap();
    assert!(
        middle.contains(&7),
        "nothing was left: the test shows nothing"
    );
    let next = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(disk.target("loop:whole.img"), next.path()).unwrap();
    let prepared = rig.prepare(&request("ext4"), &Silent).unwrap();
    prepared.finish().unwrap();
    drop(rig);
    // Written to since: foreign data again.
    node.write_all_at(&vec![9; 4 << 20], 100 << 20).unwrap();
    node.sync_all().unwrap();
    drop(node);
    let other = tempfile::tempdir().unwrap();
    let error = Rig::open(disk.target("loop:whole.img"), other.path()).unwrap_err();
    assert_eq!(error.class(), Class::Safety);
    assert!(error.to_string().contains("blkdiscard"), "{error}");
}

#[test]
fn a_wrong_serial_and_a_signed_disk_are_refused_and_untouched_needs_root() {
    let Some(_alone) = root() else { return };
    let disk = Disk::new();
    let run = tempfile::tempdir().unwrap();
    let error = Rig::open(disk.target("WD-1"), run.path()).unwrap_err();
    assert_eq!(error.class(), Class::Safety);
    let status = Command::new("/usr/sbin/mkfs.ext4")
        .args(["-Fq", "-L", "precious"])
        .arg(&disk.node)
        .status();
    assert!(status.unwrap().success());
    let error = Rig::open(disk.target("loop:whole.img"), run.path()).unwrap_err();
    assert!(error.to_string().contains("ext2/3/4"), "{error}");
    let source = probe::superblock::Source::open(&disk.node).unwrap();
    let facts = rig::filesystem::of_kind("ext4")
        .unwrap()
        .superblock(&source)
        .unwrap();
    assert_eq!(facts["label"], "precious");
}

#[test]
fn a_killed_run_goes_on_with_its_own_filesystem_but_not_with_anothers_needs_root() {
    let Some(_alone) = root() else { return };
    let disk = Disk::new();
    let run = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(disk.target("loop:whole.img"), run.path()).unwrap();
    let prepared = rig.prepare(&request("xfs"), &Silent).unwrap();
    // As after a kill -9: nothing is undone, the lock is gone with its file.
    std::mem::forget(prepared);
    let copy = tempfile::tempdir().unwrap();
    let lines = std::fs::read_to_string(run.path().join("undo.jsonl")).unwrap();
    let formatted = lines.lines().find(|line| line.contains("formatted"));
    let formatted = format!("{}\n", formatted.unwrap());
    std::fs::write(copy.path().join("undo.jsonl"), formatted).unwrap();
    unmount_below(run.path());

    // Our filesystem with a trace of another kind beside it is no longer only ours.
    let node = File::options().write(true).open(&disk.node).unwrap();
    let btrfs = (b"_BHRfS_M", 0x1_0040);
    let mut before = [0; 8];
    File::open(&disk.node)
        .unwrap()
        .read_exact_at(&mut before, btrfs.1)
        .unwrap();
    node.write_all_at(btrfs.0, btrfs.1).unwrap();
    node.sync_all().unwrap();
    let error = Rig::open(disk.target("loop:whole.img"), copy.path()).unwrap_err();
    assert_eq!(error.class(), Class::Safety, "{error}");
    node.write_all_at(&before, btrfs.1).unwrap();
    node.sync_all().unwrap();
    drop(node);

    // This journal names nothing but the disk, so only the disk's state counts.
    let mut again = Rig::open(disk.target("loop:whole.img"), copy.path()).unwrap();
    again
        .prepare(&request("ext4"), &Silent)
        .unwrap()
        .finish()
        .unwrap();
    drop(again);

    let status = Command::new("/usr/sbin/mkfs.xfs")
        .args(["-fq"])
        .arg(&disk.node)
        .status();
    assert!(status.unwrap().success());
    let error = Rig::open(disk.target("loop:whole.img"), copy.path()).unwrap_err();
    assert_eq!(error.class(), Class::Safety, "a new UUID is foreign data");
}

fn unmount_below(run: &Path) {
    for mount in probe::mountinfo::own().unwrap() {
        if mount.point.starts_with(run.canonicalize().unwrap()) {
            assert!(
                Command::new("umount")
                    .arg(mount.point)
                    .status()
                    .unwrap()
                    .success()
            );
        }
    }
}

#[test]
fn a_filesystem_is_written_down_before_mkfs_needs_root() {
    let Some(_alone) = root() else { return };
    let disk = Disk::new();
    for kind in ["ext4", "xfs", "btrfs"] {
        let run = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(disk.target("loop:whole.img"), run.path()).unwrap();
        let journal = || std::fs::read_to_string(run.path().join("undo.jsonl")).unwrap();
        // Stopped as soon as it is written down: nothing has been made of it yet, or half of it.
        let stopped = rig.prepare(
            &request(kind),
            &Until::silent(|| journal().contains("formatted")),
        );
        assert_eq!(stopped.unwrap_err().class(), Class::Interrupted);
        let lines = journal();
        let uuid = lines.split("\"uuid\":\"").nth(1).unwrap();
        let uuid = uuid.split('"').next().unwrap();
        // What a kill in the middle of that mkfs may leave.
        let option = if kind == "xfs" { "-m" } else { "-U" };
        let value = if kind == "xfs" {
            format!("uuid={uuid}")
        } else {
            uuid.into()
        };
        let force = if kind == "ext4" { "-F" } else { "-f" };
        let mkfs = Command::new(format!("/usr/sbin/mkfs.{kind}"))
            .args([force, option, &value])
            .arg(&disk.node)
            .output()
            .unwrap();
        assert!(mkfs.status.success(), "{mkfs:?}");
        drop(rig);
        let elsewhere = tempfile::tempdir().unwrap();
        let refused = Rig::open(disk.target("loop:whole.img"), elsewhere.path()).unwrap_err();
        assert_eq!(
            refused.class(),
            Class::Safety,
            "another run knows nothing of it"
        );
        let mut again = Rig::open(disk.target("loop:whole.img"), run.path()).unwrap();
        let prepared = again.prepare(&request(kind), &Silent).unwrap();
        assert_eq!(prepared.facts().superblock["uuid"], uuid, "{kind}");
        prepared.finish().unwrap();
    }
    rig::gate::examine(&disk.node, Some("loop:whole.img")).unwrap();
}

#[test]
fn a_stop_while_discarding_lets_go_of_the_disk_and_wipes_it_needs_root() {
    let Some(_alone) = root() else { return };
    let disk = Disk::new();
    let run = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(disk.target("loop:whole.img"), run.path()).unwrap();
    // Once used, the disk's content is the run's own, whatever it is.
    let first = rig.prepare(&request("ext4"), &Silent).unwrap();
    first.finish().unwrap();
    let node = File::options()
        .read(true)
        .write(true)
        .open(&disk.node)
        .unwrap();
    node.write_all_at(&[7; 512], 8192).unwrap();
    node.sync_all().unwrap();
    let error = rig
        .prepare(&request("ext4"), &Until::silent(|| true))
        .unwrap_err();
    assert_eq!(error.class(), Class::Interrupted, "{error}");
    let mut read = [1; 512];
    node.read_exact_at(&mut read, 8192).unwrap();
    assert_eq!(read, [0; 512], "released, so wiped");
    drop(rig);
    rig::gate::examine(&disk.node, Some("loop:whole.img")).unwrap();
}
