//! Backups of the superblock.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileExt as _;

use blockio::Buffered;
use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::extent::ExtentHead;
use ondisk::ocfs2::{ExtentList, ExtentRecord, Superblock};
use testkit::fsck_ocfs2::{self, Ended};

use super::{faults, report};
use crate::common::alone;

/// Backups of the superblock are on volumes of more than 1 GiB.
#[test]
fn backups_of_the_superblock_are_compared_and_not_claimed() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let file = fs::File::create(&path).unwrap();
    file.set_len(1100 << 20).unwrap();
    let words = [
        "-q", "-F", "-J", "size=4M", "-N", "1", "-b", "4096", "-C", "4096",
    ];
    let mut command = std::process::Command::new("mkfs.ocfs2");
    let made = command.args(words).arg(&path);
    let made = made.env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin").output();
    if !made.is_ok_and(|output| output.status.success()) {
        testkit::skip!("mkfs.ocfs2 is not installed");
        return;
    }
    let file = fs::File::options()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let judged = || {
        let report = report(&Buffered::open(&path).unwrap());
        let reference = fsck_ocfs2::run(&path).unwrap();
        assert_eq!(
            (reference.ended, reference.codes.len()),
            (Ended::Code(0), 0)
        );
        faults(&report)
    };
    assert_eq!(judged(), BTreeSet::new());
    let backup = 1_u64 << 30;
    let mut before = vec![0; 4096];
    file.read_exact_at(&mut before, backup).unwrap();
    let mut other = before.clone();
    other[BODY + 0x90] ^= 1;
    file.write_all_at(&other, backup).unwrap();
    assert_eq!(judged(), BTreeSet::from(["SB_BACKUP"]));
    file.write_all_at(&before, backup).unwrap();
    // The list of bad blocks gets the backup's cluster.
    let mut inode = vec![0; 4096];
    let at = bad_blocks(&file);
    file.read_exact_at(&mut inode, at).unwrap();
    let head = dinode::Dinode::read_mut(&mut inode).unwrap();
    head.i_clusters = 1.into();
    head.i_size = 4096.into();
    ExtentHead::read_mut(&mut inode[BODY..])
        .unwrap()
        .l_next_free_rec = 1.into();
    let record = ExtentRecord::leaf(0, 1, 0, backup / 4096);
    ExtentList::put(&mut inode[BODY..], 0, record).unwrap();
    file.write_all_at(&inode, at).unwrap();
    assert_eq!(judged(), BTreeSet::from(["BACKUP_CLUSTER_CLAIMED"]));
}

/// The byte of the inode of `bad_blocks`, the first file of the system directory.
fn bad_blocks(file: &fs::File) -> u64 {
    let mut block = vec![0; 4096];
    file.read_exact_at(&mut block, 2 * 4096).unwrap();
    let system = Superblock::read(&block).unwrap().s_system_dir_blkno.get();
    file.read_exact_at(&mut block, system * 4096).unwrap();
    let entries = ondisk::ocfs2::directory::entries(&block[dinode::INLINE_DATA..]);
    let mut named = entries.filter(|(_, _, name)| *name == b"bad_blocks");
    named.next().unwrap().1.inode.get() * 4096
}
