//! The OCFS2 superblock (fs/ocfs2/ocfs2_fs.h, `struct ocfs2_super_block`).
//!
//! It is an inode like all others, in the third block of the volume. How large a block is stands inside, so
//! the four sizes there are get tried; an old superblock of another block size is told by its own word.

use std::io;
use std::os::unix::fs::FileExt;

use fskind::Family;

use super::words::{Words, names, put, put_features};
use super::{Facts, Features, Journal};
use crate::bytes::{le16, le32, le64, text, uuid};

/// The superblock's block.
const BLOCK: u64 = 2;
const SIZES: [u64; 4] = [512, 1024, 2048, 4096];
/// All that is read of it: an inode's head of 192 bytes and `struct ocfs2_super_block` up to the UUID.
const LENGTH: usize = 512;
/// Where `id2.i_super` begins in the inode.
const SUPER: usize = 0xc0;

// Features by the names of mkfs.ocfs2(8).
const COMPAT: &[(u64, &str)] = &[(0x1, "backup-super"), (0x2, "strict-journal-super")];
const INCOMPAT: &[(u64, &str)] = &[
    (0x2, "heartbeat-device"),
    (0x4, "resize-inprogress"),
    (0x8, "local"),
    (0x10, "sparse"),
    (0x20, "tunefs-inprogress"),
    (0x40, "inline-data"),
    (0x80, "userspace-stack"),
    (0x100, "extended-slotmap"),
    (0x200, "xattr"),
    (0x400, "indexed-dirs"),
    (0x800, "metaecc"),
    (0x1000, "refcount"),
    (0x2000, "discontig-bg"),
    (0x4000, "clusterinfo"),
    (0x8000, "append-dio"),
];
const RO_COMPAT: &[(u64, &str)] = &[(0x1, "unwritten"), (0x2, "usrquota"), (0x4, "grpquota")];

/// An OCFS2 superblock.
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
        for size in SIZES {
            let mut bytes = vec![0; LENGTH];
            device.read_exact_at(&mut bytes, BLOCK * size)?;
            let superblock = Superblock { bytes };
            if superblock.bytes.starts_with(b"OCFSV2") && superblock.block_size() == Some(size) {
                return Ok(superblock);
            }
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "no OCFS2 superblock",
        ))
    }

    fn block_size(&self) -> Option<u64> {
        1_u64.checked_shl(le32(&self.bytes, SUPER + 0x38))
    }

    fn cluster_size(&self) -> Option<u64> {
        1_u64.checked_shl(le32(&self.bytes, SUPER + 0x3c))
    }

    /// Clusters of the volume: those of the superblock's inode.
    fn clusters(&self) -> u64 {
        u64::from(le32(&self.bytes, 0x14))
    }

    fn total_bytes(&self) -> u64 {
        let cluster = self.cluster_size().unwrap_or_default();
        self.clusters().saturating_mul(cluster)
    }

    fn label(&self) -> String {
        text(&self.bytes, SUPER + 0x50, 64)
    }

    fn features(&self) -> Features {
        let set = |at, table| names(u64::from(le32(&self.bytes, SUPER + at)), table);
        Features {
            compat: set(0x1c, COMPAT),
            incompat: set(0x20, INCOMPAT),
            ro_compat: set(0x24, RO_COMPAT),
        }
    }

    /// The facts that all formats share. An inode is a block. The journal is a file of a size that only
    /// the system directory leads to.
    pub fn facts(&self) -> Facts {
        let b = &self.bytes;
        let block = self.block_size().unwrap_or_default();
        let checked = le64(b, SUPER + 0x10);
        Facts {
            uuid: uuid(b, SUPER + 0x90),
            label: self.label(),
            block_size: block,
            bytes: self.total_bytes(),
            inode_size: Some(block),
            features: self.features(),
            journal: Some(Journal::default()),
            mount_count: Some(u64::from(le16(b, SUPER + 0x4))),
            last_checked: (checked > 0).then_some(checked),
            ..Facts::of(Family::Ocfs2)
        }
    }

    /// Everything a report tells of it.
    pub fn words(&self) -> Words {
        let b = &self.bytes;
        let mut words = Words::new();
        let f = &mut words;
        put(f, "uuid", uuid(b, SUPER + 0x90));
        put(f, "label", self.label());
        put(f, "block_size", self.block_size().unwrap_or_default());
        put(f, "cluster_size", self.cluster_size().unwrap_or_default());
        put(f, "inode_size", self.block_size().unwrap_or_default());
        put(f, "clusters", self.clusters());
        put(f, "total_bytes", self.total_bytes());
        put(f, "node_slots", le16(b, SUPER + 0x40));
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
    fn reads_what_mkfs_ocfs2_was_told() {
        for (block, label) in [("1024", "one"), ("2048", "two"), ("4096", "four")] {
            let options = [
                "-q",
                "-M",
                "local",
                "-b",
                block,
                "-C",
                "8192",
                "-L",
                label,
                "-U",
                "01234567-89ab-cdef-0123-456789abcdef",
            ];
            let image = made("mkfs.ocfs2", &options, 128 << 20);
            let words = Superblock::read(&image).unwrap().words();
            let expected = [
                ("uuid", "01234567-89ab-cdef-0123-456789abcdef"),
                ("label", label),
                ("block_size", block),
                ("inode_size", block),
                ("cluster_size", "8192"),
                ("clusters", "16384"),
                ("total_bytes", "134217728"),
                ("node_slots", "1"),
                // As the program prints them itself: "Features: sparse extended-slotmap ...".
                ("features_compat", "backup-super strict-journal-super"),
                ("features_ro_compat", "unwritten"),
                (
                    "features_incompat",
                    "local sparse inline-data extended-slotmap xattr indexed-dirs refcount \
                     discontig-bg append-dio",
                ),
            ];
            for (name, value) in expected {
                assert_eq!(words[name], value, "{name}");
            }
        }
    }

    #[test]
    fn an_old_superblock_of_another_block_size_is_none() {
        let image = made(
            "mkfs.ocfs2",
            &["-q", "-M", "local", "-b", "4096"],
            128 << 20,
        );
        let mut old = vec![0; LENGTH];
        image.read_exact_at(&mut old, 2 * 4096).unwrap();
        image.write_all_at(&old, 2 * 1024).unwrap();
        let facts = Superblock::read(&image).unwrap().facts();
        assert_eq!((facts.block_size, facts.format), (4096, Family::Ocfs2));
    }

    proptest! {
        #[test]
        fn never_panics(mut bytes in proptest::collection::vec(any::<u8>(), LENGTH)) {
            bytes[..6].copy_from_slice(b"OCFSV2");
            let sb = Superblock { bytes };
            let _ = (sb.words(), sb.facts());
        }
    }
}
