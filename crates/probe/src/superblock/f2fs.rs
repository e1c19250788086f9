//! What is recorded of an f2fs superblock. Of its two copies the first with the magic number is read,
//! as in the kernel.

use std::io;
use std::os::unix::fs::FileExt;

use fskind::Family;
use ondisk::f2fs;
use ondisk::f2fs::superblock::{FEATURES, OFFSETS, SIZE};
use ondisk::flags::names;

use super::fields::{Fields, put};
use super::{Facts, Features, absent};

/// An f2fs superblock.
#[derive(Clone, Debug)]
pub struct Superblock(Box<f2fs::Superblock>);

impl Superblock {
    /// Reads it from a device or image.
    ///
    /// # Errors
    /// `InvalidData` when there is none; what reading the device failed with.
    pub fn read(device: &impl FileExt) -> io::Result<Superblock> {
        for offset in OFFSETS {
            let mut bytes = [0; SIZE];
            device.read_exact_at(&mut bytes, offset)?;
            if let Ok(found) = f2fs::Superblock::read(&bytes) {
                return Ok(Superblock(Box::new(*found)));
            }
        }
        Err(absent(Family::F2fs))
    }

    fn features(&self) -> Vec<String> {
        names(self.0.feature.get().into(), FEATURES)
    }

    /// The facts that all formats share. A kernel does not mount it when it lacks a feature. A group
    /// is a section here: the unit of cleaning. Inodes are blocks, made as they are needed. There is
    /// no journal: a checkpoint is written, and what was synced since is rolled forward.
    pub fn facts(&self) -> Facts {
        let sb = &self.0;
        Facts {
            uuid: sb.uuid(),
            label: sb.label(),
            block_size: sb.block_size(),
            bytes: sb.bytes(),
            sector_size: sb.sector_size(),
            inode_size: Some(sb.block_size()),
            groups: Some(sb.section_count.get().into()),
            group_bytes: Some(sb.section_bytes()),
            features: Features {
                incompat: self.features(),
                ..Features::default()
            },
            ..Facts::of(Family::F2fs)
        }
    }

    /// All fields that a report prints.
    pub fn fields(&self) -> Fields {
        let sb = &self.0;
        let mut fields = Fields::new();
        let f = &mut fields;
        put(f, "uuid", sb.uuid());
        put(f, "label", sb.label());
        // The version of the mkfs that made it.
        put(f, "made_by", format!("{}.{}", sb.major_ver, sb.minor_ver));
        put(f, "block_size", sb.block_size());
        put(f, "total_bytes", sb.bytes());
        put(f, "segment_bytes", sb.segment_bytes());
        put(f, "section_bytes", sb.section_bytes());
        put(f, "sections_per_zone", sb.secs_per_zone);
        put(f, "sections", sb.section_count);
        put(f, "segments", sb.segment_count);
        put(f, "checkpoint_segments", sb.segment_count_ckpt);
        put(f, "sit_segments", sb.segment_count_sit);
        put(f, "nat_segments", sb.segment_count_nat);
        put(f, "ssa_segments", sb.segment_count_ssa);
        put(f, "main_segments", sb.segment_count_main);
        put(f, "features", self.features().join(" "));
        fields
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
        let fields = Superblock::read(&image()).unwrap().fields();
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
            assert_eq!(fields[name], value, "{name}");
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
        fn never_panics(mut bytes in proptest::collection::vec(any::<u8>(), SIZE)) {
            bytes[..4].copy_from_slice(&[0x10, 0x20, 0xf5, 0xf2]);
            let sb = Superblock(Box::new(*f2fs::Superblock::read(&bytes).unwrap()));
            let _ = (sb.fields(), sb.facts());
        }
    }
}
