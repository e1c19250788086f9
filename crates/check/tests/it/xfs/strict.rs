//! What `xfs_repair -n` does not see and the strict verdict does (section S of the codes), where forge has no case for it; and what the
//! comparison with it over every field has shown.

use std::process::Command;

use check::report::Judge;
use ondisk::bytes::{be16, be32, be64};
use ondisk::xfs::btree::Tree;
use ondisk::xfs::{Extent, Superblock, da, dinode};

use super::disk::{Disk, agf};
use super::volume::{Forged, forged, lines, made, report, tools};

/// A few files of each kind, and trees of two levels.
const PROFILE: &str = r#"
    files = 6000
    per_directory = [["3-9", 40], ["20-60", 20], ["200-300", 6], ["900-1200", 3]]
    file_size = [["0", 1], ["1-9k", 9], ["40k-90k", 1]]
    [directories]
    fan_out = 6
    [names]
    length = "9-30"
    [kinds]
    symlinks = 0.05
    target_length = [["9-99", 2], ["400-900", 1]]
    [attributes]
    inode = 0.05
    block = 0.05
    [ageing]
    freed = 0.02
    fragmented = 0.9
    pieces = "1-2"
    gaps = 0.9
    free = "1-3"
"#;

/// What `xfs_repair -n` ends with; none where it is not installed.
pub(super) fn repair(image: &Forged) -> Option<u8> {
    let output = Command::new("xfs_repair")
        .args(["-n", "-f"])
        .arg(&image.image)
        .output();
    let code = output.ok()?.status.code()?;
    u8::try_from(code).ok()
}

/// Whether one of these is found, and both verdicts are as they should be. `seen`: whether `xfs_repair -n` ends with 1.
pub(super) fn expect(image: &Forged, code: &str, seen: bool) {
    let found = report(&image.image, 2);
    let lines = lines(&found);
    let is_found = found
        .findings
        .tallies
        .iter()
        .any(|tally| tally.problem.name == code);
    assert!(is_found, "{code}: {lines:#?}");
    let ours = found.verdict(Judge::Reference).exit_code;
    assert_eq!(ours, u8::from(seen), "{code}: {lines:#?}");
    if let Some(theirs) = repair(image) {
        assert_eq!(theirs, ours, "{code}: xfs_repair says {theirs}: {lines:#?}");
    }
}

/// A new filesystem whose groups have trees of one leaf.
pub(super) fn fresh(words: &[&str]) -> Option<Forged> {
    tools().then(|| made("300M", words))
}

pub(super) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

#[test]
fn space_that_is_neither_free_nor_used() {
    for words in [&["-m", "rmapbt=1"][..], &["-m", "rmapbt=0"]] {
        let Some(image) = fresh(words) else { return };
        let disk = Disk::open(&image.image);
        let mut free = disk.free(1);
        free.last_mut().unwrap().1 -= 1;
        disk.set_free(1, &free, &free);
        expect(&image, "XFS-BLOCK-LEAKED", false);
    }
}

#[test]
fn free_extents_side_by_side_and_out_of_order() {
    let Some(image) = fresh(&[]) else { return };
    let disk = Disk::open(&image.image);
    let (start, length) = disk.free(1)[0];
    let split = [(start, 1), (start + 1, length - 1)];
    disk.set_free(1, &split, &split);
    expect(&image, "XFS-FREE-ADJACENT", false);
    let by_block = [(start, 10), (start + 20, 10), (start + 40, length - 40)];
    let by_size = [by_block[1], by_block[0], by_block[2]];
    disk.set_free(1, &by_block, &by_size);
    expect(&image, "XFS-CNT-TIE", false);
}

/// `xfs_repair` lets a block of an inode btree be free: it reads that btree after those of free space, and takes the block then.
#[test]
fn a_block_of_an_inode_btree_that_is_free() {
    let Some(image) = fresh(&[]) else { return };
    let disk = Disk::open(&image.image);
    let (root, _) = disk.root(1, Tree::Ino);
    let mut free = disk.free(1);
    free.push((root, 1));
    let (mut by_block, mut by_size) = (free.clone(), free);
    by_block.sort_unstable();
    by_size.sort_unstable_by_key(|(start, length)| (*length, *start));
    disk.set_free(1, &by_block, &by_size);
    expect(&image, "XFS-FREE-INOBT", false);
}

