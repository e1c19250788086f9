//! The btrfs superblock (include/uapi/linux/btrfs_tree.h, `struct btrfs_super_block`).

use std::io;
use std::os::unix::fs::FileExt;

use super::words::{Words, names, put};
use super::{Facts, Features};
use crate::bytes::{le16, le32, le64, text, uuid};

/// The first copy lies at 64 KiB.
const OFFSET: u64 = 64 << 10;

const INCOMPAT: &[(u64, &str)] = &[
    (0x1, "mixed_backref"),
    (0x2, "default_subvol"),
    (0x4, "mixed_groups"),
    (0x8, "compress_lzo"),
    (0x10, "compress_zstd"),
    (0x20, "big_metadata"),
    (0x40, "extended_iref"),
    (0x80, "raid56"),
    (0x100, "skinny_metadata"),
    (0x200, "no_holes"),
    (0x400, "metadata_uuid"),
    (0x800, "raid1c34"),
    (0x1000, "zoned"),
    (0x2000, "extent_tree_v2"),
    (0x4000, "raid_stripe_tree"),
    (0x10000, "simple_quota"),
];
const RO_COMPAT: &[(u64, &str)] = &[
    (0x1, "free_space_tree"),
    (0x2, "free_space_tree_valid"),
    (0x4, "verity"),
    (0x8, "block_group_tree"),
];

const LENGTH: usize = 4096;

/// A btrfs superblock.
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
        let mut bytes = vec![0; LENGTH];
        device.read_exact_at(&mut bytes, OFFSET)?;
        if bytes.get(64..72) != Some(b"_BHRfS_M".as_slice()) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "no btrfs superblock",
            ));
        }
        Ok(Superblock { bytes })
    }

    fn features(&self) -> Features {
        let set = |at, table| names(le64(&self.bytes, at), table);
        Features {
            compat: set(172, &[]),
            ro_compat: set(180, RO_COMPAT),
            incompat: set(188, INCOMPAT),
        }
    }

    /// The facts that all formats share.
    pub fn facts(&self) -> Facts {
        let b = &self.bytes;
        Facts {
            format: "btrfs",
            uuid: uuid(b, 32),
            label: text(b, 299, 256),
            block_size: u64::from(le32(b, 144)),
            bytes: le64(b, 112),
            node_size: Some(u64::from(le32(b, 148))),
            features: self.features(),
            ..Facts::default()
        }
    }

    /// Everything a report tells of it.
    pub fn words(&self) -> Words {
        let b = &self.bytes;
        let mut words = Words::new();
        let f = &mut words;
        put(f, "uuid", uuid(b, 32));
        put(f, "label", text(b, 299, 256));
        put(f, "generation", le64(b, 72));
        put(f, "total_bytes", le64(b, 112));
        put(f, "bytes_used", le64(b, 120));
        put(f, "devices", le64(b, 136));
        put(f, "sector_size", le32(b, 144));
        // What a report calls block size is what data is counted in.
        put(f, "block_size", le32(b, 144));
        put(f, "node_size", le32(b, 148));
        let checksum = match le16(b, 196) {
            0 => "crc32c".to_string(),
            1 => "xxhash64".into(),
            2 => "sha256".into(),
            3 => "blake2b".into(),
            other => format!("unknown {other}"),
        };
        put(f, "checksum", checksum);
        let features = self.features();
        put(f, "features_compat", features.compat.join(" "));
        put(f, "features_ro_compat", features.ro_compat.join(" "));
        put(f, "features_incompat", features.incompat.join(" "));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::tests::made;
    use proptest::prelude::*;

    #[test]
    fn reads_what_mkfs_btrfs_was_told() {
        let options = [
            "-q",
            "-f",
            "-L",
            "lab",
            "-n",
            "32k",
            "-s",
            "4096",
            "--csum",
            "xxhash",
            "-U",
            "01234567-89ab-cdef-0123-456789abcdef",
        ];
        let image = made("mkfs.btrfs", &options, 256 << 20);
        let words = Superblock::read(&image).unwrap().words();
        let expected = [
            ("uuid", "01234567-89ab-cdef-0123-456789abcdef"),
            ("label", "lab"),
            ("total_bytes", "268435456"),
            ("devices", "1"),
            ("sector_size", "4096"),
            ("node_size", "32768"),
            ("checksum", "xxhash64"),
        ];
        for (name, value) in expected {
            assert_eq!(words[name], value, "{name}");
        }
        assert!(
            words["features_incompat"]
                .split(' ')
                .any(|f| f == "skinny_metadata")
        );
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
            let sb = Superblock { bytes };
            let _ = (sb.words(), sb.facts());
        }
    }
}
