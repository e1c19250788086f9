//! Devices with unreadable ranges: these are reported, everything else is checked.

use std::fs;

use blockio::{BlockSource, Ram};

use super::{Image, check};
use crate::ext4::e2fsck::problems::{
    P1_BLOCK_ITERATE, P1_EXTENT_ITERATE_FAILURE, P1_ISCAN_ERROR, P1_SET_DTIME,
};
use crate::frame::finding::Finding;
use crate::frame::log::Findings;
use crate::frame::problem::Problem;

/// The number after a word in debugfs's output for a file.
fn block_of(image: &Image, command: &str, before: &str) -> u64 {
    let path = image.path.to_str().unwrap();
    let output = super::run("debugfs", &["-R", command, path], &[0]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rest = text.split(before).nth(1).unwrap().trim_start();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// The image in memory, with a block of 1 KiB that cannot be read.
fn failing(image: &Image, block: u64) -> impl BlockSource {
    let bytes = fs::read(&image.path).unwrap();
    let bad = block * 1024..(block + 1) * 1024;
    Ram::new(&bytes).failing(std::iter::once(bad), 5)
}

fn find<'f>(findings: &'f Findings, problem: &Problem) -> &'f Finding {
    let found = findings.list.iter().find(|f| f.problem == problem);
    found.unwrap_or_else(|| panic!("no {} in {:#?}", problem.name, findings.list))
}

#[test]
fn a_block_of_the_inode_table_is_lost_and_no_other() {
    let image = Image::make(&["-t", "ext4", "-b", "1024"], 8);
    image.debugfs("sif pipe dtime 99999999\n");
    let lost = block_of(&image, "imap f", "located at block ");
    for threads in [1, 3] {
        let (findings, state) = check(&failing(&image, lost), threads);
        let finding = find(&findings, &P1_ISCAN_ERROR);
        assert!(finding.reference_stops);
        assert_eq!(finding.place.block, Some(lost));
        assert_eq!(state.on_bad_blocks.iter().count(), 4, "inodes of 256 bytes");
        assert!(
            state
                .on_bad_blocks
                .iter()
                .all(|ino| state.used.get(u64::from(ino) - 1))
        );
        let other = find(&findings, &P1_SET_DTIME).place.inode.unwrap();
        assert!(!state.on_bad_blocks.contains(u32::try_from(other).unwrap()));
    }
}

#[test]
fn nodes_that_cannot_be_read_end_their_file_alone() {
    let image = Image::make(&["-t", "ext4", "-b", "1024"], 8);
    let node = block_of(&image, "stat pieces", "(ETB0):");
    let (findings, _) = check(&failing(&image, node), 2);
    let ino = find(&findings, &P1_EXTENT_ITERATE_FAILURE).place.inode;
    assert_eq!(find(&findings, &P1_BLOCK_ITERATE).place.inode, ino);
    assert!(
        findings
            .list
            .iter()
            .all(|finding| finding.place.inode == ino)
    );

    let image = Image::make(&["-t", "ext2", "-b", "1024"], 8);
    let node = block_of(&image, "stat long", "(IND):");
    let (findings, state) = check(&failing(&image, node), 2);
    // The doubly indirect block after it can be read, and the reference drops the error.
    let finding = find(&findings, &P1_BLOCK_ITERATE);
    assert!(finding.beyond_reference && !finding.reference_stops && finding.note.is_some());
    let node = block_of(&image, "stat long", "(DIND):");
    let (findings, _) = check(&failing(&image, node), 2);
    assert!(find(&findings, &P1_BLOCK_ITERATE).reference_stops);
    assert!(state.blocks.get(node - 1), "the block itself is claimed");
}
