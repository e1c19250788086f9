//! Names that a directory has twice, where many names have one hash: the hash of names is linear, so they are easily made.

use std::fmt::Write as _;
use std::fs;

use ondisk::bytes::be16;
use ondisk::xfs::directory::{Item, item};
use ondisk::xfs::{Extent, checksum, da, hash};

use super::disk::Disk;
use super::strict::{expect, put};
use super::volume::{Forged, made, report, tools};

/// Two parts of four bytes that hash alike, wherever in a name they are.
const PARTS: [[u8; 4]; 2] = [*b"abcd", [b'a', b'b', b'c' ^ 1, b'd' ^ 0x80]];

/// Names of one length and one hash: two to the power of `parts` of them.
fn alike(parts: u32) -> Vec<Vec<u8>> {
    let names: Vec<Vec<u8>> = (0..1_usize << parts)
        .map(|nth| (0..parts).flat_map(|part| PARTS[nth >> part & 1]).collect())
        .collect();
    assert!(
        names
            .iter()
            .all(|name| hash::name(name) == hash::name(&names[0]))
    );
    names
}

/// A filesystem whose root has these names and as many others.
fn image(names: &[Vec<u8>], others: usize) -> Forged {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    let mut text = b"/dev/null\n0 0\nd--755 0 0\n".to_vec();
    let mut others_text = String::new();
    for nth in 0..others {
        writeln!(others_text, "other-name-{nth:05} ---644 0 0 /dev/null").unwrap();
    }
    for name in names {
        text.extend_from_slice(name);
        text.extend_from_slice(b" ---644 0 0 /dev/null\n");
    }
    text.extend_from_slice(others_text.as_bytes());
    text.extend_from_slice(b"$\n");
    fs::write(&tree, text).unwrap();
    made("300M", &["-p", tree.to_str().unwrap()])
}

/// The root directory's blocks: place in the file, byte on the disk.
fn blocks(disk: &Disk) -> Vec<(u64, u64)> {
    let bytes = disk.inode_bytes(disk.sb.sb_rootino.get());
    let inode = ondisk::xfs::dinode::Inode::new(&disk.geo, &bytes);
    assert_eq!(inode.format(), 2, "extents are in the inode");
    let count = inode.nextents() as usize;
    let extents = inode
        .data_fork()
        .chunks_exact(16)
        .take(count)
        .map(Extent::read);
    extents
        .flat_map(|extent| {
            (0..extent.count).map(move |nth| (extent.offset + nth, extent.block + nth))
        })
        .map(|(offset, block)| (offset, disk.geo.block_offset(block)))
        .collect()
}

/// Names that have an address: block on the disk, byte in it.
fn find(disk: &Disk, address: u32) -> (u64, usize) {
    let byte = u64::from(address) << 3;
    let size = u64::from(disk.geo.block_size);
    let found = blocks(disk)
        .into_iter()
        .find(|block| block.0 == byte / size);
    (found.unwrap().1, (byte % size) as usize)
}

fn name(disk: &Disk, (at, offset): (u64, usize)) -> Vec<u8> {
    let bytes = disk.bytes(at, disk.geo.block_size as usize);
    match item(disk.geo.ftype, &bytes, offset, bytes.len()) {
        Some(Item::Entry(entry)) => entry.name.to_vec(),
        _ => panic!("no entry at {offset}"),
    }
}

/// Gives the entry at one address the name of the entry at another, which has its hash and its length.
fn rename(disk: &Disk, one: u32, to: u32) {
    let (place, new) = (find(disk, one), name(disk, find(disk, to)));
    let old = name(disk, place);
    assert!(old != new && old.len() == new.len() && hash::name(&old) == hash::name(&new));
    let size = disk.geo.block_size as usize;
    disk.change(place.0, size, checksum::DIRECTORY, |bytes| {
        put(bytes, place.1 + 9, &new);
    });
}

/// Addresses of the names with this hash in each leaf, in the order of the leaves, which `mkfs.xfs` splits at their ends.
fn leaves(disk: &Disk, wanted: u32) -> Vec<Vec<u32>> {
    let leaf = ondisk::xfs::directory::LEAF_OFFSET / u64::from(disk.geo.block_size);
    let free = ondisk::xfs::directory::FREE_OFFSET / u64::from(disk.geo.block_size);
    let size = disk.geo.block_size as usize;
    let blocks = blocks(disk).into_iter();
    let leaves = blocks.filter(|block| (leaf..free).contains(&block.0));
    let addresses = leaves.map(|(_, at)| {
        let bytes = disk.bytes(at, size);
        let is_leaf = matches!(be16(&bytes, 8), da::LEAF1_3 | da::LEAFN_3);
        let count = if is_leaf { da::count(true, &bytes) } else { 0 };
        let entries = (0..usize::from(count))
            .map(|nth| ondisk::xfs::directory::leaf_entry(true, &bytes, nth));
        entries
            .filter(|(hash, address)| *hash == wanted && *address != 0)
            .map(|(_, address)| address)
            .collect::<Vec<u32>>()
    });
    addresses.filter(|leaf| !leaf.is_empty()).collect()
}

#[test]
fn in_a_directory_of_one_block_with_a_third_name_between() {
    if !tools() {
        return;
    }
    let names = alike(2);
    let image = image(&names[..3], 20);
    assert!(report(&image.image, 1).findings.list.is_empty());
    let disk = Disk::open(&image.image);
    let (_, at) = blocks(&disk)[0];
    let bytes = disk.bytes(at, disk.geo.block_size as usize);
    let mut found = Vec::new();
    let mut offset = 64;
    while let Some(next) = item(disk.geo.ftype, &bytes, offset, bytes.len()) {
        match next {
            Item::Entry(entry) => {
                if names.contains(&entry.name.to_vec()) {
                    found.push((offset / 8) as u32);
                }
                offset += entry.length;
            }
            Item::Free { .. } => break,
        }
    }
    assert_eq!(found.len(), 3);
    rename(&disk, found[0], found[2]);
    expect(&image, "XFS-DIR-ENT-DUP", true);
}

#[test]
fn in_one_leaf_and_in_different_ones() {
    if !tools() {
        return;
    }
    for (parts, leaf_count) in [(3, 1), (10, 2)] {
        let names = alike(parts);
        let image = image(&names, 300);
        assert!(report(&image.image, 2).findings.list.is_empty());
        let disk = Disk::open(&image.image);
        let leaves = leaves(&disk, hash::name(&names[0]));
        assert!(leaves.len() >= leaf_count, "{}", leaves.len());
        let all: usize = leaves.iter().map(Vec::len).sum();
        assert_eq!(all, names.len());
        let first = leaves[0][0];
        let last = *leaves.last().unwrap().last().unwrap();
        rename(&disk, first, last);
        expect(&image, "XFS-DIR-ENT-DUP", true);
        let found = report(&image.image, 2);
        let count = found
            .findings
            .tallies
            .iter()
            .find(|one| one.problem.name == "XFS-DIR-ENT-DUP");
        assert_eq!(count.map(|one| one.count), Some(1));
    }
}
