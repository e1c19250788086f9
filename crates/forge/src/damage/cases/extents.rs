//! Extent trees.

use ondisk::ext4::feature::Incompat;
use ondisk::ext4::inode::{InodeMut, flag};

use super::super::case::{Case, case, get16, get32, put16, put32};
use super::super::error::missing;
use super::{Error, Filesystem, fields};

/// Bytes of a header and of an entry.
const ENTRY: usize = 12;
/// Room for the root.
const MAP: usize = 60;

pub(super) static CASES: &[Case] = &[
    case(
        "1-extent-bad-start-blk",
        0x01_0058,
        "ext4-1k",
        "an extent begins outside of the filesystem",
        |fs| leaf(fs, |bytes| put32(bytes, ENTRY + 8, 0x7fff_ffff)),
    ),
    case(
        "1-extent-ends-beyond",
        0x01_0059,
        "ext4-1k",
        "an extent ends outside of the filesystem",
        |fs| {
            let ino = fs.file_with_extents(0)?;
            let last = (fs.geometry().blocks_count - 1) as u32;
            root(fs, ino, |map| {
                let at = last_entry(map);
                put32(map, at + 8, last);
                put16(map, at + 4, 9);
            })
        },
    ),
    case(
        "1-out-of-order-extents",
        0x01_005e,
        "ext4-1k",
        "two extents are swapped",
        |fs| {
            leaf(fs, |bytes| {
                let (first, second) = bytes[ENTRY..3 * ENTRY].split_at_mut(ENTRY);
                first.swap_with_slice(second);
            })
        },
    ),
    case(
        "1-extent-length-zero",
        0x01_0066,
        "ext4-1k",
        "an extent without blocks",
        |fs| {
            let ino = fs.file_with_extents(0)?;
            root(fs, ino, |map| put16(map, ENTRY + 4, 0))
        },
    ),
    case(
        "1-extent-collision",
        0x01_007d,
        "ext4-1k",
        "an extent begins at the last block of the one before",
        |fs| {
            leaf(fs, |bytes| {
                let end = get32(bytes, ENTRY) + u32::from(get16(bytes, ENTRY + 4));
                put32(bytes, 2 * ENTRY, end - 1);
            })
        },
    ),
    case(
        "1-extent-header-invalid",
        0x01_005f,
        "ext4-1k",
        "a leaf without its magic number",
        |fs| leaf(fs, |bytes| put16(bytes, 0, 0)),
    ),
    case(
        "1-extent-header-invalid-count",
        0x01_005f,
        "ext4-1k",
        "a leaf has more entries than room",
        |fs| {
            leaf(fs, |bytes| {
                let max = get16(bytes, 4);
                put16(bytes, 2, max + 1);
            })
        },
    ),
    case(
        "1-extent-only-csum-invalid",
        0x01_006a,
        "ext4-1k",
        "a leaf's checksum is wrong",
        |fs| {
            let (_, block) = tree_block(fs, 1)?;
            fs.edit_block(block, |bytes| {
                let at = ENTRY + usize::from(get16(bytes, 4)) * ENTRY;
                let sum = get32(bytes, at);
                put32(bytes, at, !sum);
            })
        },
    ),
    case(
        "1-extent-index-start-invalid",
        0x01_006d,
        "ext4-1k",
        "an index begins before its leaf",
        |fs| {
            leaf(fs, |bytes| {
                let first = get32(bytes, ENTRY);
                let len = get16(bytes, ENTRY + 4);
                put32(bytes, ENTRY, first + 1);
                put16(bytes, ENTRY + 4, len.max(1));
            })
        },
    ),
    case(
        "1-extent-end-out-of-bounds",
        0x01_006e,
        "ext4-1k",
        "a leaf's last extent reaches into the next leaf",
        |fs| {
            leaf(fs, |bytes| {
                let at = last_entry(bytes);
                put16(bytes, at + 4, 30);
            })
        },
    ),
    case(
        "1-extent-iterate-failure",
        0x01_0057,
        "ext4-1k",
        "an index points past the end of the device",
        |fs| {
            let (ino, _) = tree_block(fs, 1)?;
            let block = fs.beyond_the_device()?;
            root(fs, ino, |map| put32(map, ENTRY + 4, block as u32))
        },
    ),
    case(
        "1-critical-metadata-collision-extents",
        0x01_0071,
        "ext4-1k",
        "an index points to an inode table",
        |fs| {
            let (ino, _) = tree_block(fs, 1)?;
            let table = fs.descriptor(0)?.inode_table();
            root(fs, ino, |map| put32(map, ENTRY + 4, table as u32 + 1))
        },
    ),
    case(
        "1-missing-extent-header",
        0x01_0081,
        "ext4-1k",
        "a file mapped by extents has no root",
        |fs| {
            let ino = fs.file_with_extents(0)?;
            root(fs, ino, |map| map.fill(0xff))
        },
    ),
    case(
        "1-extent-feature",
        0x01_005b,
        "ext4-1k",
        "files mapped by extents without the feature",
        |fs| {
            fs.file_with_extents(0)?;
            fs.edit_superblock(|sb| {
                sb.s_feature_incompat = sb.incompat().without(Incompat::EXTENTS).0.into();
            })
        },
    ),
    case(
        "1-extents-set",
        0x01_005a,
        "ext2-1k",
        "a block map is called an extent tree, without the feature",
        |fs| {
            let ino = fs.file_with_block_map(0)?;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() | flag::EXTENTS).into();
            })
        },
    ),
    case(
        "1-unset-extent-fl",
        0x01_005c,
        "ext4-1k",
        "an extent tree is called a block map",
        |fs| {
            let ino = fs.file_with_extents(0)?;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() & !flag::EXTENTS).into();
            })
        },
    ),
    case(
        "1-extent-bad-max-depth",
        0x01_007f,
        "ext4-1k",
        "a tree is deeper than any file needs",
        |fs| {
            let (ino, _) = tree_block(fs, 1)?;
            let bytes = fs.inode(ino)?;
            let mut below: Vec<u8> = fs.view(&bytes)?.raw().i_block.to_vec();
            for nth in 0..5 {
                let block = fs.free_block(nth)?;
                let depth = get16(&below, 6) + 1;
                let first = get32(&below, ENTRY);
                let size = fs.block_size();
                let mut node = vec![0; size];
                node[..below.len().min(MAP)].copy_from_slice(&below[..below.len().min(MAP)]);
                put16(&mut node, 4, ((size - ENTRY) / ENTRY) as u16);
                fs.put_block(block, &node)?;
                fs.edit_extent_node(ino, block, |_| {})?;
                below = one_index(depth, first, block as u32);
            }
            root(fs, ino, |map| map.copy_from_slice(&below))
        },
    ),
    case(
        "1-toobig-dir-extents",
        0x01_0044,
        "ext4-1k",
        "a directory with a block past 2 GiB",
        |fs| {
            let ino = fs.directory()?;
            root(fs, ino, |map| {
                let at = last_entry(map);
                put32(map, at, 1 << 22);
            })
        },
    ),
    case(
        "1-uninit-dblock",
        0x01_0073,
        "ext4-1k",
        "a directory's block was never written",
        |fs| {
            let ino = fs.directory()?;
            root(fs, ino, |map| {
                let len = get16(map, ENTRY + 4);
                put16(map, ENTRY + 4, len | 0x8000);
            })
        },
    ),
    case(
        "1-collapse-dblock",
        0x01_0072,
        "ext4-1k",
        "a directory has a hole before its last block",
        |fs| {
            let ino = fs.indexed_directory(0)?;
            root(fs, ino, |map| {
                let at = last_entry(map);
                let first = get32(map, at);
                put32(map, at, first + 2);
            })
        },
    ),
    case(
        "1-misaligned-cluster",
        0x01_0074,
        "bigalloc-1k",
        "a cluster is mapped one block off",
        |fs| {
            let ino = fs.file_with_extents(0)?;
            root(fs, ino, |map| {
                let start = get32(map, ENTRY + 8);
                put32(map, ENTRY + 8, start + 1);
            })
        },
    ),
    case(
        "1e-can-collapse-extent-tree",
        0x01_4006,
        "ext4-1k",
        "a leaf for one extent that the root has room for",
        |fs| {
            let ino = fs.file_with_extents(0)?;
            let block = fs.free_block(0)?;
            let bytes = fs.inode(ino)?;
            let map = fs.view(&bytes)?.raw().i_block;
            if get16(&map, 6) != 0 {
                return missing("file with a tree of one level");
            }
            let size = fs.block_size();
            let mut node = vec![0; size];
            node[..MAP].copy_from_slice(&map);
            put16(&mut node, 4, ((size - ENTRY) / ENTRY) as u16);
            fs.put_block(block, &node)?;
            fs.edit_extent_node(ino, block, |_| {})?;
            root(fs, ino, |map| {
                map.copy_from_slice(&one_index(1, 0, block as u32));
            })
        },
    ),
];

