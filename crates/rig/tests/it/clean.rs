//! `clean` after a kill -9 at many moments.

use crate::common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::Instant;

use common::{files, kill, root, traces, wait_until_prepared};
use rig::{Error, Rig, Target};

fn start(run: &Path, kind: &str) -> Child {
    common::start(run, kind, &[])
}

fn assert_clean(run: &Path) {
    assert_eq!(traces(run), Vec::<String>::new());
    let left: Vec<String> = files(run).into_iter().filter(|f| f != "images").collect();
    assert!(left.is_empty() || left == ["undo.jsonl"], "{left:?}");
}

#[test]
fn a_killed_run_is_undone_whatever_it_was_doing_needs_root() {
    let Some(_alone) = root() else { return };
    let mut had_something = 0;
    // The moments of the kills are spread over what this machine needs.
    let run = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let mut child = start(run.path(), "ext4");
    wait_until_prepared(&mut child);
    let takes = begun.elapsed();
    kill(child);
    rig::clean(run.path(), false).unwrap();
    for (round, kind) in (0_u32..16).zip(["ext4", "xfs", "btrfs", "ext3"].iter().cycle()) {
        let run = tempfile::tempdir().unwrap();
        let child = start(run.path(), kind);
        thread::sleep(takes * round / 12);
        kill(child);
        let undone = rig::clean(run.path(), false).unwrap();
        had_something += usize::from(!undone.is_empty());
        assert_clean(run.path());
        assert_eq!(
            rig::clean(run.path(), false).unwrap(),
            Vec::new(),
            "idempotent"
        );
    }
    assert!(
        had_something >= 4,
        "only {had_something} of 16 kills left anything to undo"
    );
}

#[test]
fn images_that_no_journal_knows_are_found_by_their_names() {
    let run = tempfile::tempdir().unwrap();
    fs::create_dir(run.path().join("images")).unwrap();
    let own = [
        "crash-7-0.img",
        "images/fslab-7-0-2.img",
        "images/fslab-7-0.img",
        "images/reference-7.img",
    ];
    let others = [
        "crash-7.img",
        "fslab-7-0.img",
        "images/crash-7-0.img",
        "images/fslab-7-.img",
        "images/fslab-7-0.img.old",
        "images/mine.img",
        "reference-7.img",
    ];
    for name in own.iter().chain(&others) {
        fs::write(run.path().join(name), "x").unwrap();
    }
    let planned = rig::clean(run.path(), true).unwrap();
    let undone = rig::clean(run.path(), false).unwrap();
    assert_eq!(planned, undone);
    let expected: Vec<PathBuf> = own.iter().map(|name| run.path().join(name)).collect();
    let things: Vec<PathBuf> = undone.into_iter().map(|undone| undone.thing).collect();
    assert_eq!(things, expected);
    for name in own {
        assert!(!run.path().join(name).exists(), "{name}");
    }
    for name in others {
        assert!(run.path().join(name).exists(), "{name}");
    }
}

#[test]
fn a_mounted_trial_is_undone_and_a_dry_run_only_lists_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir().unwrap();
    let mut child = start(run.path(), "ext4");
    wait_until_prepared(&mut child);
    match rig::clean(run.path(), false) {
        Err(Error::StillRunning { pid, .. }) => assert_eq!(pid, child.id()),
        other => panic!("{other:?}"),
    }
    assert_eq!(traces(run.path()).len(), 2, "a living run is not touched");
    kill(child);
    let planned = rig::clean(run.path(), true).unwrap();
    assert_eq!(traces(run.path()).len(), 2, "a dry run changes nothing");
    let undone = rig::clean(run.path(), false).unwrap();
    assert_eq!(planned, undone);
    let what: Vec<&str> = undone.iter().map(|u| u.what).collect();
    assert_eq!(
        what,
        [
            "mount",
            "loop device",
            "image",
            "mount point",
            "mount point"
        ]
    );
    assert_clean(run.path());
}

/// Shuts a filesystem down, as it does itself after an error of its disk: XFS gives no status of its root from then on.
fn shut_down(point: &Path) {
    let answer = Command::new("xfs_io")
        .args(["-x", "-c", "shutdown"])
        .arg(point)
        .output()
        .unwrap();
    assert!(answer.status.success(), "{answer:?}");
    assert!(fs::write(point.join("new"), "x").is_err());
}

