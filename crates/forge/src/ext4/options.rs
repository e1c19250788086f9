//! The options of a filesystem: those of mke2fs.
//!
//! mke2fs decides what is left open, by Debian's `mke2fs.conf`: block size and inode ratio by the size of the filesystem, features
//! by its type, the journal by a table of sizes.

use ondisk::ext4::hash::HashVersion;

/// The member of the family, mke2fs's `-t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FsType {
    /// No journal, block maps.
    Ext2,
    /// A journal, block maps.
    Ext3,
    /// Journal, extents, checksums, flexible groups, 64 bits.
    #[default]
    Ext4,
}

/// Edits of the features (`-O`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeatureEdits {
    /// Names as `mke2fs -O` takes them, in order: `metadata_csum`, `^64bit`; a leading `^` clears.
    pub names: Vec<String>,
}

/// Options of one filesystem. [`Options::new`] leaves all but the size to mke2fs's rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Bytes of the image; cut to whole blocks.
    pub size: u64,
    /// The member of the family.
    pub fs_type: FsType,
    /// Bytes of a block, 1024 to 65536 (`-b`).
    pub block_size: Option<u32>,
    /// Bytes of a cluster, with the feature `bigalloc` (`-C`).
    pub cluster_size: Option<u32>,
    /// Bytes of an inode (`-I`).
    pub inode_size: Option<u16>,
    /// Bytes of the filesystem for each inode (`-i`).
    pub inode_ratio: Option<u64>,
    /// Minimum number of inodes (`-N`); overrides the ratio.
    pub inodes: Option<u64>,
    /// Features to set or clear (`-O`).
    pub features: FeatureEdits,
    /// The hash of names in indexed directories (`-E hash_alg=`), with the sign of its characters; mke2fs takes that of the machine.
    pub hash: HashVersion,
    /// Groups of a flexible group (`-G`), a power of two.
    pub flex_groups: Option<u32>,
    /// MiB of the journal (`-J size=`).
    pub journal_mib: Option<u32>,
    /// Percent of the blocks that only root may use (`-m`).
    pub reserved_percent: f64,
    /// The label, at most 16 bytes (`-L`).
    pub label: String,
    /// Seconds since 1970, for every time in the filesystem.
    pub time: i64,
    /// Seed of the UUID, the hash seed and the inode generations.
    pub seed: u64,
    /// Whether files spread over the whole device, as directories in the root make the kernel do, or fill it from its front.
    pub spread: bool,
    /// Whether the image is on stable storage when [`write`](super::write()) ends. Otherwise it is in the page cache, as with any other
    /// program, and a crash of the machine may lose it.
    pub sync: bool,
}

impl Options {
    /// Everything as mke2fs decides for this size and type.
    pub fn new(size: u64, fs_type: FsType) -> Self {
        Self {
            size,
            fs_type,
            block_size: None,
            cluster_size: None,
            inode_size: None,
            inode_ratio: None,
            inodes: None,
            features: FeatureEdits::default(),
            hash: HashVersion::HalfMd4,
            flex_groups: None,
            journal_mib: None,
            reserved_percent: 5.0,
            label: String::new(),
            time: 1_300_000_000,
            seed: 0,
            spread: true,
            sync: false,
        }
    }
}
