//! Block and inode bitmaps: one block each, of which as many bits count as the group has clusters or inodes.
//!
//! Bits after the last are padding and must be set. The checksum is in the group descriptor and covers
//! the bytes of a *full* group, whatever the size of the last one.

use std::ops::Range;

use super::{Checksum, Error, Geometry, GroupDescriptor, Seed};

/// A bitmap as stored in its block.
#[derive(Debug, Clone, Copy)]
pub struct Bitmap<'a> {
    bytes: &'a [u8],
    bits: u32,
}

impl<'a> Bitmap<'a> {
    /// The first `bits` bits of `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::Short`] for fewer bytes.
    pub fn new(bytes: &'a [u8], bits: u32) -> Result<Self, Error> {
        let need = bits.div_ceil(8) as usize;
        if bytes.len() < need {
            return Err(Error::Short {
                what: "bitmap",
                have: bytes.len(),
                need,
            });
        }
        Ok(Self { bytes, bits })
    }

    /// Bits that count.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Whether a bit is set; bits that do not count are not.
    pub fn get(&self, bit: u32) -> bool {
        bit < self.bits && self.bytes[(bit / 8) as usize] >> (bit % 8) & 1 == 1
    }

    /// How many bits are set.
    pub fn ones(&self) -> u32 {
        let whole = (self.bits / 8) as usize;
        let ones: u32 = self.bytes[..whole]
            .iter()
            .map(|byte| byte.count_ones())
            .sum();
        match self.bits % 8 {
            0 => ones,
            rest => ones + (self.bytes[whole] & ((1 << rest) - 1)).count_ones(),
        }
    }

    /// How many bits are clear: free clusters or inodes.
    pub fn zeros(&self) -> u32 {
        self.bits - self.ones()
    }

    /// The runs of bits equal to `set`, ascending.
    pub fn runs(&self, set: bool) -> Runs<'a> {
        Runs {
            bitmap: *self,
            at: 0,
            set,
        }
    }

    /// Whether all padding bits of the block are set, as they must be.
    pub fn padding_is_set(&self) -> bool {
        let first = (self.bits / 8) as usize;
        self.bytes[first..].iter().enumerate().all(|(nth, byte)| {
            let mask = if nth == 0 {
                !0 << (self.bits % 8)
            } else {
                !0_u8
            };
            byte & mask == mask
        })
    }

    fn next(&self, from: u32, set: bool) -> u32 {
        let skip = if set { 0 } else { 0xff };
        let mut bit = from;
        while bit < self.bits {
            if bit.is_multiple_of(8) && self.bytes[(bit / 8) as usize] == skip {
                bit += 8;
            } else if self.get(bit) == set {
                return bit;
            } else {
                bit += 1;
            }
        }
        self.bits
    }
}

/// See [`Bitmap::runs`].
#[derive(Debug, Clone)]
pub struct Runs<'a> {
    bitmap: Bitmap<'a>,
    at: u32,
    set: bool,
}

impl Iterator for Runs<'_> {
    type Item = Range<u32>;

    fn next(&mut self) -> Option<Range<u32>> {
        let start = self.bitmap.next(self.at, self.set);
        if start >= self.bitmap.bits {
            return None;
        }
        let end = self.bitmap.next(start, !self.set);
        self.at = end;
        Some(start..end)
    }
}

/// Sets all bits of `range`, a byte at a time where it can; bits beyond the slice are left out.
pub fn set_range(bytes: &mut [u8], range: Range<u32>) {
    let end = range
        .end
        .min((bytes.len() as u64 * 8).min(u64::from(u32::MAX)) as u32);
    let mut bit = range.start;
    while bit < end {
        let byte = &mut bytes[(bit / 8) as usize];
        if bit.is_multiple_of(8) && end - bit >= 8 {
            *byte = 0xff;
            bit += 8;
        } else {
            *byte |= 1 << (bit % 8);
            bit += 1;
        }
    }
}

