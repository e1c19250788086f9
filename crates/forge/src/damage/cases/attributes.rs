//! Extended attributes: in inodes, in blocks, in inodes of their own.

use ondisk::ext4::feature::Incompat;
use ondisk::ext4::inode::{InodeMut, flag};
use ondisk::ext4::{FileType, xattr};

use super::super::case::{Case, Reference, case, get32, put16, put32};
use super::super::error::missing;
use super::super::files::is;
use super::{Error, Filesystem, fields};

/// Where the first entry of a block is.
const FIRST: usize = xattr::HEADER;

pub(super) static CASES: &[Case] = &[
    case(
        "1-read-ea-block",
        0x01_0039,
        "ext4-1k",
        "a block of attributes past the end of the device",
        |fs| {
            let (ino, _) = fs.attribute_block()?;
            let block = fs.beyond_the_device()?;
            fields(fs, ino, |raw| raw.i_file_acl_lo = (block as u32).into())
        },
    ),
    case(
        "1-bad-ea-block",
        0x01_003a,
        "ext4-1k",
        "a block of attributes without its magic number",
        |fs| block(fs, |bytes| bytes[0] ^= 1),
    ),
    case(
        "1-extattr-refcount",
        0x01_003c,
        "ext4-1k",
        "a block of attributes counts one user too many",
        |fs| {
            block(fs, |bytes| {
                let count = get32(bytes, 4);
                put32(bytes, 4, count + 1);
            })
        },
    ),
    case(
        "1-ea-multi-block",
        0x01_003e,
        "ext4-1k",
        "a block of attributes that claims to be two",
        |fs| block(fs, |bytes| put32(bytes, 8, 2)),
    ),
    case(
        "1-ea-alloc-collision",
        0x01_0040,
        "ext4-1k",
        "a value overlaps the entries",
        |fs| block(fs, |bytes| put16(bytes, FIRST + 2, FIRST as u16)),
    ),
    case(
        "1-ea-bad-name",
        0x01_0041,
        "ext4-1k",
        "an attribute without a namespace",
        |fs| block(fs, |bytes| bytes[FIRST + 1] = 0),
    ),
    case(
        "1-ea-bad-value",
        0x01_0042,
        "ext4-1k",
        "a value reaches over the block's end",
        |fs| {
            let size = fs.block_size();
            block(fs, |bytes| put16(bytes, FIRST + 2, (size - 8) as u16))
        },
    ),
    case(
        "1-ea-bad-value-size",
        0x01_0042,
        "ext3-1k",
        "a value larger than a block",
        |fs| block(fs, |bytes| put32(bytes, FIRST + 8, u32::MAX)),
    ),
    case(
        "1-ea-block-only-csum-invalid",
        0x01_006c,
        "ext4-1k",
        "a block of attributes has a wrong checksum",
        |fs| {
            let (_, block) = fs.attribute_block()?;
            fs.edit_block(block, |bytes| bytes[16] ^= 0x55)
        },
    ),
    case(
        "1-attr-hash-block",
        0x01_0054,
        "ext4-1k",
        "an attribute's hash is wrong",
        |fs| block(fs, |bytes| bytes[FIRST + 12] ^= 0x55),
    ),
    case(
        "1-attr-name-len",
        0x01_0050,
        "ext4-1k",
        "a name in an inode runs out of it",
        |fs| in_inode(fs, |bytes, at| bytes[at] = 255),
    )
    .reference(Reference::Silent(
        "a name that leaves the room has collided with its end before",
    )),
    case(
        "1-attr-value-size",
        0x01_0053,
        "ext4-1k",
        "a value in an inode runs out of it",
        |fs| in_inode(fs, |bytes, at| put32(bytes, at + 8, 1000)),
    ),
    case(
        "1-attr-hash",
        0x01_0054,
        "ext4-1k",
        "an attribute in an inode has a hash that is wrong",
        |fs| in_inode(fs, |bytes, at| put32(bytes, at + 12, 0x55aa)),
    ),
    case(
        "1-inode-ea-alloc-collision",
        0x01_0069,
        "ext4-1k",
        "a value in an inode overlaps the entries",
        |fs| in_inode(fs, |bytes, at| put16(bytes, at + 2, 0)),
    ),
    case(
        "1-attr-value-ea-inode",
        0x01_0083,
        "rich-1k",
        "a value is in an inode that does not exist",
        |fs| value_entry(fs, |bytes, at| put32(bytes, at + 4, 0x00ff_ffff)),
    ),
    case(
        "1-attr-no-ea-inode-fl",
        0x01_0085,
        "rich-4k",
        "a value's inode has lost its flag, which is not given back",
        |fs| {
            let ino = value_inode(fs)?;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() & !flag::EA_INODE).into();
            })
        },
    ),
    case(
        "1-attr-set-ea-inode-fl",
        0x01_0086,
        "rich-1k",
        "a value's inode has lost its flag",
        |fs| {
            let ino = value_inode(fs)?;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() & !flag::EA_INODE).into();
            })
        },
    ),
    case(
        "1-ea-inode-nonreg",
        0x01_0091,
        "rich-1k",
        "a directory is called a value",
        |fs| {
            let ino = fs.first(FileType::Directory)?;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() | flag::EA_INODE).into();
            })
        },
    )
    .reference(Reference::Silent("1.47.0 does not know it yet")),
    case(
        "1-ea-inode-feature",
        0x01_0092,
        "rich-1k",
        "values in inodes without the feature",
        |fs| {
            value_inode(fs)?;
            fs.edit_superblock(|sb| {
                sb.s_feature_incompat = sb.incompat().without(Incompat::EA_INODE).0.into();
            })
        },
    )
    .reference(Reference::Silent("1.47.0 does not know it yet")),
    case(
        "4-ea-inode-ref-count",
        0x04_0005,
        "rich-1k",
        "a value counts one user too many",
        |fs| {
            let ino = value_inode(fs)?;
            fields(fs, ino, |raw| raw.i_osd1 = (raw.i_osd1.get() + 1).into())
        },
    ),
    case(
        "4-ea-inode-spurious-flag",
        0x04_0008,
        "rich-1k",
        "a file with a name is called a value",
        |fs| {
            let ino = fs.name_in_root(b"f5k")?.inode;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() | flag::EA_INODE).into();
            })
        },
    )
    .reference(Reference::Silent("1.47.0 does not know it yet")),
    case(
        "2-ea-inode-dir-link",
        0x02_0055,
        "rich-1k",
        "a name refers to a value",
        |fs| {
            let value = value_inode(fs)?;
            let name = fs.name_in_root(b"f300k")?;
            fs.edit_directory_block(2, name.block, |bytes| put32(bytes, name.offset, value))
        },
    )
    .reference(Reference::Silent("1.47.0 does not know it yet")),
];