#[test]
fn reverse_mappings_too_many_and_too_few() {
    let Some(image) = fresh(&["-m", "rmapbt=1"]) else {
        return;
    };
    let disk = Disk::open(&image.image);
    let sound = disk.records(1, Tree::Rmap);
    // A block of free space has an owner; one below all inodes is one for xfs_repair, too.
    for owner in [128_u64, 5] {
        let start = disk.free(1)[0].0 + 100;
        let mut records = sound.clone();
        records.push(
            [
                &start.to_be_bytes()[..],
                &1_u32.to_be_bytes(),
                &owner.to_be_bytes(),
                &[0; 8],
            ]
            .concat(),
        );
        disk.set_records(1, Tree::Rmap, &records);
        expect(&image, "XFS-RMAP-EXTRA", false);
    }
    disk.set_records(1, Tree::Rmap, &sound[..sound.len() - 1]);
    expect(&image, "XFS-RMAP-MISSING-AGMETA", false);
}

#[test]
fn keys_of_the_btree_of_reverse_mappings() {
    if !tools() {
        return;
    }
    let image = forged("400M", "rmapbt", PROFILE);
    let disk = Disk::open(&image.image);
    let (root, levels) = disk.root(1, Tree::Rmap);
    assert!(levels > 1);
    let key = Tree::Rmap.key_at(&disk.geo, 0);
    let sound = disk.block(1, root);
    // A search comes to the first child whatever its key is.
    disk.node(1, root, |bytes| put(bytes, key + 4, &[0xff; 8]));
    expect(&image, "XFS-RMAP-LOWKEY", false);
    disk.node(1, root, |bytes| bytes.copy_from_slice(&sound));
    disk.node(1, root, |bytes| bytes[key + 12] |= 0x20);
    expect(&image, "XFS-RMAP-UNWRITTEN-KEY", false);
}

/// A binary search of two keys begins at the first, and never comes to the second where the first is larger.
#[test]
fn a_first_key_that_hides_the_second_child() {
    if !tools() {
        return;
    }
    let profile = PROFILE.replace("files = 6000", "files = 500");
    let image = forged("400M", "rmapbt", &profile);
    let disk = Disk::open(&image.image);
    let has_two = |ag: &u32| {
        let (root, levels) = disk.root(*ag, Tree::Rmap);
        levels == 2 && be16(&disk.block(*ag, root), 6) == 2
    };
    let ag = (0..disk.geo.ag_count).find(has_two);
    let ag = ag.expect("a root of two children");
    let root = disk.root(ag, Tree::Rmap).0;
    let key = Tree::Rmap.key_at(&disk.geo, 0);
    disk.node(ag, root, |bytes| bytes[key] |= 0x80);
    expect(&image, "XFS-RMAP-MISSING", true);
}

#[test]
fn records_out_of_order_from_one_leaf_to_the_next() {
    if !tools() {
        return;
    }
    let image = forged("400M", "rmapbt", PROFILE);
    let disk = Disk::open(&image.image);
    let ag = (0..disk.geo.ag_count)
        .find(|ag| disk.root(*ag, Tree::Bno).1 > 1)
        .expect("a tree of two levels");
    let leaves = disk.leaves(ag, Tree::Bno);
    let last = usize::from(be16(&disk.block(ag, leaves[0]), 6)) - 1;
    let (left, right) = (
        Tree::Bno.record_at(&disk.geo, last),
        Tree::Bno.record_at(&disk.geo, 0),
    );
    let record = |leaf: u32, at: usize| disk.block(ag, leaf)[at..at + 8].to_vec();
    let (one, other) = (record(leaves[0], left), record(leaves[1], right));
    disk.node(ag, leaves[0], |bytes| put(bytes, left, &other));
    disk.node(ag, leaves[1], |bytes| put(bytes, right, &one));
    expect(&image, "XFS-AGBT-ORDER-LEAVES", false);
}

