//! The division of ext2, ext3 and ext4 (kernel documentation, filesystems/ext4: "Super Block",
//! "Block Groups", "Flexible Block Groups", "Sparse Super").
//!
//! The places of metadata are computed as mke2fs lays them out, not read from the descriptors: of a
//! filesystem of 2010 only the output of mke2fs is left. A filesystem that was resized or made with
//! `-E packed_meta_blocks` differs; there the cause of a gap is unknown, or comes from GETFSMAP.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use ondisk::ext4::extent::Node;
use ondisk::ext4::feature::Incompat;
use ondisk::ext4::geometry::Backups;
use ondisk::ext4::{Superblock, superblock};
use zerocopy::IntoBytes;

use super::{Geometry, Stripe, device, stripe_of};
use crate::cause::Cause;

/// The geometry of ext2, ext3 or ext4. Lengths are blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ext {
    /// Bytes of a block.
    pub block_size: u64,
    /// Blocks of the filesystem.
    pub blocks: u64,
    /// First block of group 0: 1 with blocks of 1 KiB, else 0.
    pub first_data_block: u64,
    /// Blocks of a group.
    pub blocks_per_group: u64,
    /// Inodes of a group.
    pub inodes_per_group: u64,
    /// Bytes of an inode.
    pub inode_size: u64,
    /// Groups whose bitmaps and inode tables are together; 1 without flex_bg.
    pub flex_groups: u64,
    /// Which groups have copies of the superblock.
    pub backups: Backups,
    /// Blocks of group descriptors, with those reserved for growth, after each copy of the superblock.
    pub descriptor_blocks: u64,
    /// Blocks of the journal, where its inode maps it by extents.
    pub journal: Vec<Range<u64>>,
    /// RAID stride; 0: not set.
    pub stride: u64,
    /// RAID stripe width; 0: not set.
    pub stripe_width: u64,
}

impl Ext {
    /// Of the filesystem that an open file is on. Needs the right to read its device.
    ///
    /// # Errors
    /// When the device cannot be found or read, or has no ext superblock.
    pub fn of(file: &File) -> io::Result<Ext> {
        let device = device(file).ok_or(io::ErrorKind::NotFound)?;
        // Through the device's page cache, where a mounted ext4 keeps its metadata. It must not be
        // dropped afterwards: that would make the filesystem cold.
        Ext::read(&File::open(device)?)
    }

    /// Reads it from a device or image.
    ///
    /// # Errors
    /// `InvalidData` when there is no superblock; what reading failed with.
    pub fn read(device: &impl FileExt) -> io::Result<Ext> {
        let mut bytes = [0; superblock::SIZE];
        device.read_exact_at(&mut bytes, superblock::OFFSET)?;
        Ext::parse(&bytes)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no ext superblock"))
    }

    /// Of a superblock's 1,024 bytes; `None` when they are not one.
    pub fn parse(bytes: &[u8]) -> Option<Ext> {
        let sb = Superblock::read(bytes).ok()?;
        let log_block = sb.s_log_block_size.get();
        let blocks_per_group = u64::from(sb.s_blocks_per_group.get());
        let inodes_per_group = u64::from(sb.s_inodes_per_group.get());
        if log_block > 6 || blocks_per_group == 0 || inodes_per_group == 0 {
            return None;
        }
        let mut ext = Ext {
            block_size: 1024 << log_block,
            blocks: sb.blocks_count(),
            first_data_block: sb.s_first_data_block.get().into(),
            blocks_per_group,
            inodes_per_group,
            inode_size: sb.inode_size().into(),
            flex_groups: 1,
            backups: Backups::of(sb),
            descriptor_blocks: 0,
            journal: journal(sb),
            stride: sb.s_raid_stride.get().into(),
            stripe_width: sb.s_raid_stripe_width.get().into(),
        };
        if sb.has_incompat(Incompat::FLEX_BG) {
            ext.flex_groups = 1 << sb.s_log_groups_per_flex.min(31);
        }
        ext.descriptor_blocks = ext.descriptors(sb) + u64::from(sb.s_reserved_gdt_blocks.get());
        Some(ext)
    }

