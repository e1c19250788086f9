//! `fslab check` and e2fsck on filesystems that the kernel has aged: the device is copied while files are created and
//! removed, so its metadata is from many moments, and the journal is not replayed.
//!
//! For each copy `fslab check` must report the verdict of e2fsck, its first problem, and all of its
//! problems if e2fsck finished. (Where e2fsck gives up is compared on reproducible images, in
//! `pass1/tests`.) Then the copy is recovered by e2fsck and, if it is from one moment and has a
//! journal, by the kernel; both must find the result clean. The ageing is counted in operations and
//! never waits for a clock.

mod ageing;
use crate::common;
mod device;
mod judges;

use std::fs;
use std::path::{Path, PathBuf};

use fixtures::problem_codes as codes;
use testkit::reference;

use ageing::{Done, Progress, age};
use common::{Scratch, is_root};
use device::Mounted;
use judges::{ours, repaired, theirs};

/// Operations before the first copy, and between two copies: enough to fill the filesystem and thin it out.
const BEFORE: u64 = 900;
const BETWEEN: u64 = 700;

/// A filesystem that was in use, and its copies.
struct Aged {
    /// Copies from many moments.
    torn: Vec<PathBuf>,
    /// Copies as a crash leaves them.
    crashed: PathBuf,
    /// The copy after the unmount.
    whole: PathBuf,
    done: Done,
    /// Directories that the kernel had indexed.
    indexed: usize,
}

impl Aged {
    fn new(scratch: &Scratch, name: &str, options: &[&str]) -> Aged {
        let whole = scratch.join(name);
        let mounted = Mounted::made(&whole, options);
        let progress = Progress::default();
        let copy = |n: usize| scratch.join(&format!("{name}-{n}"));
        let done = std::thread::scope(|scope| {
            let ageing = scope.spawn(|| age(&mounted.point, name.len() as u64 * 7919, &progress));
            let stopping = progress.stopping();
            progress.wait_for(BEFORE);
            mounted.copied(&copy(0), &progress);
            progress.wait_for(BETWEEN);
            mounted.copied_with_cache(&copy(1), &progress);
            progress.wait_for(BETWEEN);
            mounted.at_a_moment(&copy(2), &progress);
            progress.wait_for(BETWEEN);
            mounted.copied(&copy(3), &progress);
            progress.wait_for(BETWEEN);
            drop(stopping);
            ageing.join().unwrap()
        });
        let indexed = mounted.indexed();
        drop(mounted);
        Aged {
            torn: vec![copy(0), copy(1), copy(3)],
            crashed: copy(2),
            whole,
            done,
            indexed,
        }
    }

    /// Asserts that the ageing exercised every feature.
    fn assert_aged(&self, indexed: bool) {
        let Done {
            files,
            sparse,
            hard_links,
            symlinks,
            attributes,
            removed,
            fillings,
        } = self.done;
        let all = [
            files, sparse, hard_links, symlinks, attributes, removed, fillings,
        ];
        assert!(all.iter().all(|times| *times > 0), "{:?}", self.done);
        assert!(!indexed || self.indexed > 0, "no directory was indexed");
    }
}

/// Compares both checkers on a copy; returns whether it is damaged. Nothing is compared where the
/// reference has no verdict.
fn compare(copy: &Path) -> bool {
    let Some((theirs, message)) = theirs(copy) else {
        return true;
    };
    let ours = ours(copy);
    let of = format!("{}: ours, and e2fsck's:\n{message}", copy.display());
    if ours.all() != theirs.all() {
        keep(copy);
    }
    assert_eq!(ours.first(), theirs.first(), "{of}");
    assert_eq!(ours.exit, theirs.exit, "{of}");
    if !theirs.gave_up() {
        assert_eq!(ours.problems(), theirs.problems(), "{of}");
    }
    theirs.exit != 0
}

/// Keeps a copy on which the checkers report different problems, in the folder `FSLAB_KEEP`.
fn keep(copy: &Path) {
    if let Some(folder) = std::env::var_os("FSLAB_KEEP") {
        let nth = std::process::id();
        let name = copy.file_name().unwrap().to_string_lossy();
        fs::copy(copy, Path::new(&folder).join(format!("{name}-{nth}"))).unwrap();
    }
}

