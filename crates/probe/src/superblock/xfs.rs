//! What is recorded of an XFS superblock.

use std::io;
use std::os::unix::fs::FileExt;

use fskind::Family;
use ondisk::flags::names;
use ondisk::xfs;
use ondisk::xfs::superblock::{FEATURES2, INCOMPAT, RO_COMPAT, SIZE};

use super::fields::{Fields, put, put_features};
use super::{Facts, Features, Journal, absent};

/// An XFS superblock.
#[derive(Clone, Debug)]
pub struct Superblock(xfs::Superblock);

impl Superblock {
    /// Reads it from a device or image.
    ///
    /// # Errors
    /// `InvalidData` when there is none; what reading the device failed with.
    pub fn read(device: &impl FileExt) -> io::Result<Superblock> {
        let mut bytes = [0; SIZE];
        device.read_exact_at(&mut bytes, 0)?;
        let found = xfs::Superblock::read(&bytes);
        found
            .map(|sb| Superblock(*sb))
            .map_err(|_| absent(Family::Xfs))
    }

    fn features2(&self) -> Vec<String> {
        names(self.0.sb_features2.get().into(), FEATURES2)
    }

    /// The three compatibility words count from version 5 on; before they are padding.
    fn features(&self) -> Features {
        let sb = &self.0;
        if sb.version() < 5 {
            return Features::default();
        }
        Features {
            compat: names(sb.sb_features_compat.get().into(), &[]),
            ro_compat: names(sb.sb_features_ro_compat.get().into(), RO_COMPAT),
            incompat: names(sb.sb_features_incompat.get().into(), INCOMPAT),
        }
    }

    /// The facts that all formats share. `sb_features2` is no compatibility word: its features are
    /// listed as compatible.
    pub fn facts(&self) -> Facts {
        let sb = &self.0;
        let mut features = self.features();
        features.compat.extend(self.features2());
        Facts {
            uuid: sb.uuid(),
            label: sb.label(),
            block_size: sb.block_size(),
            bytes: sb.bytes(),
            sector_size: Some(sb.sb_sectsize.get().into()),
            inode_size: Some(sb.sb_inodesize.get().into()),
            inodes: Some(sb.sb_icount.get()),
            groups: Some(sb.sb_agcount.get().into()),
            group_bytes: Some(sb.in_bytes(sb.sb_agblocks)),
            features,
            journal: Some(Journal {
                bytes: Some(sb.in_bytes(sb.sb_logblocks)),
                external: sb.log_is_external(),
                stripe_unit: Some(sb.sb_logsunit.get().into()),
                lazy_count: Some(sb.lazy_count()),
                fast_commit: None,
            }),
            stripe_unit: Some(sb.in_bytes(sb.sb_unit)),
            stripe_width: Some(sb.in_bytes(sb.sb_width)),
            ..Facts::of(Family::Xfs)
        }
    }

    /// All fields that a report prints.
    pub fn fields(&self) -> Fields {
        let sb = &self.0;
        let mut fields = Fields::new();
        let f = &mut fields;
        put(f, "uuid", sb.uuid());
        put(f, "label", sb.label());
        put(f, "version", sb.version());
        put(f, "block_size", sb.block_size());
        put(f, "sector_size", sb.sb_sectsize);
        put(f, "blocks", sb.sb_dblocks);
        put(f, "inode_size", sb.sb_inodesize);
        put(f, "agcount", sb.sb_agcount);
        put(f, "agblocks", sb.sb_agblocks);
        put(f, "imax_percent", sb.sb_imax_pct);
        put(f, "inodes", sb.sb_icount);
        put(f, "inodes_free", sb.sb_ifree);
        put(f, "blocks_free", sb.sb_fdblocks);
        put(f, "sunit_blocks", sb.sb_unit);
        put(f, "swidth_blocks", sb.sb_width);
        put(f, "directory_block_size", sb.directory_block_size());
        let place = if sb.log_is_external() {
            "external"
        } else {
            "internal"
        };
        put(f, "log", place);
        put(f, "log_blocks", sb.sb_logblocks);
        put(f, "log_bytes", sb.in_bytes(sb.sb_logblocks));
        put(f, "log_sunit_bytes", sb.sb_logsunit);
        put(f, "features2", self.features2().join(" "));
        put_features(f, &self.features());
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::tests::made;
    use proptest::prelude::*;

    #[test]
    fn reads_what_mkfs_xfs_was_told() {
        let options = [
            "-q",
            "-f",
            "-L",
            "lab",
            "-m",
            "uuid=01234567-89ab-cdef-0123-456789abcdef,reflink=0,finobt=1",
            "-d",
            "agcount=4",
            "-i",
            "size=1024",
            "-l",
            "size=64m",
        ];
        let image = made("mkfs.xfs", &options, 1 << 30);
        let fields = Superblock::read(&image).unwrap().fields();
        let expected = [
            ("uuid", "01234567-89ab-cdef-0123-456789abcdef"),
            ("label", "lab"),
            ("version", "5"),
            ("block_size", "4096"),
            ("blocks", "262144"),
            ("agcount", "4"),
            ("agblocks", "65536"),
            ("inode_size", "1024"),
            ("log", "internal"),
            ("log_bytes", "67108864"),
            ("directory_block_size", "4096"),
        ];
        for (name, value) in expected {
            assert_eq!(fields[name], value, "{name}");
        }
        let has = |set: &str, name: &str| fields[set].split(' ').any(|f| f == name);
        assert!(has("features_ro_compat", "finobt"));
        assert!(!has("features_ro_compat", "reflink"));
        assert!(has("features_incompat", "ftype"));
        assert!(has("features2", "crc"));
    }

    proptest! {
        #[test]
        fn never_panics(mut bytes in proptest::collection::vec(any::<u8>(), SIZE)) {
            bytes[..4].copy_from_slice(b"XFSB");
            let sb = Superblock(*xfs::Superblock::read(&bytes).unwrap());
            let _ = (sb.fields(), sb.facts());
        }
    }
}
