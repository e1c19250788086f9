//! The blocks of an inode, compared with its counters (e2fsck's `check_blocks`).

use ondisk::ext4::inode::{flag, number};

use super::walk::{Item, Stuck, Walk, has_blocks};
use super::worker::Worker;
use crate::ext4::e2fsck::order::stage;
use crate::ext4::e2fsck::problems::{
    P1_BAD_I_BLOCKS, P1_BAD_I_SIZE, P1_BLOCK_ITERATE, P1_ILLEGAL_BLOCK_NUM,
    P1_NO_BIGALLOC_BLOCKMAP_FILES, P1_ZERO_LENGTH_DIR,
};
use crate::ext4::pass1::attributes::charge::Charge;
use crate::frame::finding::Finding;

/// From this size the superblock must have the feature `large_file`.
const LARGE_FILE: u64 = 1 << 31;

/// What is wrong with a size, by the numbers that e2fsck gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BadSize {
    /// 1: a directory is longer than its blocks.
    DirectoryTooLong,
    /// 2: it is shorter.
    DirectoryTooShort,
    /// 3: there are data past the end.
    DataPastEnd,
    /// 4: more than pointers can map.
    BeyondPointers,
    /// 5: a directory does not end with a block.
    NotWholeBlocks,
    /// 6: more than extents can map.
    BeyondExtents,
    /// 7: an inline directory has another size.
    NotInlineSize(u64),
}

impl BadSize {
    fn says(self) -> &'static str {
        match self {
            BadSize::DirectoryTooLong => "the directory has fewer blocks",
            BadSize::DirectoryTooShort => "the directory has more blocks",
            BadSize::DataPastEnd => "written blocks past the end",
            BadSize::BeyondPointers => "a block map cannot map as much",
            BadSize::NotWholeBlocks => "a directory has whole blocks",
            BadSize::BeyondExtents => "extents cannot map as much",
            BadSize::NotInlineSize(_) => "the inline directory has another size",
        }
    }
}

