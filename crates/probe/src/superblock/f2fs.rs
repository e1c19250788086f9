//! The f2fs superblock (include/linux/f2fs_fs.h, `struct f2fs_super_block`).
//!
//! There are two copies, at 1 KiB in the first block and in the second; the first that has the magic is
//! read, as the kernel does.

use std::io;
use std::os::unix::fs::FileExt;

use fskind::Family;

use super::words::{Words, names, put};
use super::{Facts, Features};
use crate::bytes::{le16, le32, le64, uuid};

const COPIES: [u64; 2] = [1024, 4096 + 1024];
const MAGIC: u32 = 0xf2f5_2010;
/// Up to the features.
const LENGTH: usize = 2184;
/// Label: so many UTF-16 units, at this byte.
const LABEL: (usize, usize) = (124, 512);

// Features by the names of mkfs.f2fs(8).
const FEATURES: &[(u64, &str)] = &[
    (0x1, "encrypt"),
    (0x2, "blkzoned"),
    (0x4, "atomic_write"),
    (0x8, "extra_attr"),
    (0x10, "project_quota"),
    (0x20, "inode_checksum"),
    (0x40, "flexible_inline_xattr"),
    (0x80, "quota"),
    (0x100, "inode_crtime"),
    (0x200, "lost_found"),
    (0x400, "verity"),
    (0x800, "sb_checksum"),
    (0x1000, "casefold"),
    (0x2000, "compression"),
    (0x4000, "ro"),
];

/// An f2fs superblock.
#[derive(Clone, Debug)]
pub struct Superblock {
    bytes: Vec<u8>,
}

impl Superblock {
    /// Reads it from a device or image.
    ///
    /// # Errors
    /// `InvalidData` when there is none; what reading the device failed with.
    pub fn read(device: &impl FileExt) -> io::Result<Superblock> {
        for offset in COPIES {
            let mut bytes = vec![0; LENGTH];
            device.read_exact_at(&mut bytes, offset)?;
            if le32(&bytes, 0) == MAGIC {
                return Ok(Superblock { bytes });
            }
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "no f2fs superblock",
        ))
    }

    fn block_size(&self) -> u64 {
        1_u64.checked_shl(le32(&self.bytes, 16)).unwrap_or_default()
    }

    fn segment_bytes(&self) -> u64 {
        let blocks = 1_u64.checked_shl(le32(&self.bytes, 20)).unwrap_or_default();
        blocks.saturating_mul(self.block_size())
    }

    fn section_bytes(&self) -> u64 {
        let segments = u64::from(le32(&self.bytes, 24));
        segments.saturating_mul(self.segment_bytes())
    }

    fn total_bytes(&self) -> u64 {
        le64(&self.bytes, 36).saturating_mul(self.block_size())
    }

    fn label(&self) -> String {
        let (at, units) = LABEL;
        let units = (0..units).map(|n| le16(&self.bytes, at + 2 * n));
        let units: Vec<u16> = units.take_while(|unit| *unit != 0).collect();
        String::from_utf16_lossy(&units)
    }

    fn features(&self) -> Vec<String> {
        names(u64::from(le32(&self.bytes, 2180)), FEATURES)
    }

    /// The facts that all formats share. A kernel that does not know a feature does not mount it. What
    /// is called a group elsewhere is a section here: what is cleaned at once. Inodes are blocks,
    /// made as they are needed. There is no journal: a checkpoint is written, and what was synced
    /// since is rolled forward.
    pub fn facts(&self) -> Facts {
        Facts {
            uuid: uuid(&self.bytes, 108),
            label: self.label(),
            block_size: self.block_size(),
            bytes: self.total_bytes(),
            sector_size: 1_u64.checked_shl(le32(&self.bytes, 8)),
            inode_size: Some(self.block_size()),
            groups: Some(u64::from(le32(&self.bytes, 44))),
            group_bytes: Some(self.section_bytes()),
            features: Features {
                incompat: self.features(),
                ..Features::default()
            },
            ..Facts::of(Family::F2fs)
        }
    }

    /// Everything a report tells of it.
    pub fn words(&self) -> Words {
        let b = &self.bytes;
        let mut words = Words::new();
        let f = &mut words;
        put(f, "uuid", uuid(b, 108));
        put(f, "label", self.label());
        // The version of the mkfs that made it.
        put(f, "made_by", format!("{}.{}", le16(b, 4), le16(b, 6)));
        put(f, "block_size", self.block_size());
        put(f, "total_bytes", self.total_bytes());
        put(f, "segment_bytes", self.segment_bytes());
        put(f, "section_bytes", self.section_bytes());
        put(f, "sections_per_zone", le32(b, 28));
        put(f, "sections", le32(b, 44));
        for (name, at) in [
            ("segments", 48),
            ("checkpoint_segments", 52),
            ("sit_segments", 56),
            ("nat_segments", 60),
            ("ssa_segments", 64),
            ("main_segments", 68),
        ] {
            put(f, name, le32(b, at));
        }
        put(f, "features", self.features().join(" "));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::tests::made;
    use proptest::prelude::*;

    fn image() -> std::fs::File {
        let options = [
            "-q",
            "-f",
            "-l",
            "lab \u{00e9}",
            "-s",
            "2",
            "-O",
            "extra_attr,inode_checksum,sb_checksum",
            "-U",
            "01234567-89ab-cdef-0123-456789abcdef",
        ];
        made("mkfs.f2fs", &options, 256 << 20)
    }

    #[test]
    fn reads_what_mkfs_f2fs_was_told() {
        let words = Superblock::read(&image()).unwrap().words();
        let expected = [
            ("uuid", "01234567-89ab-cdef-0123-456789abcdef"),
            ("label", "lab \u{00e9}"),
            ("block_size", "4096"),
            ("total_bytes", "268435456"),
            ("segment_bytes", "2097152"),
            ("section_bytes", "4194304"),
            ("checkpoint_segments", "2"),
            ("features", "extra_attr inode_checksum sb_checksum"),
        ];
        for (name, value) in expected {
            assert_eq!(words[name], value, "{name}");
        }
    }

    #[test]
    fn the_second_copy_does_when_the_first_is_gone() {
        let image = image();
        image.write_all_at(&[0; 4096], 0).unwrap();
        let facts = Superblock::read(&image).unwrap().facts();
        assert_eq!((facts.format, facts.bytes), (Family::F2fs, 256 << 20));
        image.write_all_at(&[0; 4096], 4096).unwrap();
        let error = Superblock::read(&image).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    proptest! {
        #[test]
        fn never_panics(mut bytes in proptest::collection::vec(any::<u8>(), LENGTH)) {
            bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
            let sb = Superblock { bytes };
            let _ = (sb.words(), sb.facts());
        }
    }
}
