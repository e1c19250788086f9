//! What fsck.ocfs2 does not look for, and `fslab check` with the verdict `strict` does.

use ondisk::ocfs2::dinode::{self, BODY};
use ondisk::ocfs2::directory::{self, Entry};
use ondisk::ocfs2::extent::ExtentHead;
use ondisk::ocfs2::hash::{self, NameHash, Sign};
use ondisk::ocfs2::index::{DxEntry, DxHead, DxList, INLINE, ROOT_LIST};
use ondisk::ocfs2::logs::LocalAlloc;
use ondisk::ocfs2::{Dinode, DxRoot, ExtentList, ExtentRecord, Superblock, Trailer, superblock};
use zerocopy::little_endian::U32;

use super::super::case::Value::{Add, Set};
use super::super::case::{At, Base, Case, edit, fields, with};
use super::super::find::Find;
use super::super::volume::{Named, Volume};
use crate::damage::Error;

pub(super) static CASES: &[Case] = &[
    fields(
        "group-contig",
        "",
        "a group of clusters claims a longer free run than it has",
        &[edit(At::Group("global_bitmap", 0), 0x14, 2, Set(0xffff))],
    )
    .strict("GROUP_CONTIG"),
    fields(
        "extent-beyond-size",
        "",
        "a file is empty and has clusters, on a volume without sparse files",
        &[edit(At::Inode(Find::Tree), 0x20, 8, Set(0))],
    )
    .strict("EXTENT_BEYOND_SIZE")
    .on(Base::Old),
    fields(
        "eb-next-leaf",
        "",
        "a leaf of a tree of extents leads to a block that is none",
        &[edit(At::ExtentBlock, 0x28, 8, Set(3))],
    )
    .strict("EB_NEXT_LEAF"),
    fields(
        "heartbeat-file",
        "",
        "the heartbeat file is shorter than its size",
        &[edit(At::System("heartbeat"), 0x20, 8, Add(1 << 20))],
    )
    .strict("HEARTBEAT_FILE"),
    with(
        "journal-super",
        "",
        "the superblock of a journal gives it another length",
        |volume| {
            let inode = volume.block(volume.file("journal:0000")?)?;
            let first = volume.blocks(&inode)?.first().copied();
            let first = first.ok_or(Error::Missing { what: "journal" })?;
            let mut block = volume.block(first)?;
            block[0x13] ^= 1;
            volume.put(first, &mut block, None)
        },
    )
    .strict("JOURNAL_SUPER"),
    with(
        "lalloc-global",
        "",
        "a cluster of a window is free in the global bitmap",
        |volume| {
            let free = volume.last_free()?;
            let allocator = volume.file("local_alloc:0000")?;
            let mut inode = volume.block(allocator)?;
            inode[BODY..BODY + 4].copy_from_slice(&(free.cluster as u32).to_le_bytes());
            inode[BODY + LocalAlloc::SIZE] = 1;
            Dinode::read_mut(&mut inode)?.set_bitmap(1, 1);
            volume.put(allocator, &mut inode, Some(dinode::CHECK))
        },
    )
    .strict("LALLOC_GLOBAL"),
    with(
        "dir-free-list",
        "",
        "the list of a directory's blocks with room begins outside of it",
        |volume| {
            let (number, mut root) = index(volume)?;
            DxRoot::read_mut(&mut root)?.dr_free_blk = volume.root.into();
            volume.put(number, &mut root, Some(0x08))
        },
    )
    .strict("DIR_FREE_LIST"),
    with(
        "dirent-duplicate-far",
        "",
        "a directory has a name twice, with another directory's block between",
        |volume| {
            let directory = volume.find(Find::Indexed)?;
            let entry = name_of_file(volume, directory)?;
            let block = new_block(volume, directory, &entry)?;
            index_entry(volume, &entry, block)?;
            let mut inode = volume.block(entry.inode)?;
            let head = Dinode::read_mut(&mut inode)?;
            head.set_links(head.links() + 1);
            volume.put(entry.inode, &mut inode, Some(dinode::CHECK))
        },
    )
    .strict("DIRENT_DUPLICATE_FAR"),
];

