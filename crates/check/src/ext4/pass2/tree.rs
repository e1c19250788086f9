//! The index of a directory as a whole: does it lead to each block once, at the right depth, and with the right hashes?
//!
//! Roots and nodes give the first hash of a block; the names in it give the hashes it has. The sweep has left both, in
//! the order of the device, and only now it is known which belong together. A directory with duplicate names is not judged here,
//! as e2fsck does not: it would build it anew.
//!
//! The rules are e2fsck's to the letter, also where they look odd: a node takes the least hash of its first leaf and the greatest of
//! its last, and the leaf before a node may reach up to the node's least.

use super::shared::Shared;
use super::worker::{Leaf, Node, Role};
use crate::ext4::e2fsck::log::Log;
use crate::ext4::e2fsck::order;
use crate::ext4::e2fsck::problems::{
    P2_HTREE_BAD_DEPTH, P2_HTREE_BADBLK, P2_HTREE_CLEAR, P2_HTREE_DUPREF, P2_HTREE_HASH_ORDER,
    P2_HTREE_MAX_HASH, P2_HTREE_MIN_HASH, P2_HTREE_NOTREF,
};
use crate::frame::finding::Finding;
use crate::frame::problem::Problem;

/// Blocks that a directory may have for each that was seen: more is a directory of holes, which are findings already.
const SPARSE: usize = 16;
const SPARSE_LEAST: usize = 1 << 16;
/// What the last entry of an index leads up to.
const END: u32 = 0xffff_fffe;

/// What is known of a block of the directory.
#[derive(Clone, Copy, Debug, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "e2fsck's flags, each by itself"
)]
struct Block {
    role: Role,
    /// Hashes in it, or below it.
    min: u32,
    max: u32,
    /// What the entry for it promises.
    from: u32,
    to: u32,
    /// The block whose entry leads here.
    parent: u32,
    /// The block that the entry before leads to.
    previous: u32,
    referenced: bool,
    twice: bool,
    first: bool,
    last: bool,
}

/// One directory's index.
pub(super) struct Tree<'a> {
    inode: u32,
    blocks: Vec<Block>,
    levels: Option<u8>,
    nodes: &'a [Node],
}

