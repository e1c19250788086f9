//! What looks like a fault and is none.

use std::collections::BTreeSet;
use std::fs;

use blockio::Ram;
use check::Finding;
use check::ocfs2::fsck_ocfs2::problems;
use check::report::Judge;
use ondisk::ocfs2::dinode::BODY;
use ondisk::ocfs2::{ExtentList, ExtentRecord, extent};
use testkit::fsck_ocfs2;

use super::{Base, faults, report, system_files};
use crate::common::alone;

#[test]
fn a_node_in_the_slot_map_is_said_and_is_no_fault() {
    let _alone = alone();
    let Some(mut image) = Base::Usual.image() else {
        return;
    };
    let list = ExtentList::read(&image.block(image.files["slot_map"])[BODY..]).unwrap();
    let map = list.get(0).unwrap().e_blkno.get();
    image.block_mut(map)[8] = 1;
    let report = report(&Ram::new(&image.bytes));
    let said = |finding: &&Finding| finding.problem == &problems::SLOT_MAP_NODE;
    assert_eq!(report.findings.list.iter().filter(said).count(), 1);
    assert_eq!(report.verdict(Judge::Strict).exit_code, 0);
}

/// A window of a local allocator whose clusters are all taken in the global bitmap is sound.
#[test]
fn a_window_of_a_local_allocator_is_sound() {
    let _alone = alone();
    let Some(mut image) = Base::Usual.image() else {
        return;
    };
    let first = image.clusters(8);
    let first = image.layout.cluster_of(first) as u32;
    system_files::window(&mut image, first, 8, 0);
    image.store_checks();
    assert_eq!(faults(&report(&Ram::new(&image.bytes))), BTreeSet::new());
}

/// `fallocate --keep-size` leaves unwritten extents past the end of a file. fsck.ocfs2 takes them for its contents.
#[test]
fn unwritten_extents_past_the_end_are_said_and_are_no_fault() {
    let _alone = alone();
    let Some(mut image) = Base::Usual.image() else {
        return;
    };
    let inode = image.files["data"];
    let list = ExtentList::read(&image.block(inode)[BODY..]).unwrap();
    let records: Vec<ExtentRecord> = list.used().copied().collect();
    for (nth, record) in records.into_iter().enumerate() {
        let (cpos, block) = (record.e_cpos.get(), record.e_blkno.get());
        let record = ExtentRecord::leaf(cpos, record.leaf_clusters(), extent::UNWRITTEN, block);
        ExtentList::put(&mut image.block_mut(inode)[BODY..], nth, record).unwrap();
    }
    image.change(inode, |inode| inode.i_size = 0.into());
    image.store_checks();
    let report = report(&Ram::new(&image.bytes));
    assert_eq!(faults(&report), BTreeSet::new());
    let alarm = [("INODE_SPARSE_SIZE", 1)].into();
    assert_eq!(report.reference_run.as_ref().unwrap().codes, alarm);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    fs::write(&path, &image.bytes).unwrap();
    let alarm = [("INODE_SPARSE_SIZE".to_owned(), 1)].into();
    assert_eq!(fsck_ocfs2::run(&path).unwrap().codes, alarm);
}
