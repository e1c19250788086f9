//! What attributes add to an inode's blocks.

/// What the attributes of an inode add to what it is charged for: `i_blocks`, and the quota of its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charge {
    /// Clusters: of an attribute block, and of values in inodes.
    pub(crate) clusters: u64,
    /// Inodes that hold values.
    pub(crate) inodes: u64,
}
