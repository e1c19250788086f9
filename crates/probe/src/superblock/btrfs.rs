//! The btrfs superblock (include/uapi/linux/btrfs_tree.h, `struct btrfs_super_block`).
//!
//! It lies at 64 KiB, except on a device with zones: what is written in sequence has no fixed place, so there
//! the first two zones are a log of superblocks, each behind the one before, and the last one holds
//! (fs/btrfs/zoned.c). Of that log the first zone is read here. A filesystem of so many commits that it goes on in
//! the second is said to have no superblock, which is right for none that a trial makes.

use std::io;
use std::os::unix::fs::FileExt;

use fskind::Family;

use super::words::{Words, names, put, put_features};
use super::{Facts, Features};
use crate::bytes::{le16, le32, le64, text, uuid};

/// The first copy lies at 64 KiB.
const OFFSET: u64 = 64 << 10;

/// Most superblocks that are read of a log: those of a zone of 64 MiB.
const LOGGED: u64 = 16384;
/// The feature without which there is no log.
const ZONED: u64 = 0x1000;

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
    (ZONED, "zoned"),
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

/// What lies there, if it is one.
fn at(device: &impl FileExt, offset: u64) -> io::Result<Option<Superblock>> {
    let mut bytes = vec![0; LENGTH];
    device.read_exact_at(&mut bytes, offset)?;
    let is_one = bytes.get(64..72) == Some(b"_BHRfS_M".as_slice());
    Ok(is_one.then_some(Superblock { bytes }))
}

/// The newest of a log of superblocks at the start of the device.
fn last_of_log(device: &impl FileExt) -> io::Result<Option<Superblock>> {
    let mut newest: Option<Superblock> = None;
    for nth in 0..LOGGED {
        let Some(one) = at(device, nth * LENGTH as u64)? else {
            break;
        };
        let is_newer = newest
            .as_ref()
            .is_none_or(|n| n.generation() < one.generation());
        if le64(&one.bytes, 188) & ZONED != 0 && is_newer {
            newest = Some(one);
        }
    }
    Ok(newest)
}

impl Superblock {
    fn generation(&self) -> u64 {
        le64(&self.bytes, 72)
    }

    /// Reads it from a device or image.
    ///
    /// # Errors
    /// `InvalidData` when there is none; what reading the device failed with.
    pub fn read(device: &impl FileExt) -> io::Result<Superblock> {
        let found = at(device, OFFSET)?.map_or_else(|| last_of_log(device), |one| Ok(Some(one)))?;
        found.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no btrfs superblock"))
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
            uuid: uuid(b, 32),
            label: text(b, 299, 256),
            block_size: u64::from(le32(b, 144)),
            bytes: le64(b, 112),
            node_size: Some(u64::from(le32(b, 148))),
            features: self.features(),
            ..Facts::of(Family::Btrfs)
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
    fn of_a_log_the_newest_holds() {
        let image = made("mkfs.btrfs", &["-q", "-f"], 128 << 20);
        let mut bytes = Superblock::read(&image).unwrap().bytes;
        let log = tempfile::tempfile().unwrap();
        log.set_len(1 << 20).unwrap();
        let mut put = |nth: u64, generation: u64, flag: u64| {
            bytes[72..80].copy_from_slice(&generation.to_le_bytes());
            bytes[188..196].copy_from_slice(&flag.to_le_bytes());
            log.write_all_at(&bytes, nth * LENGTH as u64).unwrap();
        };
        put(0, 6, ZONED);
        put(1, 7, ZONED);
        // Behind a gap, and so not of the log.
        put(3, 9, ZONED);
        assert_eq!(Superblock::read(&log).unwrap().generation(), 7);
        // Without the feature nothing at the start is a superblock.
        put(0, 6, 0);
        put(1, 7, 0);
        assert!(Superblock::read(&log).is_err());
    }

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
