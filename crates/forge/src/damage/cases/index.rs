//! Indexed directories.

use ondisk::ext4::inode::flag;

use super::super::case::{Case, Reference, case, get16, get32, put16, put32};
use super::super::error::missing;
use super::{Error, Filesystem, fields};

/// Offsets of the fields of a root.
const RESERVED: usize = 24;
const HASH: usize = 28;
const INFO_LENGTH: usize = 29;
const LEVELS: usize = 30;
const FLAGS: usize = 31;
/// Where limit and count of a root are; the entries follow, 8 bytes each, and share the first with both.
const ROOT_COUNT: usize = 32;
/// Offsets of the fields of a node.
const NODE_COUNT: usize = 8;

pub(super) static CASES: &[Case] = &[
    case(
        "1-htree-badroot",
        0x01_0049,
        "ext4-1k",
        "an index whose reserved word is in use",
        |fs| root(fs, 0, |bytes| bytes[RESERVED] = 1),
    ),
    case(
        "1-htree-badroot-length",
        0x01_0049,
        "ext3-1k",
        "an index whose head is too short",
        |fs| root(fs, 0, |bytes| bytes[INFO_LENGTH] = 4),
    ),
    case(
        "1-htree-hashv",
        0x01_004a,
        "ext4-1k",
        "an index by an unknown hash",
        |fs| root(fs, 0, |bytes| bytes[HASH] = 9),
    ),
    case(
        "1-htree-incompat",
        0x01_004b,
        "ext4-1k",
        "an index with an unknown flag",
        |fs| root(fs, 0, |bytes| bytes[FLAGS] = 1),
    ),
    case(
        "1-htree-depth",
        0x01_004c,
        "ext4-1k",
        "an index of eight levels",
        |fs| root(fs, 0, |bytes| bytes[LEVELS] = 7),
    ),
    case(
        "1-htree-cannot-siphash",
        0x01_008e,
        "ext4-1k",
        "a plain directory hashed with a key",
        |fs| root(fs, 0, |bytes| bytes[HASH] = 6),
    ),
    case(
        "1-htree-needs-siphash",
        0x01_008d,
        "rich-1k",
        "an encrypted and folding directory hashed without a key",
        |fs| {
            let dir = fs.indexed_directory(0)?;
            fields(fs, dir, |raw| {
                raw.i_flags = (raw.i_flags.get() | flag::ENCRYPT | flag::CASEFOLD).into();
            })
        },
    ),
    case(
        "2-htree-notref",
        0x02_0034,
        "ext4-1k",
        "a leaf to which no entry of the index points",
        |fs| {
            root(fs, 0, |bytes| {
                let count = get16(bytes, ROOT_COUNT + 2);
                put16(bytes, ROOT_COUNT + 2, count - 1);
            })
        },
    ),
    case(
        "2-htree-dupref",
        0x02_0035,
        "ext4-1k",
        "a leaf to which two entries of the index point",
        |fs| {
            root(fs, 0, |bytes| {
                let block = get32(bytes, ROOT_COUNT + 4);
                put32(bytes, ROOT_COUNT + 12, block);
            })
        },
    ),
    case(
        "2-htree-min-hash",
        0x02_0036,
        "ext4-1k",
        "a name below the range of its leaf",
        swapped,
    ),
    case(
        "2-htree-max-hash",
        0x02_0037,
        "ext3-1k",
        "a name above the range of its leaf",
        swapped,
    ),
    case(
        "2-htree-clear",
        0x02_0038,
        "ext2-1k",
        "an index that leads to the wrong leaves",
        swapped,
    ),
    case(
        "2-htree-badblk",
        0x02_003a,
        "ext4-1k",
        "an entry of the index points past the end of the directory",
        |fs| root(fs, 0, |bytes| put32(bytes, ROOT_COUNT + 12, 0x00ff_ffff)),
    ),
    case(
        "2-htree-bad-root",
        0x02_003c,
        "ext2-1k",
        "an index after '..' that no directory begins with",
        |fs| root(fs, 0, |bytes| put16(bytes, 12 + 4, 12)),
    )
    .reference(Reference::Silent(
        "a head of another length than 8 is met in pass 1 first",
    )),
    case(
        "2-htree-bad-limit",
        0x02_003d,
        "ext4-1k",
        "an index that claims more room than the block has",
        |fs| {
            root(fs, 0, |bytes| {
                let limit = get16(bytes, ROOT_COUNT);
                put16(bytes, ROOT_COUNT, limit + 1);
            })
        },
    ),
    case(
        "2-htree-bad-count",
        0x02_003e,
        "ext4-1k",
        "an index with more entries than room",
        |fs| {
            root(fs, 0, |bytes| {
                let limit = get16(bytes, ROOT_COUNT);
                put16(bytes, ROOT_COUNT + 2, limit + 1);
            })
        },
    ),
    case(
        "2-htree-hash-order",
        0x02_003f,
        "ext4-1k",
        "an index that does not ascend",
        |fs| {
            root(fs, 0, |bytes| {
                let second = get32(bytes, ROOT_COUNT + 16);
                put32(bytes, ROOT_COUNT + 8, second.wrapping_add(2));
            })
        },
    ),
    case(
        "2-htree-bad-depth",
        0x02_0040,
        "ext4-1k",
        "leaves where the index announces a level of nodes",
        |fs| root(fs, 0, |bytes| bytes[LEVELS] = 1),
    ),
    case(
        "2-htree-root-csum-invalid",
        0x02_0049,
        "ext4-1k",
        "an index's root has a wrong checksum",
        |fs| {
            let dir = fs.indexed_directory(0)?;
            let Some(block) = fs.blocks(dir)?.at(0) else {
                return missing("indexed directory with a root");
            };
            fs.edit_block(block, |bytes| {
                let end = bytes.len();
                bytes[end - 1] ^= 0x55;
            })
        },
    ),
    case(
        "2-htree-node-csum-invalid",
        0x02_004a,
        "ext4-1k",
        "an inner node of an index has a wrong checksum",
        |fs| {
            let (_, block) = node(fs)?;
            fs.edit_block(block, |bytes| {
                let end = bytes.len();
                bytes[end - 1] ^= 0x55;
            })
        },
    ),
    case(
        "2-htree-hash-order-node",
        0x02_003f,
        "ext4-1k",
        "a node that does not ascend",
        |fs| {
            let (dir, block) = node(fs)?;
            fs.edit_directory_block(dir, block, |bytes| {
                let second = get32(bytes, NODE_COUNT + 16);
                put32(bytes, NODE_COUNT + 8, second.wrapping_add(2));
            })
        },
    ),
];

