//! What a block of a growing directory is.

use super::leaf::Leaf;

/// A block of a directory, at its place in the list of blocks.
#[derive(Debug, Clone)]
pub(super) enum Block {
    /// Names.
    Leaf(Leaf),
    /// The root of the index.
    Root,
    /// A node of the index, by its place in the index's list.
    Node(u32),
}