#[test]
fn a_node_of_an_inode_btree_with_too_many_keys() {
    if !tools() {
        return;
    }
    let image = forged("400M", "", PROFILE);
    let disk = Disk::open(&image.image);
    let Some(ag) = (0..disk.geo.ag_count).find(|ag| disk.root(*ag, Tree::Ino).1 > 1) else {
        // One leaf has all: the keys are those of a root that says it is a node.
        let (root, _) = disk.root(1, Tree::Ino);
        disk.header(1, 2, |bytes| put(bytes, 24, &2_u32.to_be_bytes()));
        disk.node(1, root, |bytes| {
            put(bytes, 4, &1_u16.to_be_bytes());
            put(bytes, 6, &600_u16.to_be_bytes());
        });
        return expect(&image, "XFS-AGBT-LEVEL-COUNT", true);
    };
    let (root, _) = disk.root(ag, Tree::Ino);
    disk.node(ag, root, |bytes| put(bytes, 6, &600_u16.to_be_bytes()));
    expect(&image, "XFS-AGBT-LEVEL-COUNT", true);
}

#[test]
fn counters_that_cannot_be_and_lists_of_unlinked_inodes() {
    let Some(image) = fresh(&["-m", "crc=0"]) else {
        return;
    };
    let disk = Disk::open(&image.image);
    disk.header(1, 1, |bytes| put(bytes, agf::LONGEST, &[0x7f; 4]));
    expect(&image, "XFS-AGF-RANGE", true);
    let Some(image) = fresh(&[]) else { return };
    let disk = Disk::open(&image.image);
    let root = disk.sb.sb_rootino.get() as u32;
    disk.header(0, 2, |bytes| put(bytes, 40 + 4 * 5, &root.to_be_bytes()));
    expect(&image, "XFS-UNLINKED-LIST", true);
}

#[test]
fn directories_in_a_ring() {
    if !tools() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    let text = "/\n0 0\nd--755 0 0\naa d--755 0 0\nbb d--755 0 0\ncc d--755 0 0\n$\n$\n$\n$\n";
    std::fs::write(&tree, text).unwrap();
    let image = made("300M", &["-p", tree.to_str().unwrap()]);
    let disk = Disk::open(&image.image);
    // A directory in its inode: two counts, the parent, then an entry with a name of two bytes.
    let (parent, child) = (176 + 2, 176 + 12);
    let below = |ino: u64| u64::from(be32(&disk.inode_bytes(ino), child));
    let root = disk.sb.sb_rootino.get();
    let one = below(root);
    let two = below(one);
    let three = below(two);
    let lead = |from: u64, at: usize, to: u64| {
        disk.inode(from, |bytes| put(bytes, at, &(to as u32).to_be_bytes()));
    };
    lead(root, child, three);
    lead(three, parent, root);
    lead(two, child, one);
    lead(one, parent, two);
    expect(&image, "XFS-DIR-LOOP", false);
}

/// For xfs_repair a block is what the first mapping of it says: a mapping of a file that reaches over inodes, too.
#[test]
fn a_reverse_mapping_that_reaches_over_others() {
    if !tools() {
        return;
    }
    // More files than one chunk of inodes has: the second lies after the blocks of files of the first.
    let folder = tempfile::tempdir().unwrap();
    let (tree, contents) = (folder.path().join("tree"), folder.path().join("contents"));
    std::fs::write(&contents, [7; 5000]).unwrap();
    let mut text = String::from("/dev/null\n0 0\nd--755 0 0\n");
    for nth in 0..100 {
        text.extend([format!("file{nth} ---644 0 0 {}\n", contents.display())]);
    }
    text.push_str("$\n");
    std::fs::write(&tree, text).unwrap();
    let image = made("300M", &["-m", "rmapbt=1", "-p", tree.to_str().unwrap()]);
    let disk = Disk::open(&image.image);
    let root = |ag: &u32| disk.root(*ag, Tree::Rmap).1 == 1;
    let of_file = |record: &[u8]| be64(record, 8) >> 63 == 0;
    let place = (0..disk.geo.ag_count).filter(root).find_map(|ag| {
        let records = disk.records(ag, Tree::Rmap);
        let at = records.windows(2).position(|pair| {
            of_file(&pair[0]) && be64(&pair[1], 8) == ondisk::xfs::record::owner::INODES
        });
        at.map(|at| (ag, at, records))
    });
    let (ag, at, mut records) = place.expect("inodes after a file's blocks");
    let length = be32(&records[at + 1], 0) + 1 - be32(&records[at], 0);
    put(&mut records[at], 4, &length.to_be_bytes());
    disk.set_records(ag, Tree::Rmap, &records);
    expect(&image, "XFS-RMAP-X-UNKNOWN", true);
}

