//! Damaged filesystems: what is found is what e2fsck finds, in its order.

use std::os::unix::fs::FileExt;

use super::Image;
use crate::ext4::e2fsck::problems::*;
use crate::frame::problem::{Class, Problem};

/// The options of mke2fs that a case begins with.
const EXT4: &[&str] = &["-t", "ext4", "-b", "1024", "-O", "^resize_inode"];
const RESIZE: &[&str] = &["-t", "ext4", "-b", "1024"];
const EXT2: &[&str] = &["-t", "ext2", "-b", "1024"];
const EXT3: &[&str] = &["-t", "ext3", "-b", "1024"];
const BIGALLOC: &[&str] = &["-t", "ext4", "-b", "1024", "-C", "16384", "-O", "bigalloc"];
const QUOTA: &[&str] = &["-t", "ext4", "-O", "quota"];

/// A case: what it begins with, what is done to it, and problems that must be among those found.
type Case = (
    &'static [&'static str],
    &'static str,
    &'static [&'static Problem],
);

const CASES: &[Case] = &[
    (EXT4, "sif f links_count 0", &[&P1_ZERO_DTIME]),
    (
        EXT4,
        "sif f dtime @5",
        &[&P1_ORPHAN_LIST_REFUGEES, &P1_LOW_DTIME, &P1_SET_DTIME],
    ),
    (EXT4, "sif <2> dtime @1700000000", &[&P1_ROOT_DTIME]),
    (EXT4, "sif f size 1", &[&P1_BAD_I_SIZE]),
    (EXT4, "sif f blocks 2", &[&P1_BAD_I_BLOCKS]),
    (
        EXT4,
        "sif f flags 0",
        &[&P1_UNSET_EXTENT_FL, &P1_ILLEGAL_BLOCK_NUM],
    ),
    (EXT4, "sif f block[0] 0", &[&P1_MISSING_EXTENT_HEADER]),
    (EXT4, "sif f block[5] 99999999", &[&P1_EXTENT_BAD_START_BLK]),
    (EXT4, "sif f block[4] 0", &[&P1_EXTENT_LENGTH_ZERO]),
    (EXT4, "sif f block[5] 32760", &[&P1_EXTENT_ENDS_BEYOND]),
    (EXT4, "sif f block[3] 8", &[]),
    (EXT4, "sif d flags 0", &[&P1_UNSET_EXTENT_FL]),
    (EXT4, "sif d/e block[3] 2", &[&P1_COLLAPSE_DBLOCK]),
    (EXT4, "sif d size 5", &[&P1_BAD_I_SIZE]),
    (EXT4, "sif d size 0", &[&P1_BAD_I_SIZE]),
    (
        EXT4,
        "sif d block[0] 0x0000f30a\nsif d block[1] 4",
        &[&P1_ZERO_LENGTH_DIR],
    ),
    (EXT4, "sif f flags 0x82000", &[&P1_SET_IMAGIC]),
    (EXT4, "sif <5> mode 040755", &[&P1_RESERVED_BAD_MODE]),
    (EXT4, "sif <9> mode 0100644", &[&P1_RESERVED_BAD_MODE]),
    (EXT4, "sif <1> mode 0100644", &[&P1_INVALID_BAD_INODE]),
    (EXT4, "sif <3> links_count 1", &[&P1_QUOTA_INODE_NOT_CLEAR]),
    (EXT4, "sif pieces block[0] 0xf30a", &[&P1_BAD_I_BLOCKS]),
    (EXT4, "sif pieces size 1", &[&P1_BAD_I_SIZE]),
    (
        EXT4,
        "sif pieces block[3] 5",
        &[&P1_EXTENT_INDEX_START_INVALID],
    ),
    (EXT4, "sif pieces block[4] 0", &[&P1_EXTENT_BAD_START_BLK]),
    (
        EXT4,
        "sif pieces block[4] 900",
        &[&P1_EXTENT_ITERATE_FAILURE],
    ),
    (EXT4, "point pieces f", &[&P1_EXTENT_HEADER_INVALID]),
    (EXT4, "sif f flags 0x81000", &[&P1_HTREE_NODIR]),
    (EXT2, "sif long size 4398046511104", &[&P1_BAD_I_SIZE]),
    (EXT4, "sif long size 17592186044416", &[&P1_BAD_I_SIZE]),
    (
        EXT4,
        "sif pieces block[1] 0x00060004",
        &[&P1_EXTENT_BAD_MAX_DEPTH],
    ),
    (
        EXT4,
        "sif pieces block[4] 1",
        &[&P1_CRITICAL_METADATA_COLLISION],
    ),
    (
        EXT4,
        "sif f block[5] 2",
        &[&P1B_DUP_RANGE, &P1D_DUP_FILE, &P1D_SHARE_METADATA],
    ),
    (
        EXT2,
        "sif f block[0] 99999999",
        &[&P1_INODE_BLOCK_LATCH, &P1_ILLEGAL_BLOCK_NUM],
    ),
    (EXT2, "sif f flags 0x80000", &[&P1_EXTENTS_SET]),
    (EXT2, "sif f block[0] 0", &[&P1_BAD_I_BLOCKS]),
    (EXT2, "sif d block[0] 0", &[]),
    (
        EXT2,
        "sif far block[1] 2000",
        &[&P1_INODE_TOOBIG, &P1_TOOBIG_SYMLINK],
    ),
    (
        EXT2,
        "sif long block[IND] 2",
        &[&P1_CRITICAL_METADATA_COLLISION],
    ),
    (
        EXT2,
        "sif long block[DIND] 99999999",
        &[&P1_INODE_BLOCK_LATCH],
    ),
    // Inodes with indirect blocks are walked after the others of their group, in the order of these blocks.
    (
        EXT2,
        "sif long block[DIND] 99999999\nsif short blocks 9",
        &[&P1_INODE_BLOCK_LATCH, &P1_BAD_I_BLOCKS],
    ),
    (
        EXT3,
        "sif f block[IND] 20000\nsif f block[DIND] 99999999\nsif g size 1\nsif long size 1",
        &[&P1_BAD_I_SIZE, &P1_BAD_I_BLOCKS, &P1_INODE_BLOCK_LATCH],
    ),
    (
        EXT3,
        "sif g block[IND] 20000\nsif g block[DIND] 99999999\nsif f size 1\nsif long size 1",
        &[&P1_BAD_I_SIZE, &P1_BAD_I_BLOCKS, &P1_INODE_BLOCK_LATCH],
    ),
    // A block of attributes is judged with the first of its users that is walked; a short link is so at once.
    (
        EXT3,
        "sif f block[IND] 20000\nsif f block[DIND] 99999999\nsif f file_acl 21000\nsif g file_acl 21000",
        &[&P1_BAD_EA_BLOCK, &P1_BAD_I_BLOCKS, &P1_INODE_BLOCK_LATCH],
    ),
    (
        EXT3,
        "sif g block[IND] 20000\nsif g block[DIND] 99999999\nsif g file_acl 21000\nsif f file_acl 21000",
        &[&P1_BAD_EA_BLOCK, &P1_BAD_I_BLOCKS, &P1_INODE_BLOCK_LATCH],
    ),
    (
        EXT3,
        "sif g block[IND] 20000\nsif g block[DIND] 99999999\nsif g file_acl 21000\nsif f file_acl 21000\nsif link file_acl 21000",
        &[&P1_BAD_EA_BLOCK, &P1_BAD_I_BLOCKS, &P1_INODE_BLOCK_LATCH],
    ),
    (
        EXT2,
        "sif <8> links_count 1",
        &[&P1_JOURNAL_INODE_NOT_CLEAR],
    ),
    (EXT2, "sif f faddr 7", &[]),
    (
        EXT2,
        "copy f g",
        &[&P1B_DUP_RANGE, &P1D_DUP_FILE_LIST, &P1D_DELETE_QUESTION],
    ),
    // Block 1 as the first that is shared is the end of a range.
    (
        EXT2,
        "sif f block[0] 1",
        &[&P1B_DUP_RANGE, &P1D_DUP_FILE, &P1D_SHARE_METADATA],
    ),
    (EXT3, "copy f g", &[&P1D_CLONE_QUESTION]),
    (EXT4, "copy f g", &[&P1D_NUM_DUP_INODES]),
    (EXT4, "copy pieces g", &[&P1D_NUM_DUP_INODES]),
    (BIGALLOC, "copy f g", &[&P1D_NUM_DUP_INODES]),
    (BIGALLOC, "sif f block[3] 3", &[&P1_MISALIGNED_CLUSTER]),
    (BIGALLOC, "sif f flags 0", &[&P1_NO_BIGALLOC_BLOCKMAP_FILES]),
    (QUOTA, "sif <3> mode 040644", &[&P1_QUOTA_BAD_MODE]),
    (
        EXT2,
        "sif <1> block[0] 99999999",
        &[&P1_INODE_BBLOCK_LATCH, &P1_BB_ILLEGAL_BLOCK_NUM],
    ),
    (
        EXT2,
        "sif <1> block[0] 1",
        &[&P1_BAD_PRIMARY_SUPERBLOCK, &P1_BAD_PRIMARY_BLOCK_PROMPT],
    ),
    (
        EXT2,
        "sif <1> block[0] 2",
        &[&P1_BAD_PRIMARY_GROUP_DESCRIPTOR],
    ),
    (EXT2, "sif <1> block[0] 8193", &[&P1_BAD_SUPERBLOCK]),
    (EXT2, "bad block_bitmap", &[&P1_BB_BAD_BLOCK]),
    (EXT2, "bad inode_bitmap", &[&P1_IB_BAD_BLOCK]),
    (EXT2, "bad inode_table", &[&P1_BADBLOCKS_IN_BADBLOCKS]),
    (EXT4, "flip f", &[&P1_INODE_ONLY_CSUM_INVALID]),
    (
        EXT4,
        "flip pieces",
        &[&P1_EXTENT_ONLY_CSUM_INVALID, &P1_INODE_ONLY_CSUM_INVALID],
    ),
    (
        EXT4,
        "flip <1>",
        &[&P1_INVALID_BAD_INODE, &P1_BLOCK_ITERATE],
    ),
    (RESIZE, "flip <7>", &[&P1_RESIZE_INODE_CREATE]),
    (EXT4, "copy f g flip short", &[&P1B_ISCAN_ERROR]),
    (EXT4, "flip node of pieces", &[&P1_EXTENT_ONLY_CSUM_INVALID]),
    (EXT4, "trash table", &[&P1_INODE_IS_GARBAGE]),
];

