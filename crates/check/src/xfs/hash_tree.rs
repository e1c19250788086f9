//! The trees of nodes over the leaves of directories and attribute forks.
//!
//! Blocks are judged by themselves when they are swept. What nodes and neighbours say of each other is kept here, some bytes for each
//! leaf and eight for each of its node's entries, and compared at the end.

use std::collections::BTreeSet;

use ondisk::bytes::be16;
use ondisk::xfs::checksum;
use ondisk::xfs::da::{self, BlockInfo, MOST_LEVELS};

use super::rules::{Fork, Rules};
use super::sink::Sink;
use super::xfs_repair::problems::{
    ATTR_HASH, ATTR_LEAF_BACK, ATTR_LEAF_CRC, ATTR_LEAF_MAP, ATTR_LEAF_OWNER, ATTR_OWNER,
    ATTR_ROOT_LINKS, ATTR_UNREACHED, DA_BACK, DA_BAD, DA_CHILD, DA_COUNT, DA_DEPTH, DA_HASH,
    DA_HASH_LAST, DA_LAST_FORW, DA_LAST_HASH, DA_LEAFN, DA_LEVEL, DA_MAP, DA_ROOT_BACK,
    DIR_LEAF_UNREACHED, DIR_LEAFN_BACK, DIR_LEAFN_MAP, DIR_LEAFN_ORDER, DIR_OWNER,
};
use crate::Problem;
use crate::frame::finding::Finding;

/// A node or leaf.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    /// Rank of the inode.
    pub(crate) rank: u64,
    /// Which fork.
    pub(crate) fork: Fork,
    /// The block in the fork.
    pub(crate) offset: u32,
    /// 0: a leaf.
    pub(crate) level: u16,
    /// First and last hash.
    pub(crate) hashes: (u32, u32),
    /// Entries; of a leaf only their number matters.
    pub(crate) count: u16,
    /// Neighbours: previous and next.
    pub(crate) siblings: (u32, u32),
    /// Children of a node: last hash and block.
    pub(crate) children: Vec<(u32, u32)>,
    /// Its contents were refused: nothing is compared with them.
    pub(crate) refused: bool,
}

/// A block of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    /// The inode.
    pub(crate) ino: u64,
    /// Its rank.
    pub(crate) rank: u64,
    /// Which fork.
    pub(crate) fork: Fork,
    /// The block in the fork.
    pub(crate) offset: u64,
    /// The block of the filesystem.
    pub(crate) fsblock: u64,
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
}

impl Block<'_> {
    fn about(&self, problem: &'static Problem) -> Finding {
        let finding = Finding::new(problem).inode(self.ino);
        let finding = finding.block(self.fsblock).logical(self.offset);
        match self.fork {
            Fork::Data => finding,
            Fork::Attr => finding.note(self.fork.name()),
        }
    }

    /// It as a member of the tree, as a leaf with these hashes.
    pub(crate) fn leaf(&self, hashes: (u32, u32), count: u16, refused: bool) -> Member {
        Member {
            rank: self.rank,
            fork: self.fork,
            offset: self.offset as u32,
            level: 0,
            hashes,
            count,
            siblings: (da::back(self.bytes), da::forw(self.bytes)),
            children: Vec::new(),
            refused,
        }
    }
}

/// Whether the block has the magic number of a node.
pub(crate) fn is_node(bytes: &[u8]) -> bool {
    matches!(da::magic(bytes), da::NODE | da::NODE3)
}

/// Judges a node by itself.
pub(crate) fn node(rules: &Rules, block: &Block<'_>, sink: &mut impl Sink) -> Member {
    let (v5, bytes) = (rules.geometry.v5, block.bytes);
    let mut member = block.leaf((0, 0), 0, false);
    if v5 {
        header(rules, block, sink);
    }
    let (count, level) = (da::count(v5, bytes), da::level(v5, bytes));
    let room = da::room(v5, bytes.len());
    (member.level, member.count) = (level, count);
    if level == 0 || level >= MOST_LEVELS {
        sink.find(block.about(&DA_DEPTH).found(level));
        member.refused = true;
    }
    if count == 0 || usize::from(count) > room {
        let finding = block.about(&DA_COUNT).found(count);
        sink.find(finding.expected(format!("1 to {room}")));
        member.refused = true;
        return member;
    }
    member.children = (0..usize::from(count))
        .map(|nth| da::entry(v5, bytes, nth))
        .collect();
    member.hashes = (
        member.children[0].0,
        member.children[usize::from(count) - 1].0,
    );
    member
}

