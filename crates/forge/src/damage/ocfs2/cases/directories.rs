//! Entries of directories, trailers and indexes.

use ondisk::ocfs2::directory::Entry;
use ondisk::ocfs2::index::{DxEntry, DxList, INLINE, ROOT_LIST};
use ondisk::ocfs2::{Dinode, DxRoot};

use super::super::case::Value::{Add, Blocks, Set};
use super::super::case::{At, Base, Case, edit, fields, with};
use super::super::find::Find;
use crate::damage::Error;

const SMALL: Find = Find::InlineDirectory;
/// Fields of an entry.
const INODE: usize = 0;
const LENGTH: usize = 8;
const NAME_LENGTH: usize = 10;
const TYPE: usize = 11;
const NAME: usize = 12;

pub(super) static CASES: &[Case] = &[
    fields(
        "dirent-dotty-dup",
        "DIRENT_DOTTY_DUP",
        "a directory has '..' twice",
        &[
            edit(At::Entry(SMALL, 2), NAME_LENGTH, 1, Set(2)),
            edit(At::Entry(SMALL, 2), NAME, 2, Set(0x2e2e)),
        ],
    )
    .also(&[
        "DIRENT_DOT_EXCESS",
        "DIRENT_DOT_INODE",
        "DIRENT_DUPLICATE",
        "DIRENT_NOT_DOTTY",
    ]),
    fields(
        "dirent-not-dotty",
        "DIRENT_NOT_DOTTY",
        "the first entry of a directory is not '.'",
        &[edit(At::Entry(SMALL, 0), NAME, 1, Set(0x78))],
    ),
    fields(
        "dirent-dot-inode",
        "DIRENT_DOT_INODE",
        "'.' leads to another inode",
        &[edit(At::Entry(SMALL, 0), INODE, 8, Set(5))],
    )
    .also(&["INODE_COUNT"]),
    fields(
        "dirent-zero",
        "DIRENT_ZERO",
        "an entry has an inode and no name",
        &[edit(At::Entry(SMALL, 3), NAME_LENGTH, 1, Set(0))],
    ),
    fields(
        "dirent-name-chars",
        "DIRENT_NAME_CHARS",
        "a name begins with a slash",
        &[edit(At::Entry(SMALL, 3), NAME, 1, Set(0x2f))],
    ),
    fields(
        "dirent-inode-range",
        "DIRENT_INODE_RANGE",
        "an entry leads outside the volume",
        &[edit(At::Entry(SMALL, 3), INODE, 8, Blocks(50))],
    )
    .also(&["INODE_NOT_CONNECTED", "INODE_COUNT"]),
    fields(
        "dirent-type",
        "DIRENT_TYPE",
        "an entry has another type than its inode",
        &[edit(At::Entry(SMALL, 3), TYPE, 1, Set(6))],
    ),
    with(
        "dirent-duplicate",
        "DIRENT_DUPLICATE",
        "a directory has a name twice",
        |volume| {
            let inode = volume.find(SMALL)?;
            let entries = volume.entries(inode)?;
            let from = entries.get(3).ok_or(Error::Missing { what: "name" })?;
            let to = entries
                .iter()
                .skip(4)
                .find(|entry| entry.name.len() >= from.name.len())
                .ok_or(Error::Missing {
                    what: "longer name",
                })?;
            let mut block = volume.block(to.block)?;
            let head = Entry::read_mut(&mut block[to.offset..])?;
            head.name_len = from.name.len() as u8;
            let start = to.offset + NAME;
            block[start..start + from.name.len()].copy_from_slice(&from.name);
            let check = volume.directory_check(to.block)?;
            volume.put(to.block, &mut block, check)
        },
    ),
    fields(
        "dirent-length",
        "DIRENT_LENGTH",
        "an entry's length is no multiple of 4",
        &[edit(At::Entry(SMALL, 3), LENGTH, 2, Add(1))],
    )
    .also(&["INODE_NOT_CONNECTED", "INODE_COUNT"]),
    with(
        "dir-parent-dup",
        "DIR_PARENT_DUP",
        "a directory has two names",
        |volume| {
            let directory = volume.find(SMALL)?;
            let file = volume.find(Find::Empty)?;
            let (_, entry) = volume.entry_of(file)?;
            let mut block = volume.block(entry.block)?;
            let head = Entry::read_mut(&mut block[entry.offset..])?;
            head.inode = directory.into();
            head.file_type = 2;
            let check = volume.directory_check(entry.block)?;
            volume.put(entry.block, &mut block, check)
        },
    )
    .also(&["INODE_NOT_CONNECTED", "INODE_COUNT"]),
    fields(
        "dir-dotdot",
        "DIR_DOTDOT",
        "'..' leads to another directory",
        &[edit(At::Entry(SMALL, 1), INODE, 8, Set(6))],
    )
    .also(&["INODE_COUNT"]),
    fields(
        "dir-trailer-inode",
        "DIR_TRAILER_INODE",
        "a trailer has an inode",
        &[edit(At::Trailer(Find::Indexed), 0, 8, Set(7))],
    ),
    fields(
        "dir-trailer-name-len",
        "DIR_TRAILER_NAME_LEN",
        "a trailer has a name",
        &[edit(At::Trailer(Find::Indexed), 0x0a, 1, Set(7))],
    ),
    fields(
        "dir-trailer-rec-len",
        "DIR_TRAILER_REC_LEN",
        "a trailer has another length",
        &[edit(At::Trailer(Find::Indexed), 0x08, 2, Set(60))],
    ),
    fields(
        "dir-trailer-blkno",
        "DIR_TRAILER_BLKNO",
        "a trailer has another block's number",
        &[edit(At::Trailer(Find::Indexed), 0x28, 8, Add(1))],
    ),
    fields(
        "dir-trailer-parent-inode",
        "DIR_TRAILER_PARENT_INODE",
        "a trailer names another directory",
        &[edit(At::Trailer(Find::Indexed), 0x30, 8, Add(1))],
    ),
    with(
        "bad-crc32",
        "BAD_CRC32",
        "the checksum of a directory's inode is wrong",
        |volume| {
            let inode = volume.find(Find::Indexed)?;
            let mut block = volume.block(inode)?;
            let head = Dinode::read_mut(&mut block)?;
            let wrong = !head.i_check.bc_crc32e.get();
            head.i_check.bc_crc32e = wrong.into();
            volume.put(inode, &mut block, None)
        },
    )
    .also(&["DIR_DOTDOT", "INODE_COUNT", "INODE_NOT_CONNECTED"])
    .on(Base::Checksums),
    with(
        "dx-lookup-failed",
        "DX_LOOKUP_FAILED",
        "an entry of an index has another hash",
        |volume| {
            let inode = volume.block(volume.find(Find::Indexed)?)?;
            let at = Dinode::read(&inode)?.i_dx_root.get();
            let mut block = volume.block(at)?;
            if DxRoot::read(&block)?.dr_flags & INLINE == 0 {
                return Err(Error::Missing {
                    what: "index whose entries are in its root",
                });
            }
            let list = DxList::read(&block[ROOT_LIST..])?;
            let entry: Option<DxEntry> = list.get(4).copied();
            let mut entry = entry.ok_or(Error::Missing {
                what: "index entry",
            })?;
            entry.dx_minor_hash = entry.dx_minor_hash.get().wrapping_add(1).into();
            DxList::put(&mut block[ROOT_LIST..], 4, entry)?;
            volume.put(at, &mut block, Some(0x08))
        },
    ),
    fields(
        "dirent-dot-excess",
        "DIRENT_DOT_EXCESS",
        "'.' reaches over the entry after it",
        &[edit(At::Entry(SMALL, 0), LENGTH, 2, Set(32))],
    )
    .also(&["DIR_DOTDOT", "INODE_COUNT"]),
];
