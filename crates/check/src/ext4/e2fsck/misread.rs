//! What e2fsck reads as the resize inode where the checksum of an inode before it is wrong.
//!
//! The library of e2fsprogs caches four inodes. One whose checksum is wrong is refused, but it has been read into the oldest entry of the
//! cache, which keeps its old number: a later request for that number gets the refused inode. Before its scan e2fsck has read the journal, the resize
//! inode, the list of bad blocks, the root and what `lost+found` in it names. With that last one inode 7 is the oldest when
//! the scan comes to it, so it is walked by the map of the last of inodes 3 to 6 whose checksum is wrong; without it the
//! oldest is another, and it is walked by its own.
//!
//! What matters here is whether that walk ends the reference: because it does not come to its end, or because of what it claims. Of the resize
//! inode only blocks in the place of a double indirect one are claimed, and one that is in use already makes e2fsck
//! read all inodes anew (pass 1B), which ends at the first wrong checksum.

use ondisk::ext4::Inode;
use ondisk::ext4::block_map::pointers;
use ondisk::ext4::extent::Index;
use ondisk::ext4::feature::Compat;
use ondisk::ext4::inode::{flag, number};

use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::problems::{P1_BLOCK_ITERATE, P1B_ISCAN_ERROR};
use crate::ext4::pass1::joined::Joined;
use crate::ext4::pass1::maps::Maps;
use crate::ext4::pass1::walk::{Head, LEVELS, entry};
use crate::ext4::pass3::{Found, look_up};
use crate::ext4::slots::Slots;
use crate::ext4::volume::Volume;
use crate::frame::finding::Finding;

/// The inode of `lost+found` as mke2fs makes it.
const LOST_FOUND: u32 = 11;
/// Nodes of a tree that are looked at. A tree of sound bytes has no more; one that leads into itself has no end.
const NODES: u32 = 1 << 16;

/// After the sweep; `joined` has the inodes whose checksum is wrong.
pub(in crate::ext4) fn judge(maps: &Maps<'_>, joined: &Joined, log: &mut Log) {
    let (volume, bad_checksum) = (maps.volume, &joined.bad_checksum);
    let before = bad_checksum
        .iter()
        .filter(|ino| (3..=6).contains(*ino))
        .max();
    let Some(ino) = before.copied() else { return };
    if !volume.sb.has_compat(Compat::RESIZE_INODE) {
        return;
    }
    let Some(lost_found) = lost_and_found(volume, joined) else {
        return;
    };
    // Any of these would have moved it to another place.
    let others = [number::BAD, number::ROOT, number::RESIZE, lost_found];
    if bad_checksum.iter().any(|ino| others.contains(ino)) {
        return;
    }
    log.hide(&P1_BLOCK_ITERATE, number::RESIZE);
    let mut slots = Slots::new(volume);
    let Some(inode) = slots.read(ino) else { return };
    if let Some(why) = stuck(volume, &inode) {
        let note = format!(
            "e2fsck reads inode {ino} for it, whose checksum is wrong and which {why}; this inode is sound"
        );
        let finding = Finding::new(&P1_BLOCK_ITERATE).inode(number::RESIZE);
        log.add(finding.note(note));
    } else if let Some(block) = collision(maps, &inode)
        && let Some(first) = bad_checksum.iter().min()
    {
        let note = format!(
            "e2fsck walks inode {ino}'s map for the resize inode and comes upon block {block}, which is in use; then it reads all inodes \
             anew, and ends at this one, whose checksum is wrong"
        );
        let finding = Finding::new(&P1B_ISCAN_ERROR).inode(*first);
        log.add(finding.note(note));
    }
}