#[test]
fn a_filesystem_that_has_shut_down_is_undone_needs_root() {
    let Some(_alone) = root() else { return };
    for kind in ["xfs", "ext4"] {
        let run = tempfile::tempdir().unwrap();
        let mut child = start(run.path(), kind);
        let point = wait_until_prepared(&mut child);
        shut_down(&point);
        assert_eq!(fs::metadata(&point).is_err(), kind == "xfs");
        kill(child);
        let planned = rig::clean(run.path(), true).unwrap();
        let undone = rig::clean(run.path(), false).unwrap();
        assert_eq!(planned, undone, "{kind}");
        assert_eq!(undone.len(), 5, "{kind}: {undone:?}");
        assert_clean(run.path());

        // The run itself undoes it as well.
        let mut child = start(run.path(), kind);
        shut_down(&wait_until_prepared(&mut child));
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success(), "{kind}");
        assert_clean(run.path());
    }
}

#[test]
fn an_orderly_end_leaves_nothing_to_clean_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir().unwrap();
    let mut child = start(run.path(), "ext4");
    wait_until_prepared(&mut child);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_clean(run.path());
    assert_eq!(rig::clean(run.path(), false).unwrap(), Vec::new());
}

#[test]
fn the_kernel_is_believed_when_the_journal_and_the_image_are_gone_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir().unwrap();
    let mut child = start(run.path(), "ext4");
    wait_until_prepared(&mut child);
    kill(child);
    fs::remove_file(run.path().join("undo.jsonl")).unwrap();
    for entry in fs::read_dir(run.path().join("images")).unwrap().flatten() {
        fs::remove_file(entry.path()).unwrap();
    }
    let deleted = rig::host::Host::default().loops().into_iter();
    assert!({ deleted }.any(|lo| lo.deleted && lo.backing.starts_with(run.path())));
    rig::clean(run.path(), false).unwrap();
    assert_eq!(traces(run.path()), Vec::<String>::new());
}

#[test]
fn a_loop_device_inside_the_trials_mount_is_undone_in_order_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir().unwrap();
    let mut child = start(run.path(), "ext4");
    wait_until_prepared(&mut child);
    let inner = run.path().join("mnt/1/inner.img");
    fs::File::create(&inner).unwrap().set_len(16 << 20).unwrap();
    let status = Command::new("/usr/sbin/losetup")
        .arg("--find")
        .arg(&inner)
        .status();
    assert!(status.unwrap().success());
    kill(child);
    assert_eq!(traces(run.path()).len(), 3);
    rig::clean(run.path(), false).unwrap();
    assert_clean(run.path());
}

#[test]
fn what_is_not_of_this_run_is_not_touched_needs_root() {
    let Some(_alone) = root() else { return };
    let (run, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut neighbour = start(other.path(), "ext4");
    wait_until_prepared(&mut neighbour);
    let mut child = start(run.path(), "ext4");
    wait_until_prepared(&mut child);
    // A torn and a lying line: the neighbour's device under our name.
    let theirs = rig::host::Host::default().loops().into_iter();
    let theirs = { theirs }
        .find(|lo| lo.backing.starts_with(other.path()))
        .unwrap();
    kill(child);
    let mut journal = fs::OpenOptions::new()
        .append(true)
        .open(run.path().join("undo.jsonl"))
        .unwrap();
    let lie = format!(
        "{{\"number\":90,\"made\":\"loop\",\"device\":{:?},\"image\":\"/gone.img\"}}\n{{\"numb",
        theirs.node()
    );
    journal.write_all(lie.as_bytes()).unwrap();
    rig::clean(run.path(), false).unwrap();
    assert_clean(run.path());
    assert_eq!(traces(other.path()).len(), 2, "the neighbour lives on");
    drop(neighbour.stdin.take());
    assert!(neighbour.wait().unwrap().success());
}

#[test]
fn a_new_rig_begins_by_undoing_what_the_killed_one_left_needs_root() {
    let Some(_alone) = root() else { return };
    let run = tempfile::tempdir().unwrap();
    let mut child = start(run.path(), "ext4");
    wait_until_prepared(&mut child);
    kill(child);
    let folder = run.path().join("images");
    let rig = Rig::open(Target::LoopImages { folder }, run.path()).unwrap();
    assert_eq!(rig.leftovers().len(), 5, "{:?}", rig.leftovers());
    assert_eq!(traces(run.path()), Vec::<String>::new());
}

#[test]
fn a_folder_without_a_journal_has_nothing_to_clean() {
    let run = tempfile::tempdir().unwrap();
    fs::write(run.path().join("file"), "").unwrap();
    assert_eq!(rig::clean(run.path(), false).unwrap(), Vec::new());
    assert_eq!(files(run.path()), vec!["file"]);
    assert!(rig::clean(Path::new("/no/such/run"), false).is_err());
}

#[test]
fn a_working_folder_is_removed_but_only_one_of_ours() {
    let run = tempfile::tempdir().unwrap();
    let place = tempfile::tempdir().unwrap();
    let ours = format!("fslab-{}-1", std::process::id());
    let ours = place.path().canonicalize().unwrap().join(ours);
    let theirs = place.path().join("data");
    for folder in [&ours, &theirs] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("file"), "").unwrap();
    }
    let journalled = |run: &Path, path: &Path| {
        let journal = rig::undo::Journal::open(run).unwrap();
        let path = path.into();
        journal.will_make(rig::undo::Step::Folder { path }).unwrap();
    };
    journalled(run.path(), &ours);
    assert_eq!(rig::clean(run.path(), false).unwrap().len(), 1);
    assert_eq!(files(place.path()), vec!["data", "data/file"]);
    journalled(run.path(), &theirs);
    let error = rig::clean(run.path(), false).unwrap_err().to_string();
    assert!(error.contains("does not begin with fslab-"), "{error}");
    assert_eq!(files(place.path()), vec!["data", "data/file"]);
}

