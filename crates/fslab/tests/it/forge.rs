//! `fslab forge ext4`: what it makes, and what it refuses without leaving anything.

use crate::common;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use common::{Scratch, assert_code, error_line, fslab, is_root, run_in, stderr, stdout};

const SMALL: [&str; 8] = [
    "forge",
    "ext4",
    "image",
    "--size",
    "100M",
    "--files",
    "2k",
    "--per-directory",
];

fn small(scratch: &Scratch, more: &[&str]) -> std::process::Output {
    let mut args = SMALL.to_vec();
    args.push("500");
    args.extend(more);
    run_in(scratch.path(), &args)
}

#[test]
fn a_small_one_is_clean_and_says_what_it_is() {
    let scratch = Scratch::new();
    let output = small(
        &scratch,
        &["--format", "json", "--seed", "3", "--label", "small"],
    );
    assert_code(&output, 0);
    let made: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(made["size_bytes"], 100 << 20);
    // The root, four directories and lost+found.
    assert_eq!(made["directories"], 6);
    let about = fs::metadata(scratch.join("image")).unwrap();
    assert_eq!(about.len(), 100 << 20);
    assert!(
        about.blocks() * 512 < 20 << 20,
        "contents are holes: {} sectors",
        about.blocks()
    );
    let checked = Command::new("e2fsck")
        .args(["-fn", "image"])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert_code(&checked, 0);
    assert!(stdout(&checked).contains("small: "), "{}", stdout(&checked));
}

#[test]
fn the_same_seed_makes_the_same_image() {
    let scratch = Scratch::new();
    let make = |name: &str, seed: &str| {
        let args = [
            "forge",
            "ext4",
            name,
            "--size",
            "60M",
            "--files",
            "900",
            "--seed",
            seed,
            "--contents",
        ];
        assert_code(&run_in(scratch.path(), &args), 0);
        fs::read(scratch.join(name)).unwrap()
    };
    let one = make("one", "5");
    assert!(one == make("two", "5"));
    assert!(one != make("three", "6"));
}

/// mke2fs reads a configuration and some variables of the environment; none of them reaches the image.
#[test]
fn the_host_does_not_change_the_image() {
    let scratch = Scratch::new();
    fs::write(
        scratch.join("mke2fs.conf"),
        "[defaults]\nblocksize = 4096\ninode_ratio = 65536\nbase_features = filetype\n",
    )
    .unwrap();
    let make = |name: &str, host: &[(&str, &str)]| {
        let output = fslab()
            .current_dir(scratch.path())
            .args(["forge", "ext4", name, "--size", "60M", "--files", "900"])
            .args(["--format", "json"])
            .envs(host.iter().copied())
            .output()
            .unwrap();
        assert_code(&output, 0);
        let made: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let maker = made["mkfs"].as_str().unwrap();
        assert!(maker.starts_with("mke2fs 1."), "{maker}");
        fs::read(scratch.join(name)).unwrap()
    };
    let plain = make("plain", &[]);
    let config = scratch.join("mke2fs.conf");
    let host = [
        ("MKE2FS_CONFIG", config.to_str().unwrap()),
        ("MKE2FS_DEVICE_SECTSIZE", "4096"),
        ("E2FSPROGS_FAKE_TIME", "1"),
        ("SOURCE_DATE_EPOCH", "2"),
        ("LC_ALL", "de_DE.UTF-8"),
    ];
    assert!(plain == make("other", &host));
}

#[test]
fn what_is_not_possible_is_refused_in_one_line_and_leaves_nothing() {
    for (args, says) in [
        (&["--files", "3M"][..], "do not fit"),
        (&["--files", "400G"], "do not fit"),
        (&["--size", "1000P"], "larger blocks"),
        (&["--size", "0"], ""),
        (&["--size", "3"], ""),
        (&["--size", "99999P"], "larger than 2^64"),
        (&["--size", "-4"], ""),
        (&["--size", "12.5G"], "is not a size"),
        (&["--files", "x"], "is not a count"),
        (&["--file-size", "40G"], ""),
        (&["--per-directory", "0"], "per_directory: 0-0"),
        (&["--block-size", "3000"], "3000"),
        (&["--block-size", "5G"], "--block-size"),
        (&["--features", "no_such"], "no_such"),
        (&["--label", "longer than sixteen bytes"], "16 bytes"),
        (&["--profile", "none.toml"], "none.toml"),
        (&["--profile", "bad.toml"], "bad.toml:2: "),
        (&["--profile", "values.toml"], "ea_inode"),
    ] {
        let scratch = Scratch::new();
        fs::write(scratch.join("bad.toml"), "seed = 1\nfile = 3\n").unwrap();
        fs::write(scratch.join("values.toml"), "[attributes]\nvalue = 0.1\n").unwrap();
        let mut all = vec!["forge", "ext4", "image"];
        for pair in [["--size", "100M"], ["--files", "2k"]] {
            if args[0] != pair[0] {
                all.extend(pair);
            }
        }
        all.extend(args);
        let output = run_in(scratch.path(), &all);
        assert_code(&output, 2);
        assert!(
            error_line(&output).contains(says),
            "{args:?}: {}",
            stderr(&output)
        );
        assert!(output.stdout.is_empty());
        assert!(!scratch.join("image").exists(), "{args:?}");
    }
}