/// Finds a number in debugfs's output.
fn ask(image: &Image, command: &str, before: &str) -> u64 {
    let path = image.path.to_str().unwrap();
    let output = super::run("debugfs", &["-R", command, path], &[0]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rest = match before {
        "" => Some(text.as_str()),
        _ => text.split(before).nth(1),
    };
    let rest = rest.unwrap_or_else(|| panic!("{command}: {text}"));
    let digits: String = rest
        .trim_start()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap()
}

fn patch(image: &Image, at: u64, change: impl Fn(&mut [u8]), len: usize) {
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&image.path)
        .unwrap();
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, at).unwrap();
    change(&mut bytes);
    file.write_all_at(&bytes, at).unwrap();
}

/// Where an inode lies.
fn place(image: &Image, name: &str) -> u64 {
    let path = image.path.to_str().unwrap();
    let output = super::run("debugfs", &["-R", &format!("imap {name}"), path], &[0]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let block = text.split("located at block ").nth(1).unwrap();
    let block: u64 = block.split(',').next().unwrap().parse().unwrap();
    let offset = text.split("offset 0x").nth(1).unwrap().trim();
    block * 1024 + u64::from_str_radix(offset, 16).unwrap()
}

/// Copies the map of one inode over that of another.
fn copy_map(image: &Image, from: &str, to: &str) {
    let mut map = vec![0; 60];
    let file = std::fs::File::open(&image.path).unwrap();
    file.read_exact_at(&mut map, place(image, from) + 40)
        .unwrap();
    let words = map
        .as_chunks::<4>()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word));
    let names: Vec<String> = (0..12)
        .map(|nth| nth.to_string())
        .chain(["IND", "DIND", "TIND"].map(String::from))
        .collect();
    let commands = words.zip(names);
    let commands = commands.map(|(word, name)| format!("sif {to} block[{name}] {word}\n"));
    image.debugfs(&commands.collect::<Vec<_>>().concat());
}