fn mount_tmpfs(point: &Path) {
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "tmpfs"]).arg(point);
    assert!(mount.status().unwrap().success());
}

fn umount(point: &Path) {
    let status = Command::new("umount").arg(point).status();
    assert!(status.unwrap().success());
}

/// A run below a folder, killed with an ext4 mounted.
fn killed_below(folder: &Path) -> PathBuf {
    let run = folder.join("run");
    fs::create_dir(&run).unwrap();
    let mut child = start(&run, "ext4");
    wait_until_prepared(&mut child);
    kill(child);
    run
}

#[test]
fn a_copied_run_is_refused_and_the_original_untouched_needs_root() {
    let Some(_alone) = root() else { return };
    let folder = tempfile::tempdir().unwrap();
    let run = killed_below(folder.path());
    let copy = folder.path().join("copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(run.join("undo.jsonl"), copy.join("undo.jsonl")).unwrap();
    let before = (traces(&run), files(&run));
    for dry in [true, false] {
        let error = rig::clean(&copy, dry).unwrap_err();
        assert!(matches!(error, Error::Copied { .. }), "{error:?}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    let target = Target::LoopImages {
        folder: copy.join("images"),
    };
    assert!(matches!(
        Rig::open(target, &copy),
        Err(Error::Copied { .. })
    ));
    assert_eq!((traces(&run), files(&run)), before);
    rig::clean(&run, false).unwrap();
    assert_clean(&run);
}

#[test]
fn a_moved_run_is_undone_where_it_lies_now_needs_root() {
    let Some(_alone) = root() else { return };
    let folder = tempfile::tempdir().unwrap();
    let run = killed_below(folder.path());
    let moved = folder.path().join("moved");
    fs::rename(&run, &moved).unwrap();
    // Something new at the old path: no telling who is who.
    fs::create_dir(&run).unwrap();
    let refused = rig::clean(&moved, false);
    assert!(matches!(refused, Err(Error::Copied { .. })), "{refused:?}");
    fs::remove_dir(&run).unwrap();
    assert_eq!(rig::clean(&moved, false).unwrap().len(), 5);
    assert_clean(&moved);
}

#[test]
fn an_image_outside_of_the_run_is_left_and_reported() {
    let (run, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let precious = other.path().join("precious.img");
    fs::write(&precious, "data").unwrap();
    // Also by a link below the run's own folder.
    std::os::unix::fs::symlink(other.path(), run.path().join("images")).unwrap();
    for path in [precious.clone(), run.path().join("images/precious.img")] {
        let journal = rig::undo::Journal::open(run.path()).unwrap();
        journal.will_make(rig::undo::Step::Image { path }).unwrap();
    }
    let error = rig::clean(run.path(), false).unwrap_err().to_string();
    assert!(error.contains("outside of the run's folder"), "{error}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "data");
}

#[test]
fn a_filesystem_of_others_over_ours_stays_needs_root() {
    let Some(_alone) = root() else { return };
    let folder = tempfile::tempdir().unwrap();
    let run = killed_below(folder.path());
    let point = run.join("mnt/1");
    mount_tmpfs(&point);
    fs::write(point.join("theirs"), "data").unwrap();
    let error = rig::clean(&run, false).unwrap_err();
    assert!(matches!(error, Error::NotUndone { .. }), "{error:?}");
    assert_eq!(fs::read_to_string(point.join("theirs")).unwrap(), "data");
    umount(&point);
    rig::clean(&run, false).unwrap();
    assert_clean(&run);
}

#[test]
fn a_mount_that_its_path_no_longer_reaches_is_an_error_not_a_loop_needs_root() {
    let Some(_alone) = root() else { return };
    let folder = tempfile::tempdir().unwrap();
    let run = killed_below(folder.path());
    mount_tmpfs(&run.join("mnt"));
    let error = rig::clean(&run, false).unwrap_err().to_string();
    assert!(error.contains("mnt/1"), "{error}");
    umount(&run.join("mnt"));
    rig::clean(&run, false).unwrap();
    assert_clean(&run);
}
