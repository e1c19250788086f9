//! What `fslab check` says that it takes, what it takes, and `--memory`: sound filesystems, and some whose damage makes a check larger than
//! their descriptors say.

use crate::common;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use common::{Scratch, assert_code, stderr};
use forge::damage::{Filesystem, ImageFile};

const BLOCK: u64 = 4096;
/// Number of files; all have the same mapping.
const FILES: std::ops::Range<u32> = 100..2600;
/// Leaves of that mapping, and where the first is.
const LEAVES: u32 = 4;
const FIRST_LEAF: u32 = 20_000;
/// Extents in a leaf.
const EXTENTS: u32 = 340;

fn header(entries: u16, depth: u16) -> Vec<u8> {
    [0xf30a, entries, entries, depth, 0, 0]
        .iter()
        .flat_map(|word: &u16| word.to_le_bytes())
        .collect()
}

/// One physical block for each logical one, not adjacent to the others.
fn leaf(nth: u32) -> Vec<u8> {
    let mut bytes = header(EXTENTS as u16, 0);
    for logical in nth * EXTENTS..(nth + 1) * EXTENTS {
        bytes.extend(logical.to_le_bytes());
        bytes.extend([1, 0, 0, 0]);
        bytes.extend((FIRST_LEAF + 100 + 2 * logical).to_le_bytes());
    }
    bytes
}

/// A regular file with an index of the leaves.
fn inode() -> Vec<u8> {
    let mut bytes = vec![0; 160];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    let size = LEAVES * EXTENTS * BLOCK as u32;
    put(0, &0o100_644_u16.to_le_bytes());
    put(4, &size.to_le_bytes());
    put(26, &1_u16.to_le_bytes());
    put(28, &((LEAVES * EXTENTS + LEAVES) * 8).to_le_bytes());
    put(32, &0x8_0000_u32.to_le_bytes());
    put(128, &32_u16.to_le_bytes());
    let mut root = header(LEAVES as u16, 1);
    for nth in 0..LEAVES {
        root.extend((nth * EXTENTS).to_le_bytes());
        root.extend((FIRST_LEAF + nth).to_le_bytes());
        root.extend([0; 4]);
    }
    put(40, &root);
    bytes
}

/// Thousands of files that claim the same thousand blocks: who claims which is a list of millions, and the descriptors know of none.
fn crowded(image: &Path) {
    let made = Command::new("mke2fs")
        .args(["-q", "-F", "-t", "ext4", "-b", "4096", "-I", "256", "-N"])
        .args(["8192", "-g", "32768", "-O"])
        .arg("^metadata_csum,^uninit_bg,^has_journal")
        .arg(image)
        .arg("4g")
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
    let open = || File::options().read(true).write(true).open(image).unwrap();
    let mut medium = ImageFile::new(open()).unwrap();
    let filesystem = Filesystem::open(&mut medium).unwrap();
    let places: Vec<u64> = FILES
        .map(|ino| filesystem.inode_position(ino).unwrap())
        .collect();
    let (file, inode) = (open(), inode());
    for at in places {
        file.write_all_at(&inode, at).unwrap();
    }
    for nth in 0..LEAVES {
        let at = u64::from(FIRST_LEAF + nth) * BLOCK;
        file.write_all_at(&leaf(nth), at).unwrap();
    }
}

/// Runs a check; returns its output and the peak of its resident memory.
fn check(image: &Path, more: &[&str]) -> (Output, u64) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fslab"))
        .args(["check", "--threads", "2", "--no-paths"])
        .args(more)
        .arg(image)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    // The kernel's own high-water mark: only growth after the last sample is missed.
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibi = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        most = most.max(kibi.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(1));
    }
    (child.wait_with_output().unwrap(), most)
}

#[test]
fn a_check_that_outgrows_its_bound_ends_before_it_and_says_why() {
    const LIMIT: u64 = 64 << 20;
    // Pages of the program that are shared with its file do not count for the bound.
    const PROGRAM: u64 = 24 << 20;
    let scratch = Scratch::new();
    let image = scratch.join("disk.img");
    crowded(&image);

    let (output, most) = check(&image, &["--memory", "64M"]);
    assert_code(&output, 8);
    assert!(output.stdout.is_empty());
    let message = stderr(&output);
    let errors: Vec<_> = message
        .lines()
        .filter(|line| line.starts_with("fslab: "))
        .collect();
    assert_eq!(errors.len(), 1, "{message}");
    assert!(
        errors[0].starts_with("fslab: the check was stopped at ")
            && errors[0].contains(" MiB of memory, with a limit of 64 MiB: it needs more"),
        "{message}"
    );
    assert!(!message.contains("panicked"), "{message}");
    println!("{} MiB of {} MiB", most >> 20, LIMIT >> 20);
    assert!((LIMIT / 2..LIMIT + PROGRAM).contains(&most), "{most}");

    // Without the limit it finishes, with a verdict and more memory.
    let (output, free) = check(&image, &[]);
    assert_code(&output, 4);
    println!("{} MiB without a bound", free >> 20);
    assert!(free > LIMIT + PROGRAM, "{free}");
}