/// Names in a block that is another directory's lead nowhere: xfs_repair finds what they led to without a name, and so must we.
#[test]
fn directories_in_a_block_of_another_directory() {
    if !tools() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    let mut text = String::from("/dev/null\n0 0\nd--755 0 0\nsub d--755 0 0\n");
    for nth in 0..40 {
        text.extend([format!("directory{nth} d--755 0 0\n$\n")]);
    }
    text.push_str("$\n$\n");
    std::fs::write(&tree, text).unwrap();
    let image = made("300M", &["-p", tree.to_str().unwrap()]);
    let disk = Disk::open(&image.image);
    let sub =
        disk.find(|inode| inode.file_type() == dinode::mode::DIRECTORY && inode.format() == 2);
    let bytes = disk.inode_bytes(sub);
    let block = Extent::read(dinode::Inode::new(&disk.geo, &bytes).data_fork()).block;
    let at = disk.geo.block_offset(block);
    let size = disk.geo.block_size as usize;
    disk.change(at, size, ondisk::xfs::checksum::DIRECTORY, |bytes| {
        put(bytes, 40, &77_u64.to_be_bytes());
    });
    expect(&image, "XFS-DIR-OWNER", true);
    let found = report(&image.image, 2);
    let lost = found
        .findings
        .tallies
        .iter()
        .find(|one| one.problem.name == "XFS-CONN-ORPHAN-DIR");
    assert_eq!(lost.map(|one| one.count), Some(40), "{:#?}", lines(&found));
}

/// What is legal is no finding of a report for people; documents for programs have it.
#[test]
fn hints_are_counted_and_not_listed() {
    if !tools() {
        return;
    }
    let image = forged("400M", "", PROFILE);
    let disk = Disk::open(&image.image);
    let files: Vec<u64> = disk
        .inodes()
        .iter()
        .filter(|one| one.1)
        .map(|one| one.0)
        .collect();
    let mut count = 0;
    for ino in files {
        let bytes = disk.inode_bytes(ino);
        let inode = dinode::Inode::new(&disk.geo, &bytes);
        if inode.file_type() == dinode::mode::REGULAR
            && inode.forkoff() == 0
            && inode.nextents() < 3
        {
            // An attribute fork that has nothing in it yet.
            disk.inode(ino, |bytes| bytes[82] = 24);
            count += 1;
        }
    }
    assert!(count > 100);
    expect(&image, "XFS-BMBT-EMPTY-FORK", false);
    let found = report(&image.image, 2);
    assert!(found.verdict(Judge::Strict).is_clean());
    let text = check::report::text(&found, Judge::Strict, check::report::Shown::default());
    assert!(!text.contains("attribute fork has neither"), "{text}");
    assert!(
        text.contains("XFS-BMBT-EMPTY-FORK") && text.lines().count() < 20,
        "{text}"
    );
    let brief = check::report::brief(&found, Judge::Strict);
    assert!(
        !brief.contains("EMPTY-FORK") && !brief.contains("what to do"),
        "{brief}"
    );
}