    /// Blocks of group descriptors after each copy of the superblock.
    fn descriptors(&self, sb: &Superblock) -> u64 {
        let size = match sb.desc_size() {
            size @ 32..=1024 => u64::from(size),
            _ => 32,
        };
        let all = self.groups().saturating_mul(size).div_ceil(self.block_size);
        // With meta_bg, those from `first_meta_bg` on are in the groups that they describe.
        if sb.has_incompat(Incompat::META_BG) {
            all.min(sb.s_first_meta_bg.get().into())
        } else {
            all
        }
    }

    /// Number of groups.
    pub fn groups(&self) -> u64 {
        self.blocks
            .saturating_sub(self.first_data_block)
            .div_ceil(self.blocks_per_group)
    }

    /// The group of a block.
    pub fn group_of_block(&self, block: u64) -> u64 {
        block.saturating_sub(self.first_data_block) / self.blocks_per_group
    }

    /// The first block of a group.
    pub fn group_first_block(&self, group: u64) -> u64 {
        group
            .saturating_mul(self.blocks_per_group)
            .saturating_add(self.first_data_block)
    }

    /// Whether a group has a copy of the superblock.
    pub fn has_backup(&self, group: u64) -> bool {
        u32::try_from(group).is_ok_and(|group| self.backups.has_super(group))
    }

    /// Metadata at a block: what it is and the first block after it.
    fn metadata_at_block(&self, block: u64) -> Option<(Cause, u64)> {
        if let Some(range) = self.journal.iter().find(|range| range.contains(&block)) {
            return Some((Cause::Journal, range.end));
        }
        let group = self.group_of_block(block);
        let start = self.group_first_block(group);
        let copies = if self.has_backup(group) {
            1 + self.descriptor_blocks
        } else {
            0
        };
        let copies_end = start + copies;
        if (start..copies_end).contains(&block) {
            return Some((Cause::BackupSuperblock, copies_end));
        }
        if !group.is_multiple_of(self.flex_groups) {
            return None;
        }
        let table = (self.inodes_per_group * self.inode_size).div_ceil(self.block_size);
        let groups = self.flex_groups.min(self.groups().saturating_sub(group));
        let end = copies_end + groups * (2 + table);
        let cause = if self.flex_groups > 1 {
            Cause::FlexMetadata
        } else {
            Cause::GroupMetadata
        };
        (copies_end..end).contains(&block).then_some((cause, end))
    }
}

/// The journal's extents, from the superblock's copy of its inode's map (`s_jnl_blocks`), where
/// they are all in the inode itself.
fn journal(sb: &Superblock) -> Vec<Range<u64>> {
    if sb.s_jnl_backup_type != 1 {
        return Vec::new();
    }
    let map: Vec<u8> = sb.s_jnl_blocks[..15].as_bytes().to_vec();
    match Node::read(&map) {
        Ok(node) if node.header().eh_depth.get() == 0 => node
            .extents()
            .map(|extent| extent.start..extent.start + u64::from(extent.len))
            .collect(),
        _ => Vec::new(),
    }
}

impl Geometry for Ext {
    fn block_size(&self) -> u64 {
        self.block_size
    }

