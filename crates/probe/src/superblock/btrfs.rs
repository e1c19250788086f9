//! What is recorded of a btrfs superblock.
//!
//! It is at 64 KiB, except on a zoned device: zones are written in sequence and have no fixed place
//! for it, so the first two zones are a log of superblocks, of which the last one is valid
//! (fs/btrfs/zoned.c). The first zone is read here. A filesystem whose log has filled that zone and
//! continues in the second one is reported to have no superblock; no trial makes one.

use std::io;
use std::os::unix::fs::FileExt;

use fskind::Family;
use ondisk::btrfs;
use ondisk::btrfs::superblock::{BLOCK, INCOMPAT, OFFSET, RO_COMPAT, SIZE};
use ondisk::flags::names;

use super::fields::{Fields, put, put_features};
use super::{Facts, Features, absent};

/// The most superblocks that are read of a log: those of a zone of 64 MiB.
const LOGGED: u64 = 16384;

/// A btrfs superblock.
#[derive(Clone, Debug)]
pub struct Superblock(btrfs::Superblock);

/// The superblock at a byte offset, if there is one.
fn at(device: &impl FileExt, offset: u64) -> io::Result<Option<btrfs::Superblock>> {
    let mut bytes = [0; SIZE];
    device.read_exact_at(&mut bytes, offset)?;
    Ok(btrfs::Superblock::read(&bytes).ok().copied())
}

/// The newest of a log of superblocks at the start of the device.
fn last_of_log(device: &impl FileExt) -> io::Result<Option<btrfs::Superblock>> {
    let mut newest: Option<btrfs::Superblock> = None;
    for nth in 0..LOGGED {
        let Some(found) = at(device, nth * BLOCK as u64)? else {
            break;
        };
        let is_newer = newest.is_none_or(|newest| newest.generation < found.generation);
        if found.is_zoned() && is_newer {
            newest = Some(found);
        }
    }
    Ok(newest)
}

impl Superblock {
    /// Reads it from a device or image.
    ///
    /// # Errors
    /// `InvalidData` when there is none; what reading the device failed with.
    pub fn read(device: &impl FileExt) -> io::Result<Superblock> {
        let found = match at(device, OFFSET)? {
            None => last_of_log(device)?,
            found => found,
        };
        found.map(Superblock).ok_or_else(|| absent(Family::Btrfs))
    }

    fn features(&self) -> Features {
        Features {
            compat: names(self.0.compat_flags.get(), &[]),
            ro_compat: names(self.0.compat_ro_flags.get(), RO_COMPAT),
            incompat: names(self.0.incompat_flags.get(), INCOMPAT),
        }
    }

    /// The facts that all formats share.
    pub fn facts(&self) -> Facts {
        let sb = &self.0;
        Facts {
            uuid: sb.uuid(),
            label: sb.label(),
            block_size: sb.sectorsize.get().into(),
            bytes: sb.total_bytes.get(),
            node_size: Some(sb.nodesize.get().into()),
            features: self.features(),
            ..Facts::of(Family::Btrfs)
        }
    }

    /// All fields that a report prints.
    pub fn fields(&self) -> Fields {
        let sb = &self.0;
        let mut fields = Fields::new();
        let f = &mut fields;
        put(f, "uuid", sb.uuid());
        put(f, "label", sb.label());
        put(f, "generation", sb.generation);
        put(f, "total_bytes", sb.total_bytes);
        put(f, "bytes_used", sb.bytes_used);
        put(f, "devices", sb.num_devices);
        put(f, "sector_size", sb.sectorsize);
        // A report's block size is the unit of data.
        put(f, "block_size", sb.sectorsize);
        put(f, "node_size", sb.nodesize);
        let unknown = || format!("unknown {}", sb.csum_type);
        let checksum = sb.checksum_name().map_or_else(unknown, str::to_owned);
        put(f, "checksum", checksum);
        put_features(f, &self.features());
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::tests::made;
    use ondisk::btrfs::superblock::ZONED;
    use proptest::prelude::*;

    #[test]
    fn of_a_log_the_newest_holds() {
        let image = made("mkfs.btrfs", &["-q", "-f"], 128 << 20);
        let mut bytes = vec![0; BLOCK];
        image.read_exact_at(&mut bytes, OFFSET).unwrap();
        let log = tempfile::tempfile().unwrap();
        log.set_len(1 << 20).unwrap();
        let mut put = |nth: u64, generation: u64, flag: u64| {
            bytes[72..80].copy_from_slice(&generation.to_le_bytes());
            bytes[188..196].copy_from_slice(&flag.to_le_bytes());
            log.write_all_at(&bytes, nth * BLOCK as u64).unwrap();
        };
        put(0, 6, ZONED);
        put(1, 7, ZONED);
        // After a gap, and so not part of the log.
        put(3, 9, ZONED);
        assert_eq!(Superblock::read(&log).unwrap().0.generation.get(), 7);
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
        let fields = Superblock::read(&image).unwrap().fields();
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
            assert_eq!(fields[name], value, "{name}");
        }
        assert!(
            fields["features_incompat"]
                .split(' ')
                .any(|f| f == "skinny_metadata")
        );
    }

    proptest! {
        #[test]
        fn never_panics(mut bytes in proptest::collection::vec(any::<u8>(), SIZE)) {
            bytes[64..72].copy_from_slice(b"_BHRfS_M");
            let sb = Superblock(*btrfs::Superblock::read(&bytes).unwrap());
            let _ = (sb.fields(), sb.facts());
        }
    }
}
