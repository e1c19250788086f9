//! Volumes whose image ends early, and names that damage hides.

use std::fs;

use blockio::Ram;
use check::report::{Judge, Report};
use check::{Checker as _, Finding, Options, Silent, ocfs2};
use ondisk::ocfs2::dinode::INLINE_DATA;
use ondisk::ocfs2::{dinode, directory};
use testkit::fsck_ocfs2::{self, Ended};

use super::population::populated;
use super::volume::{Image, Made};
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
    let reference = fsck_ocfs2::run(&path).expect("mkfs.ocfs2 is there and fsck.ocfs2 is not");
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
    let complete = own.exit == check::frame::verdict::Exit::Complete;
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
    for (cut, code) in [(0, 4), (500, 4), (1024, 0)] {
        let report = same(&format!("{cut} bytes of it"), &image.bytes[..last + cut]);
        assert_eq!(report.verdict(Judge::Reference).exit_code, code);
        assert_eq!(report.verdict(Judge::Strict).exit_code, 4);
        assert_eq!(named(&report, "VOLUME_CUT").len(), 1);
    }
}

#[test]
fn a_file_that_the_image_does_not_wholly_have_is_named() {
    let _alone = alone();
    let Some(image) = populated(GROUPS) else {
        return;
    };
    let inode = image.inode(image.files["data"]);
    let list = ondisk::ocfs2::ExtentList::read(&image.block(image.files["data"])[dinode::BODY..]);
    let first = list.unwrap().get(0).unwrap().e_blkno.get() as usize;
    assert!(inode.i_size.get() > 4096);
    let report = report(&image.bytes[..(first + 1) * 1024]);
    let cut = named(&report, "FILE_CUT");
    let paths: Vec<_> = cut
        .iter()
        .filter_map(|finding| finding.path.as_deref())
        .collect();
    assert!(paths.contains(&"/data"), "{cut:#?}");
    assert!(named(&self::report(&image.bytes), "FILE_CUT").is_empty());
}

/// Spoils the length of an entry in the root directory; the names after it.
fn spoil(image: &mut Image, name: &str) -> Vec<String> {
    let root = image.sb.s_root_blkno.get();
    let size = image.inode(root).i_size.get() as usize;
    let area = &image.block(root)[INLINE_DATA..INLINE_DATA + size];
    let entries: Vec<_> = directory::entries(area)
        .map(|(at, _, name)| (at, String::from_utf8_lossy(name).into_owned()))
        .collect();
    let nth = entries.iter().position(|(_, other)| other == name).unwrap();
    let at = INLINE_DATA + entries[nth].0;
    image.put(root, dinode::CHECK, at + 8, &[0, 0]);
    entries[nth + 1..]
        .iter()
        .map(|(_, name)| name.clone())
        .collect()
}

#[test]
fn files_after_a_damaged_entry_have_their_names() {
    let _alone = alone();
    let Some(mut image) = populated(Made {
        block: 4096,
        ..GROUPS
    }) else {
        return;
    };
    let lost = spoil(&mut image, "data");
    assert!(lost.len() > 1);
    image.store_checks();
    let report = report(&image.bytes);
    let paths: Vec<_> = named(&report, "INODE_NOT_CONNECTED")
        .into_iter()
        .filter_map(|finding| finding.path.clone())
        .collect();
    for name in lost {
        let inode = image.files.get(&name).map(|inode| image.inode(*inode));
        let is_file = inode.is_some_and(|inode| inode.i_mode.get() >> 12 != 4);
        assert!(
            !is_file || paths.contains(&format!("/{name}")),
            "{name}: {paths:?}"
        );
    }
}