/// Changes the first block of attributes.
fn block(fs: &mut Filesystem<'_>, edit: impl FnOnce(&mut [u8])) -> Result<(), Error> {
    let (_, block) = fs.attribute_block()?;
    fs.edit_attribute_block(block, edit)
}

/// Changes the first attribute in an inode; `at` is where its entry begins in the inode.
fn in_inode(fs: &mut Filesystem<'_>, edit: impl FnOnce(&mut [u8], usize)) -> Result<(), Error> {
    let (ino, at) = fs.attributes_in_inode()?;
    fs.edit_inode(ino, |slot: &mut InodeMut<'_>| {
        edit(slot.bytes(), at);
        Ok(())
    })
}

/// An inode that holds a value.
fn value_inode(fs: &Filesystem<'_>) -> Result<u32, Error> {
    fs.find("attribute whose value is an inode", |_, inode| {
        is(inode, FileType::Regular) && inode.has_flags(flag::EA_INODE)
    })
}

/// Changes the first entry whose value is an inode, in any inode or attribute block.
fn value_entry(fs: &mut Filesystem<'_>, edit: impl FnOnce(&mut [u8], usize)) -> Result<(), Error> {
    for ino in fs.used_inodes()? {
        let bytes = fs.inode(ino)?;
        let inode = fs.view(&bytes)?;
        let start = 128 + usize::from(inode.extra_isize()) + 4;
        let list = xattr::List::of_inode(inode.body());
        if let Some(at) = list.and_then(|list| first_of_inode(&list)) {
            return fs.edit_inode(ino, |slot| {
                edit(slot.bytes(), start + at);
                Ok(())
            });
        }
        let block = inode.file_acl();
        if block != 0 {
            let bytes = fs.block(block)?;
            if let Some(at) = first_of_inode(&xattr::List::of_block(&bytes)?) {
                return fs.edit_attribute_block(block, |bytes| edit(bytes, at));
            }
        }
    }
    missing("attribute whose value is an inode")
}

fn first_of_inode(list: &xattr::List<'_>) -> Option<usize> {
    let mut entries = list.entries().map_while(Result::ok);
    entries
        .find(|entry| entry.e_value_inum != 0)
        .map(|entry| entry.offset)
}
