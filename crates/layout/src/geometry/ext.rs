//! The division of ext2, ext3 and ext4 (kernel documentation, filesystems/ext4: "Super Block",
//! "Block Groups", "Flexible Block Groups", "Sparse Super").
//!
//! Where metadata lies is computed as mke2fs lays it out, not read from the descriptors: of a
//! filesystem of 2010 there is nothing but what mke2fs printed. A filesystem that was resized or
//! made with `-E packed_meta_blocks` differs, and a gap there is called unknown, or is named by
//! GETFSMAP.

use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use probe::bytes::{le16, le32};

use crate::gaps::Cause;

const COMPAT_SPARSE_SUPER2: u32 = 0x200;
const INCOMPAT_META_BG: u32 = 0x10;
const INCOMPAT_64BIT: u32 = 0x80;
const INCOMPAT_FLEX_BG: u32 = 0x200;
const RO_COMPAT_SPARSE_SUPER: u32 = 0x1;

/// Which groups have a copy of the superblock and the group descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backups {
    /// Every group.
    All,
    /// 0, 1 and the powers of 3, 5 and 7 (`sparse_super`).
    Sparse,
    /// 0 and these two (`sparse_super2`).
    Two([u32; 2]),
}

/// The geometry of ext2, ext3 or ext4. Lengths are blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ext {
    /// Bytes of a block.
    pub block_size: u64,
    /// Blocks of the filesystem.
    pub blocks: u64,
    /// Where group 0 begins: 1 with blocks of 1 KiB, else 0.
    pub first_data_block: u64,
    /// Blocks of a group.
    pub blocks_per_group: u64,
    /// Inodes of a group.
    pub inodes_per_group: u64,
    /// Bytes of an inode.
    pub inode_size: u64,
    /// Groups whose bitmaps and inode tables lie together; 1 without flex_bg.
    pub flex_groups: u64,
    /// Which groups have copies of the superblock.
    pub backups: Backups,
    /// Blocks of group descriptors, with those reserved for growth, behind each copy.
    pub descriptor_blocks: u64,
    /// Where the journal lies, where its inode has it in extents.
    pub journal: Vec<Range<u64>>,
    /// RAID stride; 0: not set.
    pub stride: u64,
    /// RAID stripe width; 0: not set.
    pub stripe_width: u64,
}

impl Ext {
    /// Reads it from a device or image.
    ///
    /// # Errors
    /// `InvalidData` when there is no superblock; what reading failed with.
    pub fn read(device: &impl FileExt) -> io::Result<Ext> {
        let mut bytes = [0; 1024];
        device.read_exact_at(&mut bytes, 1024)?;
        Ext::parse(&bytes)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no ext superblock"))
    }

    /// Of a superblock's 1,024 bytes; `None` when they are not one.
    pub fn parse(bytes: &[u8]) -> Option<Ext> {
        let word = |at| u64::from(le32(bytes, at));
        let incompat = le32(bytes, 0x60);
        let log_block = le32(bytes, 0x18);
        if bytes.len() < 1024
            || le16(bytes, 0x38) != 0xEF53
            || log_block > 6
            || word(0x20) == 0
            || word(0x28) == 0
        {
            return None;
        }
        let high = if incompat & INCOMPAT_64BIT != 0 {
            word(0x150)
        } else {
            0
        };
        let inode_size = if le32(bytes, 0x4C) == 0 {
            128
        } else {
            u64::from(le16(bytes, 0x58))
        };
        let flex = incompat & INCOMPAT_FLEX_BG != 0;
        let mut ext = Ext {
            block_size: 1024 << log_block,
            blocks: word(0x4) | high << 32,
            first_data_block: word(0x14),
            blocks_per_group: word(0x20),
            inodes_per_group: word(0x28),
            inode_size,
            flex_groups: if flex { 1 << bytes[0x174].min(31) } else { 1 },
            backups: backups(bytes),
            descriptor_blocks: 0,
            journal: journal(bytes),
            stride: u64::from(le16(bytes, 0x164)),
            stripe_width: word(0x170),
        };
        ext.descriptor_blocks = ext.descriptors(bytes) + u64::from(le16(bytes, 0xCE));
        Some(ext)
    }

