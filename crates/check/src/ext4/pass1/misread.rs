//! What e2fsck takes for the resize inode where the checksum of an inode before it is wrong.
//!
//! The library of e2fsprogs keeps four inodes. One whose checksum is wrong is read into the oldest place, and that place keeps the
//! number of the inode that was there: who asks for that one then gets the other. Inode 7 was looked at before pass 1, and is the oldest
//! when pass 1 comes to it; so it is walked by the map of the last of inodes 3 to 6 whose checksum is wrong. All that
//! matters here is whether that walk, instead of that by its own map, ends the reference.

use ondisk::ext4::Inode;
use ondisk::ext4::block_map::pointers;
use ondisk::ext4::feature::{Compat, Incompat};
use ondisk::ext4::inode::{flag, number};

use super::attributes::{is_block, read_block};
use super::walk::Head;
use crate::ext4::slots::Slots;
use crate::ext4::volume::Volume;
use crate::finding::Finding;
use crate::log::Log;
use crate::problem::P1_BLOCK_ITERATE;

/// The inode of `lost+found`, which mke2fs makes first.
const LOST_FOUND: u32 = 11;

/// After the sweep; `unsealed` are the inodes whose checksum is wrong.
pub(super) fn judge(volume: &Volume<'_>, unsealed: &[u32], log: &mut Log) {
    // Any of these would have moved it to another place.
    let others = [number::BAD, number::ROOT, number::RESIZE, LOST_FOUND];
    if !volume.sb.has_compat(Compat::RESIZE_INODE)
        || unsealed.iter().any(|ino| others.contains(ino))
    {
        return;
    }
    let before = unsealed.iter().filter(|ino| (3..=6).contains(*ino)).max();
    let Some(ino) = before.copied() else { return };
    log.hide(&P1_BLOCK_ITERATE, number::RESIZE);
    let mut slots = Slots::new(volume);
    if let Some(inode) = slots.read(ino)
        && let Some(why) = stuck(volume, &inode)
    {
        let note = format!(
            "e2fsck reads inode {ino} for it, whose checksum is wrong and which {why}; this inode is sound"
        );
        let finding = Finding::new(&P1_BLOCK_ITERATE).inode(number::RESIZE);
        log.add(finding.note(note).stops_reference());
    }
}

/// Why a walk by this map does not come to its end.
fn stuck(volume: &Volume<'_>, inode: &Inode<'_>) -> Option<&'static str> {
    if inode.has_flags(flag::INLINE_DATA) {
        return Some("has its content inline");
    }
    let words = inode.block_words();
    if inode.has_flags(flag::EXTENTS) && volume.sb.has_incompat(Incompat::EXTENTS) {
        let broken = words != [0; 15] && Head::of(&inode.raw().i_block).is_none();
        return broken.then_some("has no extent tree");
    }
    let is_wild = |word: &u32| *word != 0 && !is_block(volume, u64::from(*word));
    let mut bytes = Vec::new();
    let mut leads_out = |word: u32| {
        word != 0
            && read_block(volume, word.into(), &mut bytes).is_ok()
            && pointers(&bytes).any(|below| is_wild(&below))
    };
    let wild = words[12..].iter().any(is_wild) || words[13..].iter().any(|word| leads_out(*word));
    wild.then_some("names a block of pointers that is none")
}
