//! The report in the layout of fsck.ocfs2 -fn -tt, line by line.

use std::path::Path;

use blockio::{Mode, open};
use check::report::{Judge, ocfs2};
use check::{Checker as _, Options, Silent};
use testkit::fsck_ocfs2::{self, Limits};

use super::population::populated;
use super::volume::{Image, Made};
use crate::common::alone;

const MADE: Made = Made {
    block: 4096,
    cluster: 4096,
    options: &[],
};

/// What fsck.ocfs2 prints on stdout.
fn reference(image: &Path) -> String {
    let mut command = fsck_ocfs2::command(image, "-fn -tt", Limits::default());
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn own(image: &Path) -> String {
    let opened = open(image, Mode::Buffered).unwrap();
    let report = check::ocfs2::Checker.check(&*opened.source, &Options::default(), &Silent);
    ocfs2(&report.unwrap(), Judge::Reference, 0)
}

/// The lines without what differs from run to run: bytes, seconds, the size of the cache.
fn lines(text: &str) -> Vec<String> {
    let measured = ["  I/O read disk/cache:", "  Times real:", "  Cache size:"];
    let skipped = ["** Skipping slot recovery", "** Skipping orphan"];
    let lines = text.lines().filter(|line| {
        !skipped.iter().any(|start| line.starts_with(start)) && !line.contains("was run with -f")
    });
    lines
        .map(
            |line| match measured.iter().find(|start| line.starts_with(**start)) {
                Some(_) => line
                    .split(|letter: char| letter.is_ascii_digit() || letter == '.')
                    .filter(|part| !part.is_empty() && !matches!(*part, "inf" | "-nan"))
                    .collect::<String>()
                    .replace("-nan", "")
                    .replace("inf", ""),
                None => line.trim_end().to_owned(),
            },
        )
        .collect()
}

fn compared(image: &Image) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    std::fs::write(&path, &image.bytes).unwrap();
    let (theirs, ours) = (lines(&reference(&path)), lines(&own(&path)));
    // Findings, and the lines about the owners of a cluster.
    let is_finding = |line: &&String| {
        !line.starts_with('[')
            && !line.starts_with("Cluster ")
            && !line.starts_with("  /")
            && !line.starts_with("  <")
    };
    let theirs: Vec<&String> = theirs.iter().filter(is_finding).collect();
    let ours: Vec<&String> = ours.iter().filter(is_finding).collect();
    let verdict = ours.iter().position(|line| line.starts_with("  Verdict:"));
    let ours = &ours[..verdict.unwrap()];
    // Both end with a blank line.
    assert_eq!(theirs, *ours);
}

#[test]
fn a_sound_volume_is_printed_as_by_fsck_ocfs2() {
    let _alone = alone();
    let Some(image) = populated(MADE) else { return };
    compared(&image);
}

#[test]
fn shared_clusters_have_the_further_passes() {
    let _alone = alone();
    let Some(mut image) = populated(MADE) else {
        return;
    };
    // The first record of a file leads to the block of a symbolic link.
    let (file, block) = (image.files["data"], image.files["slow block"]);
    let check = ondisk::ocfs2::dinode::CHECK;
    image.put(file, check, 0xd8, &block.to_le_bytes());
    image.store_checks();
    compared(&image);
}
