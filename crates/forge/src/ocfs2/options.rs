//! The options of a volume: those of mkfs.ocfs2, and how the space was given out when the volume filled.
//!
//! mkfs.ocfs2 decides what is left open: block size, slots and journal by the size of the volume, features by the level.

pub use ondisk::ocfs2::hash::Sign;

/// What the volume is meant for, mkfs.ocfs2's `-T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FsType {
    /// Databases: large clusters.
    Datafiles,
    /// Many small files: large journals.
    Mail,
    /// Images of virtual machines: large clusters.
    Vmstore,
}

/// The set of features to begin with, mkfs.ocfs2's `--fs-feature-level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeatureLevel {
    /// What mkfs.ocfs2 sets by itself.
    Default,
    /// As little as the oldest kernels know.
    MaxCompat,
    /// Everything; quotas are part of it and must be cleared (`nousrquota,nogrpquota`).
    MaxFeatures,
}

/// Where the groups of inodes are on the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Groups {
    /// As a kernel places them while it fills the volume: as many as fit a cluster group one after the other, data between these runs.
    #[default]
    Kernel,
    /// All from the start on, data after them.
    Packed,
    /// The same number in each cluster group, with the data spread as evenly: a volume that aged.
    Scattered,
}

/// Where a chain takes a new group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChainOrder {
    /// At its head, as kernels do: a walk along a chain goes backwards over the disk.
    #[default]
    Head,
    /// At its tail, as mkfs.ocfs2 does.
    Tail,
}

/// Options of one volume. [`Options::new`] leaves all but the size to mkfs.ocfs2's rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Bytes of the image; cut to whole clusters.
    pub size: u64,
    /// What the volume is meant for (`-T`).
    pub fs_type: Option<FsType>,
    /// Bytes of a block, 512 to 4096 (`-b`).
    pub block_size: Option<u32>,
    /// Bytes of a cluster, 4096 to 1048576 (`-C`).
    pub cluster_size: Option<u32>,
    /// Node slots (`-N`).
    pub slots: Option<u16>,
    /// MiB of each slot's journal (`-J size=`).
    pub journal_mib: Option<u32>,
    /// The features to begin with (`--fs-feature-level`).
    pub feature_level: FeatureLevel,
    /// Features to set, or to clear with `no` before the name (`--fs-features`).
    pub features: Vec<String>,
    /// Whether the volume is for one node without a cluster (`-M local`).
    pub local: bool,
    /// The label, at most 63 bytes (`-L`).
    pub label: String,
    /// Seconds since 1970, for every time in the volume.
    pub time: i64,
    /// Seed of the UUID, the generations and the seed of directory hashes.
    pub seed: u64,
    /// Slots whose allocators gave out the inodes; directory `n` belongs to slot `n` modulo this. 1: all is slot 0's.
    pub used_slots: u16,
    /// Where the groups of inodes are.
    pub groups: Groups,
    /// Where a chain takes a new group of inodes or of extent blocks.
    pub chain_order: ChainOrder,
    /// How bytes above 127 count in hashes of names: signed as in fsck.ocfs2 and in kernels before 6.2 on x86, or unsigned.
    pub name_hash: Sign,
    /// Whether the image is on stable storage when the work ends.
    pub sync: bool,
}

impl Options {
    /// Everything as mkfs.ocfs2 decides for this size.
    pub fn new(size: u64) -> Self {
        Self {
            size,
            fs_type: None,
            block_size: None,
            cluster_size: None,
            slots: None,
            journal_mib: None,
            feature_level: FeatureLevel::Default,
            features: Vec::new(),
            local: false,
            label: String::new(),
            time: 1_300_000_000,
            seed: 0,
            used_slots: 1,
            groups: Groups::Kernel,
            chain_order: ChainOrder::Head,
            name_hash: Sign::Signed,
            sync: false,
        }
    }
}