fn apply(image: &Image, command: &str) {
    let words: Vec<&str> = command.split(' ').collect();
    match words[..] {
        ["copy", from, to] => copy_map(image, from, to),
        ["bad", what] => {
            let block = ask(
                image,
                "show_super_stats",
                &format!("{} at ", what.replace('_', " ")),
            );
            image.debugfs(&format!("sif <1> block[0] {block}\n"));
        }
        ["point", from, to] => {
            let block = ask(image, &format!("bmap {to} 0"), "");
            image.debugfs(&format!("sif {from} block[4] {block}\n"));
        }
        ["flip", name] => patch(image, place(image, name) + 0x08, |b| b[0] ^= 1, 1),
        ["copy", from, to, "flip", name] => {
            copy_map(image, from, to);
            apply(image, &format!("flip {name}"));
        }
        ["flip", "node", "of", name] => {
            let node = ask(image, &format!("stat {name}"), "(ETB0):");
            patch(image, node * 1024 + 1020, |b| b[0] ^= 1, 1);
        }
        ["trash", "table"] => {
            let at = place(image, "f") / 1024 * 1024;
            let junk = |bytes: &mut [u8]| {
                bytes
                    .iter_mut()
                    .zip((1_u8..=255).cycle())
                    .for_each(|(b, n)| *b = n.wrapping_mul(91) | 1);
            };
            patch(image, at, junk, 1024);
        }
        _ => image.debugfs(&format!("{command}\n")),
    }
}

