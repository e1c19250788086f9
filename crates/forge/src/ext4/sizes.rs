//! mke2fs's arithmetic: from the size of the image to the numbers of the superblock.
//!
//! The rules are those of mke2fs 1.47 with Debian's `mke2fs.conf`, and a test compares each number
//! with the real mke2fs. Some are odd, and kept: a last group that could hold little more than its
//! own tables is cut off; the number of inodes is rounded until it fills the blocks of the tables;
//! a table of reserved descriptors that would eat three quarters of a group turns the layout into
//! `meta_bg`.

use ondisk::ext4::feature::{Compat, Incompat, RoCompat};

use super::Options;
use super::features::Features;
use crate::Error;

const KIB: u64 = 1024;
const MIB: u64 = KIB * KIB;
const TIB: u64 = MIB * MIB;

/// The numbers that everything else follows from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sizes {
    pub(super) features: Features,
    pub(super) block_size: u32,
    pub(super) cluster_size: u32,
    pub(super) inode_size: u16,
    pub(super) desc_size: u16,
    pub(super) blocks: u64,
    pub(super) reserved_blocks: u64,
    pub(super) first_data_block: u32,
    pub(super) blocks_per_group: u32,
    pub(super) clusters_per_group: u32,
    pub(super) inodes_per_group: u32,
    pub(super) reserved_gdt_blocks: u32,
    pub(super) log_groups_per_flex: u8,
}

/// What the kinds of size in `mke2fs.conf` decide: the block size and the bytes for each inode.
fn class(size: u64) -> (u32, u64) {
    match size {
        0..=0x2f_ffff => (1024, 8192),
        _ if size < 512 * MIB => (1024, 4096),
        _ if size < 4 * TIB => (4096, 16384),
        _ if size < 16 * TIB => (4096, 32768),
        _ => (4096, 65536),
    }
}

fn refuse<T>(message: String) -> Result<T, Error> {
    Err(Error::Option(message))
}

fn power_within(what: &str, value: u64, low: u64, high: u64) -> Result<u64, Error> {
    if value.is_power_of_two() && (low..=high).contains(&value) {
        return Ok(value);
    }
    refuse(format!(
        "{what} {value}: not a power of two within {low}..={high}"
    ))
}

impl Sizes {
    /// The numbers for these options.
    pub(super) fn of(options: &Options) -> Result<Self, Error> {
        let mut features = Features::of(options)?;
        let (block_size, ratio) = class(options.size);
        let block_size = options.block_size.unwrap_or(block_size);
        power_within("block size", block_size.into(), 1024, 65536)?;
        let cluster_size = cluster_size(options, &features, block_size)?;
        let inode_size = options.inode_size.unwrap_or(256);
        power_within("inode size", inode_size.into(), 128, block_size.into())?;
        if inode_size == 128 && features.ro_compat.contains(RoCompat::PROJECT) {
            return refuse(
                "inode size 128: too small for the feature project; take inodes of 256 bytes, or clear project".to_owned(),
            );
        }
        if inode_size == 128 && features.incompat.contains(Incompat::INLINE_DATA) {
            return refuse(
                "inode size 128: too small for the feature inline_data; take inodes of 256 bytes, or clear inline_data".to_owned(),
            );
        }
        let blocks = whole_blocks(options.size, block_size);
        if blocks > u64::from(u32::MAX) {
            if !features.bit64() {
                return refuse(format!(
                    "{blocks} blocks of {block_size} bytes: without the feature 64bit there are at most {}; set it, or larger blocks",
                    u32::MAX
                ));
            }
            features.compat = features.compat.without(Compat::RESIZE_INODE);
        }
        if !(0.0..=50.0).contains(&options.reserved_percent) {
            return refuse(format!(
                "reserved {} percent: not within 0..=50",
                options.reserved_percent
            ));
        }
        let ratio = options
            .inode_ratio
            .unwrap_or(ratio.max(block_size.into()).max(cluster_size.into()));
        if !(KIB..=64 * MIB).contains(&ratio) {
            return refuse(format!(
                "{ratio} bytes for each inode: not within 1024..=67108864"
            ));
        }
        let this = Self {
            features,
            block_size,
            cluster_size,
            inode_size,
            desc_size: if features.bit64() { 64 } else { 32 },
            blocks: blocks / u64::from(cluster_size / block_size)
                * u64::from(cluster_size / block_size),
            reserved_blocks: 0,
            first_data_block: u32::from(cluster_size == 1024),
            blocks_per_group: 0,
            clusters_per_group: 0,
            inodes_per_group: 0,
            reserved_gdt_blocks: 0,
            log_groups_per_flex: log_flex(options, &features)?,
        };
        this.with_groups(options, inodes(options, &this, ratio)?)
    }

