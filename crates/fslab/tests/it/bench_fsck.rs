//! `fslab bench fsck`: real damage of ext4 and XFS, and checkers that are missing, crash or hang.

use crate::common;

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::process::{Command, Output};
use std::time::Instant;

use common::{Scratch, assert_code, error_line, fslab, run_in, stdout};

/// An image that the real mkfs made.
fn image(scratch: &Scratch, program: &str, arguments: &[&str], mib: u64) {
    let path = scratch.join("image");
    fs::File::create(&path).unwrap().set_len(mib << 20).unwrap();
    let rest = std::env::var("PATH").unwrap_or_default();
    let made = Command::new(program)
        .env("PATH", format!("{rest}:/usr/sbin:/sbin"))
        .args(arguments)
        .arg(&path)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

fn overwrite(scratch: &Scratch, offset: u64, bytes: &[u8]) {
    let file = fs::File::options().write(true).open(scratch.join("image"));
    file.unwrap().write_all_at(bytes, offset).unwrap();
}

fn bench(scratch: &Scratch, more: &[&str]) -> Output {
    let words = [&["bench", "fsck", "image"], more].concat();
    run_in(scratch.path(), &words)
}

fn document(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// On a damaged filesystem it exits with 7, prints one line, and quotes the checker's output.
fn assert_damaged(scratch: &Scratch, program: &str, code: &str, words: &str) {
    let output = bench(scratch, &[]);
    assert_code(&output, 7);
    let line = error_line(&output);
    for part in [program, code, "the filesystem is damaged"] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(
        stdout(&output).contains("check_pass_1"),
        "its passes are shown"
    );
    let output = bench(scratch, &["--format", "json"]);
    assert_code(&output, 7);
    let report = document(&output);
    assert_eq!(report["verdict"], "errors");
    let message = report["output"].as_str().unwrap();
    assert!(message.contains(words), "{message}");
}

#[test]
fn damage_of_ext4_is_reported_in_e2fscks_words() {
    let scratch = Scratch::new();
    image(&scratch, "mkfs.ext4", &["-q", "-F", "-b", "4096"], 64);
    assert_code(&bench(&scratch, &[]), 0);
    // The first inode table of a filesystem of 4 KiB blocks is found by its group descriptor.
    let image = fs::File::open(scratch.join("image")).unwrap();
    let mut table = [0; 4];
    image.read_exact_at(&mut table, 4096 + 8).unwrap();
    // The size of the root directory's inode, number 2 of 256 bytes: not a whole block any more.
    let root = u64::from(u32::from_le_bytes(table)) * 4096 + 256;
    overwrite(&scratch, root + 4, &77_u32.to_le_bytes());
    assert_damaged(&scratch, "e2fsck", "exit code 4", "checksum does not match");
}

#[test]
fn damage_of_xfs_is_reported_in_xfs_repairs_words() {
    let scratch = Scratch::new();
    image(&scratch, "mkfs.xfs", &["-q", "-f"], 320);
    assert_code(&bench(&scratch, &[]), 0);
    // The free-space header of the first allocation group, in its second sector.
    overwrite(&scratch, 512, &[0xff; 64]);
    assert_damaged(&scratch, "xfs_repair", "exit code 1", "bad magic #");
}

/// Runs it with a fake e2fsck.
fn with_fake(scratch: &Scratch, script: &str, more: &[&str]) -> Output {
    image(scratch, "mkfs.ext4", &["-q", "-F"], 16);
    let folder = scratch.join("bin");
    fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = -V ] && {{ echo fake 0.0; exit 0; }}\n\
         echo 'Pass 1: Checking inodes, blocks, and sizes'\n{script}\n"
    );
    fs::write(folder.join("e2fsck"), text).unwrap();
    fs::set_permissions(folder.join("e2fsck"), fs::Permissions::from_mode(0o755)).unwrap();
    let rest = std::env::var("PATH").unwrap_or_default();
    fslab()
        .current_dir(scratch.path())
        .env("PATH", format!("{}:{rest}", folder.display()))
        .args(["bench", "fsck", "image"])
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn a_crash_is_named_by_its_signal() {
    let scratch = Scratch::new();
    let output = with_fake(&scratch, "ulimit -c 0; kill -ABRT $$", &[]);
    assert_code(&output, 7);
    let line = error_line(&output);
    assert!(line.contains("killed by signal 6 (SIGABRT)"), "{line}");
    assert!(
        stdout(&output).contains("check_pass_1"),
        "what it did is kept"
    );
}

/// Its children too, whatever their session.
#[test]
fn a_hang_ends_with_its_time() {
    let scratch = Scratch::new();
    let script = "trap '' TERM; setsid sleep 86601.5 & sleep 86601.5";
    let begun = Instant::now();
    let output = with_fake(&scratch, script, &["--timeout", "1"]);
    assert!(begun.elapsed() < testkit::HANGS);
    assert_code(&output, 7);
    let line = error_line(&output);
    assert!(
        line.contains("time limit of 1 s") && line.contains("--timeout"),
        "{line}"
    );
    let left = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.starts_with(b"sleep\x0086601.5")
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn a_missing_checker_names_its_package_needs_root() {
    if !common::is_root() {
        return;
    }
    let scratch = Scratch::new();
    image(&scratch, "mkfs.xfs", &["-q", "-f"], 320);
    let script = "for p in /usr/sbin/xfs_repair /sbin/xfs_repair; do mount --bind /dev/null $p; \
                  done; exec \"$@\"";
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", script, "sh"])
        .args([env!("CARGO_BIN_EXE_fslab"), "bench", "fsck", "image"])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert_code(&output, 2);
    let line = error_line(&output);
    assert!(
        line.contains("xfs_repair") && line.contains("xfsprogs"),
        "{line}"
    );
}
