//! The btrfs superblock (include/uapi/linux/btrfs_tree.h, `struct btrfs_super_block`).

use std::io;
use std::os::unix::fs::FileExt;

use super::{Facts, le16, le32, le64, names, put, text, uuid};

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

/// Reads the facts from a device or image; `InvalidData` when there is no btrfs.
pub fn facts(device: &impl FileExt) -> io::Result<Facts> {
    let mut bytes = vec![0; 4096];
    device.read_exact_at(&mut bytes, OFFSET)?;
    if bytes.get(64..72) != Some(b"_BHRfS_M".as_slice()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "no btrfs superblock",
        ));
    }
    Ok(parse(&bytes))
}

fn parse(b: &[u8]) -> Facts {
    let mut facts = Facts::new();
    let f = &mut facts;
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
    put(f, "features_compat", names(le64(b, 172), &[]).join(" "));
    put(
        f,
        "features_ro_compat",
        names(le64(b, 180), RO_COMPAT).join(" "),
    );
    put(
        f,
        "features_incompat",
        names(le64(b, 188), INCOMPAT).join(" "),
    );
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    #[test]
    fn reads_what_mkfs_btrfs_was_told() {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(256 << 20).unwrap();
        let program = crate::command::locate("mkfs.btrfs").expect("btrfs-progs is installed");
        let status = Command::new(program)
            .args([
                "-q", "-f", "-L", "lab", "-n", "32k", "-s", "4096", "--csum", "xxhash",
            ])
            .args(["-U", "01234567-89ab-cdef-0123-456789abcdef"])
            .arg(image.path())
            .status()
            .unwrap();
        assert!(status.success());
        let facts = facts(image.as_file()).unwrap();
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
            assert_eq!(facts[name], value, "{name}");
        }
        assert!(
            facts["features_incompat"]
                .split(' ')
                .any(|f| f == "skinny_metadata")
        );
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..5000)) {
            let _ = parse(&bytes);
        }
    }
}