fn header(rules: &Rules, block: &Block<'_>, sink: &mut impl Sink) {
    // xfs_repair reads the root of attributes twice, and does not look at the checksum the second time.
    let is_root = block.fork == Fork::Attr && block.offset == 0;
    let summed = checksum::is_right(block.bytes, checksum::DA);
    if !summed && is_root {
        sink.own(block.about(&ATTR_LEAF_CRC));
    } else if !summed {
        sink.find(block.about(&DA_BAD).note("checksum"));
    }
    let Ok(head) = BlockInfo::read(block.bytes) else {
        return;
    };
    sink.lsn(head.lsn.get());
    let wrong = if head.blkno.get() != rules.geometry.daddr(block.fsblock) {
        "block number"
    } else if head.uuid != rules.geometry.uuid {
        "UUID"
    } else if be16(block.bytes, 10) != 0 && (summed || !is_root) {
        "padding"
    } else if head.owner.get() != block.ino {
        let finding = match block.fork {
            Fork::Data => block.about(&DIR_OWNER),
            Fork::Attr if block.offset == 0 => block.about(&ATTR_OWNER),
            Fork::Attr => block.about(&ATTR_LEAF_OWNER).beyond_reference(),
        };
        let finding = finding.found(head.owner.get());
        sink.find(finding.expected(block.ino));
        return;
    } else {
        return;
    };
    sink.find(block.about(&DA_BAD).note(wrong));
}

/// The members of one tree, ascending by block.
struct Tree<'a, S> {
    ino: u64,
    fork: Fork,
    members: &'a [Member],
    sink: &'a mut S,
    /// Members that parents have named, by place in `members`.
    named: BTreeSet<usize>,
    /// Members of each level in the order of the tree, the leaves first.
    levels: Vec<Vec<usize>>,
}

/// Compares the members of a tree, all of one fork and ascending by block; `root` is the block of the root.
pub(crate) fn compare(ino: u64, members: &[Member], root: u32, sink: &mut impl Sink) {
    let Some(first) = members.first() else { return };
    let mut tree = Tree {
        ino,
        fork: first.fork,
        members,
        sink,
        named: BTreeSet::new(),
        levels: vec![Vec::new(); usize::from(MOST_LEVELS)],
    };
    let Some(at) = tree.find(root) else { return };
    tree.named.insert(at);
    if members[at].refused {
        return;
    }
    if members[at].level > 0 {
        let (back, forw) = members[at].siblings;
        if forw != 0 {
            let finding = tree.about(&DA_LAST_FORW, root).found(forw);
            tree.sink.find(finding.expected(0_u32));
        }
        if back != 0 && tree.fork == Fork::Attr {
            let finding = tree.about(&ATTR_ROOT_LINKS, root).found(back);
            tree.sink.find(finding.expected(0_u32));
        } else if back != 0 {
            let finding = tree.about(&DA_ROOT_BACK, root).found(back);
            tree.sink.own(finding.expected(0_u32));
        }
        tree.right_edge(&members[at]);
        tree.children(at);
        tree.siblings();
    }
    tree.unreached();
}