impl Worker<'_> {
    /// Whether the blocks of an inode cannot be walked without reading some: they are walked in a batch then.
    pub(super) fn leads_deeper(&self, item: &Item<'_>) -> bool {
        let features = &self.maps.features;
        if !has_blocks(&item.inode, item.kind)
            || features.inline_data && item.inode.has_flags(flag::INLINE_DATA)
        {
            return false;
        }
        if item.inode.has_flags(flag::EXTENTS) {
            let root = &item.inode.raw().i_block;
            return super::walk::Head::of(root)
                .is_some_and(|head| head.depth > 0 && head.entries > 0);
        }
        item.inode.block_words()[12..].iter().any(|word| *word != 0)
    }

    /// Walks the blocks of an inode and compares its counters. `body` is what its own attributes are charged.
    pub(super) fn check_blocks(&mut self, item: &Item<'_>, body: Charge) {
        let mut walk = Walk::new(body.clusters);
        let mut inodes = body.inodes + 1;
        match self.attributes.check_block(item.ino, &item.inode) {
            Some(charge) => {
                walk.blocks += charge.clusters;
                inodes += charge.inodes;
            }
            None => self.bad.push(item.ino),
        }
        self.log.stage(stage::BLOCKS);
        self.walk_blocks(item, &mut walk);
        match walk.stuck.take() {
            None => {}
            // Blocks that are walked twice are claimed twice, so pass 1D reports the file as well.
            Some(stuck) if stuck.is_ours() => {
                let finding = Finding::new(&P1_BLOCK_ITERATE).note(stuck.to_string());
                self.add(item, finding.beyond_reference());
            }
            Some(stuck) => {
                let finding = Finding::new(&P1_BLOCK_ITERATE).note(stuck.to_string());
                self.add(item, finding);
            }
        }
        if walk.cut > 0 {
            let size = self.maps.volume.block_size() as u64;
            let finding = Finding::new(&P1_ILLEGAL_BLOCK_NUM).cut(walk.cut, size);
            self.add(item, finding.beyond_reference());
        }
        if walk.fragmented && walk.blocks < u64::from(self.maps.volume.geometry.blocks_per_group) {
            if item.is_dir {
                self.statistics.files.fragmented_directories += 1;
            } else {
                self.statistics.files.fragmented_files += 1;
            }
        }
        if item.inode.has_flags(flag::INDEX) {
            self.log.stage(stage::INDEX);
            self.attributes
                .check_index(item.ino, &item.inode, walk.first, &mut self.log);
        }
        self.log.stage(stage::SUMS);
        if walk.blocks == 0 && item.is_dir && !item.inode.has_flags(flag::INLINE_DATA) {
            self.add(item, Finding::new(&P1_ZERO_LENGTH_DIR));
        }
        self.charge_owners(item, &walk, inodes);
        self.judge_size(item, &walk);
        self.judge_space(item, &walk);
    }

    fn walk_blocks(&mut self, item: &Item<'_>, walk: &mut Walk) {
        let features = self.maps.features;
        if features.inline_data && item.inode.has_flags(flag::INLINE_DATA)
            || !has_blocks(&item.inode, item.kind)
        {
            return;
        }
        let by_extents = item.inode.has_flags(flag::EXTENTS) && features.extents;
        // Symbolic links alone come here, those with a block of attributes: of files and directories with this flag `has_blocks`
        // reports that they have none.
        if item.inode.has_flags(flag::INLINE_DATA) && !by_extents {
            walk.stuck = Some(Stuck::Inline);
            return;
        }
        match (item.inode.has_flags(flag::EXTENTS), features.extents) {
            (true, true) => self.walk_extents(item, walk),
            (true, false) => self.walk_foreign_extents(item, walk),
            (false, _) => {
                for (count, word) in self
                    .statistics
                    .indirect
                    .iter_mut()
                    .zip(&item.inode.block_words()[12..])
                {
                    *count += u64::from(*word != 0);
                }
                self.walk_map(item, walk);
            }
        }
    }

    fn charge_owners(&mut self, item: &Item<'_>, walk: &Walk, inodes: u64) {
        let sb = &self.maps.volume.sb;
        let project = sb.s_prj_quota_inum.get();
        let orphans = sb.s_orphan_file_inum.get();
        let counted = item.ino == number::ROOT || item.ino >= sb.first_ino();
        if self.maps.features.quota
            && counted
            && item.ino != project
            && item.ino != orphans
            && !item.inode.has_flags(flag::EA_INODE)
        {
            let bytes = walk.blocks.wrapping_mul(self.maps.cluster_bytes());
            self.owners.charge(&item.inode, bytes, inodes);
        }
    }

    fn judge_size(&mut self, item: &Item<'_>, walk: &Walk) {
        let size = item.inode.size();
        if item.is_reg && size >= LARGE_FILE {
            self.statistics.large_files += 1;
        }
        let bad = if item.is_dir {
            self.bad_directory_size(item, walk, size)
        } else {
            self.bad_file_size(item, walk, size)
        };
        let is_link = item.kind == Some(ondisk::ext4::FileType::Symlink);
        let Some(bad) = bad.filter(|_| !is_link) else {
            return;
        };
        let block_size = self.maps.volume.block_size() as u64;
        let expected = match bad {
            BadSize::NotInlineSize(size) => size,
            _ => walk.last.wrapping_add(1).wrapping_mul(block_size),
        };
        let finding = Finding::new(&P1_BAD_I_SIZE).found(size).expected(expected);
        self.add(item, finding.note(bad.says()));
    }

    fn bad_directory_size(&mut self, item: &Item<'_>, walk: &Walk, size: u64) -> Option<BadSize> {
        let block_size = self.maps.volume.block_size() as u64;
        if item.inode.has_flags(flag::INLINE_DATA) {
            let inline = self.attributes.inline_size(item.ino, &item.inode);
            return (inline != Some(size)).then(|| BadSize::NotInlineSize(inline.unwrap_or(0)));
        }
        // e2fsck counts in 32 bits here.
        let blocks = u64::from((size / block_size) as u32);
        let mapped = walk.last.wrapping_add(1);
        if !size.is_multiple_of(block_size) {
            Some(BadSize::NotWholeBlocks)
        } else if blocks > mapped {
            Some(BadSize::DirectoryTooLong)
        } else if mapped - blocks > self.maps.volume.sb.s_prealloc_dir_blocks.into() {
            Some(BadSize::DirectoryTooShort)
        } else {
            None
        }
    }

    fn bad_file_size(&self, item: &Item<'_>, walk: &Walk, size: u64) -> Option<BadSize> {
        let volume = self.maps.volume;
        let block_size = volume.block_size() as u64;
        let extents = self.maps.features.extents && item.inode.has_flags(flag::EXTENTS);
        let written = u64::try_from(walk.last_written).ok();
        let past_end = written.is_some_and(|last| size < last.wrapping_mul(block_size));
        if past_end && !item.inode.has_flags(flag::VERITY) {
            Some(BadSize::DataPastEnd)
        } else if !extents && size > most_of_pointers(block_size) {
            Some(BadSize::BeyondPointers)
        } else if extents && size > (block_size << 32) - 1 {
            Some(BadSize::BeyondExtents)
        } else {
            None
        }
    }

    fn judge_space(&mut self, item: &Item<'_>, walk: &Walk) {
        let features = self.maps.features;
        let raw = item.inode.raw();
        let in_blocks = features.huge_file && item.inode.has_flags(flag::HUGE_FILE);
        let block_size = self.maps.volume.block_size() as u64;
        let unit = if in_blocks { 1 } else { block_size / 512 };
        let counted = walk.blocks.wrapping_mul(unit).wrapping_mul(self.maps.ratio);
        let high = if features.huge_file {
            u64::from(raw.l_i_blocks_high.get()) << 32
        } else {
            0
        };
        let stored = u64::from(raw.i_blocks_lo.get()) | high;
        if !features.hurd && (counted != stored || in_blocks && high != 0) {
            let finding = Finding::new(&P1_BAD_I_BLOCKS);
            self.add(item, finding.found(stored).expected(counted));
        }
        let attributes = match raw.i_file_acl_lo.get() {
            0 => 0,
            _ => self.maps.cluster_bytes() / 512,
        };
        let ordinary = item.ino == number::ROOT || item.ino >= self.maps.volume.sb.first_ino();
        if features.bigalloc
            && (item.is_reg || item.is_dir)
            && stored.wrapping_sub(attributes) > 0
            && ordinary
            && item.inode.flags() & (flag::EXTENTS | flag::INLINE_DATA) == 0
        {
            self.add(item, Finding::new(&P1_NO_BIGALLOC_BLOCKMAP_FILES));
        }
    }
}

/// Bytes that a block map can map.
fn most_of_pointers(block_size: u64) -> u64 {
    let addresses = block_size / 4;
    let blocks = 12 + addresses + addresses * addresses + addresses * addresses * addresses;
    blocks.saturating_mul(block_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_pointers() {
        assert_eq!(
            most_of_pointers(1024),
            (12 + 256 + 65536 + 16_777_216) * 1024
        );
        assert_eq!(most_of_pointers(65536), 4_398_314_962_956 * 65536);
    }
}
