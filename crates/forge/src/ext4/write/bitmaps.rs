//! The bitmaps of a unit, while it is put together.

use std::ops::Range;

use ondisk::ext4::bitmap::Bitmap;
use ondisk::ext4::group_descriptor::BLOCK_UNINIT;

use crate::Error;
use crate::ext4::layout::{Layout, Unit};
use crate::image_file::ImageFile;

/// Block and inode bitmaps of every group of a unit, one after the other.
#[derive(Debug)]
pub(super) struct Bitmaps {
    block_size: usize,
    /// Clusters are counted from here.
    first_block: u64,
    last_block: u64,
    cluster_shift: u32,
    clusters_per_group: u64,
    blocks: Vec<u8>,
    inodes: Vec<u8>,
    /// Groups with a block in use that does not follow from their descriptor.
    touched: Vec<bool>,
    /// Ranges that follow each other are set at once.
    pending: Range<u64>,
}

impl Bitmaps {
    pub(super) fn new(layout: &Layout) -> Self {
        let geometry = &layout.geometry;
        Self {
            block_size: geometry.block_size as usize,
            first_block: 0,
            last_block: 0,
            cluster_shift: geometry.cluster_blocks.trailing_zeros(),
            clusters_per_group: geometry.clusters_per_group.into(),
            blocks: Vec::new(),
            inodes: Vec::new(),
            touched: Vec::new(),
            pending: 0..0,
        }
    }

    /// Empty bitmaps for a unit.
    pub(super) fn begin(&mut self, unit: &Unit) {
        let groups = unit.descriptors.len();
        for bits in [&mut self.blocks, &mut self.inodes] {
            bits.clear();
            bits.resize(groups * self.block_size, 0);
        }
        self.touched.clear();
        let uninit = unit.descriptors.iter();
        let uninit = uninit.map(|desc| desc.has_flags(BLOCK_UNINIT));
        self.touched.extend(uninit.map(|uninit| !uninit));
        (self.first_block, self.last_block) = (unit.blocks.start, unit.blocks.end);
        self.pending = 0..0;
    }

    /// Marks blocks as used by something that does not follow from the group's descriptor.
    pub(super) fn mark(&mut self, range: Range<u64>) {
        if range.start == self.pending.end {
            self.pending.end = range.end;
        } else {
            self.flush();
            self.pending = range;
        }
    }

    /// Sets the pending bits.
    pub(super) fn flush(&mut self) {
        let range = std::mem::replace(&mut self.pending, 0..0);
        self.set(range, true);
    }

    /// Marks blocks; those outside of the unit are another's.
    pub(super) fn set(&mut self, range: Range<u64>, touch: bool) {
        let start = range.start.max(self.first_block);
        let end = range.end.min(self.last_block);
        if start >= end {
            return;
        }
        let mut at = (start - self.first_block) >> self.cluster_shift;
        let end = ((end - 1 - self.first_block) >> self.cluster_shift) + 1;
        while at < end {
            let group = (at / self.clusters_per_group) as usize;
            let bit = at % self.clusters_per_group;
            let until = (bit + end - at).min(self.clusters_per_group);
            let from = group * self.block_size;
            fill(
                &mut self.blocks[from..from + self.block_size],
                bit as usize,
                until as usize,
            );
            self.touched[group] |= touch;
            at += until - bit;
        }
    }

    /// Marks an inode of the unit's `group`.
    pub(super) fn mark_inode(&mut self, group: usize, index: u32) {
        self.inodes[group * self.block_size + (index / 8) as usize] |= 1 << (index % 8);
    }

    /// Marks inodes that follow each other in a group.
    pub(super) fn mark_inodes(&mut self, group: usize, indexes: Range<u32>) {
        let from = group * self.block_size;
        fill(
            &mut self.inodes[from..from + self.block_size],
            indexes.start as usize,
            indexes.end as usize,
        );
    }

    /// A group's block bitmap.
    pub(super) fn of_blocks(&self, group: usize) -> &[u8] {
        &self.blocks[group * self.block_size..][..self.block_size]
    }

    /// A group's inode bitmap.
    pub(super) fn of_inodes(&self, group: usize) -> &[u8] {
        &self.inodes[group * self.block_size..][..self.block_size]
    }

    /// Whether a group has anything in use besides the structures of its descriptor.
    pub(super) fn touched(&self, group: usize) -> bool {
        self.touched[group]
    }

    /// Sets the bits past the end of a group's two bitmaps.
    pub(super) fn pad(&mut self, group: usize, clusters: u32, inodes: u32) {
        let from = group * self.block_size;
        let bits = self.block_size * 8;
        fill(
            &mut self.blocks[from..from + self.block_size],
            clusters as usize,
            bits,
        );
        fill(
            &mut self.inodes[from..from + self.block_size],
            inodes as usize,
            bits,
        );
    }

    /// Writes those bitmaps that `wanted` names, as few requests as they allow.
    pub(super) fn write(
        &self,
        image: &ImageFile,
        places: impl Iterator<Item = u64>,
        of_blocks: bool,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<(), Error> {
        let bits = if of_blocks {
            &self.blocks
        } else {
            &self.inodes
        };
        let mut run: Option<(usize, usize, u64)> = None;
        let put = |(from, to, block): (usize, usize, u64)| {
            let bytes = &bits[from * self.block_size..to * self.block_size];
            image.write(block * self.block_size as u64, bytes)
        };
        for (group, place) in places.enumerate() {
            if !wanted(group) {
                continue;
            }
            run = match run {
                Some((from, to, block)) if to == group && block + (to - from) as u64 == place => {
                    Some((from, group + 1, block))
                }
                other => {
                    if let Some(run) = other {
                        put(run)?;
                    }
                    Some((group, group + 1, place))
                }
            };
        }
        run.map_or(Ok(()), put)
    }
}

/// Free bits among the first `bits`.
pub(super) fn zeros(bytes: &[u8], bits: u32) -> u32 {
    Bitmap::new(bytes, bits).map_or(0, |bitmap| bitmap.zeros())
}

/// Sets the bits `from..to`, whole bytes at once.
fn fill(bytes: &mut [u8], from: usize, to: usize) {
    if from >= to {
        return;
    }
    let (first, last) = (from / 8, (to - 1) / 8);
    let head = 0xff_u8 << (from % 8);
    let tail = 0xff_u8 >> (7 - (to - 1) % 8);
    if first == last {
        bytes[first] |= head & tail;
        return;
    }
    bytes[first] |= head;
    bytes[first + 1..last].fill(0xff);
    bytes[last] |= tail;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn filling_sets_just_the_range(from in 0_usize..256, len in 0_usize..256) {
            let to = (from + len).min(256);
            let mut bytes = [0; 32];
            fill(&mut bytes, from, to);
            for bit in 0..256 {
                prop_assert_eq!(bytes[bit / 8] >> (bit % 8) & 1 == 1, (from..to).contains(&bit));
            }
        }
    }
}
