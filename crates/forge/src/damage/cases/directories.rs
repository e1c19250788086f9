//! Entries of directories.

use ondisk::ext4::directory::{self, TAIL};
use ondisk::ext4::feature::Incompat;
use ondisk::ext4::inode::number::ROOT;
use ondisk::ext4::inode::{InodeMut, flag};

use super::super::case::{Case, Reference, case, get16, put16, put32};
use super::super::error::missing;
use super::super::files::Name;
use super::{Error, Filesystem, fields};

/// Of an entry: where its parts are.
const REC_LEN: usize = 4;
const NAME_LEN: usize = 6;
const TYPE: usize = 7;
const NAME: usize = 8;

pub(super) static CASES: &[Case] = &[
    case(
        "2-bad-inode-dot",
        0x02_0001,
        "ext4-1k",
        "'.' is another inode",
        |fs| first_block(fs, |bytes, _| put32(bytes, 0, 2)),
    ),
    case(
        "2-bad-ino",
        0x02_0002,
        "ext4-1k",
        "a name refers to an inode that does not exist",
        |fs| entry(fs, |bytes, at| put32(bytes, at, 0x7fff_ffff)),
    ),
    case(
        "2-bad-ino-reserved",
        0x02_0002,
        "ext2-1k",
        "a name refers to the journal's inode",
        |fs| entry(fs, |bytes, at| put32(bytes, at, 8)),
    ),
    case(
        "2-unused-inode",
        0x02_0003,
        "ext2-1k",
        "a name refers to a free inode",
        |fs| {
            let free = fs.free_inode()?;
            entry(fs, |bytes, at| put32(bytes, at, free))
        },
    ),
    case(
        "2-link-dot",
        0x02_0004,
        "ext4-1k",
        "a name refers to its own directory",
        |fs| {
            let dir = fs.directory()?;
            in_directory(fs, dir, |bytes, at| put32(bytes, at, dir))
        },
    ),
    case(
        "2-link-dir",
        0x02_0006,
        "ext4-1k",
        "a second name of a directory",
        |fs| {
            let dir = fs.name_in_root(b"names")?.inode;
            entry(fs, |bytes, at| put32(bytes, at, dir))
        },
    ),
    case(
        "2-link-root",
        0x02_0007,
        "ext4-1k",
        "a name refers to the root",
        |fs| {
            let dir = fs.directory()?;
            in_directory(fs, dir, |bytes, at| put32(bytes, at, ROOT))
        },
    ),
    case(
        "2-bad-name",
        0x02_0008,
        "ext4-1k",
        "a name with a slash",
        |fs| entry(fs, |bytes, at| bytes[at + NAME + 1] = b'/'),
    ),
    case(
        "2-bad-name-null",
        0x02_0008,
        "ext2-1k",
        "a name with a NUL",
        |fs| entry(fs, |bytes, at| bytes[at + NAME + 1] = 0),
    ),
    case(
        "2-missing-dot",
        0x02_0009,
        "ext2-1k",
        "'.' is not in use",
        |fs| first_block(fs, |bytes, _| put32(bytes, 0, 0)),
    ),
    case(
        "2-missing-dot-dot",
        0x02_000a,
        "ext2-1k",
        "'..' is not in use",
        |fs| first_block(fs, |bytes, _| put32(bytes, 12, 0)),
    ),
    case(
        "2-1st-not-dot",
        0x02_000b,
        "ext2-1k",
        "'.' is called x",
        |fs| first_block(fs, |bytes, _| bytes[NAME] = b'x'),
    ),
    case(
        "2-2nd-not-dot-dot",
        0x02_000c,
        "ext2-1k",
        "'..' is called x.",
        |fs| first_block(fs, |bytes, _| bytes[12 + NAME] = b'x'),
    ),
    case(
        "2-dot-null-term",
        0x02_0016,
        "ext2-1k",
        "no NUL after '.'",
        |fs| first_block(fs, |bytes, _| bytes[NAME + 1] = b'x'),
    ),
    case(
        "2-dot-dot-null-term",
        0x02_0017,
        "ext2-1k",
        "no NUL after '..'",
        |fs| first_block(fs, |bytes, _| bytes[12 + NAME + 2] = b'x'),
    ),
    case(
        "2-split-dot",
        0x02_0024,
        "ext2-1k",
        "'.' takes the room of another entry as well",
        |fs| {
            // In an empty directory '..' can move back without hitting anything.
            let dir = fs.name_in_root(b"empty")?.inode;
            let Some(block) = fs.blocks(dir)?.at(0) else {
                return missing("directory with a first block");
            };
            fs.edit_directory_block(dir, block, |bytes| {
                let after = get16(bytes, 12 + REC_LEN);
                put16(bytes, REC_LEN, 28);
                bytes.copy_within(12..24, 28);
                put16(bytes, 28 + REC_LEN, after - 16);
            })
        },
    ),
    case("2-dup-dot", 0x02_001a, "ext2-1k", "a second '.'", |fs| {
        rename(fs, b".")
    }),
    case(
        "2-dup-dot-dot",
        0x02_001b,
        "ext2-1k",
        "a second '..'",
        |fs| rename(fs, b".."),
    ),
    case("2-null-name", 0x02_0030, "ext2-1k", "an empty name", |fs| {
        entry(fs, |bytes, at| bytes[at + NAME_LEN] = 0)
    }),
    case(
        "2-dir-corrupted",
        0x02_0013,
        "ext4-1k",
        "an entry of 5 bytes",
        |fs| entry(fs, |bytes, at| put16(bytes, at + REC_LEN, 5)),
    ),
    case(
        "2-dir-corrupted-name",
        0x02_0013,
        "ext2-1k",
        "a name longer than its entry",
        |fs| entry(fs, |bytes, at| bytes[at + NAME_LEN] = 250),
    ),
    case(
        "2-final-reclen",
        0x02_001d,
        "ext4-1k",
        "the last entry covers the checksum after it",
        |fs| {
            let dir = fs.directory()?;
            let Some(block) = fs.blocks(dir)?.at(0) else {
                return missing("directory with a first block");
            };
            fs.edit_block(block, |bytes| {
                let at = last_entry(bytes);
                let len = get16(bytes, at + REC_LEN);
                put16(bytes, at + REC_LEN, len + TAIL as u16);
            })
        },
    )
    .reference(Reference::Silent(
        "an entry over the checksum is corrupted; no other can end wrongly",
    )),
    case(
        "2-read-dirblock",
        0x02_0020,
        "ext4-1k",
        "a directory's block is past the end of the device",
        |fs| {
            let dir = fs.directory()?;
            let block = fs.beyond_the_device()?;
            fs.edit_inode(dir, |slot: &mut InodeMut<'_>| {
                put32(&mut slot.raw()?.i_block, 20, block as u32);
                Ok(())
            })
        },
    ),
    case(
        "2-directory-hole",
        0x02_0015,
        "ext2-1k",
        "a directory without its second block",
        |fs| {
            let dir = fs.indexed_directory(0)?;
            fields(fs, dir, |raw| put32(&mut raw.i_block, 4, 0))
        },
    ),
    case(
        "2-bad-filetype",
        0x02_0028,
        "ext4-1k",
        "a file's name says that it is a pipe",
        |fs| entry(fs, |bytes, at| bytes[at + TYPE] = 5),
    ),
    case(
        "2-set-filetype",
        0x02_0027,
        "ext4-1k",
        "a name without a type",
        |fs| entry(fs, |bytes, at| bytes[at + TYPE] = 0),
    ),
    case(
        "2-clear-filetype",
        0x02_0029,
        "ext2-1k",
        "names with types without the feature",
        |fs| {
            fs.edit_superblock(|sb| {
                sb.s_feature_incompat = sb.incompat().without(Incompat::FILETYPE).0.into();
            })
        },
    ),
    case(
        "2-duplicate-dirent",
        0x02_0041,
        "ext2-1k",
        "one name twice, for one inode",
        |fs| twice(fs, true),
    ),
    case(
        "2-non-unique-file",
        0x02_0042,
        "ext2-1k",
        "one name twice, for two inodes",
        |fs| twice(fs, false),
    ),
    case(
        "2-report-dup-dirent",
        0x02_0043,
        "ext4-1k",
        "one name twice, for two inodes, with checksums",
        |fs| twice(fs, false),
    ),
    case(
        "2-leaf-node-missing-csum",
        0x02_004c,
        "ext4-1k",
        "a block without room for a checksum",
        |fs| {
            let dir = fs.directory()?;
            let Some(block) = fs.blocks(dir)?.at(0) else {
                return missing("directory with a first block");
            };
            fs.edit_block(block, |bytes| {
                let at = last_entry(bytes);
                let len = get16(bytes, at + REC_LEN);
                put16(bytes, at + REC_LEN, len + TAIL as u16);
                let end = bytes.len();
                bytes[end - TAIL..].fill(0);
            })
        },
    ),
    case(
        "2-leaf-node-only-csum-invalid",
        0x02_004d,
        "ext4-1k",
        "a directory's block has a wrong checksum",
        |fs| {
            let dir = fs.directory()?;
            let Some(block) = fs.blocks(dir)?.at(0) else {
                return missing("directory with a first block");
            };
            fs.edit_block(block, |bytes| {
                let end = bytes.len();
                bytes[end - 1] ^= 0x55;
            })
        },
    ),
    case(
        "2-unencrypted-file",
        0x02_0051,
        "encrypted-1k",
        "a plain file in an encrypted directory",
        |fs| {
            let dir = encrypted_directory(fs)?;
            let file = fs.name_in_root(b"f100")?.inode;
            in_directory(fs, dir, |bytes, at| put32(bytes, at, file))
        },
    ),
    case(
        "2-bad-encrypted-name",
        0x02_0050,
        "encrypted-1k",
        "an encrypted name of three letters",
        |fs| {
            let dir = encrypted_directory(fs)?;
            in_directory(fs, dir, |bytes, at| bytes[at + NAME_LEN] = 3)
        },
    ),
    case(
        "2-bad-encoded-name",
        0x02_0053,
        "strict-1k",
        "a name that is not UTF-8 in a strict directory",
        |fs| {
            let dir = fs.find("directory that folds case", |_, inode| {
                inode.has_flags(flag::CASEFOLD)
            })?;
            in_directory(fs, dir, |bytes, at| bytes[at + NAME] = 0xff)
        },
    ),
    case(
        "2-inoref-bg-ino-uninit",
        0x02_0046,
        "uninit-1k",
        "a name refers to a group that was never used",
        |fs| {
            let per_group = fs.geometry().inodes_per_group;
            let groups = fs.geometry().groups;
            let group = (0..groups).rev().find(|group| {
                fs.descriptor(*group)
                    .is_ok_and(|desc| desc.has_flags(ondisk::ext4::group_descriptor::INODE_UNINIT))
            });
            match group {
                Some(group) => entry(fs, |bytes, at| put32(bytes, at, group * per_group + 5)),
                None => missing("group whose inodes were never used"),
            }
        },
    ),
];