/// The checksum of a block bitmap, against the one in its descriptor. `bytes` is the block.
pub fn block_checksum(
    seed: Seed,
    geometry: &Geometry,
    desc: &GroupDescriptor,
    bytes: &[u8],
) -> Result<Checksum, Error> {
    let covered = covered("block bitmap", bytes, geometry.clusters_per_group)?;
    Ok(Checksum {
        stored: desc.block_bitmap_csum(),
        computed: desc.stored_bits(seed.over(covered)),
    })
}

/// The checksum of an inode bitmap, against the one in its descriptor. `bytes` is the block.
pub fn inode_checksum(
    seed: Seed,
    geometry: &Geometry,
    desc: &GroupDescriptor,
    bytes: &[u8],
) -> Result<Checksum, Error> {
    let covered = covered("inode bitmap", bytes, geometry.inodes_per_group)?;
    Ok(Checksum {
        stored: desc.inode_bitmap_csum(),
        computed: desc.stored_bits(seed.over(covered)),
    })
}

fn covered<'a>(what: &'static str, bytes: &'a [u8], bits: u32) -> Result<&'a [u8], Error> {
    let need = (bits / 8) as usize;
    bytes.get(..need).ok_or(Error::Short {
        what,
        have: bytes.len(),
        need,
    })
}

/// Writes into `bytes`, a block, the block bitmap that a group marked `BLOCK_UNINIT` stands for: in use are
/// the group's superblock and descriptors, and its own bitmaps and inode table as far as they are in it.
pub fn fill_uninit_block_bitmap(
    geometry: &Geometry,
    group: u32,
    desc: &GroupDescriptor,
    bytes: &mut [u8],
) {
    bytes.fill(0);
    let layout = geometry.group_layout(group);
    let table = desc.inode_table();
    let pieces = [
        layout.superblock.map_or(0..0, |block| block..block + 1),
        layout.descriptors.start..layout.reserved_gdt.end,
        single(desc.block_bitmap()),
        single(desc.inode_bitmap()),
        table..table.saturating_add(geometry.inode_table_blocks().into()),
    ];
    for piece in pieces {
        let start = piece.start.max(layout.blocks.start);
        let end = piece.end.min(layout.blocks.end);
        if start < end {
            let first = geometry.group_first_block(group);
            let cluster = u64::from(geometry.cluster_blocks);
            let bits = (start - first) / cluster..(end - first).div_ceil(cluster);
            set_range(bytes, bits.start as u32..bits.end as u32);
        }
    }
    let all = (bytes.len() * 8) as u32;
    set_range(bytes, layout.clusters..all);
}

fn single(block: u64) -> Range<u64> {
    block..block.saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_list_of_bools(
            bytes in proptest::collection::vec(any::<u8>(), 1..40),
            cut in 0_u32..8,
        ) {
            let bits = bytes.len() as u32 * 8 - cut;
            let bitmap = Bitmap::new(&bytes, bits).unwrap();
            let model: Vec<bool> =
                (0..bits).map(|bit| bytes[(bit / 8) as usize] >> (bit % 8) & 1 == 1).collect();
            prop_assert_eq!(bitmap.ones() as usize, model.iter().filter(|set| **set).count());
            for set in [false, true] {
                let mut seen = vec![!set; bits as usize];
                let mut last = None;
                for run in bitmap.runs(set) {
                    prop_assert!(last.is_none_or(|end| end < run.start), "runs are maximal");
                    last = Some(run.end);
                    seen[run.start as usize..run.end as usize].fill(set);
                }
                prop_assert_eq!(&seen, &model);
            }
            let padded = (bits..bytes.len() as u32 * 8)
                .all(|bit| bytes[(bit / 8) as usize] >> (bit % 8) & 1 == 1);
            prop_assert_eq!(bitmap.padding_is_set(), padded);
        }

        #[test]
        fn a_range_is_set_and_nothing_else(start in 0_u32..80, len in 0_u32..80) {
            let mut bytes = [0; 10];
            set_range(&mut bytes, start..start + len);
            let bitmap = Bitmap::new(&bytes, 80).unwrap();
            for bit in 0..80 {
                prop_assert_eq!(bitmap.get(bit), (start..start + len).contains(&bit));
            }
        }
    }
}