/// A filesystem without problems for e2fsck has none for `fslab check`.
#[test]
fn both_checkers_find_what_is_forged_clean() {
    const KINDS: &str = "[kinds]\nsymlinks = 0.4\ntarget_length = \"1-900\"\nspecial = 0.1\nhard_links = 0.1\n\
                         [ageing]\nremoved_names = 0.5\n";
    const NAMES: &str = "alphabet = \"bytes\"\nencrypted = true\n";
    let value = "owners = 9\n[attributes]\nblock = 0.3\nblock_sharing = 3\nvalue = 0.3\nvalue_sharing = 4\n";
    for (features, profile) in [
        ("encrypt", format!("[names]\n{NAMES}{KINDS}")),
        (
            "encrypt,casefold",
            format!("[names]\ncasefold = true\n{NAMES}{KINDS}"),
        ),
        (
            "encrypt,casefold,^metadata_csum,^dir_index",
            format!("[names]\ncasefold = true\n{NAMES}{KINDS}"),
        ),
        ("quota,project,ea_inode", format!("{value}{KINDS}")),
        ("quota,ea_inode,bigalloc", format!("{value}{KINDS}")),
        (
            "quota,project,ea_inode",
            format!(
                "projects = 3\n{value}{}",
                KINDS.replace("hard_links = 0.1\n", "")
            ),
        ),
    ] {
        let scratch = Scratch::new();
        fs::write(scratch.join("profile.toml"), profile).unwrap();
        let more = ["--features", features, "--profile", "profile.toml"];
        assert_code(&small(&scratch, &more), 0);
        let checked = Command::new("e2fsck")
            .args(["-fn", "image"])
            .current_dir(scratch.path())
            .output()
            .unwrap();
        assert_eq!(checked.status.code(), Some(0), "{}", stdout(&checked));
        let ours = run_in(scratch.path(), &["check", "image", "--format", "json"]);
        assert_code(&ours, 0);
        let message: serde_json::Value = serde_json::from_str(&stdout(&ours)).unwrap();
        assert_eq!(
            message["findings"].as_array().map(Vec::len),
            Some(0),
            "{message}"
        );
    }
}

#[test]
fn an_image_that_exists_is_left_alone() {
    let scratch = Scratch::new();
    fs::write(scratch.join("image"), "mine").unwrap();
    let output = small(&scratch, &[]);
    assert_code(&output, 2);
    assert!(
        error_line(&output).contains("image"),
        "{}",
        error_line(&output)
    );
    assert_eq!(fs::read(scratch.join("image")).unwrap(), b"mine");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let scratch = Scratch::new();
    let output = run_in(
        scratch.path(),
        &["forge", "ext4", "no/image", "--size", "50M"],
    );
    assert_code(&output, 1);
    assert!(
        error_line(&output).contains("no/image"),
        "{}",
        error_line(&output)
    );
}

#[test]
fn a_full_disk_leaves_nothing_needs_root() {
    if !is_root() {
        return;
    }
    let scratch = Scratch::new();
    let disk = scratch.join("disk");
    fs::create_dir(&disk).unwrap();
    let script = "mount -t tmpfs -o size=2m none disk && exec \"$@\"";
    let keep = "; code=$?; ls -A disk >&2; exit $code";
    let output = Command::new("unshare")
        .args([
            "-m",
            "sh",
            "-c",
            &format!("{}{keep}", script.replace("exec ", "")),
            "sh",
        ])
        .args([
            env!("CARGO_BIN_EXE_fslab"),
            "forge",
            "ext4",
            "disk/image",
            "--size",
            "1G",
            "--files",
            "50k",
        ])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert_code(&output, 1);
    let message = stderr(&output);
    assert!(
        message.contains("disk/image") && message.contains("No space left"),
        "{message}"
    );
    assert!(!message.lines().any(|line| line == "image"), "{message}");
}

#[test]
fn a_signal_ends_it_and_removes_the_image() {
    let scratch = Scratch::new();
    let mut child = fslab()
        .current_dir(scratch.path())
        .args([
            "forge",
            "ext4",
            "image",
            "--size",
            "2T",
            "--files",
            "20M",
            "--file-size",
            "0",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for _ in 0..600 {
        if scratch.join("image").exists() {
            break;
        }
        sleep(Duration::from_millis(50));
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::INT,
    )
    .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!scratch.join("image").exists());
}
