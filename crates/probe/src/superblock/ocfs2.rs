//! What is recorded of an OCFS2 superblock.

use std::io;
use std::os::unix::fs::FileExt;

use fskind::Family;
use ondisk::flags::names;
use ondisk::ocfs2;
use ondisk::ocfs2::superblock::{BLOCK, BLOCK_SIZES, COMPAT, INCOMPAT, RO_COMPAT, SIZE};

use super::fields::{Fields, put, put_features};
use super::{Facts, Features, Journal, absent};

/// An OCFS2 superblock.
#[derive(Clone, Debug)]
pub struct Superblock(ocfs2::Superblock);

impl Superblock {
    /// Reads it from a device or image.
    ///
    /// # Errors
    /// `InvalidData` when there is none; what reading the device failed with.
    pub fn read(device: &impl FileExt) -> io::Result<Superblock> {
        for size in BLOCK_SIZES {
            let mut bytes = [0; SIZE];
            device.read_exact_at(&mut bytes, BLOCK * size)?;
            let found = ocfs2::Superblock::read(&bytes).ok();
            if let Some(found) = found.filter(|sb| sb.block_size() == Some(size)) {
                return Ok(Superblock(*found));
            }
        }
        Err(absent(Family::Ocfs2))
    }

    fn features(&self) -> Features {
        Features {
            compat: names(self.0.s_feature_compat.get().into(), COMPAT),
            incompat: names(self.0.s_feature_incompat.get().into(), INCOMPAT),
            ro_compat: names(self.0.s_feature_ro_compat.get().into(), RO_COMPAT),
        }
    }

    /// The facts that all formats share. An inode is a block. The journal is a file whose size only
    /// the system directory leads to.
    pub fn facts(&self) -> Facts {
        let sb = &self.0;
        let block = sb.block_size().unwrap_or_default();
        let checked = sb.s_lastcheck.get();
        Facts {
            uuid: sb.uuid(),
            label: sb.label(),
            block_size: block,
            bytes: sb.bytes(),
            inode_size: Some(block),
            features: self.features(),
            journal: Some(Journal::default()),
            mount_count: Some(sb.s_mnt_count.get().into()),
            last_checked: (checked > 0).then_some(checked),
            ..Facts::of(Family::Ocfs2)
        }
    }

    /// All fields that a report prints.
    pub fn fields(&self) -> Fields {
        let sb = &self.0;
        let mut fields = Fields::new();
        let f = &mut fields;
        put(f, "uuid", sb.uuid());
        put(f, "label", sb.label());
        put(f, "block_size", sb.block_size().unwrap_or_default());
        put(f, "cluster_size", sb.cluster_size().unwrap_or_default());
        put(f, "inode_size", sb.block_size().unwrap_or_default());
        put(f, "clusters", sb.i_clusters);
        put(f, "total_bytes", sb.bytes());
        put(f, "node_slots", sb.s_max_slots);
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
            let fields = Superblock::read(&image).unwrap().fields();
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
                assert_eq!(fields[name], value, "{name}");
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
        let mut old = vec![0; SIZE];
        image.read_exact_at(&mut old, 2 * 4096).unwrap();
        image.write_all_at(&old, 2 * 1024).unwrap();
        let facts = Superblock::read(&image).unwrap().facts();
        assert_eq!((facts.block_size, facts.format), (4096, Family::Ocfs2));
    }

    proptest! {
        #[test]
        fn never_panics(mut bytes in proptest::collection::vec(any::<u8>(), SIZE)) {
            bytes[..6].copy_from_slice(b"OCFSV2");
            let sb = Superblock(*ocfs2::Superblock::read(&bytes).unwrap());
            let _ = (sb.fields(), sb.facts());
        }
    }
}