impl<'a> Tree<'a> {
    /// From what was seen of a directory with `len` blocks, or none if it is nearly all holes. `nodes` in e2fsck's order.
    pub(super) fn new(
        inode: u32,
        len: usize,
        leaves: &[Leaf],
        nodes: &'a [Node],
    ) -> Option<Tree<'a>> {
        if len == 0 || len > leaves.len() * SPARSE + SPARSE_LEAST {
            return None;
        }
        let mut blocks = vec![Block::default(); len];
        for leaf in leaves {
            if let Some(block) = blocks.get_mut(leaf.logical as usize) {
                block.role = leaf.role;
                (block.min, block.max) = (leaf.min, leaf.max);
                block.first = leaf.role == Role::Root;
                block.last = block.first;
            }
        }
        let levels = nodes.iter().find_map(|node| Some(node.root?.1));
        Some(Tree {
            inode,
            blocks,
            levels,
            nodes,
        })
    }

    /// Judges it.
    pub(super) fn check(mut self, log: &mut Log) {
        for node in self.nodes {
            self.link(node, log);
        }
        let root = &mut self.blocks[0];
        root.twice |= root.referenced;
        root.referenced = true;
        self.lift(Role::Leaf);
        self.lift(Role::Node);
        let mut bad = 0_u64;
        for logical in 0..self.blocks.len() {
            bad += self.judge(logical, log);
        }
        if bad > 0 {
            let order = order::of_index(self.inode, u32::MAX);
            let finding = Finding::new(&P2_HTREE_CLEAR).inode(self.inode).order(order);
            log.add(finding.note(format!("{bad} faults in its index")));
        }
    }

    /// Enters what a root or node has for the blocks below it.
    fn link(&mut self, node: &Node, log: &mut Log) {
        let (mut least, mut most, mut hash) = (u32::MAX, 0, 0);
        for (nth, (from, child)) in node.entries.iter().copied().enumerate() {
            let before = std::mem::replace(&mut hash, from);
            let at_node = |problem| {
                Finding::new(problem)
                    .inode(self.inode)
                    .block(node.physical)
                    .logical(node.logical.into())
                    .order(node.key)
            };
            let len = self.blocks.len();
            let Some(block) = self.blocks.get_mut(child as usize) else {
                let finding = at_node(&P2_HTREE_BADBLK).found(child);
                log.add(finding.expected(format!("a block below {len}")));
                continue;
            };
            if hash < before {
                let finding = at_node(&P2_HTREE_HASH_ORDER).found(hex(hash));
                log.add(finding.expected(format!("at least {}", hex(before))));
            }
            if block.referenced {
                block.twice = true;
            } else {
                block.referenced = true;
                block.parent = node.logical;
            }
            block.previous = match nth.checked_sub(1) {
                Some(before) => node.entries[before].1,
                None => 0,
            };
            least = least.min(hash);
            most = most.max(hash);
            block.from = hash;
            if let Some((next, _)) = node.entries.get(nth + 1) {
                block.to = *next;
            } else {
                block.to = END;
                block.last = true;
            }
            block.first |= nth == 0;
        }
        if let Some(own) = self.blocks.get_mut(node.logical as usize) {
            (own.min, own.max) = (least, most);
        }
    }

    /// Hands the hashes of first and last blocks up to the block above.
    fn lift(&mut self, role: Role) {
        for logical in 0..self.blocks.len() {
            let block = self.blocks[logical];
            if block.role != role {
                continue;
            }
            let Some(parent) = self.blocks.get_mut(block.parent as usize) else {
                continue;
            };
            if block.last {
                parent.max = block.max;
            }
            if block.first {
                parent.min = block.min;
                let (previous, to) = (parent.previous, parent.min);
                if previous != 0
                    && let Some(before) = self.blocks.get_mut(previous as usize)
                {
                    before.to = to;
                }
            }
        }
    }

    /// Says what is wrong with a block; how much.
    fn judge(&self, logical: usize, log: &mut Log) -> u64 {
        let block = &self.blocks[logical];
        let mut bad = 0;
        let mut report = |problem: &'static Problem, found: Option<String>, expected: String| {
            bad += 1;
            let order = order::of_index(self.inode, logical as u32);
            let mut finding = Finding::new(problem)
                .inode(self.inode)
                .logical(logical as u64)
                .expected(expected)
                .order(order);
            finding.found = found.map(Into::into);
            log.add(finding);
        };
        if !block.first && block.min < block.from {
            let least = format!("at least {}", hex(block.from));
            report(&P2_HTREE_MIN_HASH, Some(hex(block.min)), least);
        }
        if block.role == Role::Leaf {
            let (depth, right) = (
                self.depth(logical),
                self.levels.map(|levels| u32::from(levels) + 1),
            );
            if right.is_some() && depth != right {
                let words = |depth: Option<u32>| {
                    depth.map_or("in a loop".into(), |depth| format!("depth {depth}"))
                };
                report(&P2_HTREE_BAD_DEPTH, Some(words(depth)), words(right));
            }
        }
        if logical > 0 && block.max > block.to {
            let most = format!("at most {}", hex(block.to));
            report(&P2_HTREE_MAX_HASH, Some(hex(block.max)), most);
        }
        if !block.referenced {
            report(&P2_HTREE_NOTREF, None, "an entry that leads here".into());
        } else if block.twice {
            report(&P2_HTREE_DUPREF, None, "one entry that leads here".into());
        }
        bad
    }

    /// Steps up to the root; none if there is no way.
    fn depth(&self, logical: usize) -> Option<u32> {
        let mut at = logical;
        // No root has more levels.
        for depth in 0..=u32::from(u8::MAX) + 1 {
            let block = self.blocks.get(at)?;
            if block.role == Role::Root {
                return Some(depth);
            }
            at = block.parent as usize;
        }
        None
    }
}

fn hex(hash: u32) -> String {
    format!("{hash:#010x}")
}

