//! The options of a filesystem: those of mkfs.xfs, and where the kernel put files while it filled.

/// Where inodes and data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Each directory in the next allocation group, its files with it: the mount option `inode64`, the default since Linux 3.7.
    #[default]
    Inode64,
    /// Inodes only where their numbers fit 32 bits; the data of a directory's files is spread over all groups: the default before.
    Inode32,
    /// One allocation group after the other.
    Packed,
}

/// A stripe of the device below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// Bytes of a stripe unit (`-d su=`).
    pub unit: u64,
    /// Stripe units of the width (`-d sw=`).
    pub width: u32,
}

/// Options of one filesystem. [`Options::new`] leaves all but the size to mkfs.xfs's rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Bytes of the image.
    pub size: u64,
    /// Bytes of a block, 512 to 65536 (`-b size=`).
    pub block_size: Option<u32>,
    /// Bytes of a sector (`-s size=`).
    pub sector_size: Option<u32>,
    /// Bytes of an inode, 256 to 2048 (`-i size=`).
    pub inode_size: Option<u32>,
    /// Bytes of a directory block (`-n size=`).
    pub directory_block_size: Option<u32>,
    /// Allocation groups (`-d agcount=`).
    pub groups: Option<u32>,
    /// The stripe of the device (`-d su=,sw=`).
    pub stripe: Option<Stripe>,
    /// Bytes of the log (`-l size=`).
    pub log_size: Option<u64>,
    /// Percentage of the space that inodes may take (`-i maxpct=`).
    pub inode_percent: Option<u8>,
    /// Features to set, or to clear with `no` before the name: those of `-m`, `-i` and `-n` that are switches.
    pub features: Vec<String>,
    /// The label, at most 12 bytes (`-L`).
    pub label: String,
    /// Where inodes and data go.
    pub placement: Placement,
    /// Seconds since 1970, for every time in the filesystem.
    pub time: i64,
    /// Seed of the UUID and of the generations of inodes.
    pub seed: u64,
    /// Whether the image is on stable storage when the work ends.
    pub sync: bool,
}

impl Options {
    /// Everything as mkfs.xfs decides for this size.
    pub fn new(size: u64) -> Self {
        Self {
            size,
            block_size: None,
            sector_size: None,
            inode_size: None,
            directory_block_size: None,
            groups: None,
            stripe: None,
            log_size: None,
            inode_percent: None,
            features: Vec::new(),
            label: String::new(),
            placement: Placement::Inode64,
            time: 1_340_000_000,
            seed: 0,
            sync: false,
        }
    }
}