/// Changes the entry `f100` of the root, a regular file.
fn entry(fs: &mut Filesystem<'_>, edit: impl FnOnce(&mut [u8], usize)) -> Result<(), Error> {
    let name = fs.name_in_root(b"f100")?;
    fs.edit_directory_block(ROOT, name.block, |bytes| edit(bytes, name.offset))
}

/// Changes the first entry of a directory after `..`.
fn in_directory(
    fs: &mut Filesystem<'_>,
    dir: u32,
    edit: impl FnOnce(&mut [u8], usize),
) -> Result<(), Error> {
    let name = fs.name_in(dir, |_| true)?;
    fs.edit_directory_block(dir, name.block, |bytes| edit(bytes, name.offset))
}

/// Changes the first block of the first directory below the root.
fn first_block(fs: &mut Filesystem<'_>, edit: impl FnOnce(&mut [u8], usize)) -> Result<(), Error> {
    let dir = fs.directory()?;
    let Some(block) = fs.blocks(dir)?.at(0) else {
        return missing("directory with a first block");
    };
    fs.edit_directory_block(dir, block, |bytes| edit(bytes, 0))
}

/// Gives the entry `f100` a shorter name.
fn rename(fs: &mut Filesystem<'_>, name: &[u8]) -> Result<(), Error> {
    entry(fs, |bytes, at| {
        bytes[at + NAME_LEN] = name.len() as u8;
        bytes[at + NAME..at + NAME + name.len()].copy_from_slice(name);
    })
}