fn assert_clean(image: &Path) {
    let (theirs, message) = theirs(image).unwrap();
    assert!(theirs.is_clean(), "{}: {message}", image.display());
    let ours = ours(image);
    assert!(ours.is_clean(), "{}: {ours:?}", image.display());
}

/// Runs e2fsck -y on a copy without a usable journal; returns whether it converged. Both checkers must then agree.
fn repair(copy: &Path) -> bool {
    let done = repaired(copy);
    if done {
        assert_clean(copy);
    } else {
        compare(copy);
    }
    done
}

/// Lets e2fsck and the kernel each recover a copy of a crashed filesystem.
fn recover(crashed: &Path) {
    let again = crashed.with_extension("again");
    fs::copy(crashed, &again).unwrap();
    let run = reference::run(crashed, &["-fp"]);
    assert!(
        matches!(run.code, Some(0 | 1)),
        "{}: {}",
        crashed.display(),
        run.text
    );
    assert_clean(crashed);
    drop(Mounted::new(&again));
    assert_clean(&again);
    fs::remove_file(again).unwrap();
}

/// Ages filesystems and compares; `journal`: whether they have a journal.
fn verdicts(kinds: &[(&str, &[&str])], journal: bool) {
    let (mut damaged, mut repaired) = (0, 0);
    for (name, options) in kinds {
        let scratch = Scratch::new();
        let aged = Aged::new(&scratch, name, options);
        aged.assert_aged(journal);
        damaged += aged.torn.iter().filter(|copy| compare(copy)).count();
        compare(&aged.crashed);
        assert_clean(&aged.whole);
        repaired += aged.torn.iter().filter(|copy| repair(copy)).count();
        if journal {
            recover(&aged.crashed);
        } else {
            repair(&aged.crashed);
        }
        scratch.assert_nothing_left();
    }
    // Neither clean filesystems alone nor unrepairable ones alone would make a useful comparison.
    println!("{damaged} copies were damaged, {repaired} were repaired");
    assert!(damaged >= kinds.len() && repaired >= kinds.len());
}

#[test]
fn ext2_cut_off_is_judged_as_by_e2fsck_needs_root() {
    if is_root() {
        verdicts(
            &[
                ("ext2-1k", &["-t", "ext2", "-b", "1024"]),
                ("ext2-2k", &["-t", "ext2", "-b", "2048"]),
                ("ext2-4k", &["-t", "ext2", "-b", "4096", "-g", "4096"]),
            ],
            false,
        );
    }
}

#[test]
fn ext3_cut_off_is_judged_as_by_e2fsck_and_recovers_needs_root() {
    if is_root() {
        verdicts(
            &[
                ("ext3-1k", &["-t", "ext3", "-b", "1024"]),
                ("ext3-2k", &["-t", "ext3", "-b", "2048"]),
                ("ext3-4k", &["-t", "ext3", "-b", "4096", "-g", "4096"]),
            ],
            true,
        );
    }
}

#[test]
fn ext4_cut_off_is_judged_as_by_e2fsck_and_recovers_needs_root() {
    if is_root() {
        verdicts(
            &[
                ("ext4-1k", &["-t", "ext4", "-b", "1024"]),
                ("ext4-2k", &["-t", "ext4", "-b", "2048"]),
                ("ext4-4k", &["-t", "ext4", "-b", "4096", "-g", "4096"]),
            ],
            true,
        );
    }
}

#[test]
fn ext4_of_other_features_cut_off_is_judged_as_by_e2fsck_and_recovers_needs_root() {
    if is_root() {
        let plain = "^metadata_csum,^64bit,uninit_bg";
        verdicts(
            &[
                ("plain", &["-t", "ext4", "-O", plain]),
                (
                    "inline",
                    &["-t", "ext4", "-O", "inline_data,metadata_csum_seed"],
                ),
                ("bigalloc", &["-t", "ext4", "-O", "bigalloc,^resize_inode"]),
            ],
            true,
        );
    }
}
