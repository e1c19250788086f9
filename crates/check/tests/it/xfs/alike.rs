//! What the comparison with `xfs_repair -n` over every field of filesystems that a kernel had filled has shown.

use check::report::Judge;
use ondisk::bytes::be16;
use ondisk::xfs::btree::ForkRoot;
use ondisk::xfs::{Extent, checksum, dinode};

use super::disk::Disk;
use super::strict::{expect, fresh, put, repair};
use super::volume::{Forged, forged, lines, report, tools};

/// Bytes of the head of a block of a fork's btree, version 5.
const TREE_HEAD: usize = 72;
/// Where such a block, and a value's block, has what.
const RIGHT: usize = 16;
const VALUE_OWNER: usize = 32;
/// Where the superblock has the flags of quotas.
const QUOTA_FLAGS: usize = 176;

/// The last block of each level has no right neighbour. xfs_repair looks at leaves, and at blocks below a node that has none itself:
/// not at the level below the root.
#[test]
fn the_last_node_of_a_fork_with_a_right_neighbour() {
    if !tools() {
        return;
    }
    let profile = r#"
        files = 2
        file_size = [["40M", 1]]
        [ageing]
        fragmented = 1.0
        pieces = "1-1"
        gaps = 1.0
        free = "1-1"
    "#;
    let image = forged("2G", "", profile);
    let disk = Disk::open(&image.image);
    let size = disk.geo.block_size as usize;
    let file = disk.find(|inode| {
        inode.file_type() == dinode::mode::REGULAR
            && inode.format() == 3
            && ForkRoot::new(inode.data_fork()).level() == 2
    });
    let bytes = disk.inode_bytes(file);
    let inode = dinode::Inode::new(&disk.geo, &bytes);
    let root = ForkRoot::new(inode.data_fork());
    let node = root.pointer(usize::from(root.count()) - 1);
    let at = disk.geo.block_offset(node);
    let bytes = disk.bytes(at, size);
    let room = (size - TREE_HEAD) / 16;
    let last = TREE_HEAD + 8 * (room + usize::from(be16(&bytes, 6)) - 1);
    let leaf = u64::from_be_bytes(bytes[last..last + 8].try_into().unwrap());
    disk.change(at, size, checksum::LONG_BTREE, |bytes| {
        put(bytes, RIGHT, &[0; 8]);
    });
    expect(&image, "XFS-BMBT-NODE-SIBLING", false);
    disk.change(at, size, checksum::LONG_BTREE, |bytes| {
        put(bytes, RIGHT, &[0xff; 8]);
    });
    let at = disk.geo.block_offset(leaf);
    disk.change(at, size, checksum::LONG_BTREE, |bytes| {
        put(bytes, RIGHT, &[0; 8]);
    });
    expect(&image, "XFS-BMBT-LAST-SIBLING", true);
}

/// A filesystem whose attributes lie in leaves, with values in blocks of their own.
fn with_values() -> Forged {
    let profile = "files = 300\n[attributes]\ninode = 0.1\nblock = 0.5\n";
    forged("400M", "", profile)
}

/// The extents of an attribute fork that lists them in the inode; none of another one.
fn attribute_extents<'a>(inode: &'a dinode::Inode<'_>) -> impl Iterator<Item = Extent> + 'a {
    let listed = inode.forkoff() != 0 && inode.aformat() == 2;
    let count = if listed { inode.anextents() } else { 0 };
    let fork = if listed { inode.attr_fork() } else { &[] };
    fork.chunks_exact(16).take(count as usize).map(Extent::read)
}

/// The first inode that has what is looked for, and that.
fn first<T>(disk: &Disk, of: impl Fn(&dinode::Inode<'_>) -> Option<T>) -> (u64, T) {
    let ino = disk.find(|inode| of(inode).is_some());
    let bytes = disk.inode_bytes(ino);
    (ino, of(&dinode::Inode::new(&disk.geo, &bytes)).unwrap())
}

/// xfs_repair refuses the block of a value without an owner, and not that of another's.
#[test]
fn the_owner_of_the_block_of_a_value() {
    if !tools() {
        return;
    }
    let image = with_values();
    let disk = Disk::open(&image.image);
    let size = disk.geo.block_size as usize;
    let (file, block) = first(&disk, |inode| {
        let mut blocks = attribute_extents(inode)
            .flat_map(|extent| (0..extent.count).map(move |nth| extent.block + nth));
        blocks.find(|block| disk.bytes(disk.geo.block_offset(*block), 4) == *b"XARM")
    });
    let at = disk.geo.block_offset(block);
    let owned = |owner: u64| {
        disk.change(at, size, checksum::REMOTE, |bytes| {
            put(bytes, VALUE_OWNER, &owner.to_be_bytes());
        });
    };
    owned(file + 1);
    expect(&image, "XFS-ATTR-LEAF-OWNER", false);
    owned(0);
    expect(&image, "XFS-ATTR-RMT-BLOCK", true);
}

/// A length above 2^31 is negative to xfs_repair, which reads nothing of the value then; one below leads past its blocks.
#[test]
fn the_length_of_a_value() {
    if !tools() {
        return;
    }
    let image = with_values();
    let disk = Disk::open(&image.image);
    let size = disk.geo.block_size as usize;
    // The place of the first value in blocks of its own: its leaf, and the length in it.
    let (_, (at, length)) = first(&disk, |inode| {
        let at = disk
            .geo
            .block_offset(attribute_extents(inode).next()?.block);
        let leaf = disk.bytes(at, size);
        let mut entries = leaf[80..].chunks_exact(8).take(be16(&leaf, 56).into());
        let far = entries.find(|entry| be16(&leaf, 8) == 0x3bee && entry[6] & 1 == 0)?;
        Some((at, usize::from(be16(far, 4)) + 4))
    });
    for (bits, code, seen) in [
        (0x40, "XFS-ATTR-RMT-HOLE", true),
        (0xc0, "XFS-ATTR-RMT-LENGTH", false),
    ] {
        disk.change(at, size, checksum::DA, |leaf| leaf[length] = bits);
        expect(&image, code, seen);
    }
}

/// xfs_repair opens directories, and the verifier of inodes refuses extents that reach into the attribute fork.
#[test]
fn a_directory_whose_extents_reach_into_the_attribute_fork() {
    if !tools() {
        return;
    }
    let profile = "files = 2000\nper_directory = [['20-60', 1]]\n";
    let image = forged("400M", "nocrc", profile);
    let disk = Disk::open(&image.image);
    let directory = disk.find(|inode| {
        inode.file_type() == dinode::mode::DIRECTORY && inode.format() == 2 && inode.forkoff() == 0
    });
    disk.inode(directory, |bytes| bytes[82] = 1);
    expect(&image, "XFS-CONN-MAP", true);
}

/// Flags of quotas say nothing where the superblock has neither the feature nor an inode of quotas.
#[test]
fn flags_of_quotas_alone() {
    let Some(image) = fresh(&[]) else {
        return;
    };
    let disk = Disk::open(&image.image);
    for flags in [0x7_u16, 0x3c0, 0xffff] {
        disk.header(0, 0, |bytes| put(bytes, QUOTA_FLAGS, &flags.to_be_bytes()));
        let found = report(&image.image, 2);
        let ours = found.verdict(Judge::Reference).exit_code;
        assert_eq!(ours, 0, "{flags:#x}: {:#?}", lines(&found));
        if let Some(theirs) = repair(&image) {
            assert_eq!(theirs, 0, "{flags:#x}");
        }
    }
}