#[test]
fn inodes_and_their_extents() {
    if !tools() {
        return;
    }
    let image = forged("400M", "", PROFILE);
    let disk = Disk::open(&image.image);
    let (free, _) = *disk.inodes().iter().find(|(_, used)| !used).unwrap();
    disk.inode(free, |bytes| put(bytes, 16, &3_u32.to_be_bytes()));
    expect(&image, "XFS-INODE-FREE-NLINK", false);
    // The kernel leaves the size of a removed directory, and of a removed link.
    disk.inode(free, |bytes| {
        put(bytes, 16, &[0; 4]);
        put(bytes, 56, &6_u64.to_be_bytes());
    });
    assert!(report(&image.image, 2).verdict(Judge::Strict).is_clean());
    let is_file = |inode: &dinode::Inode<'_>| {
        let first = Extent::read(inode.data_fork());
        inode.file_type() == dinode::mode::REGULAR
            && inode.nextents() == 1
            && first.count > 1
            && inode.forkoff() == 0
    };
    let file = disk.find(is_file);
    let sound = disk.inode_bytes(file);
    let split = Extent::read(&sound[176..]);
    disk.inode(file, |bytes| {
        put(bytes, 76, &2_u32.to_be_bytes());
        let parts = [
            Extent { count: 1, ..split },
            Extent {
                offset: split.offset + 1,
                block: split.block + 1,
                count: split.count - 1,
                ..split
            },
        ];
        for (nth, part) in parts.iter().enumerate() {
            put(bytes, 176 + 16 * nth, &part.to_bytes());
        }
    });
    expect(&image, "XFS-EXT-MERGE", false);
    disk.inode(file, |bytes| bytes.copy_from_slice(&sound));
    // xfs_repair takes the number of a group modulo 2^32.
    disk.inode(file, |bytes| {
        let high = Extent {
            block: split.block | 1 << 51,
            ..split
        };
        put(bytes, 176, &high.to_bytes());
    });
    expect(&image, "XFS-EXT-HIGH-BITS", false);
    disk.inode(file, |bytes| bytes.copy_from_slice(&sound));
    disk.inode(file, |bytes| bytes[82] = 1);
    expect(&image, "XFS-EXT-FORK-ROOM", false);
}

/// Differences to `xfs_repair -n` that a comparison over every field has shown, and what both say now.
#[test]
fn fields_of_inodes_and_superblocks_are_judged_as_xfs_repair_does() {
    let Some(image) = fresh(&["-m", "rmapbt=1"]) else {
        return;
    };
    let alike = |image: &Forged, what: &str, seen: bool| {
        let found = report(&image.image, 1);
        let ours = found.verdict(Judge::Reference).exit_code;
        assert_eq!(ours, u8::from(seen), "{what}: {:#?}", lines(&found));
        if let Some(theirs) = repair(image) {
            assert_eq!(theirs, ours, "{what}");
        }
    };
    let disk = Disk::open(&image.image);
    let root = disk.sb.sb_rootino.get();
    let sound = disk.inode_bytes(root);
    disk.inode(root, |bytes| {
        put(bytes, 90, &(dinode::flag::RTINHERIT).to_be_bytes());
    });
    alike(&image, "a directory whose files would be realtime", false);
    disk.inode(root, |bytes| bytes.copy_from_slice(&sound));
    let (bno, _) = disk.root(1, Tree::Bno);
    disk.node(1, bno, |bytes| put(bytes, 24, &[0x80, 0, 0, 1, 0, 0, 0, 9]));
    alike(&image, "a log sequence number below zero", false);
    disk.node(1, bno, |bytes| put(bytes, 24, &[0, 0, 0, 9, 0, 0, 0, 9]));
    alike(&image, "a log sequence number after the log", true);
    disk.node(1, bno, |bytes| put(bytes, 24, &[0; 8]));
    disk.header(0, 0, |bytes| put(bytes, 232, &[0x80, 0, 0, 0, 0, 0, 0, 0]));
    alike(&image, "a quota inode that cannot be, without quotas", true);
    disk.header(0, 0, |bytes| put(bytes, 232, &[0xff; 8]));
    alike(&image, "no quota inode", false);
    let Some(image) = fresh(&["-m", "crc=0"]) else {
        return;
    };
    let disk = Disk::open(&image.image);
    disk.header(1, 0, |bytes| put(bytes, 180, &[0; 4]));
    alike(&image, "a copy without alignment of inodes", true);
    disk.header(1, 0, |bytes| {
        put(bytes, 180, &disk.sb.sb_inoalignmt.get().to_be_bytes());
    });
    alike(&image, "mended", false);
    disk.header(0, 0, |bytes| {
        Superblock::read_mut(bytes).unwrap().sb_logsunit.set(0x8001);
    });
    alike(
        &image,
        "a log stripe unit that is no multiple of a block",
        true,
    );
}

