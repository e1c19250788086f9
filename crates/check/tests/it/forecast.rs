//! No sound filesystem is ended by its own forecast of memory: what a check states before it begins is enough for it.
//!
//! A check is a process of its own here, as it is for users: the memory that counts is the process's, and the forge has taken some before.
//! This test starts itself again, once to print the forecast and once to keep to it.
use std::path::Path;
use std::process::Command;

use check::ext4::check;
use check::report::Judge;
use check::{Options, Silent};
use forge::Image as _;
use forge::ext4::{Ext4, FeatureEdits, FsType};
use forge::population::Profile;

/// The image that the process is to check, and the bytes that it may take.
const IMAGE: &str = "FSLAB_FORECAST_IMAGE";
const MEMORY: &str = "FSLAB_FORECAST_MEMORY";
/// What the process prints before its forecast.
const STATED: &str = "stated ";

/// Block size, type and features; what is in it.
const SHAPES: [(u32, FsType, &str, &str); 13] = [
    (4096, FsType::Ext4, "", "files = 60000\nfile_size = 4096"),
    (1024, FsType::Ext4, "", "files = 40000\nper_directory = 40"),
    (1024, FsType::Ext2, "", "files = 20000\nper_directory = 1"),
    (
        4096,
        FsType::Ext4,
        "",
        "files = 20000\nper_directory = 1\n[directories]\nfan_out = 2",
    ),
    (
        4096,
        FsType::Ext4,
        "",
        "files = 20000\nper_directory = 300\n[kinds]\nhard_links = 4",
    ),
    (
        4096,
        FsType::Ext4,
        "",
        "files = 9000\nper_directory = \"1-9\"\n[directories]\ndepth = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]",
    ),
    (
        4096,
        FsType::Ext4,
        "ea_inode",
        "files = 9000\nfile_size = 100\n[attributes]\ninode = 0.5\nblock = 0.8\nvalue = 0.5\nvalue_size = 5000",
    ),
    (
        4096,
        FsType::Ext4,
        "",
        "files = 20000\n[attributes]\nblock = 1\nblock_sharing = 50",
    ),
    (
        1024,
        FsType::Ext3,
        "",
        "files = 300\nfile_size = \"200k-2M\"\n[ageing]\nfragmented = 1\npieces = 1\nfree = 1",
    ),
    (
        1024,
        FsType::Ext4,
        "",
        "files = 300\nfile_size = \"200k-2M\"\n[ageing]\nfragmented = 1\npieces = 1\nfree = 1",
    ),
    (
        4096,
        FsType::Ext4,
        "bigalloc",
        "files = 9000\nfile_size = \"1-200k\"",
    ),
    (
        1024,
        FsType::Ext4,
        "large_dir",
        "files = 50000\nper_directory = 50000\nfile_size = 0",
    ),
    (
        4096,
        FsType::Ext4,
        "inline_data,quota",
        "files = 20000\nper_directory = \"1-30\"\nfile_size = \"1-200\"\nowners = 500",
    ),
];

fn forged(image: &Path, (block, fs_type, features, profile): (u32, FsType, &str, &str)) {
    let options = forge::ext4::Options {
        block_size: Some(block),
        inodes: Some(65_000),
        features: FeatureEdits {
            names: features.split_terminator(',').map(str::to_owned).collect(),
        },
        ..forge::ext4::Options::new(3 << 30, fs_type)
    };
    let profile = Profile::parse("profile", profile).unwrap();
    let forged = Ext4::new(options, profile).unwrap();
    forged.write(image, &forge::Silent).unwrap();
}

/// Bytes of a line of `/proc/self/status`.
fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

/// What a process that was started to check one image does.
fn check_alone(image: &Path) {
    let memory = std::env::var(MEMORY).ok();
    let memory = memory.map(|bytes| bytes.parse::<u64>().unwrap());
    let options = Options {
        threads: 2,
        memory,
        ..Options::default()
    };
    let opened = blockio::open(image, blockio::Mode::Buffered).unwrap();
    let report = check(
        &*opened.source,
        &options,
        &check::ext4::Options::default(),
        &Silent,
    )
    .unwrap();
    let faults: Vec<_> = report.faults().collect();
    assert!(faults.is_empty(), "{faults:?}");
    for judge in [Judge::Reference, Judge::Strict] {
        assert!(report.verdict(judge).is_clean());
    }
    assert_eq!(report.unjudged.names, 0);
    let stated = report.memory.stated_total.unwrap();
    // Pages of the program itself are no concern of a forecast: those of a debug build are as many as all else.
    let taken = status("VmHWM:") - status("RssFile:");
    if let Some(memory) = memory {
        assert_eq!(
            stated, memory,
            "what was stated is given, and no buffer had to shrink"
        );
    }
    assert!(
        taken <= stated,
        "{taken} bytes at most, and {stated} were stated"
    );
    println!("{STATED}{stated} taken {taken}");
}

/// The forecast of a check in a process of its own.
fn in_a_process(image: &Path, memory: Option<u64>, what: &str) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "forecast::what_was_stated_is_enough",
            "--nocapture",
        ])
        .env(IMAGE, image)
        .env_remove(MEMORY);
    if let Some(memory) = memory {
        command.env(MEMORY, memory.to_string());
    }
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {printed}{wrong}");
    // The harness begins the line with the name of the test.
    let stated = printed.split(STATED).nth(1).expect(&printed);
    stated.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn what_was_stated_is_enough() {
    if let Some(image) = std::env::var_os(IMAGE) {
        return check_alone(Path::new(&image));
    }
    let scratch = tempfile::tempdir().unwrap();
    let image = scratch.path().join("image");
    for shape in SHAPES {
        let what = format!("{shape:?}");
        forged(&image, shape);
        let stated = in_a_process(&image, None, &what);
        assert_eq!(in_a_process(&image, Some(stated), &what), stated, "{what}");
        std::fs::remove_file(&image).unwrap();
    }
}
