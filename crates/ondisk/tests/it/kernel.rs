//! Filesystems that the kernel has written: its hashes, its journal, its orphans.
use crate::common;

use std::fs;
use std::path::{Path, PathBuf};

use common::journal::{blocks as journal_blocks, read_log};
use common::{Image, files, make, walk};
use ondisk::ext4::Geometry;
use ondisk::ext4::feature::Compat;
use ondisk::ext4::journal::JournalSuperblock;
use ondisk::ext4::journal::fast_commit::{Record, records};
use ondisk::ext4::orphan::OrphanBlock;

/// A mount that does not outlive its test.
struct Mounted(PathBuf);

impl Drop for Mounted {
    /// Tries for a while: a child that another test has just forked holds our open files until it executes its
    /// program.
    fn drop(&mut self) {
        let umount = |lazy: &[&str]| {
            let mut command = std::process::Command::new("umount");
            command
                .args(lazy)
                .arg(&self.0)
                .stderr(std::process::Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        for _ in 0..100 {
            if umount(&[]) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        umount(&["-l"]);
        assert!(std::thread::panicking(), "{} stays busy", self.0.display());
    }
}

/// Root, or a line that says what is left out.
fn root() -> bool {
    testkit::root!("loop devices and mounts")
}

fn mount(image: &Path, at: &Path, options: &str) -> Mounted {
    let options = format!("loop,{options}");
    make::run(
        "mount",
        &[
            "-o",
            &options,
            image.to_str().unwrap(),
            at.to_str().unwrap(),
        ],
        &[0],
    );
    Mounted(at.to_path_buf())
}

fn load(path: &Path) -> Image {
    Image {
        bytes: fs::read(path).unwrap(),
    }
}

struct Setup {
    dir: tempfile::TempDir,
    image: PathBuf,
    at: PathBuf,
}

fn setup(features: &str, commands: &str) -> Setup {
    let dir = tempfile::tempdir().unwrap();
    let (image, at) = (dir.path().join("image"), dir.path().join("at"));
    fs::create_dir(&at).unwrap();
    let args = [
        "-q", "-F", "-t", "ext4", "-b", "1024", "-N", "8192", "-O", features,
    ];
    let mut args = args.to_vec();
    args.extend([
        "-E",
        "lazy_itable_init=0,lazy_journal_init=0",
        image.to_str().unwrap(),
        "128M",
    ]);
    make::run("mke2fs", &args, &[0]);
    make::debugfs(&image, true, commands);
    Setup { dir, image, at }
}

/// The kernel orders two large directories, one by unsigned characters, whose names go beyond ASCII.
fn kernel_indexes(flags: u32, expect_unsigned: bool) {
    let Setup { dir, image, at } = setup("dir_index", &format!("ssv flags {flags}\n"));
    let mounted = mount(&image, &at, "noatime");
    fs::create_dir(at.join("names")).unwrap();
    for nth in 0..4000 {
        fs::write(
            at.join(format!("names/Größe-{nth}-ÿ{}", "ж".repeat(nth % 7))),
            b"",
        )
        .unwrap();
    }
    for nth in (0..4000).step_by(3) {
        fs::remove_file(at.join(format!("names/Größe-{nth}-ÿ{}", "ж".repeat(nth % 7)))).unwrap();
    }
    drop(mounted);
    make::run("e2fsck", &["-fn", image.to_str().unwrap()], &[0]);
    let image = load(&image);
    assert_eq!(image.superblock().unwrap().unsigned_hash(), expect_unsigned);
    let report = walk::walk(&image);
    assert_eq!(report.problems, Vec::<String>::new());
    assert!(report.good["name hash"] > 2600, "{:?}", report.good);
    assert!(
        report.good["index block"] > 1,
        "two levels: {:?}",
        report.good
    );
    drop(dir);
}

#[test]
fn indexes_by_signed_characters_needs_root() {
    if root() {
        kernel_indexes(1, false);
    }
}

#[test]
fn indexes_by_unsigned_characters_needs_root() {
    if root() {
        kernel_indexes(2, true);
    }
}

/// A copy of the device while it is mounted: the journal holds transactions, the orphan file an orphan.
#[test]
fn a_crashed_journal_is_read_needs_root() {
    if !root() {
        return;
    }
    let Setup { dir, image, at } = setup("orphan_file", "");
    let mounted = mount(&image, &at, "noatime");
    let mut open = Vec::new();
    for nth in 0..20 {
        fs::create_dir(at.join(format!("d{nth}"))).unwrap();
        fs::write(at.join(format!("d{nth}/f")), vec![1; 20_000]).unwrap();
        if nth % 2 == 0 {
            open.push(fs::File::open(at.join(format!("d{nth}/f"))).unwrap());
        }
        fs::remove_file(at.join(format!("d{nth}/f"))).unwrap();
        fs::remove_dir(at.join(format!("d{nth}"))).unwrap();
        make::run("sync", &["-f", at.to_str().unwrap()], &[0]);
    }
    let copy = load(&image);
    drop(open);
    drop(mounted);
    let sb = *copy.superblock().unwrap();
    assert!(sb.checksum().unwrap().matches());
    let geometry = Geometry::new(&sb).unwrap();
    let blocks = journal_blocks(&copy, &geometry);
    let journal = *JournalSuperblock::read(&blocks[0]).unwrap();
    assert!(journal.checksum().unwrap().matches());
    let log = read_log(&blocks, &journal);
    assert!(
        log.transactions >= 10 && log.tags > 50 && log.revoked > 0,
        "{log:?}"
    );
    assert!(sb.has_compat(Compat::ORPHAN_FILE));
    let report = walk::walk(&load(&image));
    assert_eq!(report.problems, Vec::<String>::new(), "after the unmount");
    assert!(report.good["orphan block"] > 0);
    replay_orphans(dir.path(), &copy);
}

/// e2fsck's replay of the copy's journal brings the orphans to their file; before it clears them there, they
/// are read from the copy of the journal's data by our reader.
fn replay_orphans(dir: &Path, copy: &Image) {
    let path = dir.join("copy");
    fs::write(&path, &copy.bytes).unwrap();
    make::debugfs(&path, true, "journal_run\n");
    let image = load(&path);
    let sb = *image.superblock().unwrap();
    let geometry = Geometry::new(&sb).unwrap();
    let ino = sb.s_orphan_file_inum.get();
    let inode = image.inode(&geometry, ino).unwrap();
    let seed = inode.seed(sb.metadata_seed().unwrap(), ino);
    let mut orphans = 0;
    for (_, place, _) in files::map(&image, &geometry, &inode, None).data {
        let block = OrphanBlock::read(image.block(&geometry, place).unwrap()).unwrap();
        assert!(block.checksum(seed, place).matches());
        for ino in block.inodes() {
            let orphan = image.inode(&geometry, ino).unwrap();
            assert_eq!(orphan.raw().i_links_count.get(), 0);
            orphans += 1;
        }
    }
    assert_eq!(orphans, 20, "ten open files, and each holds its directory");
}

/// Fast commits: the kernel writes them at fsync, and we find what was done.
#[test]
fn fast_commits_are_read_needs_root() {
    if !root() {
        return;
    }
    let Setup { dir, image, at } = setup("fast_commit", "");
    let mounted = mount(&image, &at, "noatime,commit=300");
    make::run("sync", &["-f", at.to_str().unwrap()], &[0]);
    for nth in 0..8 {
        let path = at.join(format!("quick-{nth}"));
        fs::write(&path, vec![5; 3000]).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
    }
    let copy = load(&image);
    drop(mounted);
    let geometry = Geometry::new(copy.superblock().unwrap()).unwrap();
    let blocks = journal_blocks(&copy, &geometry);
    let journal = *JournalSuperblock::read(&blocks[0]).unwrap();
    assert!(journal.fast_commit_blocks() > 0);
    let area: Vec<u8> = blocks[journal.fast_commits().unwrap().start as usize..].concat();
    let (mut tails, mut names, mut ranges) = (0, Vec::new(), 0);
    for placed in records(&area) {
        match placed.unwrap() {
            ondisk::ext4::journal::fast_commit::Placed {
                record: Record::Tail { crc, .. },
                computed,
                ..
            } => {
                assert_eq!(crc, computed);
                tails += 1;
            }
            placed => match placed.record {
                Record::Create(dentry) => {
                    names.push(String::from_utf8_lossy(dentry.name).into_owned());
                }
                Record::AddRange { .. } => ranges += 1,
                _ => {}
            },
        }
    }
    assert!(tails > 0 && ranges > 0, "{tails} tails, {ranges} ranges");
    assert!(names.iter().any(|name| name == "quick-7"), "{names:?}");
    drop(dir);
}