/// Forges an image: format, and what `fslab forge` is given.
fn forged(image: &Path, format: &str, words: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fslab"));
    let made = command.args(["forge", format]).args(words).arg(image);
    let made = made.output().unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
}

/// Holds a check of a sound filesystem to what it states: at most that, and at least two thirds of it; and to a limit of a little more.
fn keeps_its_word(image: &Path, what: &str) {
    let (output, _) = check(image, &["--format", "json"]);
    assert_code(&output, 0);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let memory = |key: &str| report["memory"][key].as_u64().unwrap();
    let (stated, peak) = (memory("stated_total"), memory("peak"));
    println!(
        "{what}: {} KiB of {} KiB: {}",
        peak >> 10,
        stated >> 10,
        report["memory"]["stated"]
    );
    assert!(
        peak <= stated,
        "{what}: {peak} bytes were taken, and {stated} stated"
    );
    assert!(
        stated * 2 <= peak * 3,
        "{what}: {stated} bytes were stated, and {peak} taken"
    );
    let message = stderr(&output);
    let line = format!("memory: at most {} MiB", stated.div_ceil(1 << 20));
    assert!(message.contains(&line), "{message}");
    let (output, _) = check(
        image,
        &["--brief", "--memory", &(stated + (4 << 20)).to_string()],
    );
    assert_code(&output, 0);
}

#[test]
fn a_sound_filesystem_takes_what_was_stated() {
    let scratch = Scratch::new();
    let image = |name: &str| scratch.join(name);
    let many = [
        "--files",
        "150k",
        "--per-directory",
        "1",
        "--file-size",
        "0",
    ];
    for (format, size) in [("xfs", "4G"), ("ext4", "6G"), ("ocfs2", "4G")] {
        let image = image(format);
        forged(&image, format, &[&["--size", size], &many[..]].concat());
        keeps_its_word(&image, &format!("{format}, a directory for each file"));
        std::fs::remove_file(&image).unwrap();
    }
    for (format, size) in [("xfs", "2G"), ("ext4", "2G"), ("ocfs2", "2G")] {
        let image = image(format);
        forged(&image, format, &["--size", size, "--files", "50k"]);
        keeps_its_word(&image, &format!("{format}, ordinary"));
        std::fs::remove_file(&image).unwrap();
    }
    // The groups of a filesystem that is empty: each has its bitmaps and its table, in pages of the maps that nothing else touches.
    let apart = image("apart");
    mke2fs(&apart, "4T", "^metadata_csum,^flex_bg,uninit_bg");
    keeps_its_word(&apart, "ext4, groups of their own");
    let groups = image("groups");
    File::create(&groups).unwrap().set_len(1 << 40).unwrap();
    let made = Command::new("mkfs.xfs")
        .args(["-q", "-f", "-d", "agcount=6000"])
        .arg(&groups)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
    keeps_its_word(&groups, "xfs, six thousand groups");
}

fn mke2fs(image: &Path, size: &str, features: &str) {
    let made = Command::new("mke2fs")
        .args(["-q", "-F", "-t", "ext4", "-b", "4096", "-O", features])
        .arg(image)
        .arg(size)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
}

/// Four thousand inodes of garbage in one piece of a table, whose blocks are in as many pages of the maps as there are.
#[test]
fn a_table_of_garbage_does_not_exceed_the_limit() {
    const LIMIT: u64 = 96 << 20;
    const PROGRAM: u64 = 24 << 20;
    let scratch = Scratch::new();
    let image = scratch.join("disk.img");
    mke2fs(&image, "6T", "^metadata_csum,uninit_bg");
    for command in ["set_bg 0 itable_unused 0", "set_bg 0 checksum calc"] {
        let set = Command::new("debugfs")
            .args(["-w", "-R", command])
            .arg(&image)
            .output()
            .unwrap();
        assert!(set.status.success(), "{}", stderr(&set));
    }
    let open = || File::options().read(true).write(true).open(&image).unwrap();
    let mut medium = ImageFile::new(open()).unwrap();
    let filesystem = Filesystem::open(&mut medium).unwrap();
    let file = open();
    for ino in 12..4096_u32 {
        let mut bytes = vec![0; 160];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &0o100_644_u16.to_le_bytes());
        put(4, &(12 * BLOCK as u32).to_le_bytes());
        put(26, &1_u16.to_le_bytes());
        put(28, &(12 * 8_u32).to_le_bytes());
        for nth in 0..12 {
            let block = ((u64::from(ino) * 12 + nth) * 32_768 + 9000) % 1_600_000_000;
            put(40 + 4 * nth as usize, &(block as u32).to_le_bytes());
        }
        put(128, &32_u16.to_le_bytes());
        let at = filesystem.inode_position(ino).unwrap();
        file.write_all_at(&bytes, at).unwrap();
    }
    let (output, most) = check(&image, &["--brief", "--memory", "96M"]);
    println!("{} MiB: {}", most >> 20, stderr(&output));
    assert_code(&output, 8);
    assert!(stderr(&output).contains("with a limit of 96 MiB"));
    assert!(most < LIMIT + (8 << 20) + PROGRAM, "{most}");
}
