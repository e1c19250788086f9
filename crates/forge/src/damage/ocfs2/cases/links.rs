//! Connectivity: the root, lost+found, parents, orphans.

use ondisk::ocfs2::chain::{self, BITMAP};
use ondisk::ocfs2::directory::Entry;

use super::super::case::{Case, End, with};
use super::super::find::Find;
use super::super::volume::Volume;
use crate::damage::Error;

pub(super) static CASES: &[Case] = &[
    with(
        "inode-not-connected",
        "INODE_NOT_CONNECTED",
        "a file has no name",
        |volume| {
            let file = volume.find(Find::Empty)?;
            let (_, entry) = volume.entry_of(file)?;
            clear(volume, entry.block, entry.offset)
        },
    )
    .also(&["INODE_COUNT"]),
    with(
        "dir-not-connected",
        "DIR_NOT_CONNECTED",
        "a directory has no name",
        |volume| {
            let directory = volume.find(Find::InlineDirectory)?;
            let (_, entry) = volume.entry_of(directory)?;
            clear(volume, entry.block, entry.offset)
        },
    )
    .also(&["DIR_DOTDOT", "INODE_COUNT"]),
    with(
        "lostfound-missing",
        "LOSTFOUND_MISSING",
        "the root has no lost+found",
        |volume| {
            let entries = volume.entries(volume.root)?;
            let found = entries
                .into_iter()
                .find(|entry| entry.name == b"lost+found");
            let entry = found.ok_or(Error::Missing { what: "lost+found" })?;
            clear(volume, entry.block, entry.offset)
        },
    )
    .also(&["DIR_DOTDOT", "DIR_NOT_CONNECTED", "INODE_COUNT"]),
    with(
        "root-dir-missing",
        "ROOT_DIR_MISSING",
        "the bit of the root's inode is clear",
        |volume| {
            let group = volume.groups("global_inode_alloc")?.first().copied();
            let group = group.ok_or(Error::Missing { what: "group" })?;
            let mut block = volume.block(group)?;
            let bit = (volume.root - group) as usize;
            chain::set_bit(&mut block[BITMAP..], bit, false);
            volume.put(group, &mut block, Some(0x30))
        },
    )
    .also(&[
        "DIRENT_INODE_FREE",
        "DIR_DOTDOT",
        "DIR_NOT_CONNECTED",
        "INODE_ALLOC_REPAIR",
        "INODE_COUNT",
    ]),
    with(
        "orphan-dir-missing",
        "ORPHAN_DIR_MISSING",
        "the system directory has no orphan directory",
        |volume| {
            let system = volume.file(".")?;
            let entries = volume.entries(system)?;
            let found = entries
                .into_iter()
                .find(|entry| entry.name == b"orphan_dir:0000");
            let entry = found.ok_or(Error::Missing {
                what: "orphan directory",
            })?;
            clear(volume, entry.block, entry.offset)
        },
    )
    .also(&["DIR_DOTDOT", "DIR_NOT_CONNECTED"])
    .ends(End::Exit(8)),
];

/// Removes the inode of an entry, as an old kernel removes a name.
fn clear(volume: &mut Volume<'_>, at: u64, offset: usize) -> Result<(), Error> {
    let mut block = volume.block(at)?;
    Entry::read_mut(&mut block[offset..])?.inode = 0.into();
    let check = volume.directory_check(at)?;
    volume.put(at, &mut block, check)
}