/// The names of problems as they are compared: in the order of the passes, heads and ends of lists left out.
fn names<'p>(problems: impl Iterator<Item = &'p Problem>) -> Vec<&'p str> {
    let reported =
        problems.filter(|problem| problem.pass.number == 1 && problem.class != Class::Notice);
    let mut reported: Vec<_> = reported.collect();
    // A question that follows another in e2fsck is logged before it.
    reported.sort_by_key(|problem| {
        (
            problem.rank,
            is_bad_primary(problem).then_some(problem.code),
        )
    });
    reported.into_iter().map(|problem| problem.name).collect()
}

fn is_bad_primary(problem: &Problem) -> bool {
    (P1_BAD_PRIMARY_BLOCK.code..=P1_BAD_PRIMARY_GROUP_DESCRIPTOR.code).contains(&problem.code)
}

/// What is found in one image, here and by the reference, where they differ.
fn difference(image: &Image, expected: &[&Problem]) -> Option<String> {
    let theirs = image.reference();
    let (findings, _) = image.check(2);
    let asked = || {
        findings
            .list
            .iter()
            .filter(|finding| !finding.beyond_reference)
    };
    let missing: Vec<&str> = expected
        .iter()
        .filter(|problem| !asked().any(|finding| finding.problem == **problem))
        .map(|problem| problem.name)
        .collect();
    // Where the reference stops, it has mostly not logged what it stopped at.
    let stop = asked().find(|finding| finding.reference_stops);
    let ours = asked().take_while(|finding| !finding.reference_stops);
    let ours = names(ours.map(|finding| finding.problem));
    let last = if stop.is_some() { 0x013 } else { u16::MAX };
    let theirs = theirs.iter().filter_map(|code| problem(*code));
    let mut theirs = names(theirs.filter(|problem| problem.rank <= last));
    if stop.is_some_and(|stop| theirs.last() == Some(&stop.problem.name)) {
        theirs.pop();
    }
    let at = ours
        .iter()
        .zip(&theirs)
        .take_while(|(one, two)| one == two)
        .count();
    (ours != theirs || !missing.is_empty()).then(|| {
        let from = at.saturating_sub(2);
        format!(
            "from {from} on\n  ours   {:?}\n  theirs {:?}\n  missing {missing:?}",
            &ours[from..],
            &theirs[from..]
        )
    })
}

#[test]
fn damage_is_found_as_the_reference_finds_it() {
    let mut wrong = Vec::new();
    let mut bases = std::collections::BTreeMap::new();
    for (options, command, expected) in CASES {
        let base = bases
            .entry(*options)
            .or_insert_with(|| Image::make(options, 32));
        let image = base.twin();
        apply(&image, command);
        if let Some(difference) = difference(&image, expected) {
            wrong.push(format!("{} {command}: {difference}", options[1]));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        CASES.len(),
        wrong.join("\n")
    );
}

/// The reference takes a backup's descriptors where the primary ones put two things into one place, and never comes to
/// these problems by way of a command.
#[test]
fn pieces_of_metadata_in_one_place_conflict() {
    let image = Image::make(EXT2, 32);
    let descriptors = 2 * 1024;
    let table = ask(&image, "show_super_stats", "inode table at ") as u32;
    for (field, expected) in [(0, &P1_BB_CONFLICT), (4, &P1_IB_CONFLICT)] {
        patch(
            &image,
            descriptors + field,
            |b| b.copy_from_slice(&(table + 1).to_le_bytes()),
            4,
        );
        let (findings, _) = image.check(1);
        let found = findings
            .list
            .iter()
            .find(|finding| finding.problem == expected);
        assert_eq!(found.unwrap().place.block, Some(u64::from(table) + 1));
    }
    patch(
        &image,
        descriptors + 8,
        |b| b.copy_from_slice(&3_u32.to_le_bytes()),
        4,
    );
    let (findings, _) = image.check(1);
    assert!(
        findings
            .list
            .iter()
            .any(|finding| *finding.problem == P1_ITABLE_CONFLICT)
    );
}
