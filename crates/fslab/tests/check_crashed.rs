//! `fslab check` beside e2fsck on filesystems that the kernel has aged and that were then cut off: the device is copied while
//! files come and go, so that its metadata is of many moments, and the journal is not replayed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Scratch, is_root, run_in, stderr, stdout};

/// Bytes of the device.
const SIZE: u64 = 64 << 20;
/// Copies of each filesystem.
const COPIES: usize = 4;

/// A loop mount, undone when dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn new(image: &Path, options: &[&str]) -> Mounted {
        fs::File::create(image).unwrap().set_len(SIZE).unwrap();
        let made = Command::new("mke2fs")
            .arg("-qF")
            .args(options)
            .arg(image)
            .status();
        assert!(made.unwrap().success(), "{options:?}");
        let point = image.with_extension("mount");
        fs::create_dir(&point).unwrap();
        let mounted = Command::new("mount")
            .args(["-o", "loop"])
            .args([image, &point])
            .status();
        assert!(mounted.unwrap().success(), "{options:?}");
        Mounted(point)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// A generator of small numbers: the same ageing every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Fills, deletes and refills until told to stop: files of all sizes, directories, links, names and attributes.
fn age(root: &Path, seed: u64, stop: &AtomicBool) {
    let mut random = Random(seed);
    let mut step = 0_u64;
    while !stop.load(Ordering::Relaxed) {
        step += 1;
        let directory = root.join(format!("d{}", random.below(12)));
        let file = directory.join(format!("a-name-of-some-length-{}", random.below(400)));
        // A full filesystem and names that are gone are part of it.
        let _ = fs::create_dir(&directory);
        match random.below(10) {
            0..=4 => {
                let bytes = vec![step as u8; random.below(60_000) as usize];
                let _ = fs::write(&file, bytes);
            }
            5 | 6 => {
                let _ = fs::remove_file(&file);
            }
            7 => {
                let _ = fs::hard_link(&file, directory.join(format!("link-{step}")));
            }
            8 => {
                let _ =
                    std::os::unix::fs::symlink("x".repeat(random.below(150) as usize + 1), &file);
            }
            _ if random.below(8) == 0 => {
                let _ = fs::remove_dir_all(&directory);
            }
            _ => {
                let _ = fs::rename(&file, root.join(format!("moved-{}", random.below(50))));
            }
        }
        if random.below(200) == 0 {
            let _ = fs::File::open(root).map(|root| root.sync_all());
        }
    }
}

fn code_of_e2fsck(image: &Path) -> (Option<i32>, String) {
    let output = Command::new("e2fsck")
        .arg("-fn")
        .arg(image)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), said)
}

/// Ages, copies and compares; how many copies were damaged.
fn compare(scratch: &Scratch, name: &str, options: &[&str]) -> usize {
    let image = scratch.join(name);
    let mounted = Mounted::new(&image, options);
    let stop = AtomicBool::new(false);
    let mut copies = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| age(&mounted.0, name.len() as u64 * 7919, &stop));
        for n in 0..COPIES {
            std::thread::sleep(std::time::Duration::from_millis(300));
            let copy = scratch.join(&format!("{name}-{n}"));
            fs::copy(&image, &copy).unwrap();
            copies.push(copy);
        }
        stop.store(true, Ordering::Relaxed);
    });
    drop(mounted);
    copies.push(image);
    let mut damaged = 0;
    for copy in &copies {
        let (theirs, said) = code_of_e2fsck(copy);
        let file = copy.to_str().unwrap();
        let ours = run_in(
            scratch.path(),
            &["check", "--verdict", "e2fsck-1.47.0", file],
        );
        assert_eq!(
            ours.status.code(),
            theirs,
            "{file} {options:?}\n{}{}\n{said}",
            stdout(&ours),
            stderr(&ours)
        );
        damaged += usize::from(theirs != Some(0));
    }
    let (last, said) = code_of_e2fsck(copies.last().unwrap());
    assert_eq!(last, Some(0), "unmounted, it is clean: {said}");
    damaged
}

#[test]
fn the_verdict_on_what_was_cut_off_is_that_of_e2fsck_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let mut damaged = 0;
    for (name, options) in [
        ("ext2", &["-t", "ext2"][..]),
        ("ext3", &["-t", "ext3"]),
        ("ext4", &["-t", "ext4"]),
        ("ext4-4k", &["-t", "ext4", "-b", "4096"]),
        (
            "ext4-plain",
            &["-t", "ext4", "-O", "^metadata_csum,^64bit,uninit_bg"],
        ),
        (
            "ext4-inline",
            &["-t", "ext4", "-O", "inline_data,metadata_csum_seed"],
        ),
        (
            "ext4-bigalloc",
            &["-t", "ext4", "-O", "bigalloc,^resize_inode"],
        ),
    ] {
        damaged += compare(&scratch, name, options);
    }
    // A comparison of sound filesystems alone would say little.
    assert!(damaged >= 3, "only {damaged} copies were damaged");
    scratch.assert_nothing_left();
}