    /// Blocks of group descriptors behind each copy of the superblock.
    fn descriptors(&self, bytes: &[u8]) -> u64 {
        let incompat = le32(bytes, 0x60);
        let size = match le16(bytes, 0xFE) {
            size @ 32..=1024 if incompat & INCOMPAT_64BIT != 0 => u64::from(size),
            _ => 32,
        };
        let all = self.groups().saturating_mul(size).div_ceil(self.block_size);
        // With meta_bg, those from `first_meta_bg` on lie in the groups that they describe.
        if incompat & INCOMPAT_META_BG != 0 {
            all.min(u64::from(le32(bytes, 0x104)))
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
    pub fn group_of(&self, block: u64) -> u64 {
        block.saturating_sub(self.first_data_block) / self.blocks_per_group
    }

    /// The first block of a group.
    pub fn group_start(&self, group: u64) -> u64 {
        group
            .saturating_mul(self.blocks_per_group)
            .saturating_add(self.first_data_block)
    }

    /// Whether a group has a copy of the superblock (fs/ext4/balloc.c, `ext4_bg_has_super`).
    pub fn has_backup(&self, group: u64) -> bool {
        let power = |base: u64| {
            let mut value = base;
            while value < group {
                value = value.saturating_mul(base);
            }
            value == group
        };
        match self.backups {
            Backups::All => true,
            Backups::Sparse => group <= 1 || power(3) || power(5) || power(7),
            Backups::Two(groups) => group == 0 || groups.map(u64::from).contains(&group),
        }
    }

    /// Metadata at a block: what it is and the first block after it.
    pub(crate) fn metadata_at(&self, block: u64) -> Option<(Cause, u64)> {
        if let Some(range) = self.journal.iter().find(|range| range.contains(&block)) {
            return Some((Cause::Journal, range.end));
        }
        let group = self.group_of(block);
        let start = self.group_start(group);
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

fn backups(bytes: &[u8]) -> Backups {
    if le32(bytes, 0x5C) & COMPAT_SPARSE_SUPER2 != 0 {
        Backups::Two([le32(bytes, 0x24C), le32(bytes, 0x250)])
    } else if le32(bytes, 0x64) & RO_COMPAT_SPARSE_SUPER != 0 {
        Backups::Sparse
    } else {
        Backups::All
    }
}

/// The journal's extents, from the superblock's copy of its inode's map (`s_jnl_blocks`), where
/// they all stand in the inode itself.
fn journal(bytes: &[u8]) -> Vec<Range<u64>> {
    const MAP: usize = 0x10C;
    let is_copy = bytes.get(0xFD) == Some(&1);
    let entries = usize::from(le16(bytes, MAP + 2)).min(4);
    if !is_copy || le16(bytes, MAP) != 0xF30A || le16(bytes, MAP + 6) != 0 {
        return Vec::new();
    }
    let extent = |index| {
        let at = MAP + 12 * (index + 1);
        let start = u64::from(le32(bytes, at + 8)) | u64::from(le16(bytes, at + 6)) << 32;
        start..start + u64::from(le16(bytes, at + 4))
    };
    (0..entries).map(extent).collect()
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
            .map(|group| ext.group_start(group))
            .collect();
        assert_eq!(ours, printed);
    }

    #[test]
    fn metadata_begins_at_the_starts_of_groups() {
        let ext = piszcz();
        assert_eq!(
            ext.metadata_at(98304),
            Some((Cause::BackupSuperblock, 98304 + 1 + 1345))
        );
        assert_eq!(ext.metadata_at(98304 + 1346), None);
        assert_eq!(ext.metadata_at(131_072), None);
        // Sixteen groups' bitmaps and inode tables of 512 blocks.
        assert_eq!(
            ext.metadata_at(524_288),
            Some((Cause::FlexMetadata, 524_288 + 16 * 514))
        );
        let ext3 = Ext {
            flex_groups: 1,
            ..ext
        };
        assert_eq!(
            ext3.metadata_at(131_072),
            Some((Cause::GroupMetadata, 131_072 + 514))
        );
    }

    #[test]
    fn other_rules_for_backups() {
        let all = Ext {
            backups: Backups::All,
            ..piszcz()
        };
        let two = Ext {
            backups: Backups::Two([1, 40_986]),
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
                let _ = (ext.groups(), ext.group_of(block));
                let _ = ext.metadata_at(block % (1 << 48));
            }
            let _ = Ext::parse(&bytes[..200]);
        }
    }
}
