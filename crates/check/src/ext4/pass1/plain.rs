//! The inode that nearly all are: a sound file with consecutive blocks.
//!
//! What takes the general way is asked some forty questions, one after the other, by functions that each look at all kinds of inodes.
//! For a file with one extent in its inode, no attributes, no flag but the one for extents and fields that agree, each of them has the
//! same answer. Here all are asked at once, without a branch that is ever taken, and what is left is to note the file. Anything
//! that is not so is no finding: the inode is checked in the general way, which reports what is wrong with it, if anything is. So nothing
//! here can report anything else than the general way; the only risk is to accept what that would report: a
//! test holds both against each other for inodes changed in every byte.

use ondisk::ext4::inode::{InodeSums, OLD_SIZE, RawInode, flag};
use ondisk::ext4::xattr;
use ondisk::ext4::{FileType, Inode};
use zerocopy::FromBytes;

use crate::ext4::pass1::features::Features;
use crate::ext4::pass1::maps::held;
use crate::ext4::volume::Volume;

/// The first eight bytes of a root with one extent: magic, one entry of four, depth 0.
const ROOT: [u8; 8] = [0x0a, 0xf3, 1, 0, 4, 0, 0, 0];
/// Sizes from here on are counted.
const LARGE_FILE: u32 = 1 << 31;
/// Bytes of an inode that has all times.
const WITH_TIMES: usize = 160;
/// Lengths above this are those of unwritten extents.
const MOST_WRITTEN: u16 = ondisk::ext4::extent::MAX_LEN;

/// What makes a file plain in this filesystem.
pub(super) struct Plain {
    sums: Option<InodeSums>,
    /// Whether any file can be: not with features by which files are charged, or blocks counted, in another way.
    possible: bool,
    /// First inode without a purpose of its own, and two after it that may have one.
    first: u32,
    special: [u32; 2],
    /// Blocks of the filesystem.
    blocks: std::ops::Range<u64>,
    block_size: u64,
    /// `i_blocks` for each block.
    sectors: u32,
}

/// The blocks of a plain file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) len: u16,
}

impl Piece {
    /// The first extent of a root, whatever else is there.
    pub(super) fn of(raw: &RawInode) -> Piece {
        let block = &raw.i_block;
        let half = |at: usize| u16::from_le_bytes([block[at], block[at + 1]]);
        let low = u32::from(half(20)) | u32::from(half(22)) << 16;
        Piece {
            start: u64::from(low) | u64::from(half(18)) << 32,
            len: half(16),
        }
    }
}

impl Plain {
    pub(super) fn of(volume: &Volume<'_>, features: &Features) -> Plain {
        let (sb, geometry) = (&volume.sb, &volume.geometry);
        let usual = features.extents && !features.hurd && !features.quota && !features.bigalloc;
        Plain {
            sums: volume
                .seed
                .map(|seed| InodeSums::new(seed, geometry.inode_size)),
            possible: usual
                && geometry.cluster_blocks <= 1
                && usize::from(geometry.inode_size) >= WITH_TIMES,
            // A superblock with a lower first inode is damaged; the reserved inodes stay reserved.
            first: sb.first_ino().max(11),
            special: [sb.s_prj_quota_inum.get(), sb.s_orphan_file_inum.get()],
            // A file that the source does not wholly have is not plain.
            blocks: u64::from(geometry.first_data_block)..geometry.blocks_count.min(held(volume)),
            block_size: geometry.block_size.into(),
            sectors: geometry.block_size / 512,
        }
    }

    /// Sends all inodes the general way.
    #[cfg(test)]
    pub(super) fn switch_off(&mut self) {
        self.possible = false;
    }

    /// Whether the checksum of an inode is wrong, where it has one.
    pub(super) fn has_bad_checksum(&self, ino: u32, inode: &Inode<'_>) -> bool {
        self.sums
            .as_ref()
            .is_some_and(|sums| !sums.matches(ino, inode))
    }

    /// Whether this is a plain file, and its checksum right.
    pub(super) fn is(&self, ino: u32, slot: &[u8]) -> bool {
        let Ok((raw, rest)) = RawInode::ref_from_prefix(slot) else {
            return false;
        };
        self.possible
            && self.has_usual_number(ino)
            && has_usual_fields(raw)
            && has_usual_rest(raw, rest)
            && self.has_usual_blocks(raw)
            && Inode::read(slot, slot.len() as u16)
                .is_ok_and(|inode| !self.has_bad_checksum(ino, &inode))
    }

    fn has_usual_number(&self, ino: u32) -> bool {
        ino >= self.first && !self.special.contains(&ino)
    }

    fn has_usual_blocks(&self, raw: &RawInode) -> bool {
        let block = &raw.i_block;
        let logical = u32::from_le_bytes([block[12], block[13], block[14], block[15]]);
        let Piece { start, len } = Piece::of(raw);
        let last = (u64::from(logical) + u64::from(len)).saturating_sub(1);
        block[..8] == ROOT
            && (1..=MOST_WRITTEN).contains(&len)
            && start >= self.blocks.start.max(1)
            && start + u64::from(len) <= self.blocks.end
            && u64::from(raw.i_size_lo.get()) >= last.saturating_mul(self.block_size)
            && raw.i_blocks_lo.get() == u32::from(len) * self.sectors
    }
}

/// A named file, in use, with the flag for extents and no other, without an attribute block, and short.
fn has_usual_fields(raw: &RawInode) -> bool {
    let zero = raw.i_dtime.get()
        | raw.i_size_high.get()
        | raw.i_file_acl_lo.get()
        | raw.i_obso_faddr.get()
        | u32::from(raw.l_i_blocks_high.get())
        | u32::from(raw.l_i_file_acl_high.get());
    zero == 0
        && FileType::of_mode(raw.i_mode.get()) == Some(FileType::Regular)
        && raw.i_flags.get() == flag::EXTENTS
        && raw.i_links_count.get() != 0
        && raw.i_size_lo.get() < LARGE_FILE
}

/// After the old fields: a possible length of the new ones, no attributes, no time before 1970.
fn has_usual_rest(raw: &RawInode, rest: &[u8]) -> bool {
    let word = |at: usize| {
        let bytes = rest.get(at..).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    };
    let extra = (word(0) & 0xffff) as usize;
    // Creation.
    let times = raw.i_atime.get() | raw.i_ctime.get() | raw.i_mtime.get() | word(0x90 - OLD_SIZE);
    extra >= 4
        && extra <= rest.len()
        && extra.is_multiple_of(4)
        && word(extra) != xattr::MAGIC
        && times >> 31 == 0
}