/// Judges all indexes. `lens`: blocks of each directory, by place in the list; `skip`: places of those that are not judged, ascending.
pub(super) fn check(
    shared: &Shared<'_>,
    lens: &[u32],
    leaves: &mut [Leaf],
    nodes: &mut [Node],
    skip: &[usize],
    log: &mut Log,
) {
    leaves.sort_unstable_by_key(|leaf| (leaf.dir, leaf.logical));
    nodes.sort_unstable_by_key(|node| (node.dir, node.key));
    let mut nodes = &*nodes;
    for leaves in leaves.chunk_by(|left, right| left.dir == right.dir) {
        let dir = leaves[0].dir;
        let before = nodes.partition_point(|node| node.dir < dir);
        let after = nodes.partition_point(|node| node.dir <= dir);
        let own = &nodes[before..after];
        nodes = &nodes[after..];
        let at = dir as usize;
        if skip.binary_search(&at).is_ok() {
            continue;
        }
        let len = lens.get(at).map_or(0, |len| *len as usize);
        let inode = shared.state.directories.list[at].inode;
        if let Some(tree) = Tree::new(inode, len, leaves, own) {
            tree.check(log);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ext4::e2fsck::problems::P2_HTREE_BAD_DEPTH;

    fn leaf(logical: u32, role: Role, min: u32, max: u32) -> Leaf {
        Leaf {
            dir: 0,
            logical,
            role,
            min,
            max,
        }
    }

    fn node(logical: u32, root: Option<(u8, u8)>, entries: &[(u32, u32)]) -> Node {
        Node {
            dir: 0,
            logical,
            physical: 100 + u64::from(logical),
            key: logical.into(),
            entries: entries.to_vec(),
            root,
        }
    }

    fn codes(leaves: &[Leaf], nodes: &[Node]) -> Vec<(&'static str, Option<u64>)> {
        let mut log = Log::new(100);
        Tree::new(12, leaves.len(), leaves, nodes)
            .unwrap()
            .check(&mut log);
        let list = log.finish().list;
        list.iter()
            .map(|f| (f.problem.name, f.place.logical))
            .collect()
    }

    /// A root with two nodes, each with two leaves.
    fn sound() -> (Vec<Leaf>, Vec<Node>) {
        let leaves = vec![
            leaf(0, Role::Root, u32::MAX, 0),
            leaf(1, Role::Leaf, 2, 10),
            leaf(2, Role::Leaf, 10, 18),
            leaf(3, Role::Leaf, 20, 30),
            leaf(4, Role::Leaf, 40, 50),
            leaf(5, Role::Node, u32::MAX, 0),
            leaf(6, Role::Node, u32::MAX, 0),
        ];
        let nodes = vec![
            node(0, Some((1, 1)), &[(0, 5), (20, 6)]),
            node(5, None, &[(0, 1), (10, 2)]),
            node(6, None, &[(0, 3), (40, 4)]),
        ];
        (leaves, nodes)
    }

    #[test]
    fn a_sound_tree_of_two_levels() {
        let (leaves, nodes) = sound();
        assert_eq!(codes(&leaves, &nodes), []);
    }

    #[test]
    fn each_fault_is_named_at_its_block() {
        let clear = (P2_HTREE_CLEAR.name, None);
        let (mut leaves, nodes) = sound();
        leaves[2].min = 8;
        leaves[4].max = u32::MAX;
        let found = codes(&leaves, &nodes);
        assert_eq!(found[0], (P2_HTREE_MIN_HASH.name, Some(2)));
        assert_eq!(found[1], (P2_HTREE_MAX_HASH.name, Some(4)));
        assert_eq!(found.last(), Some(&clear));

        let (leaves, mut nodes) = sound();
        nodes[1].entries.pop();
        assert_eq!(codes(&leaves, &nodes)[0].0, P2_HTREE_BAD_DEPTH.name);
        assert!(codes(&leaves, &nodes).contains(&(P2_HTREE_NOTREF.name, Some(2))));

        let (leaves, mut nodes) = sound();
        nodes[2].entries.push((44, 1));
        assert!(codes(&leaves, &nodes).contains(&(P2_HTREE_DUPREF.name, Some(1))));

        let (leaves, mut nodes) = sound();
        nodes[2].entries.push((30, 77));
        assert!(codes(&leaves, &nodes).contains(&(P2_HTREE_BADBLK.name, Some(6))));
        nodes[2].entries[2].1 = 4;
        assert!(codes(&leaves, &nodes).contains(&(P2_HTREE_HASH_ORDER.name, Some(6))));
    }

    #[test]
    fn loops_and_wild_numbers_end() {
        let (leaves, mut nodes) = sound();
        nodes[0].entries = vec![(0, 1)];
        nodes[1].entries = vec![(0, 6), (8, u32::MAX), (9, 2)];
        nodes[2].entries = vec![(0, 5), (9, 0), (10, 3)];
        let found = codes(&leaves, &nodes);
        assert!(
            found
                .iter()
                .any(|(name, _)| *name == P2_HTREE_BAD_DEPTH.name)
        );
        assert!(Tree::new(12, 1 << 30, &leaves, &nodes).is_none());
        assert!(Tree::new(12, 0, &leaves, &nodes).is_none());
    }
}
