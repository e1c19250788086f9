//! o2image's files: the raw ones, which may end before the volume does, and the packed ones.

use std::path::Path;
use std::process::Command;

use blockio::{Mode, open};
use check::report::{Judge, Report};
use check::{Checker as _, Options, Silent};

use super::damage;
use super::population::populated;
use super::volume::Made;
use crate::common::alone;

const BASES: [Made; 2] = [
    Made {
        block: 4096,
        cluster: 4096,
        options: &[],
    },
    Made {
        block: 1024,
        cluster: 4096,
        options: &["--fs-features=metaecc"],
    },
];

/// Runs o2image; none where it is not installed.
fn o2image(options: &[&str], volume: &Path, image: &Path) -> Option<()> {
    let output = Command::new("o2image")
        .args(options)
        .args([volume, image])
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .output();
    let Ok(output) = output else {
        testkit::skip!("o2image is not installed");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    Some(())
}

fn report(path: &Path) -> Report {
    let opened = open(path, Mode::Buffered).unwrap();
    let checker = check::ocfs2::Checker;
    checker
        .check(&*opened.source, &Options::default(), &Silent)
        .unwrap()
}

/// Names and numbers of the problems.
fn problems(report: &Report) -> Vec<(&'static str, u64)> {
    let tallies = report.findings.tallies.iter();
    tallies
        .map(|tally| (tally.problem.name, tally.count))
        .collect()
}

/// Problems that need what o2image leaves out: the blocks of a symbolic link's target.
fn is_left_out(problem: &(&'static str, u64)) -> bool {
    matches!(problem.0, "LINK_SIZE" | "LINK_NULLTERM" | "LINK_BLOCKS")
}

#[test]
fn sound_volumes_are_sound_in_both_forms() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for made in BASES {
        let Some(image) = populated(made) else { return };
        std::fs::write(path("volume"), &image.bytes).unwrap();
        // A false alarm at most: a system directory without an index.
        let expected = problems(&report(&path("volume")));
        for (options, name) in [(&["-r"][..], "raw"), (&[], "packed")] {
            if o2image(options, &path("volume"), &path(name)).is_none() {
                return;
            }
            if name == "raw" {
                // It ends with the last block of metadata.
                let raw = std::fs::File::options().write(true).open(path(name));
                raw.unwrap().set_len(image.bytes.len() as u64).unwrap();
            }
            let report = report(&path(name));
            let found: Vec<_> = problems(&report);
            let rest: Vec<_> = found.iter().filter(|one| !is_left_out(one)).collect();
            let expected: Vec<_> = expected.iter().collect();
            assert_eq!(rest, expected, "{made:?} {name}");
            assert!(report.verdict(Judge::Strict).exit_code == 0 || found.len() > rest.len());
            let inventory = report.inventory.unwrap();
            assert!(inventory.files.regular > 5, "{name}");
        }
        assert!(std::fs::metadata(path("packed")).unwrap().len() < 48 << 20);
    }
}

#[test]
fn damage_is_found_in_a_packed_file() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let made = BASES[0];
    let Some(image) = populated(made) else { return };
    let mut judged = 0;
    for patch in damage::sample(damage::fields(&image), 60, 5) {
        let damaged = patch.applied(&image);
        std::fs::write(path("volume"), &damaged.bytes).unwrap();
        let whole = report(&path("volume"));
        let run = whole.reference_run.as_ref().unwrap();
        if patch.leaves_memory(&damaged) || run.ends_at.is_some() {
            // o2image reads with the same library, and ends where it does.
            continue;
        }
        let output = Command::new("o2image")
            .args([path("volume"), path("packed")])
            .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
            .output();
        let Ok(output) = output else {
            testkit::skip!("o2image is not installed");
            return;
        };
        if !output.status.success() {
            continue;
        }
        judged += 1;
        let packed = report(&path("packed"));
        let found = |report: &Report| -> Vec<_> {
            let all = problems(report).into_iter();
            all.filter(|one| !is_left_out(one)).collect()
        };
        let (whole_found, packed_found) = (found(&whole), found(&packed));
        if packed_found != whole_found {
            // What is damaged may be what o2image goes by: then it leaves more out, and the rest is as it was.
            let known = |one: &(&str, u64)| whole_found.iter().any(|other| other.0 == one.0);
            let more: Vec<_> = packed_found.iter().filter(|one| !known(one)).collect();
            assert!(more.is_empty(), "{}: {more:?}", patch.name);
        }
        assert!(packed.verdicts.reference.is_none());
        assert!(packed.verdict(Judge::Strict).exit_code <= 8);
    }
    assert!(judged >= 20, "{judged}");
}
