//! How everything hangs together: passes 3 and 4.

use ondisk::ext4::feature::RoCompat;
use ondisk::ext4::inode::flag;
use ondisk::ext4::inode::number::ROOT;

use super::super::case::{Case, Reference, case, put16, put32};
use super::super::error::missing;
use super::{Error, Filesystem, fields};

pub(super) static CASES: &[Case] = &[
    case(
        "3-no-root-inode",
        0x03_0001,
        "ext2-1k",
        "the root has no link",
        |fs| {
            fields(fs, ROOT, |raw| {
                raw.i_links_count = 0.into();
                raw.i_mode = 0.into();
            })
        },
    ),
    case(
        "3-unconnected-dir",
        0x03_0003,
        "ext4-1k",
        "a directory without a name",
        |fs| unname(fs, b"deep"),
    ),
    case(
        "3-no-lf-dir",
        0x03_0004,
        "ext4-1k",
        "lost+found has another name",
        |fs| {
            let name = fs.name_in_root(b"lost+found")?;
            fs.edit_directory_block(ROOT, name.block, |bytes| bytes[name.offset + 8] = b'c')
        },
    )
    .reference(Reference::Silent(
        "it looks for lost+found only where it may write",
    )),
    case(
        "3-bad-dot-dot",
        0x03_0005,
        "ext4-1k",
        "'..' is not the directory that has the name",
        |fs| {
            let dir = fs.name_in_root(b"deep")?.inode;
            let Some(block) = fs.blocks(dir)?.at(0) else {
                return missing("directory with a first block");
            };
            let other = fs.name_in_root(b"names")?.inode;
            fs.edit_directory_block(dir, block, |bytes| put32(bytes, 12, other))
        },
    ),
    case(
        "3-lpf-notdir",
        0x03_0017,
        "ext4-1k",
        "lost+found is a regular file",
        |fs| {
            let name = fs.name_in_root(b"lost+found")?;
            let file = fs.name_in_root(b"f100")?.inode;
            fs.edit_directory_block(ROOT, name.block, |bytes| {
                put32(bytes, name.offset, file);
                bytes[name.offset + 7] = 1;
            })
        },
    )
    .reference(Reference::Silent(
        "it looks for lost+found only where it may write",
    )),
    case(
        "3-lpf-inline-data",
        0x03_0018,
        "rich-1k",
        "lost+found is kept in its inode",
        |fs| {
            let dir = fs.name_in_root(b"lost+found")?.inode;
            fields(fs, dir, |raw| {
                raw.i_flags = (raw.i_flags.get() & !flag::EXTENTS | flag::INLINE_DATA).into();
                raw.i_block.fill(0);
            })
        },
    )
    .reference(Reference::Silent(
        "it looks for lost+found only where it may write",
    )),
    case(
        "3-lpf-encrypted",
        0x03_001b,
        "rich-1k",
        "lost+found is encrypted",
        |fs| {
            let dir = fs.name_in_root(b"lost+found")?.inode;
            fields(fs, dir, |raw| {
                raw.i_flags = (raw.i_flags.get() | flag::ENCRYPT).into();
            })
        },
    )
    .reference(Reference::Silent(
        "it looks for lost+found only where it may write",
    )),
    case(
        "3-looped-dir",
        0x03_001d,
        "ext4-1k",
        "a directory whose only name is below itself",
        looped,
    )
    .reference(Reference::Silent(
        "a loop ends at a directory that it has seen, which it takes for connected",
    )),
    case(
        "4-zero-len-inode",
        0x04_0001,
        "ext4-1k",
        "an empty file without a name",
        |fs| unname(fs, b"f0"),
    ),
    case(
        "4-unattached-inode",
        0x04_0002,
        "ext4-1k",
        "a file without a name",
        |fs| unname(fs, b"f100"),
    ),
    case(
        "4-bad-ref-count",
        0x04_0003,
        "ext4-1k",
        "a file counts one name too many",
        |fs| {
            let ino = fs.name_in_root(b"f100")?.inode;
            fields(fs, ino, |raw| raw.i_links_count = 2.into())
        },
    ),
    case(
        "4-bad-ref-count-directory",
        0x04_0003,
        "ext2-1k",
        "a directory counts one subdirectory too few",
        |fs| {
            let ino = fs.name_in_root(b"deep")?.inode;
            fields(fs, ino, |raw| {
                raw.i_links_count = (raw.i_links_count.get() - 1).into();
            })
        },
    ),
    case(
        "4-dir-overflow-ref-count",
        0x04_0007,
        "ext4-1k",
        "an indexed directory with the mark of too many subdirectories",
        |fs| {
            let dir = fs.indexed_directory(0)?;
            fields(fs, dir, |raw| raw.i_links_count = 1.into())
        },
    )
    .reference(Reference::Silent("it asks this only where it may write")),
    case(
        "2-feature-large-files",
        0x02_0033,
        "ext4-1k",
        "a file of more than 2 GiB without large_file",
        |fs| {
            let ino = fs.file_with_extents(0)?;
            fs.edit_superblock(|sb| {
                sb.s_feature_ro_compat = sb.ro_compat().without(RoCompat::LARGE_FILE).0.into();
            })?;
            fields(fs, ino, |raw| raw.i_size_high = 1.into())
        },
    ),
];

