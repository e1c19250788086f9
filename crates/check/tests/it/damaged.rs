//! Two thousand damaged filesystems: every check comes to an end, soon, and says the same whatever the number of threads.
//!
//! The damage is blind: bits, words, copies of other places, unreadable sectors. Most of the images carry no checksums, so
//! that what was damaged is looked into and not only recognised. `FSLAB_DAMAGED=N` makes it N times as many.
use crate::common;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use blockio::layer::Faulty;
use blockio::{BlockSource, Ram};
use check::{Options, Report, Silent, ext4};
use common::Image;
use common::random::Random;

/// Longest that a check of a few megabytes may take, in a build without optimisation, on a machine that has other things to do.
const SOON: Duration = Duration::from_secs(20);

/// Pieces of an image that are used or not.
const PIECE: usize = 256;

/// How many times more than usual, from the environment: for a night's run.
fn times() -> usize {
    let times = std::env::var("FSLAB_DAMAGED").ok();
    times.map_or(1, |times| times.parse().expect("FSLAB_DAMAGED is a number"))
}

fn check(source: &dyn BlockSource, threads: usize) -> Report {
    let options = Options {
        threads,
        paths: threads == 1,
        ..Options::default()
    };
    check::ext4::check(source, &options, &ext4::Options::default(), &Silent).unwrap()
}

/// What decides whether two reports are the same.
fn essence(report: &Report) -> (u8, u8, Vec<(u32, u64)>) {
    let tallies = report.findings.tallies.iter();
    (
        report.verdict(check::report::Judge::Reference).exit_code,
        report.verdicts.strict.exit_code,
        tallies
            .map(|tally| (tally.problem.code, tally.count))
            .collect(),
    )
}

fn commands() -> String {
    let mut commands = String::from("mkdir many\ncd many\n");
    for nth in 0..120 {
        writeln!(
            commands,
            "write @small a-file-with-a-rather-long-name-{nth}"
        )
        .unwrap();
    }
    let (value, target) = ("b".repeat(200), "l".repeat(100));
    let rest = [
        "cd /",
        "write @large large",
        "ea_set large user.a 0123456789",
        &format!("ea_set large user.b {value}"),
        "symlink short target",
        &format!("symlink long {target}"),
        "mknod device b 300 70000",
        "mknod pipe p",
        "mkdir d",
        "mkdir d/e",
        "write @large d/e/f",
    ];
    commands += &rest.join("\n");
    commands += "\n";
    commands
}

/// Damages such an image `rounds` times and checks it each time; how often something was found.
fn rounds(options: &[&str], size: &str, rounds: usize, seed: u64) {
    let image = Image::make(options, size, &commands());
    let clean = image.bytes.clone();
    assert!(
        check(&Ram::new(&clean), 2).verdicts.strict.is_clean(),
        "clean to begin with"
    );
    let block = image.geometry.block_size as usize;
    // Zeros are mostly unused.
    let used: Vec<usize> = clean
        .chunks(PIECE)
        .enumerate()
        .filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0))
        .map(|(nth, _)| nth * PIECE)
        .collect();
    let rounds = rounds * times();
    let mut random = Random(seed);
    let mut bytes = clean.clone();
    let mut found = 0;
    for round in 0..rounds {
        if random.below(3) == 0 {
            bytes.copy_from_slice(&clean);
        }
        for _ in 0..=random.below(4) {
            damage(&mut bytes, &clean, &used, block, &mut random);
        }
        let ram = Ram::new(&bytes);
        let begun = Instant::now();
        let report = if random.below(8) == 0 {
            let bad = used[random.below(used.len())] as u64;
            check(&Faulty::new(&ram, std::iter::once(bad..bad + 512), 5), 2)
        } else {
            let report = check(&ram, 2);
            if round % 16 == 0 {
                let alone = check(&ram, 1);
                assert_eq!(
                    essence(&report),
                    essence(&alone),
                    "round {round} of seed {seed}"
                );
            }
            report
        };
        let took = begun.elapsed();
        assert!(took < SOON, "round {round} of seed {seed} took {took:?}");
        found += usize::from(!report.verdicts.strict.is_clean());
    }
    assert!(
        found > rounds / 4,
        "{found} of {rounds}: the damage must be seen now and then"
    );
}

fn damage(bytes: &mut [u8], clean: &[u8], used: &[usize], block: usize, random: &mut Random) {
    let at = (used[random.below(used.len())] + random.below(PIECE)) & !3;
    match random.below(6) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at..at + 4].fill(0),
        2 => bytes[at..at + 4].fill(0xff),
        3 => {
            let value = (random.below(clean.len() / block) as u32).to_le_bytes();
            bytes[at..at + 4].copy_from_slice(&value);
        }
        4 => {
            let from = random.below(clean.len() - 64) & !3;
            let len = (4 + random.below(60)).min(clean.len() - at);
            bytes[at..at + len].copy_from_slice(&clean[from..from + len]);
        }
        _ => {
            let start = at / block * block;
            let from = used[random.below(used.len())] / block * block;
            bytes[start..start + block].copy_from_slice(&clean[from..from + block]);
        }
    }
}

const PLAIN: &str = "^metadata_csum,^uninit_bg,^has_journal";

#[test]
fn ext2() {
    rounds(&["-t", "ext2", "-b", "1024", "-N", "256"], "2M", 400, 1);
}

#[test]
fn ext3() {
    rounds(
        &["-t", "ext3", "-b", "1024", "-N", "256", "-J", "size=1"],
        "4M",
        250,
        2,
    );
}

#[test]
fn ext4_without_checksums() {
    let features = format!("{PLAIN},inline_data,ea_inode,encrypt,casefold,large_dir");
    rounds(
        &["-t", "ext4", "-b", "1024", "-N", "256", "-O", &features],
        "2M",
        500,
        3,
    );
}

#[test]
fn ext4_of_today() {
    rounds(
        &[
            "-t",
            "ext4",
            "-b",
            "1024",
            "-N",
            "256",
            "-O",
            "quota,project",
            "-J",
            "size=1",
        ],
        "8M",
        250,
        4,
    );
}

#[test]
fn ext4_of_clusters() {
    let features = format!("{PLAIN},bigalloc");
    rounds(
        &[
            "-t", "ext4", "-b", "1024", "-C", "4096", "-N", "256", "-O", &features,
        ],
        "4M",
        300,
        5,
    );
}

#[test]
fn ext4_of_large_blocks() {
    let features = format!("{PLAIN},meta_bg,^resize_inode,mmp");
    rounds(
        &["-t", "ext4", "-b", "65536", "-N", "512", "-O", &features],
        "16M",
        120,
        6,
    );
}

#[test]
fn ext4_of_many_groups() {
    let features = format!("{PLAIN},sparse_super2");
    rounds(
        &[
            "-t", "ext4", "-b", "1024", "-g", "1024", "-N", "512", "-O", &features,
        ],
        "8M",
        200,
        7,
    );
}
