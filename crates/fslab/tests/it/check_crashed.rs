//! `fslab check` beside e2fsck on filesystems that the kernel has aged and that were then cut off: the device is copied while
//! files come and go, so that its metadata is of many moments, and the journal is not replayed.
//!
//! Each copy has the verdict of e2fsck, its first problem, and all of its problems where e2fsck came to the end: how far it came before it gives
//! up is compared on images that are the same each time (`pass1/tests`). Then it is recovered, by e2fsck and, where it is of one moment and has a journal,
//! by the kernel; that is clean by both. The ageing is counted in operations and never waits for a clock.

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

/// Operations before the first copy, and between two: in the course of all of them the filesystem was filled and thinned out.
const BEFORE: u64 = 900;
const BETWEEN: u64 = 700;

/// A filesystem that was in use, and its copies.
struct Aged {
    /// Of many moments.
    torn: Vec<PathBuf>,
    /// As a crash leaves it.
    crashed: PathBuf,
    /// Unmounted in the end.
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

    /// Asserts that what a filesystem in use knows came about.
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

/// Compares the two judges on a copy; whether it is damaged. Nothing is compared where the reference has no verdict.
fn compare(copy: &Path) -> bool {
    let Some((theirs, said)) = theirs(copy) else {
        return true;
    };
    let ours = ours(copy);
    let of = format!("{}: ours, and e2fsck's:\n{said}", copy.display());
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

/// Keeps a copy of which the judges do not name the same problems, in the folder that `FSLAB_KEEP` names, to be looked into.
fn keep(copy: &Path) {
    if let Some(folder) = std::env::var_os("FSLAB_KEEP") {
        let nth = std::process::id();
        let name = copy.file_name().unwrap().to_string_lossy();
        fs::copy(copy, Path::new(&folder).join(format!("{name}-{nth}"))).unwrap();
    }
}

fn assert_clean(image: &Path) {
    let (theirs, said) = theirs(image).unwrap();
    assert!(theirs.is_clean(), "{}: {said}", image.display());
    let ours = ours(image);
    assert!(ours.is_clean(), "{}: {ours:?}", image.display());
}

/// Has e2fsck repair a copy that no journal can mend; whether it came to an end. What it then says we say as well.
fn repair(copy: &Path) -> bool {
    let done = repaired(copy);
    if done {
        assert_clean(copy);
    } else {
        compare(copy);
    }
    done
}

/// Has e2fsck and the kernel recover what a crash left, each a copy of its own.
fn recover(crashed: &Path) {
    let again = crashed.with_extension("again");
    fs::copy(crashed, &again).unwrap();
    let said = reference::run(crashed, &["-fp"]);
    assert!(
        matches!(said.code, Some(0 | 1)),
        "{}: {}",
        crashed.display(),
        said.text
    );
    assert_clean(crashed);
    drop(Mounted::new(&again));
    assert_clean(&again);
    fs::remove_file(again).unwrap();
}

/// Ages filesystems and compares; `journal` says that they have one.
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
    // A comparison of sound filesystems alone would say little, and so would one of what is beyond repair.
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