impl<S: Sink> Tree<'_, S> {
    fn about(&self, problem: &'static Problem, block: u32) -> Finding {
        let finding = Finding::new(problem).inode(self.ino).logical(block.into());
        match self.fork {
            Fork::Data => finding,
            Fork::Attr => finding.note(self.fork.name()),
        }
    }

    fn find(&self, block: u32) -> Option<usize> {
        let at = self
            .members
            .binary_search_by_key(&block, |member| member.offset);
        at.ok()
    }

    /// Goes down from a node. Levels fall by one each time, so this ends.
    fn children(&mut self, at: usize) {
        let node = &self.members[at];
        let last_child = node.children.len().saturating_sub(1);
        for (nth, (hash, child)) in node.children.iter().enumerate() {
            let Some(below) = self.find(*child) else {
                let problem = match (node.level, self.fork) {
                    (1, Fork::Data) => &DIR_LEAFN_MAP,
                    (1, Fork::Attr) => &ATTR_LEAF_MAP,
                    _ => &DA_MAP,
                };
                self.sink
                    .find(self.about(problem, node.offset).found(*child));
                continue;
            };
            let member = &self.members[below];
            if !self.named.insert(below) {
                self.sink
                    .find(self.about(&DA_CHILD, node.offset).found(*child));
                continue;
            }
            if member.level != node.level - 1 {
                let problem = if member.level == 0 {
                    &DA_LEAFN
                } else {
                    &DA_LEVEL
                };
                let finding = self.about(problem, *child).found(member.level);
                self.sink.find(finding.expected(node.level - 1));
                continue;
            }
            self.levels[usize::from(member.level)].push(below);
            // A leaf may be empty while it waits to be removed.
            if member.refused || member.count == 0 {
                continue;
            }
            if *hash != member.hashes.1 {
                let problem = if nth == last_child {
                    &DA_HASH_LAST
                } else {
                    &DA_HASH
                };
                let finding = self.about(problem, node.offset).offset(nth);
                let finding = finding.found(format!("0x{hash:08x}"));
                self.sink
                    .find(finding.expected(format!("0x{:08x}", member.hashes.1)));
            }
            if member.level > 0 {
                self.children(below);
            }
        }
    }

    /// Neighbours within each level, and hashes that rise from one to the next.
    fn siblings(&mut self) {
        for level in std::mem::take(&mut self.levels) {
            let mut before: Option<&Member> = None;
            for (nth, at) in level.iter().enumerate() {
                let member = &self.members[*at];
                let back = before.map_or(0, |before| before.offset);
                if member.siblings.0 != back {
                    let problem = match (member.level, self.fork) {
                        (0, Fork::Data) => &DIR_LEAFN_BACK,
                        (0, Fork::Attr) => &ATTR_LEAF_BACK,
                        _ => &DA_BACK,
                    };
                    let finding = self.about(problem, member.offset);
                    self.sink
                        .find(finding.found(member.siblings.0).expected(back));
                }
                let next = level
                    .get(nth + 1)
                    .map_or(0, |next| self.members[*next].offset);
                if member.siblings.1 != next {
                    let problem = if next == 0 { &DA_LAST_FORW } else { &DA_CHILD };
                    let finding = self.about(problem, member.offset);
                    self.sink
                        .find(finding.found(member.siblings.1).expected(next));
                }
                let falls = before.is_some_and(|before| {
                    !before.refused && !member.refused && before.hashes.1 > member.hashes.0
                });
                if falls && member.level == 0 && member.count > 0 {
                    let problem = match self.fork {
                        Fork::Data => &DIR_LEAFN_ORDER,
                        Fork::Attr => &ATTR_HASH,
                    };
                    self.sink.find(self.about(problem, member.offset));
                }
                before = Some(member);
            }
            if let Some(last) = before {
                self.right_edge(last);
            }
        }
    }

    /// Of the last node of a level `xfs_repair` compares the first and the last hash: one with a single entry is wrong for it.
    fn right_edge(&mut self, node: &Member) {
        let (first, last) = node.hashes;
        if node.level > 0 && !node.refused && first >= last {
            let finding = self.about(&DA_LAST_HASH, node.offset);
            let finding = finding.found(format!("0x{last:08x}"));
            self.sink
                .find(finding.expected(format!("above 0x{first:08x}")));
        }
    }

    /// Members that no parent names.
    fn unreached(&mut self) {
        for (at, member) in self.members.iter().enumerate() {
            if !self.named.contains(&at) {
                let problem = match self.fork {
                    Fork::Data => &DIR_LEAF_UNREACHED,
                    Fork::Attr => &ATTR_UNREACHED,
                };
                let finding = self.about(problem, member.offset);
                self.sink.own(finding);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xfs::sink::tests::Lists;

    const ROOT: u32 = 1 << 23;

    fn leaf(offset: u32, hashes: (u32, u32), siblings: (u32, u32)) -> Member {
        Member {
            rank: 5,
            fork: Fork::Data,
            offset: ROOT + offset,
            level: 0,
            hashes,
            count: 9,
            siblings: (
                if siblings.0 == 0 {
                    0
                } else {
                    ROOT + siblings.0
                },
                if siblings.1 == 0 {
                    0
                } else {
                    ROOT + siblings.1
                },
            ),
            children: Vec::new(),
            refused: false,
        }
    }

    fn sound() -> Vec<Member> {
        let children = vec![(10, ROOT + 1), (20, ROOT + 3), (30, ROOT + 2)];
        let root = Member {
            level: 1,
            children,
            hashes: (10, 30),
            ..leaf(0, (0, 0), (0, 0))
        };
        vec![
            root,
            leaf(1, (1, 10), (0, 3)),
            leaf(2, (21, 30), (3, 0)),
            leaf(3, (10, 20), (1, 2)),
        ]
    }

    fn codes(change: impl FnOnce(&mut Vec<Member>)) -> (Vec<&'static str>, Vec<&'static str>) {
        let mut members = sound();
        change(&mut members);
        let mut lists = Lists::default();
        compare(200, &members, ROOT, &mut lists);
        (lists.codes, lists.strict)
    }

    #[test]
    fn leaves_in_the_order_of_their_node_are_sound() {
        assert_eq!(codes(|_| {}), (vec![], vec![]));
    }

    #[test]
    fn each_fault_has_its_code() {
        assert_eq!(codes(|m| m[0].children[0].0 = 9).0, ["XFS-DA-HASH"]);
        assert_eq!(codes(|m| m[0].children[2].0 = 9).0, ["XFS-DA-HASH-LAST"]);
        assert_eq!(codes(|m| m[3].siblings.0 = 7).0, ["XFS-DIR-LEAFN-BACK"]);
        assert_eq!(codes(|m| m[2].siblings.1 = 7).0, ["XFS-DA-LAST-FORW"]);
        assert_eq!(codes(|m| m[3].hashes.0 = 2).0, ["XFS-DIR-LEAFN-ORDER"]);
        assert_eq!(codes(|m| m[3].level = 1).0[..1], ["XFS-DA-LEVEL"]);
        let (codes, strict) = codes(|m| m.push(leaf(9, (1, 2), (0, 0))));
        assert_eq!((codes, strict), (vec![], vec!["XFS-DIR-LEAF-UNREACHED"]));
    }

    #[test]
    fn the_last_node_of_a_level_has_more_than_one_entry() {
        let (codes, strict) = codes(|members| {
            members.truncate(2);
            members[0].children.truncate(1);
            members[0].hashes = (10, 10);
            members[1].siblings = (0, 0);
        });
        assert_eq!((codes, strict), (vec!["XFS-DA-LAST-HASH"], vec![]));
    }

    #[test]
    fn a_node_that_names_itself_ends() {
        let (codes, _) = codes(|m| m[0].children[1].1 = ROOT);
        assert!(codes.contains(&"XFS-DA-CHILD"), "{codes:?}");
    }

    #[test]
    fn xfs_repair_sees_a_left_neighbour_of_the_root_of_attributes_only() {
        let back = |fork| {
            codes(|members| {
                for member in &mut *members {
                    member.fork = fork;
                }
                members[0].siblings.0 = 7;
            })
        };
        assert_eq!(back(Fork::Data), (vec![], vec!["XFS-DA-ROOT-BACK"]));
        assert_eq!(back(Fork::Attr), (vec!["XFS-ATTR-ROOT-LINKS"], vec![]));
    }
}