/// The inode that is read for `lost+found`; none where none is.
fn lost_and_found(volume: &Volume<'_>, joined: &Joined) -> Option<u32> {
    let mut directories = joined.directories.iter();
    let root = directories.find(|directory| directory.inode == number::ROOT);
    let found = root.map_or(Found::Unknown, |root| {
        look_up(volume, root.flags, &joined.runs)
    });
    let known = [number::BAD, number::ROOT, number::RESIZE];
    let has_journal = volume.sb.has_compat(Compat::HAS_JOURNAL);
    let journal = has_journal.then(|| volume.sb.s_journal_inum.get());
    match found {
        Found::Nothing => None,
        // One that was read before is not read again.
        Found::Inode(ino) if known.contains(&ino) || Some(ino) == journal => None,
        Found::Inode(ino) => Some(ino),
        Found::Unknown => Some(LOST_FOUND),
    }
}

/// Why a walk by this map does not come to its end.
fn stuck(volume: &Volume<'_>, inode: &Inode<'_>) -> Option<&'static str> {
    if inode.has_flags(flag::INLINE_DATA) {
        return Some("has its content inline");
    }
    if inode.has_flags(flag::EXTENTS) {
        // A root that is none is no error to the library: such an inode has no blocks.
        let root = &inode.raw().i_block;
        let head = Head::of(root)?;
        let level = usize::from(head.depth).min(LEVELS);
        let mut left = NODES;
        let broken = is_broken(volume, root, head, level, &mut vec![0], &mut left);
        return broken.then_some("has an extent tree with a damaged node");
    }
    let words = inode.block_words();
    let is_wild = |word: &u32| *word != 0 && !volume.is_block(u64::from(*word));
    let mut bytes = Vec::new();
    let mut leads_out = |word: u32| {
        word != 0
            && volume.read_into(word.into(), &mut bytes).is_ok()
            && pointers(&bytes).any(|below| is_wild(&below))
    };
    let wild = words[12..].iter().any(is_wild) || words[13..].iter().any(|word| leads_out(*word));
    wild.then_some("names a block of pointers that is none")
}

/// Whether an index of a node, `level` levels above the leaves, leads to what is no node, or an empty one. Checksums do not matter: they would be those of
/// another inode. `above` are the node, and those above it.
fn is_broken(
    volume: &Volume<'_>,
    node: &[u8],
    head: Head,
    level: usize,
    above: &mut Vec<u64>,
    left: &mut u32,
) -> bool {
    if level == 0 {
        return false;
    }
    let mut bytes = Vec::new();
    (0..usize::from(head.entries))
        .map_while(|nth| entry(node, nth))
        .any(|raw| {
            let block = Index::of_entry(raw).leaf;
            if *left == 0 {
                return false;
            }
            *left -= 1;
            let readable = volume.is_block(block) && !above.contains(&block);
            if !readable || volume.read_into(block, &mut bytes).is_err() {
                return true;
            }
            above.push(block);
            let broken = Head::of(&bytes)
                .filter(|below| below.entries > 0)
                .is_none_or(|below| is_broken(volume, &bytes, below, level - 1, above, left));
            above.pop();
            broken
        })
}

/// A block that is in use, in the place of a double indirect one of this map.
fn collision(maps: &Maps<'_>, inode: &Inode<'_>) -> Option<u64> {
    if maps.sharing || maps.any_shared() || inode.has_flags(flag::EXTENTS) {
        return None;
    }
    let words = inode.block_words();
    let mut blocks = vec![words[13]];
    let mut bytes = Vec::new();
    if words[14] != 0 && maps.volume.read_into(words[14].into(), &mut bytes).is_ok() {
        blocks.extend(pointers(&bytes));
    }
    // Its own was claimed here, and not there.
    let own = Slots::new(maps.volume).read(number::RESIZE)?.block_words()[13];
    blocks
        .into_iter()
        .filter(|block| *block != 0 && *block != own)
        .map(u64::from)
        .find(|block| {
            let cluster = maps.cluster(*block);
            cluster.is_some_and(|cluster| maps.blocks.get(cluster))
        })
}
