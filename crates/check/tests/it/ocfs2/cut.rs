//! Volumes whose image ends early.

use std::fs;

use blockio::Ram;
use check::report::{Judge, Report};
use check::{Checker as _, Finding, Options, Silent, ocfs2};
use testkit::fsck_ocfs2::{self, Ended, Limits};

use super::population::populated;
use super::volume::Made;
use crate::common::alone;

/// Several groups of clusters in 64 MiB.
const GROUPS: Made = Made {
    block: 1024,
    cluster: 4096,
    options: &[],
};

fn report(bytes: &[u8]) -> Report {
    let source = Ram::new(bytes);
    ocfs2::Checker
        .check(&source, &Options::default(), &Silent)
        .unwrap()
}

/// The findings with this code.
fn named<'a>(report: &'a Report, code: &str) -> Vec<&'a Finding> {
    let list = report.findings.list.iter();
    list.filter(|finding| finding.problem.name == code)
        .collect()
}

/// Whether fsck.ocfs2 prints the same codes and comes to the same end.
fn same(name: &str, bytes: &[u8]) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    fs::write(&path, bytes).unwrap();
    let limits = Limits {
        locks: true,
        ..Limits::default()
    };
    let reference =
        fsck_ocfs2::run_within(&path, limits).expect("mkfs.ocfs2 is there and fsck.ocfs2 is not");
    let report = report(bytes);
    let own = report.reference_run.as_ref().unwrap();
    let codes = own
        .codes
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count));
    assert_eq!(
        codes.collect::<std::collections::BTreeMap<_, _>>(),
        reference.codes,
        "{name}"
    );
    let complete = matches!(own.exit, check::frame::verdict::Exit::Complete);
    assert_eq!(
        complete,
        reference.ended == Ended::Code(0),
        "{name}: {:?}",
        reference.ended
    );
    report
}

#[test]
fn a_last_group_past_the_end_is_as_to_fsck_ocfs2() {
    let _alone = alone();
    let Some(image) = populated(GROUPS) else {
        return;
    };
    let per_group = image.layout.group_clusters();
    let groups = image.layout.groups(per_group).unwrap();
    assert!(groups > 1, "one group has no other");
    let last = image.layout.group_block(u64::from(groups) - 1, per_group) as usize * 1024;
    // Before the descriptor, within it, and after it.
    for (cut, none) in [(0, false), (500, true), (1024, true)] {
        let report = same(&format!("{cut} bytes of it"), &image.bytes[..last + cut]);
        assert_eq!(named(&report, "CHAIN_LINK_MAGIC").is_empty(), none);
        assert_eq!(report.verdict(Judge::Strict).exit_code, 4);
        assert_eq!(named(&report, "VOLUME_CUT").len(), 1);
    }
}