    fn cluster_blocks(&self) -> u32 {
        self.cluster_size / self.block_size
    }

    fn groups(&self) -> u64 {
        (self.blocks.saturating_sub(self.first_data_block.into()))
            .div_ceil(self.blocks_per_group.into())
    }

    fn desc_blocks(&self) -> u64 {
        self.groups()
            .div_ceil(u64::from(self.block_size / u32::from(self.desc_size)))
    }

    fn table_blocks(&self) -> u64 {
        (u64::from(self.inodes_per_group) * u64::from(self.inode_size))
            .div_ceil(self.block_size.into())
    }

    /// Groups, inodes of each, and descriptors kept for growth. Iterates until nothing changes.
    fn with_groups(mut self, options: &Options, inodes: u64) -> Result<Self, Error> {
        // Counters in descriptors have 16 bits.
        let most = 65536 - 8;
        self.clusters_per_group = (self.block_size * 8).min(most);
        self.blocks_per_group = self.clusters_per_group * self.cluster_blocks();
        let asked = self.blocks;
        self.reserved_blocks = self.reserve(options);
        loop {
            if self.groups() == 0 {
                return too_small(options);
            }
            // Every group has eight inodes at least, and an inode's number 32 bits; an extent's block has 48.
            if self.groups() * 8 > u64::from(u32::MAX) || self.blocks >= 1 << 48 {
                return refuse(format!(
                    "{} bytes: more groups than a filesystem with blocks of {} bytes may have; ask for fewer bytes or larger blocks",
                    options.size, self.block_size
                ));
            }
            let wanted = inodes.div_ceil(self.groups());
            if wanted > u64::from(self.block_size) * 8 {
                if self.cluster_blocks() > 1 || self.blocks_per_group < 256 {
                    return refuse(format!(
                        "{inodes} inodes: more than the groups' bitmaps can hold; ask for fewer"
                    ));
                }
                self.blocks_per_group -= 8;
                self.clusters_per_group = self.blocks_per_group;
                self.blocks = asked;
                continue;
            }
            self.inodes_per_group = self.fill_tables(wanted as u32);
            self.reserve_descriptors();
            let overhead = 3
                + self.table_blocks()
                + u64::from(self.reserved_gdt_blocks)
                + if self.meta_bg() {
                    1
                } else {
                    self.desc_blocks()
                };
            if overhead > u64::from(self.blocks_per_group) {
                return refuse(format!(
                    "{inodes} inodes: a group's tables would not fit the group; ask for fewer"
                ));
            }
            let together = self.groups().min(1 << self.log_groups_per_flex);
            if u64::from(self.inodes_per_group) * together < 13 {
                return refuse(format!(
                    "{inodes} inodes: the filesystem's own do not fit the first group; ask for more"
                ));
            }
            let rest = self.last_group_rest();
            let needed = self.last_group_needs();
            if rest == 0 || rest >= needed + 50 {
                return Ok(self);
            }
            if self.groups() == 1 {
                return too_small(options);
            }
            self.blocks -= rest;
            self.reserved_blocks = self.reserve_again(options);
        }
    }

    /// Blocks reserved for root: a percentage of the requested size.
    fn reserve(&self, options: &Options) -> u64 {
        let asked = whole_blocks(options.size, self.block_size);
        (options.reserved_percent * asked as f64 / 100.0) as u64
    }

    /// The same share of fewer blocks, when the last group is cut off. mke2fs does not take it back when it tries other groups.
    fn reserve_again(&self, options: &Options) -> u64 {
        let asked = whole_blocks(options.size, self.block_size);
        let percent = 100.0 * self.reserve(options) as f64 / asked as f64;
        (percent * self.blocks as f64 / 100.0) as u64
    }