/// The root of the index of the first directory that has one: its number and its bytes.
fn index(volume: &Volume<'_>) -> Result<(u64, Vec<u8>), Error> {
    let inode = volume.block(volume.find(Find::Indexed)?)?;
    let number = Dinode::read(&inode)?.i_dx_root.get();
    Ok((number, volume.block(number)?))
}

/// The first name of a directory that leads to a regular file.
fn name_of_file(volume: &Volume<'_>, directory: u64) -> Result<Named, Error> {
    for entry in volume.entries(directory)?.into_iter().skip(2) {
        let mode = Dinode::read(&volume.block(entry.inode)?)?.i_mode.get();
        if directory::type_of_mode(mode) == 1 {
            return Ok(entry);
        }
    }
    Err(Error::Missing {
        what: "regular file in a directory with an index",
    })
}

/// Gives a directory one more block with that one entry: its number.
fn new_block(volume: &mut Volume<'_>, directory: u64, entry: &Named) -> Result<u64, Error> {
    let mut inode = volume.block(directory)?;
    let listed = *ExtentList::read(&inode[BODY..])?.head();
    let (used, depth) = (listed.l_next_free_rec.get(), listed.l_tree_depth.get());
    let head = *Dinode::read(&inode)?;
    let clusters = head.i_clusters.get();
    let whole = u64::from(clusters) * volume.cluster_blocks * volume.block_size as u64;
    if depth > 0 || used >= listed.l_count.get() || head.i_size.get() != whole {
        return Err(Error::Missing {
            what: "directory without unused blocks",
        });
    }
    let number = volume.take_cluster()?;
    let end = Trailer::offset(volume.block_size);
    let mut block = vec![0; volume.block_size];
    Entry::put(&mut block, 0, entry.inode, end, 1, &entry.name)?;
    *Trailer::of_block_mut(&mut block)? = Trailer::new(number, directory);
    let check = Trailer::check_offset(volume.block_size);
    volume.put(number, &mut block, Some(check))?;
    let record = ExtentRecord::leaf(clusters, 1, 0, number);
    ExtentList::put(&mut inode[BODY..], used.into(), record)?;
    ExtentHead::read_mut(&mut inode[BODY..])?.l_next_free_rec = (used + 1).into();
    let head = Dinode::read_mut(&mut inode)?;
    head.i_clusters = (clusters + 1).into();
    head.i_size = (head.i_size.get() + volume.block_size as u64).into();
    volume.put(directory, &mut inode, Some(dinode::CHECK))?;
    Ok(number)
}

/// Gives the index a second entry of a name, which leads to another block.
fn index_entry(volume: &mut Volume<'_>, entry: &Named, block: u64) -> Result<(), Error> {
    let (number, mut root) = index(volume)?;
    let listed = *DxList::read(&root[ROOT_LIST..])?.head();
    let used = listed.de_num_used.get();
    if DxRoot::read(&root)?.dr_flags & INLINE == 0 || used >= listed.de_count.get() {
        return Err(Error::Missing {
            what: "index with room in its root",
        });
    }
    let hash = hash_of(volume, &entry.name)?;
    let new = DxEntry {
        dx_major_hash: hash.major.into(),
        dx_minor_hash: hash.minor.into(),
        dx_dirent_blk: block.into(),
    };
    DxList::put(&mut root[ROOT_LIST..], used.into(), new)?;
    DxHead::read_mut(&mut root[ROOT_LIST..])?.de_num_used = (used + 1).into();
    let head = DxRoot::read_mut(&mut root)?;
    head.dr_num_entries = (head.dr_num_entries.get() + 1).into();
    volume.put(number, &mut root, Some(0x08))
}

/// The hash of a name in the indexes of a volume.
fn hash_of(volume: &Volume<'_>, name: &[u8]) -> Result<NameHash, Error> {
    let block = volume.block(superblock::BLOCK)?;
    let seed = Superblock::read(&block)?.s_dx_seed.map(U32::get);
    Ok(hash::name_hash(seed, name, Sign::Signed))
}
