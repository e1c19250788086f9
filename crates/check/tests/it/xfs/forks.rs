//! Blocks of forks that nothing names, that two forks have, or that are where none may be; and forks without blocks. `xfs_repair -n` does not
//! look for these.

use check::report::Judge;
use ondisk::bytes::{be16, be32};
use ondisk::xfs::attribute::{self, LeafHead};
use ondisk::xfs::btree::Tree;
use ondisk::xfs::dinode::{self, Inode, mode};
use ondisk::xfs::directory::{FREE3, FreeHead, free_room};
use ondisk::xfs::{Extent, checksum, da};

use super::disk::{Disk, Fork};
use super::strict::{expect, fresh, repair};
use super::volume::{Forged, forged, lines, report, tools};

/// Attributes in leaves, and directories with a tree; free space is in a few extents.
const PROFILE: &str = r#"
    files = 1500
    per_directory = [["3-9", 20], ["20-60", 10], ["900-1000", 1]]
    file_size = [["0", 1], ["1-9k", 9]]
    [attributes]
    block = 0.1
"#;

/// A filesystem of these files, and its structures.
fn begin() -> Option<(Forged, Disk)> {
    tools().then(|| {
        let image = forged("400M", "", PROFILE);
        let disk = Disk::open(&image.image);
        (image, disk)
    })
}

/// Both programs find nothing.
fn sound(image: &Forged, what: &str) {
    let found = report(&image.image, 2);
    assert_eq!(lines(&found), Vec::<String>::new(), "{what}");
    assert_eq!(repair(image).unwrap_or(0), 0, "{what}");
}

fn one(offset: u64, block: u64) -> Extent {
    Extent {
        offset,
        block,
        count: 1,
        unwritten: false,
    }
}

/// Blocks 1 and 2 of a fork.
fn two(block: u64) -> Extent {
    Extent {
        count: 2,
        ..one(1, block)
    }
}

/// Regular files with several attributes, all in one leaf.
fn with_leaf(disk: &Disk) -> Vec<u64> {
    let inodes = disk.inodes().into_iter().filter(|(_, used)| *used);
    let with = inodes.filter(|(ino, _)| {
        let bytes = disk.inode_bytes(*ino);
        let inode = Inode::new(&disk.geo, &bytes);
        inode.file_type() == mode::REGULAR
            && inode.forkoff() > 0
            && inode.aformat() == 2
            && inode.anextents() == 1
            && Extent::read(inode.attr_fork()).count == 1
    });
    let several = |ino: &u64| {
        let leaf = disk.at(first_block(disk, *ino));
        attribute::head(true, &leaf).unwrap().count.get() > 1
    };
    with.map(|(ino, _)| ino).filter(several).collect()
}

/// A regular file without blocks and attributes, not one of those that the superblock names.
fn empty_file(disk: &Disk) -> u64 {
    let last = disk.sb.sb_rsumino.get();
    disk.find(|inode| {
        inode.file_type() == mode::REGULAR
            && inode.nextents() == 0
            && inode.forkoff() == 0
            && inode.ino() > last
    })
}

/// Where the first block of the attribute fork is.
fn first_block(disk: &Disk, ino: u64) -> u64 {
    let bytes = disk.inode_bytes(ino);
    Extent::read(Inode::new(&disk.geo, &bytes).attr_fork()).block
}

impl Disk {
    /// A block of the filesystem.
    fn at(&self, block: u64) -> Vec<u8> {
        let size = self.geo.block_size as usize;
        self.bytes(self.geo.block_offset(block), size)
    }

    /// Changes a block of a fork's tree.
    fn da(&self, block: u64, change: impl FnOnce(&mut [u8])) {
        let size = self.geo.block_size as usize;
        self.change(self.geo.block_offset(block), size, checksum::DA, |bytes| {
            change(bytes);
        });
    }

    /// Puts the leaf of a file's attributes below a node: two leaves, which are now blocks 1 and 2 of the fork, at `block`.
    fn deepen(&self, ino: u64, block: u64) {
        let leaf = self.at(first_block(self, ino));
        let count = usize::from(attribute::head(true, &leaf).unwrap().count.get());
        // The first leaf has all entries but the last, the second the last.
        for (nth, entries) in [(0, 0..count - 1), (1, count - 1..count)] {
            self.da(block + nth, |bytes| {
                bytes.copy_from_slice(&leaf);
                let siblings = [2 - 2 * nth as u32, nth as u32];
                bytes[..4].copy_from_slice(&siblings[0].to_be_bytes());
                bytes[4..8].copy_from_slice(&siblings[1].to_be_bytes());
                bytes[16..24].copy_from_slice(&self.geo.daddr(block + nth).to_be_bytes());
                let size = |nth: usize| {
                    let entry = attribute::entry(true, &leaf, nth).unwrap();
                    let (at, local) = (entry.nameidx.get(), entry.flags & attribute::flag::LOCAL);
                    let name = attribute::name(&leaf, at.into(), local != 0);
                    name.unwrap().size() as u16
                };
                let used: u16 = entries.clone().map(size).sum();
                let table = attribute::header(true);
                bytes.copy_within(table + 8 * entries.start..table + 8 * entries.end, table);
                let head = LeafHead::read_mut(&mut bytes[attribute::head_at(true)..]).unwrap();
                head.count = (entries.len() as u16).into();
                head.usedbytes = used.into();
                // Names that are no longer in use are holes.
                head.holes = 1;
            });
        }
        self.over(ino, &[block, block + 1]);
        self.map(ino, Fork::Attributes, two(block));
    }

