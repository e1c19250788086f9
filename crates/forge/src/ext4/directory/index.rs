//! The index of a growing directory: which leaf a hash belongs to, and how nodes split.

use ondisk::ext4::htree::IndexEntry;

use super::Rules;

/// An index: the root's entries, and the nodes by their logical blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    /// Levels of nodes below the root.
    pub(super) levels: u8,
    /// The root's entries; the first one's hash is 0.
    pub(super) root: Vec<IndexEntry>,
    /// Nodes, by the order in which they were made.
    pub(super) nodes: Vec<Node>,
}

/// A node below the root.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) entries: Vec<IndexEntry>,
    /// Levels of nodes below it; 0: its entries lead to leaves.
    pub(super) height: u8,
}

/// What an entry of the index leads to. Above the leaves, an entry's block is a key of [`Index::nodes`] while the
/// directory grows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    /// Node and position at each level, the root (no node) first; as many as are in use.
    steps: [(u32, usize); 4],
    depth: usize,
    /// The logical block of the leaf.
    pub(super) leaf: u32,
}

const ROOT: u32 = u32::MAX;

/// What [`Index::make_room`] did.
pub(super) enum Room {
    /// The node above the leaf can take an entry.
    There,
    /// A node was made, with this place in the list; look up again.
    Made(u32),
    /// There is no level left to add.
    Full,
}

fn position(entries: &[IndexEntry], hash: u32) -> usize {
    entries[1..].partition_point(|entry| entry.hash <= hash)
}

impl Index {
    /// An index with one leaf.
    pub(super) fn of_one(leaf: u32) -> Self {
        Self {
            levels: 0,
            root: vec![IndexEntry {
                hash: 0,
                block: leaf,
            }],
            nodes: Vec::new(),
        }
    }

    /// The leaves by ascending hash, each with the hash it begins at; the first one's is 0.
    pub(super) fn leaves(&self) -> Vec<IndexEntry> {
        let mut level = self.root.clone();
        for _ in 0..self.levels {
            let nodes = level.iter().map(|entry| entry.block);
            level = nodes.flat_map(|node| self.entries(node)).copied().collect();
        }
        level
    }

    fn entries(&self, node: u32) -> &[IndexEntry] {
        match node {
            ROOT => &self.root,
            nth => &self.nodes[nth as usize].entries,
        }
    }

    fn entries_mut(&mut self, node: u32) -> &mut Vec<IndexEntry> {
        match node {
            ROOT => &mut self.root,
            nth => &mut self.nodes[nth as usize].entries,
        }
    }

    /// The way to the leaf of a hash.
    pub(super) fn find(&self, hash: u32) -> Way {
        let mut way = Way {
            steps: [(ROOT, 0); 4],
            depth: usize::from(self.levels),
            leaf: 0,
        };
        let mut node = ROOT;
        for level in 0..=usize::from(self.levels) {
            let entries = self.entries(node);
            let at = position(entries, hash);
            way.steps[level] = (node, at);
            node = entries[at].block;
        }
        way.leaf = node;
        way
    }

    /// Inserts a leaf after the one at the end of `way`, whose node has room.
    pub(super) fn insert(&mut self, way: &Way, entry: IndexEntry) {
        let (node, at) = way.steps[way.depth];
        self.entries_mut(node).insert(at + 1, entry);
    }

    /// Makes room for another entry in the lowest node on the path; adds one node at a time, as the kernel does.
    pub(super) fn make_room(&mut self, way: &Way, rules: &Rules) -> Room {
        let full = |this: &Self, level: usize| {
            let node = way.steps[level].0;
            this.entries(node).len() >= rules.limit(node == ROOT)
        };
        if !full(self, way.depth) {
            return Room::There;
        }
        let above = (0..way.depth).rev().find(|level| !full(self, *level));
        match above {
            Some(level) => Room::Made(self.split(way, level)),
            None if self.levels >= rules.most_levels => Room::Full,
            None => Room::Made(self.deepen()),
        }
    }

    /// Halves the node below `level` of the way, by count.
    fn split(&mut self, way: &Way, level: usize) -> u32 {
        let (parent, at) = way.steps[level];
        let (node, _) = way.steps[level + 1];
        let made = self.nodes.len() as u32;
        let height = (way.depth - level - 1) as u8;
        let entries = self.entries_mut(node);
        let upper = entries.split_off(entries.len() / 2);
        let hash = upper[0].hash;
        self.nodes.push(Node {
            entries: upper,
            height,
        });
        self.entries_mut(parent)
            .insert(at + 1, IndexEntry { hash, block: made });
        made
    }

    /// Moves the root's entries into a node of their own.
    fn deepen(&mut self) -> u32 {
        let made = self.nodes.len() as u32;
        let entries = std::mem::replace(
            &mut self.root,
            vec![IndexEntry {
                hash: 0,
                block: made,
            }],
        );
        let height = self.levels;
        self.nodes.push(Node { entries, height });
        self.levels += 1;
        made
    }
}