    fn meta_bg(&self) -> bool {
        self.features.incompat.contains(Incompat::META_BG)
    }

    /// Inodes of a group that fill the blocks of its table, in whole bytes of the bitmap, and no more in all than have numbers.
    fn fill_tables(&self, wanted: u32) -> u32 {
        let per_block = self.block_size / u32::from(self.inode_size);
        let mut wanted = wanted.min(65536 - per_block);
        loop {
            let blocks =
                (u64::from(wanted) * u64::from(self.inode_size)).div_ceil(self.block_size.into());
            let filled = blocks * u64::from(self.block_size) / u64::from(self.inode_size);
            let filled = filled.max(8) as u32 / 8 * 8;
            if u32::try_from(u64::from(filled) * self.groups()).is_ok() {
                return filled;
            }
            wanted -= 1;
        }
    }

    /// Descriptor blocks for a filesystem a thousand times as large, as far as the resize inode can list them.
    fn reserve_descriptors(&mut self) {
        self.reserved_gdt_blocks = 0;
        if self.features.resize_inode() {
            let most = u64::from(u32::MAX);
            let grown = if self.blocks < most / 1024 {
                self.blocks * 1024
            } else {
                most
            };
            let per_block = u64::from(self.block_size / u32::from(self.desc_size));
            let groups =
                (grown - u64::from(self.first_data_block)).div_ceil(self.blocks_per_group.into());
            // More descriptors than that already: the subtraction wraps round and the limit holds.
            let more = (groups.div_ceil(per_block) as u32).wrapping_sub(self.desc_blocks() as u32);
            self.reserved_gdt_blocks = more.min(self.block_size / 4);
        }
        let table = u64::from(self.reserved_gdt_blocks) + self.desc_blocks();
        if table > u64::from(self.blocks_per_group) * 3 / 4 {
            self.features.incompat = self.features.incompat.with(Incompat::META_BG);
            self.features.compat = self.features.compat.without(Compat::RESIZE_INODE);
            self.reserved_gdt_blocks = 0;
        }
    }

    fn last_group_rest(&self) -> u64 {
        (self.blocks - u64::from(self.first_data_block)) % u64::from(self.blocks_per_group)
    }

    fn last_group_needs(&self) -> u64 {
        let last = self.groups() - 1;
        let sparse = self.features.ro_compat.contains(RoCompat::SPARSE_SUPER);
        let backup = if self.features.compat.contains(Compat::SPARSE_SUPER2) {
            true
        } else {
            !sparse || last <= 1 || [3, 5, 7].into_iter().any(|base| power_of(last, base))
        };
        let copies = 1 + self.desc_blocks() + u64::from(self.reserved_gdt_blocks);
        2 + self.table_blocks() + if backup { copies } else { 0 }
    }
}

fn power_of(mut number: u64, base: u64) -> bool {
    while number > 1 && number.is_multiple_of(base) {
        number /= base;
    }
    number == 1
}

fn too_small<T>(options: &Options) -> Result<T, Error> {
    refuse(format!(
        "{} bytes are too few for a filesystem with these tables: ask for more, or for fewer inodes",
        options.size
    ))
}

/// mke2fs takes an image's size in whole pages.
fn whole_blocks(size: u64, block_size: u32) -> u64 {
    let block_size = u64::from(block_size);
    size / block_size / (4096 / block_size).max(1) * (4096 / block_size).max(1)
}

fn cluster_size(options: &Options, features: &Features, block_size: u32) -> Result<u32, Error> {
    match (features.bigalloc(), options.cluster_size) {
        (false, None) => Ok(block_size),
        (false, Some(_)) => {
            refuse("a cluster size needs the feature bigalloc: set it as well".to_owned())
        }
        (true, size) => {
            let size = size.unwrap_or(block_size.saturating_mul(16));
            power_within("cluster size", size.into(), block_size.into(), 1 << 29)?;
            Ok(size)
        }
    }
}

