//! The index of a directory: entries in the root, or in clusters of leaves.

use ondisk::ocfs2::hash::NameHash;

use super::{FILL, Rules};
use crate::Error;

/// An entry: the hash of a name and the number of its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ocfs2) struct Entry {
    pub(in crate::ocfs2) hash: NameHash,
    pub(in crate::ocfs2) block: u32,
}

/// A cluster of leaves.
#[derive(Debug)]
pub(in crate::ocfs2) struct LeafCluster {
    /// The least major hash that leads to it.
    pub(in crate::ocfs2) first: u32,
    /// The entries of each block.
    pub(in crate::ocfs2) blocks: Vec<Vec<Entry>>,
}

/// An index.
#[derive(Debug)]
pub(in crate::ocfs2) enum Index {
    /// In the root.
    Inline(Vec<Entry>),
    /// In leaves.
    Leaves(Vec<LeafCluster>),
}

impl Index {
    /// The index of these entries, of which there were up to `peak` at a time: an index does not go back to its root.
    pub(super) fn new(mut entries: Vec<Entry>, peak: usize, rules: &Rules) -> Result<Self, Error> {
        let (root, leaf) = rules.index_room;
        if peak <= root {
            return Ok(Self::Inline(entries));
        }
        entries.sort_unstable();
        let per = (leaf * rules.cluster_blocks as usize * FILL / 100).max(1);
        let mut leaves = Vec::with_capacity(entries.len() / per + 1);
        let count = entries.len().div_ceil(per);
        let mut start = 0;
        for nth in 1..=count {
            let end = boundary(&entries, entries.len() * nth / count, start);
            divide(
                &entries[start..end],
                leaf,
                rules.cluster_blocks,
                &mut leaves,
            )?;
            start = end;
        }
        if let Some(first) = leaves.first_mut() {
            first.first = 0;
        }
        Ok(Self::Leaves(leaves))
    }

    /// Entries of the index.
    pub(in crate::ocfs2) fn entries(&self) -> usize {
        match self {
            Self::Inline(entries) => entries.len(),
            Self::Leaves(leaves) => leaves
                .iter()
                .flat_map(|cluster| &cluster.blocks)
                .map(Vec::len)
                .sum(),
        }
    }
}

/// The first place from `at` on where a new major hash begins.
fn boundary(entries: &[Entry], at: usize, start: usize) -> usize {
    let mut at = at.max(start);
    while at > start && at < entries.len() && entries[at].hash.major == entries[at - 1].hash.major {
        at += 1;
    }
    at
}

/// Puts entries into a cluster, or in halves into several where one of its blocks would overflow.
fn divide(
    entries: &[Entry],
    room: usize,
    cluster_blocks: u32,
    leaves: &mut Vec<LeafCluster>,
) -> Result<(), Error> {
    let Some(first) = entries.first() else {
        return Ok(());
    };
    let mut blocks = vec![Vec::new(); cluster_blocks as usize];
    for entry in entries {
        blocks[(entry.hash.minor % cluster_blocks) as usize].push(*entry);
    }
    if blocks.iter().all(|block| block.len() <= room) {
        leaves.push(LeafCluster {
            first: first.hash.major,
            blocks,
        });
        return Ok(());
    }
    let middle = boundary(entries, entries.len() / 2, 0);
    if middle == entries.len() || middle == 0 {
        return Err(Error::Option(
            "more names of a directory have the same hash than a leaf of its index holds; put fewer files into each directory".to_owned(),
        ));
    }
    let (low, high) = entries.split_at(middle);
    divide(low, room, cluster_blocks, leaves)?;
    divide(high, room, cluster_blocks, leaves)
}
