//! Files that are no files: devices, pipes, sockets, symbolic links.

use ondisk::ext4::FileType;
use ondisk::ext4::inode::{Content, flag};

use super::super::case::{Case, case};
use super::super::files::is;
use super::{Error, Filesystem, fields};

pub(super) static CASES: &[Case] = &[
    case(
        "1-set-immutable",
        0x01_0030,
        "ext4-1k",
        "an immutable pipe",
        |fs| {
            let ino = fs.first(FileType::Fifo)?;
            fields(fs, ino, |raw| raw.i_flags = flag::IMMUTABLE.into())
        },
    ),
    case(
        "1-set-nonzsize",
        0x01_0032,
        "ext4-1k",
        "a pipe with a size",
        |fs| {
            let ino = fs.first(FileType::Fifo)?;
            fields(fs, ino, |raw| raw.i_size_lo = 5.into())
        },
    ),
    case(
        "1-special-extents-idata",
        0x01_0076,
        "ext4-1k",
        "a pipe whose content is in its inode",
        |fs| {
            let ino = fs.first(FileType::Fifo)?;
            fields(fs, ino, |raw| raw.i_flags = flag::INLINE_DATA.into())
        },
    ),
    case(
        "1-toobig-symlink",
        0x01_0046,
        "ext2-1k",
        "a symbolic link of two blocks",
        |fs| {
            let ino = slow_link(fs)?;
            let free = fs.free_block(0)? as u32;
            fields(fs, ino, |raw| {
                raw.i_block[4..8].copy_from_slice(&free.to_le_bytes());
            })
        },
    ),
    case(
        "1-fast-symlink-extent-fl",
        0x01_005d,
        "ext4-1k",
        "a short symbolic link mapped by extents",
        |fs| {
            let ino = fast_link(fs)?;
            fields(fs, ino, |raw| {
                raw.i_flags = (raw.i_flags.get() | flag::EXTENTS).into();
            })
        },
    ),
    case(
        "2-invalid-symlink",
        0x02_0031,
        "ext4-1k",
        "a symbolic link that ends before its size",
        |fs| {
            let ino = fast_link(fs)?;
            fields(fs, ino, |raw| {
                raw.i_size_lo = (raw.i_size_lo.get() + 3).into();
            })
        },
    ),
    case(
        "2-invalid-symlink-long",
        0x02_0031,
        "ext2-1k",
        "a symbolic link longer than its block",
        |fs| {
            let ino = slow_link(fs)?;
            fields(fs, ino, |raw| raw.i_size_lo = 5000.into())
        },
    ),
    case(
        "2-bad-char-dev",
        0x02_0018,
        "ext4-1k",
        "a character device with further words in its map",
        |fs| words(fs, FileType::CharDevice),
    ),
    case(
        "2-bad-block-dev",
        0x02_0019,
        "ext4-1k",
        "a block device with further words in its map",
        |fs| words(fs, FileType::BlockDevice),
    ),
    case(
        "2-bad-fifo",
        0x02_0025,
        "ext4-1k",
        "a pipe with non-zero words in its map",
        |fs| words(fs, FileType::Fifo),
    ),
    case(
        "2-bad-socket",
        0x02_0026,
        "ext4-1k",
        "a socket with non-zero words in its map",
        |fs| words(fs, FileType::Socket),
    ),
];

/// Fills the map of a device or pipe from its fifth word on. The kernel leaves such words in place, so that they count
/// only beside a flag that no device has.
fn words(fs: &mut Filesystem<'_>, kind: FileType) -> Result<(), Error> {
    let ino = fs.first(kind)?;
    fields(fs, ino, |raw| {
        raw.i_block[16..].fill(0x5a);
        raw.i_flags = flag::IMMUTABLE.into();
    })
}

fn fast_link(fs: &Filesystem<'_>) -> Result<u32, Error> {
    fs.find("short symbolic link", |_, inode| {
        is(inode, FileType::Symlink) && inode.content() == Content::FastSymlink
    })
}

fn slow_link(fs: &Filesystem<'_>) -> Result<u32, Error> {
    fs.find("symbolic link with a block", |_, inode| {
        is(inode, FileType::Symlink)
            && matches!(inode.content(), Content::BlockMap | Content::Extents)
            && inode.size() >= 60
    })
}