    /// Makes the first block of an attribute fork a node over blocks 1 and on, which are these leaves.
    fn over(&self, ino: u64, leaves: &[u64]) {
        self.da(first_block(self, ino), |bytes| {
            bytes[8..10].copy_from_slice(&da::NODE3.to_be_bytes());
            bytes[56..].fill(0);
            da::set_count(true, bytes, leaves.len() as u16, 1);
            for (nth, leaf) in leaves.iter().enumerate() {
                let leaf = self.at(*leaf);
                let count = usize::from(attribute::head(true, &leaf).unwrap().count.get());
                let last = attribute::entry(true, &leaf, count - 1).unwrap();
                da::set_entry(true, bytes, nth, last.hashval.get(), nth as u32 + 1);
            }
        });
    }

    /// Sets the flag of a file that shares blocks.
    fn flag_shared(&self, ino: u64) {
        self.inode(ino, |bytes| bytes[127] |= dinode::flag2::REFLINK as u8);
    }
}

#[test]
fn blocks_of_an_attribute_fork_that_nothing_names_or_that_are_of_another() {
    let Some((image, disk)) = begin() else { return };
    let file = with_leaf(&disk)[0];
    let leaf = disk.take(1, 2);
    disk.deepen(file, leaf);
    sound(&image, "two leaves below a node");
    // Owner, UUID and block number of a leaf that is not the first block.
    let whole = disk.at(leaf);
    for (at, what) in [(48, "owner"), (32, "UUID"), (16, "block number")] {
        disk.da(leaf, |bytes| bytes[at + 3] ^= 1);
        expect(&image, "XFS-ATTR-LEAF-OWNER", false);
        let found = report(&image.image, 1);
        assert_eq!(found.verdict(Judge::Strict).exit_code, 4, "{what}");
        disk.da(leaf, |bytes| bytes.copy_from_slice(&whole));
    }
    disk.map(file, Fork::Attributes, one(5, disk.take(1, 1)));
    expect(&image, "XFS-ATTR-UNREACHED", false);
    // The other leaf is named no longer, and a node of one entry is wrong for xfs_repair.
    disk.da(leaf, |bytes| bytes[..4].fill(0));
    disk.over(file, &[leaf]);
    expect(&image, "XFS-DA-LAST-HASH", true);
}

/// For `xfs_repair` both forks of a file may share blocks: it wants the flag of each file, and the right count.
#[test]
fn an_attribute_block_that_two_files_have() {
    let Some((image, disk)) = begin() else { return };
    let files = with_leaf(&disk);
    let leaf = disk.take(1, 2);
    disk.deepen(files[0], leaf);
    disk.over(files[1], &[leaf, leaf + 1]);
    disk.map(files[1], Fork::Attributes, two(leaf));
    let counted = |length: u32, owners: u32| {
        let agbno = disk.geo.agbno_of(leaf);
        let record = [agbno, length, owners].map(u32::to_be_bytes).concat();
        disk.set_records(1, Tree::Refcount, &[record]);
    };
    counted(2, 2);
    expect(&image, "XFS-REFLINK-SET", true);
    disk.flag_shared(files[0]);
    expect(&image, "XFS-REFLINK-SET", true);
    disk.flag_shared(files[1]);
    expect(&image, "XFS-SHARED-ATTR", false);
    counted(2, 3);
    expect(&image, "XFS-REFC-WRONG", true);
    disk.set_records(1, Tree::Refcount, &[]);
    expect(&image, "XFS-REFC-MISSING", true);
}

#[test]
fn an_attribute_block_that_a_data_fork_has() {
    let Some((image, disk)) = begin() else { return };
    let file = with_leaf(&disk)[0];
    let leaf = disk.take(1, 2);
    disk.deepen(file, leaf);
    let other = empty_file(&disk);
    disk.map(other, Fork::Data, one(0, leaf));
    disk.inode(other, |bytes| {
        bytes[56..64].copy_from_slice(&4096_u64.to_be_bytes());
    });
    let record = [disk.geo.agbno_of(leaf), 1, 2].map(u32::to_be_bytes);
    disk.set_records(1, Tree::Refcount, &[record.concat()]);
    expect(&image, "XFS-REFLINK-SET", true);
    disk.flag_shared(other);
    expect(&image, "XFS-REFLINK-SET", true);
    disk.flag_shared(file);
    expect(&image, "XFS-SHARED-ATTR", false);
}