    fn group_name(&self) -> &'static str {
        "group"
    }

    fn groups(&self) -> u64 {
        Ext::groups(self)
    }

    fn group_of(&self, physical: u64) -> u64 {
        self.group_of_block(physical / self.block_size)
    }

    fn group_start(&self, group: u64) -> u64 {
        self.group_first_block(group)
            .saturating_mul(self.block_size)
    }

    fn group_of_inode(&self, inode: u64) -> u64 {
        inode.saturating_sub(1) / self.inodes_per_group
    }

    fn stripe(&self) -> Option<Stripe> {
        stripe_of(self.stride, self.stripe_width, self.block_size)
    }

    fn metadata_at(&self, physical: u64) -> Option<(Cause, Range<u64>)> {
        let (cause, end) = self.metadata_at_block(physical / self.block_size)?;
        Some((cause, physical..end.saturating_mul(self.block_size)))
    }

    /// A flex group: no extent of ext4 crosses it.
    fn defrag_unit(&self) -> Option<u64> {
        let blocks = self
            .blocks_per_group
            .saturating_mul(self.flex_groups)
            .max(1);
        Some(blocks.saturating_mul(self.block_size))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The array of Piszcz's mail of 2010, as `mkfs.ext4 /dev/md0` printed it: 1,343,055,824 blocks
    /// of 4 KiB in 40,987 groups. `s_reserved_gdt_blocks` is as large as it can be, 1,024.
    pub(crate) fn piszcz() -> Ext {
        Ext {
            block_size: 4096,
            blocks: 1_343_055_824,
            first_data_block: 0,
            blocks_per_group: 32768,
            inodes_per_group: 8192,
            inode_size: 256,
            flex_groups: 16,
            backups: Backups::Sparse,
            descriptor_blocks: 40_987_u64.div_ceil(128) + 1024,
            journal: Vec::new(),
            stride: 0,
            stripe_width: 0,
        }
    }

    #[test]
    fn backups_are_where_mke2fs_of_2010_said() {
        let ext = piszcz();
        assert_eq!(ext.groups(), 40_987);
        let printed = [
            32768,
            98304,
            163_840,
            229_376,
            294_912,
            819_200,
            884_736,
            1_605_632,
            2_654_208,
            4_096_000,
            7_962_624,
            11_239_424,
            20_480_000,
            23_887_872,
            71_663_616,
            78_675_968,
            102_400_000,
            214_990_848,
            512_000_000,
            550_731_776,
            644_972_544,
        ];
        let ours: Vec<u64> = (1..ext.groups())
            .filter(|&group| ext.has_backup(group))
            .map(|group| ext.group_first_block(group))
            .collect();
        assert_eq!(ours, printed);
    }

    #[test]
    fn metadata_begins_at_the_starts_of_groups() {
        let ext = piszcz();
        assert_eq!(
            ext.metadata_at_block(98304),
            Some((Cause::BackupSuperblock, 98304 + 1 + 1345))
        );
        assert_eq!(ext.metadata_at_block(98304 + 1346), None);
        assert_eq!(ext.metadata_at_block(131_072), None);
        // Sixteen groups' bitmaps and inode tables of 512 blocks.
        assert_eq!(
            ext.metadata_at_block(524_288),
            Some((Cause::FlexMetadata, 524_288 + 16 * 514))
        );
        let ext3 = Ext {
            flex_groups: 1,
            ..ext
        };
        assert_eq!(
            ext3.metadata_at_block(131_072),
            Some((Cause::GroupMetadata, 131_072 + 514))
        );
    }

    #[test]
    fn other_rules_for_backups() {
        let all = Ext {
            backups: Backups::Every,
            ..piszcz()
        };
        let two = Ext {
            backups: Backups::Listed([1, 40_986]),
            ..piszcz()
        };
        assert!(all.has_backup(2) && all.has_backup(6));
        assert!(two.has_backup(0) && two.has_backup(40_986) && !two.has_backup(3));
    }

    #[test]
    fn the_real_mke2fs() {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(300 << 20).unwrap();
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        let output = std::process::Command::new("mke2fs")
            .env("PATH", path)
            .args([
                "-q", "-F", "-t", "ext4", "-b", "1024", "-g", "8192", "-J", "size=4",
            ])
            .args(["-E", "stride=16,stripe_width=64", "-I", "256"])
            .arg(image.path())
            .output()
            .expect("mke2fs (install e2fsprogs)");
        assert!(output.status.success(), "{output:?}");
        let ext = Ext::read(image.as_file()).unwrap();
        assert_eq!((ext.block_size, ext.first_data_block), (1024, 1));
        assert_eq!((ext.blocks, ext.groups()), (307_200, 38));
        assert_eq!((ext.flex_groups, ext.backups), (16, Backups::Sparse));
        assert_eq!((ext.stride, ext.stripe_width), (16, 64));
        let journal: u64 = ext
            .journal
            .iter()
            .map(|range| range.end - range.start)
            .sum();
        assert_eq!(journal, 4096);
    }

    proptest::proptest! {
        #[test]
        fn garbage_never_panics(mut bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 1024), block in proptest::prelude::any::<u64>()) {
            bytes[0x38] = 0x53;
            bytes[0x39] = 0xef;
            bytes[0x18..0x1c].copy_from_slice(&[2, 0, 0, 0]);
            if let Some(ext) = Ext::parse(&bytes) {
                let _ = (ext.groups(), ext.group_of_block(block));
                let _ = ext.metadata_at_block(block % (1 << 48));
            }
            let _ = Ext::parse(&bytes[..200]);
        }
    }
}
