//! `fslab kernel`: adding and listing end to end, and everything that can be wrong, in one line each.

use crate::common;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::{Scratch, assert_code, error_line, fslab, run_in, stderr, stdout};

/// An image with a banner, as `image::release` looks for it; no kernel that would run.
fn image(path: &Path, release: &str) {
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(3 << 20, 0);
    elf.extend(format!("Linux version {release} (me@here) #1\0").bytes());
    fs::write(path, elf).unwrap();
}

/// A minimal kernel module: an ELF file with only `.modinfo`.
fn module(path: &Path, info: &str) {
    let names = b"\0.modinfo\0.shstrtab\0";
    let names_at = 64 + info.len();
    let headers_at = (names_at + names.len()).next_multiple_of(8);
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\x3e\0\x01\0\0\0".to_vec();
    elf.extend([0; 16]);
    elf.extend((headers_at as u64).to_le_bytes());
    elf.extend([0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 64, 0, 3, 0, 2, 0]);
    elf.extend(info.bytes());
    elf.extend(names);
    elf.resize(headers_at + 64, 0);
    for (name, kind, at, len) in [
        (1_u32, 1_u32, 64, info.len()),
        (10, 3, names_at, names.len()),
    ] {
        let mut header = [0_u8; 64];
        header[..4].copy_from_slice(&name.to_le_bytes());
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[24..32].copy_from_slice(&(at as u64).to_le_bytes());
        header[32..40].copy_from_slice(&(len as u64).to_le_bytes());
        elf.extend(header);
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, elf).unwrap();
}

/// Two kernels of our own making: one with a configuration, one without.
fn two_kernels(scratch: &Scratch) {
    for (name, release) in [("old", "5.15.9-old"), ("new", "6.12.1-new")] {
        image(&scratch.join(name), release);
        let modules = scratch.join(&format!("{name}-modules"));
        let magic = format!("vermagic={release} SMP\0");
        module(
            &modules.join("kernel/fs/ext4/ext4.ko"),
            &format!("depends=jbd2\0{magic}"),
        );
        module(&modules.join("kernel/fs/jbd2/jbd2.ko"), &magic);
    }
    let config = "CONFIG_EXT4_FS=m\nCONFIG_EXT4_USE_FOR_EXT2=y\nCONFIG_XFS_FS=y\n\
                  CONFIG_OCFS2_FS=m\nCONFIG_BLK_DEV_IO_TRACE=y\nCONFIG_BLK_DEV_DM=y\n";
    fs::write(scratch.join("config"), config).unwrap();
    let old = run(scratch, "add old --kernel old --modules old-modules");
    assert_code(&old, 0);
    assert!(
        stderr(&old).contains("no configuration"),
        "{}",
        stderr(&old)
    );
    let new = run(
        scratch,
        "add new --kernel new --modules new-modules --config config",
    );
    assert_code(&new, 0);
    assert_eq!(stdout(&new), "new\n");
}

fn run(scratch: &Scratch, line: &str) -> Output {
    let mut args = vec!["kernel"];
    args.extend(line.split(' '));
    args.extend(["--cache", "cache"]);
    run_in(scratch.path(), &args)
}

#[test]
fn what_was_added_is_listed() {
    let scratch = Scratch::new();
    let empty = run(&scratch, "list");
    assert_code(&empty, 0);
    assert!(stdout(&empty).contains("`fslab kernel fetch 6.1` brings one"));
    two_kernels(&scratch);
    let list = run(&scratch, "list");
    assert_code(&list, 0);
    let here = scratch.path().display().to_string();
    insta::assert_snapshot!(stdout(&list).replace(&here, "HERE"));
    assert!(
        stdout(&list)
            .lines()
            .all(|line| line.replace(&here, "HERE").chars().count() <= 78)
    );

    let json = run(&scratch, "list --format json");
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let new = &json["kernels"][1];
    assert_eq!(new["name"], "new");
    assert_eq!(new["capabilities"]["ext4"], "module");
    assert_eq!(new["capabilities"]["ocfs2"], "no");
    assert_eq!(json["kernels"][0]["capabilities"]["blktrace"], "unknown");
    assert!(fs::metadata(new["image"].as_str().unwrap()).unwrap().len() > 3 << 20);
}

#[test]
fn what_is_wrong_is_one_line_and_leaves_nothing() {
    let scratch = Scratch::new();
    two_kernels(&scratch);
    fs::write(scratch.join("text"), "no kernel\n").unwrap();
    for (line, code, says) in [
        ("fetch latest", 2, "`latest` names no kernel"),
        ("fetch 6.1 --mirror ftp://x", 2, "`ftp://x` is no mirror"),
        (
            "add new --kernel new",
            2,
            "a kernel named new is in the cache already",
        ),
        ("add ../x --kernel new", 2, "`../x` is no name for a kernel"),
        (
            "add x --kernel text",
            1,
            "no kernel image: it begins neither as ELF nor as a bzImage",
        ),
        ("add x --kernel new --modules none", 1, "cannot read none"),
        (
            "add x --kernel new --config text",
            1,
            "no kernel configuration",
        ),
        (
            "add x --kernel new --modules old-modules",
            1,
            "the module is of 5.15.9-old, the kernel is 6.12.1-new",
        ),
    ] {
        let output = run(&scratch, line);
        assert_code(&output, code);
        assert!(
            error_line(&output).contains(says),
            "{line}: {}",
            error_line(&output)
        );
        assert!(output.stdout.is_empty());
    }
    let mut left: Vec<String> = fs::read_dir(scratch.join("cache/kernels"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [".lock", "new", "old"]);
}

/// A mirror that is a folder: no network is needed to test that unsigned files are refused, and
/// that a mirror without the archive is distinguished from a missing kernel.
#[test]
fn an_archive_that_is_not_signed_is_refused() {
    let scratch = Scratch::new();
    let dists = scratch.join("debian/dists/tests/main/binary-amd64");
    fs::create_dir_all(&dists).unwrap();
    fs::write(dists.join("Packages"), "").unwrap();
    fs::write(scratch.join("debian/dists/tests/Release"), "Suite: tests\n").unwrap();
    let mirror = format!("file:{}", scratch.join("debian").display());
    let output = fslab()
        .current_dir(scratch.path())
        .args([
            "kernel", "fetch", "6.1", "--cache", "cache", "--suite", "tests", "--mirror", &mirror,
        ])
        .output()
        .unwrap();
    assert_code(&output, 1);
    let line = error_line(&output);
    if line.contains("cannot run apt-get") {
        testkit::skip!("needs apt");
        return;
    }
    assert!(
        line.contains("apt-get update of tests") && line.contains("is not signed"),
        "{line}"
    );
    let kernels = fs::read_dir(scratch.join("cache/kernels")).unwrap().count();
    assert_eq!(kernels, 1, "only the lock");
}

/// An incomplete folder of the cache is reported, and the others are still listed.
#[test]
fn a_damaged_kernel_hides_no_other() {
    let scratch = Scratch::new();
    two_kernels(&scratch);
    fs::remove_file(scratch.join("cache/kernels/old/vmlinux")).unwrap();
    let list = run(&scratch, "list");
    assert_code(&list, 0);
    assert!(stdout(&list).contains(" new ") && !stdout(&list).contains(" old "));
    assert!(
        stderr(&list).contains("vmlinux is missing; remove the folder"),
        "{}",
        stderr(&list)
    );
}