#[test]
fn a_block_of_a_directory_after_its_index_of_free_space() {
    let Some((image, disk)) = begin() else { return };
    let segment = 1_u64 << 35 >> disk.geo.block_log;
    // The last extent of a directory with a tree is that of the index of free space.
    let last = |inode: &Inode<'_>| {
        let fork = inode.data_fork();
        let count = (inode.nextents() as usize).min(fork.len() / 16);
        ondisk::xfs::extent::list(fork, count).last()
    };
    let directory = disk.find(|inode| {
        inode.file_type() == mode::DIRECTORY
            && inode.format() == 2
            && (inode.nextents() as usize) < inode.data_fork().len() / 16
            && last(inode).is_some_and(|extent| extent.offset == 2 * segment)
    });
    let bytes = disk.inode_bytes(directory);
    let index = last(&Inode::new(&disk.geo, &bytes)).unwrap().block;
    let (beyond, sound) = (disk.take(1, 1), disk.at(index));
    assert_eq!(be32(&sound, 0), FREE3);
    // Its number would make it the index of data blocks that cannot be; the number is kept modulo 2^32.
    let first = (segment as u32).wrapping_mul(free_room(&disk.geo) as u32);
    let size = disk.geo.block_size as usize;
    let place = disk.geo.block_offset(beyond);
    disk.change(place, size, checksum::DIRECTORY, |bytes| {
        bytes[..48].copy_from_slice(&sound[..48]);
        bytes[8..16].copy_from_slice(&disk.geo.daddr(beyond).to_be_bytes());
        let head = FreeHead {
            firstdb: first,
            nvalid: 0,
            nused: 0,
        };
        head.write(true, bytes);
    });
    disk.map(directory, Fork::Data, one(3 * segment, beyond));
    expect(&image, "XFS-DIR-BEYOND", false);
}

/// What is legal, and listed without being counted: an attribute fork that has nothing, and a group that has less free space than a mount
/// reserves.
#[test]
fn hints_do_not_make_a_filesystem_wrong() {
    let Some((image, disk)) = begin() else { return };
    let file = empty_file(&disk);
    disk.inode(file, |bytes| bytes[82] = 30);
    hint(&image, "XFS-BMBT-EMPTY-FORK");
    disk.inode(file, |bytes| bytes[82] = 0);
    sound(&image, "without the fork");
    // One file gets nearly all free blocks of a group.
    let longest = disk.free(1).into_iter().map(|(_, length)| length).max();
    let count = longest.unwrap() - 3;
    let filled = Extent {
        count: count.into(),
        ..one(0, disk.take(1, count))
    };
    disk.map(file, Fork::Data, filled);
    disk.inode(file, |bytes| {
        let size = u64::from(count) * u64::from(disk.geo.block_size);
        bytes[56..64].copy_from_slice(&size.to_be_bytes());
    });
    let free: u32 = disk.free(1).iter().map(|(_, length)| length).sum();
    assert!(free < 60, "{free}");
    hint(&image, "XFS-CNTR-RESERVED");
}

/// The code is all that is found, and neither verdict counts it.
fn hint(image: &Forged, code: &str) {
    let found = report(&image.image, 2);
    let codes = found.findings.list.iter().map(|one| one.problem.name);
    assert_eq!(codes.collect::<Vec<_>>(), [code], "{:#?}", lines(&found));
    assert!(found.verdict(Judge::Strict).is_clean());
    assert!(found.verdict(Judge::Reference).is_clean());
    assert_eq!(repair(image).unwrap_or(0), 0, "{code}");
}

/// xfs_repair passes over a wrong checksum of the root of a tree of attributes, and not over one below it.
#[test]
fn the_checksum_of_a_node_of_attributes() {
    let Some(image) = fresh(&["-b", "size=1024"]) else {
        return;
    };
    let disk = Disk::open(&image.image);
    let ino = disk.sb.sb_rootino.get();
    let mut command = std::process::Command::new("xfs_db");
    command.args(["-x", "-c", &format!("inode {ino}")]);
    for nth in 0..60 {
        command.args(["-c", &format!("attr_set -u -v 150 attribute-{nth}")]);
    }
    let output = command.arg(&image.image).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let before = report(&image.image, 1);
    assert!(
        before.verdict(Judge::Strict).is_clean(),
        "{:#?}",
        lines(&before)
    );
    let bytes = disk.inode_bytes(ino);
    let block = Extent::read(dinode::Inode::new(&disk.geo, &bytes).attr_fork()).block;
    let at = disk.geo.block_offset(block);
    assert_eq!(be16(&disk.bytes(at, 1024), 8), da::NODE3);
    disk.change(at, 1024, checksum::DA, |_| ());
    let sum = disk.bytes(at + 12, 4);
    let wrong: Vec<u8> = sum.iter().map(|byte| !byte).collect();
    let file = std::fs::File::options()
        .write(true)
        .open(&image.image)
        .unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &wrong, at + 12).unwrap();
    expect(&image, "XFS-ATTR-LEAF-CRC", false);
    assert_eq!(report(&image.image, 1).verdict(Judge::Strict).exit_code, 4);
}