fn log_flex(options: &Options, features: &Features) -> Result<u8, Error> {
    match (features.flex_bg(), options.flex_groups) {
        (false, None) => Ok(0),
        (false, Some(_)) => {
            refuse("groups of a flexible group need the feature flex_bg: set it as well".to_owned())
        }
        (true, groups) => {
            let groups = groups.unwrap_or(16);
            power_within("groups of a flexible group", groups.into(), 1, 1 << 16)?;
            Ok(groups.trailing_zeros() as u8)
        }
    }
}

fn inodes(options: &Options, sizes: &Sizes, ratio: u64) -> Result<u64, Error> {
    let bytes = whole_blocks(options.size, sizes.block_size) * u64::from(sizes.block_size);
    let most = u64::from(u32::MAX);
    let inodes = match options.inodes {
        Some(inodes) if inodes > most => {
            return refuse(format!(
                "{inodes} inodes: numbers of inodes have 32 bits, ask for at most {most}"
            ));
        }
        Some(inodes) => inodes,
        None if bytes / ratio > most && !sizes.features.bit64() => {
            return refuse(format!(
                "{} inodes: numbers of inodes have 32 bits; ask for more bytes for each",
                bytes / ratio
            ));
        }
        None => (bytes / ratio).min(most),
    };
    if inodes * u64::from(sizes.inode_size) >= bytes {
        return refuse(format!(
            "{inodes} inodes of {} bytes do not fit {bytes} bytes: ask for fewer, or for more bytes for each",
            sizes.inode_size
        ));
    }
    // The reserved ones, lost+found and one more.
    Ok(inodes.max(12))
}

/// Blocks of the journal that mke2fs makes for a filesystem of this many blocks, `None` when it is too small for one.
pub(super) fn journal_blocks(blocks: u64) -> Option<u32> {
    const K: u64 = 1024;
    Some(match blocks {
        0..2048 => return None,
        2048..0x8000 => 1024,
        _ if blocks < 256 * K => 4096,
        _ if blocks < 512 * K => 8192,
        _ if blocks < 4096 * K => 16384,
        _ if blocks < 8192 * K => 32768,
        _ if blocks < 16384 * K => 65536,
        _ if blocks < 32768 * K => 131_072,
        _ => 262_144,
    })
}

/// Blocks of the orphan file.
pub(super) fn orphan_blocks(blocks: u64) -> u32 {
    match blocks {
        0..0x2_0000 => 32,
        _ if blocks < 2 << 20 => (blocks / 4096) as u32,
        _ => 512,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext4::FsType;

    #[test]
    fn absurd_wishes_are_refused_with_a_way_out() {
        let base = || Options::new(1 << 30, FsType::Ext4);
        let cases: Vec<(&str, Options)> = vec![
            ("no size", Options::new(0, FsType::Ext4)),
            ("tiny", Options::new(100_000, FsType::Ext4)),
            (
                "block size",
                Options {
                    block_size: Some(3000),
                    ..base()
                },
            ),
            (
                "inode size",
                Options {
                    inode_size: Some(8192),
                    ..base()
                },
            ),
            (
                "ratio",
                Options {
                    inode_ratio: Some(1),
                    ..base()
                },
            ),
            (
                "inodes",
                Options {
                    inodes: Some(1 << 33),
                    ..base()
                },
            ),
            (
                "inodes that fill it",
                Options {
                    inodes: Some(1 << 22),
                    ..base()
                },
            ),
            (
                "cluster",
                Options {
                    cluster_size: Some(65536),
                    ..base()
                },
            ),
            (
                "reserved",
                Options {
                    reserved_percent: 51.0,
                    ..base()
                },
            ),
            ("ext3 of 72 TiB", Options::new(72 << 40, FsType::Ext3)),
        ];
        for (what, options) in cases {
            let error = Sizes::of(&options).expect_err(what).to_string();
            assert!(error.len() > 20 && !error.contains('\n'), "{what}: {error}");
        }
    }

    #[test]
    fn the_largest_image_has_no_resize_inode() {
        let sizes = Sizes::of(&Options::new(72 << 40, FsType::Ext4)).unwrap();
        assert!(!sizes.features.resize_inode());
        assert_eq!((sizes.groups(), sizes.inodes_per_group), (589_824, 2048));
    }
}