/// A file with a tree at least so deep, and its first leaf.
fn tree_block(fs: &Filesystem<'_>, depth: u16) -> Result<(u32, u64), Error> {
    let ino = fs.file_with_extents(depth)?;
    let leaf = fs
        .blocks(ino)?
        .tree
        .into_iter()
        .find(|(_, below)| *below == 0);
    match leaf {
        Some((block, _)) => Ok((ino, block)),
        None => missing("extent tree with a leaf of its own"),
    }
}

/// Changes the first leaf of the first file that has one.
fn leaf(fs: &mut Filesystem<'_>, edit: impl FnOnce(&mut [u8])) -> Result<(), Error> {
    let (ino, block) = tree_block(fs, 1)?;
    fs.edit_extent_node(ino, block, edit)
}

/// Changes the root of a tree.
fn root(fs: &mut Filesystem<'_>, ino: u32, edit: impl FnOnce(&mut [u8])) -> Result<(), Error> {
    fs.edit_inode(ino, |slot: &mut InodeMut<'_>| {
        edit(&mut slot.raw()?.i_block);
        Ok(())
    })
}

/// Where the last entry of a node is.
fn last_entry(bytes: &[u8]) -> usize {
    usize::from(get16(bytes, 2)).max(1) * ENTRY
}

/// A root of one index.
fn one_index(depth: u16, first: u32, block: u32) -> Vec<u8> {
    let mut map = vec![0; MAP];
    put16(&mut map, 0, ondisk::ext4::extent::MAGIC);
    put16(&mut map, 2, 1);
    put16(&mut map, 4, 4);
    put16(&mut map, 6, depth);
    put32(&mut map, ENTRY, first);
    put32(&mut map, ENTRY + 4, block);
    map
}
