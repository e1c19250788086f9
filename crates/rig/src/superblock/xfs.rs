//! The XFS superblock (fs/xfs/libxfs/xfs_format.h, `struct xfs_dsb`; all fields big-endian).

use std::io;
use std::os::unix::fs::FileExt;

use super::{Facts, be16, be32, be64, names, put, text, uuid};

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

/// Reads the facts from a device or image; `InvalidData` when there is no XFS.
pub fn facts(device: &impl FileExt) -> io::Result<Facts> {
    let mut bytes = vec![0; 512];
    device.read_exact_at(&mut bytes, 0)?;
    if !bytes.starts_with(b"XFSB") {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "no XFS superblock",
        ));
    }
    Ok(parse(&bytes))
}

fn parse(b: &[u8]) -> Facts {
    let mut facts = Facts::new();
    let f = &mut facts;
    let block = u64::from(be32(b, 4));
    put(f, "uuid", uuid(b, 32));
    put(f, "label", text(b, 108, 12));
    put(f, "version", be16(b, 100) & 0xF);
    put(f, "block_size", block);
    put(f, "sector_size", be16(b, 102));
    put(f, "blocks", be64(b, 8));
    put(f, "inode_size", be16(b, 104));
    put(f, "agcount", be32(b, 88));
    put(f, "agblocks", be32(b, 84));
    put(f, "imax_percent", b.get(127).copied().unwrap_or(0));
    put(f, "inodes", be64(b, 128));
    put(f, "inodes_free", be64(b, 136));
    put(f, "blocks_free", be64(b, 144));
    put(f, "sunit_blocks", be32(b, 184));
    put(f, "swidth_blocks", be32(b, 188));
    let directory = b.get(192).copied().unwrap_or(0).min(16);
    put(f, "directory_block_size", block << directory);
    let log = be32(b, 96);
    put(
        f,
        "log",
        if be64(b, 48) == 0 {
            "external"
        } else {
            "internal"
        },
    );
    put(f, "log_blocks", log);
    put(f, "log_bytes", u64::from(log) * block);
    put(f, "log_sunit_bytes", be32(b, 196));
    put(
        f,
        "features2",
        names(u64::from(be32(b, 200)), FEATURES2).join(" "),
    );
    put(
        f,
        "features_compat",
        names(u64::from(be32(b, 208)), &[]).join(" "),
    );
    put(
        f,
        "features_ro_compat",
        names(u64::from(be32(b, 212)), RO_COMPAT).join(" "),
    );
    put(
        f,
        "features_incompat",
        names(u64::from(be32(b, 216)), INCOMPAT).join(" "),
    );
    facts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    #[test]
    fn reads_what_mkfs_xfs_was_told() {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(1 << 30).unwrap();
        let program = crate::command::locate("mkfs.xfs").expect("xfsprogs is installed");
        let status = Command::new(program)
            .args(["-q", "-f", "-L", "lab", "-m"])
            .arg("uuid=01234567-89ab-cdef-0123-456789abcdef,reflink=0,finobt=1")
            .args(["-d", "agcount=4", "-i", "size=1024", "-l", "size=64m"])
            .arg(image.path())
            .status()
            .unwrap();
        assert!(status.success());
        let facts = facts(image.as_file()).unwrap();
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
            assert_eq!(facts[name], value, "{name}");
        }
        let has = |set: &str, name: &str| facts[set].split(' ').any(|f| f == name);
        assert!(has("features_ro_compat", "finobt"));
        assert!(!has("features_ro_compat", "reflink"));
        assert!(has("features_incompat", "ftype"));
        assert!(has("features2", "crc"));
    }

    proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = parse(&bytes);
        }
    }
}
