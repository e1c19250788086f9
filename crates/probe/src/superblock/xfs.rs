//! The XFS superblock (fs/xfs/libxfs/xfs_format.h, `struct xfs_dsb`; all fields big-endian).

use std::io;
use std::os::unix::fs::FileExt;

use fskind::Family;

use super::words::{Words, names, put, put_features};
use super::{Facts, Features, Journal};
use crate::bytes::{be16, be32, be64, text, uuid};

const INCOMPAT: &[(u64, &str)] = &[
    (0x1, "ftype"),
    (0x2, "sparse_inodes"),
    (0x4, "meta_uuid"),
    (0x8, "bigtime"),
    (0x10, "needs_repair"),
    (0x20, "nrext64"),
    (0x40, "exchange_range"),
    (0x80, "parent"),
    (0x100, "metadir"),
    (0x200, "zoned"),
    (0x400, "zone_gaps"),
];
const RO_COMPAT: &[(u64, &str)] = &[
    (0x1, "finobt"),
    (0x2, "rmapbt"),
    (0x4, "reflink"),
    (0x8, "inobtcount"),
];
const FEATURES2: &[(u64, &str)] = &[
    (0x2, "lazy_count"),
    (0x8, "attr2"),
    (0x10, "parent"),
    (0x80, "projid32"),
    (0x100, "crc"),
    (0x200, "ftype"),
];

/// `XFS_SB_VERSION2_LAZYSBCOUNTBIT`, among `sb_features2`.
const LAZY_COUNT: u32 = 0x2;
const LENGTH: usize = 512;

/// An XFS superblock.
#[derive(Clone, Debug)]
pub struct Superblock {
    bytes: [u8; LENGTH],
}

impl Superblock {
    /// Reads it from a device or image.
    ///
    /// # Errors
    /// `InvalidData` when there is none; what reading the device failed with.
    pub fn read(device: &impl FileExt) -> io::Result<Superblock> {
        let mut bytes = [0; LENGTH];
        device.read_exact_at(&mut bytes, 0)?;
        if !bytes.starts_with(b"XFSB") {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "no XFS superblock",
            ));
        }
        Ok(Superblock { bytes })
    }

    fn block_size(&self) -> u64 {
        u64::from(be32(&self.bytes, 4))
    }

    /// Bytes of a field that counts blocks.
    fn in_blocks(&self, at: usize) -> u64 {
        u64::from(be32(&self.bytes, at)).saturating_mul(self.block_size())
    }

    fn version(&self) -> u16 {
        be16(&self.bytes, 100) & 0xF
    }

    fn external_log(&self) -> bool {
        be64(&self.bytes, 48) == 0
    }

    fn features2(&self) -> Vec<String> {
        names(u64::from(be32(&self.bytes, 200)), FEATURES2)
    }

    /// The three compatibility words count from version 5 on; before they are padding.
    fn features(&self) -> Features {
        let set = |at, table: &[(u64, &str)]| match self.version() {
            5.. => names(u64::from(be32(&self.bytes, at)), table),
            _ => Vec::new(),
        };
        Features {
            compat: set(208, &[]),
            ro_compat: set(212, RO_COMPAT),
            incompat: set(216, INCOMPAT),
        }
    }

    /// The facts that all formats share. `sb_features2` is no compatibility word: its features are
    /// listed as compatible.
    pub fn facts(&self) -> Facts {
        let b = &self.bytes;
        let mut features = self.features();
        features.compat.extend(self.features2());
        Facts {
            uuid: uuid(b, 32),
            label: text(b, 108, 12),
            block_size: self.block_size(),
            bytes: be64(b, 8).saturating_mul(self.block_size()),
            sector_size: Some(u64::from(be16(b, 102))),
            inode_size: Some(u64::from(be16(b, 104))),
            inodes: Some(be64(b, 128)),
            groups: Some(u64::from(be32(b, 88))),
            group_bytes: Some(self.in_blocks(84)),
            features,
            journal: Some(Journal {
                bytes: Some(self.in_blocks(96)),
                external: self.external_log(),
                stripe_unit: Some(u64::from(be32(b, 196))),
                lazy_count: Some(be32(b, 200) & LAZY_COUNT != 0),
                fast_commit: None,
            }),
            stripe_unit: Some(self.in_blocks(184)),
            stripe_width: Some(self.in_blocks(188)),
            ..Facts::of(Family::Xfs)
        }
    }

    /// Everything a report tells of it.
    pub fn words(&self) -> Words {
        let b = &self.bytes;
        let block = self.block_size();
        let mut words = Words::new();
        let f = &mut words;
        put(f, "uuid", uuid(b, 32));
        put(f, "label", text(b, 108, 12));
        put(f, "version", self.version());
        put(f, "block_size", block);
        put(f, "sector_size", be16(b, 102));
        put(f, "blocks", be64(b, 8));
        put(f, "inode_size", be16(b, 104));
        put(f, "agcount", be32(b, 88));
        put(f, "agblocks", be32(b, 84));
        put(f, "imax_percent", b[127]);
        put(f, "inodes", be64(b, 128));
        put(f, "inodes_free", be64(b, 136));
        put(f, "blocks_free", be64(b, 144));
        put(f, "sunit_blocks", be32(b, 184));
        put(f, "swidth_blocks", be32(b, 188));
        let directory = b[192].min(16);
        put(f, "directory_block_size", block << directory);
        put(
            f,
            "log",
            if self.external_log() {
                "external"
            } else {
                "internal"
            },
        );
        put(f, "log_blocks", be32(b, 96));
        put(f, "log_bytes", self.in_blocks(96));
        put(f, "log_sunit_bytes", be32(b, 196));
        put(f, "features2", self.features2().join(" "));
        put_features(f, &self.features());
        words
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
        let words = Superblock::read(&image).unwrap().words();
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
            assert_eq!(words[name], value, "{name}");
        }
        let has = |set: &str, name: &str| words[set].split(' ').any(|f| f == name);
        assert!(has("features_ro_compat", "finobt"));
        assert!(!has("features_ro_compat", "reflink"));
        assert!(has("features_incompat", "ftype"));
        assert!(has("features2", "crc"));
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), LENGTH)) {
            let mut sb = Superblock { bytes: [0; LENGTH] };
            sb.bytes.copy_from_slice(&bytes);
            let _ = (sb.words(), sb.facts());
        }
    }
}