/// Changes the root of the first directory whose index is that deep.
fn root(fs: &mut Filesystem<'_>, levels: u8, edit: impl FnOnce(&mut [u8])) -> Result<(), Error> {
    let dir = fs.indexed_directory(levels)?;
    let Some(block) = fs.blocks(dir)?.at(0) else {
        return missing("indexed directory with a root");
    };
    fs.edit_directory_block(dir, block, edit)
}

/// The second and the third entry of a root point to each other's leaves.
fn swapped(fs: &mut Filesystem<'_>) -> Result<(), Error> {
    root(fs, 0, |bytes| {
        let (second, third) = (get32(bytes, ROOT_COUNT + 12), get32(bytes, ROOT_COUNT + 20));
        put32(bytes, ROOT_COUNT + 12, third);
        put32(bytes, ROOT_COUNT + 20, second);
    })
}

/// The first inner node below a root.
fn node(fs: &Filesystem<'_>) -> Result<(u32, u64), Error> {
    let dir = fs.indexed_directory(1)?;
    let blocks = fs.blocks(dir)?;
    let Some(root) = blocks.at(0) else {
        return missing("indexed directory with a root");
    };
    let below = get32(&fs.block(root)?, ROOT_COUNT + 4);
    match blocks.at(below.into()) {
        Some(block) => Ok((dir, block)),
        None => missing("indexed directory with inner nodes"),
    }
}