/// Joins the entry of a name in the root with the one before it, so that nothing names the inode.
fn unname(fs: &mut Filesystem<'_>, name: &[u8]) -> Result<(), Error> {
    let name = fs.name_in_root(name)?;
    let names = fs.names(ROOT)?;
    let before = names
        .iter()
        .find(|other| other.block == name.block && other.offset + other.rec_len == name.offset);
    let before = before.map(|other| (other.offset, other.rec_len));
    fs.edit_directory_block(ROOT, name.block, |bytes| match before {
        Some((offset, len)) => {
            put16(
                bytes,
                offset + 4,
                ondisk::ext4::directory::rec_len_to_disk(len + name.rec_len, bytes.len() as u32)
                    .unwrap_or(0),
            );
        }
        None => put32(bytes, name.offset, 0),
    })
}

/// `deep` is taken out of the root and named in a directory below it; both count their subdirectories right.
fn looped(fs: &mut Filesystem<'_>) -> Result<(), Error> {
    let deep = fs.name_in_root(b"deep")?;
    let below = fs.name_in(deep.inode, |name| name.file_type == 2)?;
    let Some(block) = fs.blocks(below.inode)?.at(0) else {
        return missing("directory with a first block");
    };
    let last = fs
        .names(below.inode)?
        .into_iter()
        .rfind(|name| name.block == block);
    let Some(last) = last else {
        return missing("directory with an entry");
    };
    unname(fs, b"deep")?;
    let own = ondisk::ext4::directory::needed(last.name.len(), false);
    fs.edit_directory_block(below.inode, block, |bytes| {
        put16(bytes, last.offset + 4, own as u16);
        let at = last.offset + own;
        put32(bytes, at, deep.inode);
        put16(bytes, at + 4, (last.rec_len - own) as u16);
        bytes[at + 6] = 4;
        bytes[at + 7] = 2;
        bytes[at + 8..at + 12].copy_from_slice(b"deep");
    })?;
    let Some(first) = fs.blocks(deep.inode)?.at(0) else {
        return missing("directory with a first block");
    };
    fs.edit_directory_block(deep.inode, first, |bytes| put32(bytes, 12, below.inode))?;
    fields(fs, ROOT, |raw| {
        raw.i_links_count = (raw.i_links_count.get() - 1).into();
    })?;
    fields(fs, below.inode, |raw| {
        raw.i_links_count = (raw.i_links_count.get() + 1).into();
    })
}