/// Two entries of one name in the root: `f100` and `f150`.
fn twice(fs: &mut Filesystem<'_>, same_inode: bool) -> Result<(), Error> {
    let first: Name = fs.name_in_root(b"f100")?;
    let second = fs.name_in_root(b"f150")?;
    let len = first.name.len();
    if second.name.len() != len {
        return missing("two files of equally long names in the root directory");
    }
    fs.edit_directory_block(ROOT, second.block, |bytes| {
        bytes[second.offset + NAME..second.offset + NAME + len].copy_from_slice(&first.name);
        if same_inode {
            put32(bytes, second.offset, first.inode);
        }
    })
}

/// Where the last entry of a leaf begins.
fn last_entry(bytes: &[u8]) -> usize {
    let entries = directory::entries(bytes, bytes.len() as u32).map_while(Result::ok);
    let before_tail = bytes.len() - TAIL;
    entries
        .map(|entry| entry.offset)
        .filter(|at| *at < before_tail)
        .last()
        .unwrap_or(0)
}

fn encrypted_directory(fs: &Filesystem<'_>) -> Result<u32, Error> {
    fs.find("encrypted directory", |_, inode| {
        inode.has_flags(flag::ENCRYPT)
            && inode.file_type() == Some(ondisk::ext4::FileType::Directory)
    })
}