#[test]
fn contents_of_directories_and_attributes_are_judged_as_xfs_repair_does() {
    if !tools() {
        return;
    }
    let profile =
        "files = 6000\nper_directory = [['3-5', 5], ['900-1200', 1]]\n[names]\nlength = '9-12'\n";
    let image = forged("400M", "nocrc", profile);
    let disk = Disk::open(&image.image);
    let leaf = 1 << 35 >> disk.geo.block_log;
    let node_block = |inode: &dinode::Inode<'_>| {
        let fork = inode.data_fork();
        let count = inode.nextents() as usize;
        let extents = ondisk::xfs::extent::list(fork, count.min(fork.len() / 16));
        let index = extents.filter(|extent| extent.offset == leaf).last()?;
        let bytes = disk.bytes(
            disk.geo.block_offset(index.block),
            disk.geo.block_size as usize,
        );
        (da::magic(&bytes) == da::NODE).then_some(index.block)
    };
    let is_directory = |inode: &dinode::Inode<'_>| {
        inode.file_type() == dinode::mode::DIRECTORY && inode.format() == 2
    };
    let node = disk.find(|inode| is_directory(inode) && node_block(inode).is_some());
    let bytes = disk.inode_bytes(node);
    let at = disk
        .geo
        .block_offset(node_block(&dinode::Inode::new(&disk.geo, &bytes)).unwrap());
    let size = disk.geo.block_size as usize;
    disk.change(at, size, 0, |bytes| put(bytes, 0, &[0, 0, 0, 7]));
    expect(&image, "XFS-DA-LAST-FORW", true);
    disk.change(at, size, 0, |bytes| {
        put(bytes, 0, &[0, 0, 0, 0, 0, 0, 0, 7]);
    });
    expect(&image, "XFS-DA-ROOT-BACK", false);
    disk.change(at, size, 0, |bytes| put(bytes, 4, &[0; 4]));
    // An entry in an inode that has no type.
    let local = disk.find(|inode| {
        let some = inode.data_fork().first().is_some_and(|count| *count > 0);
        inode.file_type() == dinode::mode::DIRECTORY && inode.format() == 1 && some
    });
    disk.inode(local, |bytes| {
        let name = usize::from(bytes[100 + 6]);
        bytes[100 + 6 + 3 + name] = 0;
    });
    expect(&image, "XFS-DIR-FTYPE", true);
}

/// A wrong checksum is all that a verifier sees of an attribute block: its map of free bytes is not judged then.
#[test]
fn a_free_map_under_a_wrong_checksum() {
    if !tools() {
        return;
    }
    let image = forged("400M", "", PROFILE);
    let disk = Disk::open(&image.image);
    let file = disk.find(|inode| {
        inode.file_type() == dinode::mode::REGULAR
            && inode.forkoff() > 0
            && inode.aformat() == 2
            && inode.anextents() > 0
    });
    let bytes = disk.inode_bytes(file);
    let inode = dinode::Inode::new(&disk.geo, &bytes);
    let first = Extent::read(inode.attr_fork());
    let at = disk.geo.block_offset(first.block);
    let size = disk.geo.block_size as usize;
    // The free map of a leaf of version 5.
    let map = 64;
    let sum = disk.bytes(at, size)[12..16].to_vec();
    assert_eq!(be64(&disk.bytes(at, size), 16), at / 512);
    disk.change(at, size, 12, |bytes| put(bytes, map, &[0xff, 0xf1]));
    expect(&image, "XFS-ATTR-ROOT-BAD", true);
    disk.change(at, size, size, |bytes| put(bytes, 12, &sum));
    expect(&image, "XFS-ATTR-LEAF-CRC", false);
}

/// `xfs_repair` follows a pointer of a fork's btree without the bits above those of groups, and compares the neighbours with all of it.
#[test]
fn a_pointer_of_a_fork_with_a_high_bit() {
    if !tools() {
        return;
    }
    let profile = PROFILE
        .replace("[\"40k-90k\", 1]", "[\"2M-3M\", 1]")
        .replace("files = 6000", "files = 100");
    let image = forged("400M", "", &profile);
    let disk = Disk::open(&image.image);
    let room = |inode: &dinode::Inode<'_>| (inode.data_fork().len() - 4) / 16;
    let file = disk.find(|inode| {
        inode.file_type() == dinode::mode::REGULAR
            && inode.format() == dinode::Format::Btree as u8
            && be16(inode.data_fork(), 2) > 1
    });
    let sound = disk.inode_bytes(file);
    let second = 176 + 4 + 8 * room(&dinode::Inode::new(&disk.geo, &sound)) + 8;
    disk.inode(file, |bytes| bytes[second] |= 0x80);
    expect(&image, "XFS-BMBT-RIGHT", true);
}
