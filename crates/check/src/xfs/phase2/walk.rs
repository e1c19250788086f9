//! The btrees of all allocation groups, level by level.
//!
//! All blocks of a level are known when the level above was read, so each level is one ascending sweep over all groups. What a block says
//! of itself is judged where it is read, in any thread; what it says of its neighbours is judged when the level is complete.

use std::sync::atomic::Ordering::Relaxed;

use blockio::{Content, Piece, Span};
use ondisk::xfs::btree::Tree;

use super::block::{self, Node};
use super::group::{Headers, has_tree, most_levels};
use super::leaf::Results;
use super::neighbours;
use super::tree_name::{CLAIMED, POINTER};
use super::uses::Uses;
use crate::frame::failure::Failure;
use crate::frame::finding::Finding;
use crate::frame::sweep::Crew;
use crate::xfs::claims::Claims;
use crate::xfs::fingerprint::Mapped;
use crate::xfs::state::{LargestLsn, Suspect};
use crate::xfs::volume::Volume;
use crate::xfs::xfs_repair::log::Log;
use crate::xfs::xfs_repair::problems::AGBT_READ;

/// A key of any tree, comparable: by block (start), by size (length, start), mappings (start, owner, offset and flags), counts (start with
/// the bit of staging extents), chunks (first inode).
pub(super) type Key = [u64; 3];

/// A block that is to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    pub(super) ag: u32,
    pub(super) agbno: u32,
    pub(super) is_root: bool,
    /// The first of its parent: a search comes to it whatever its key is.
    pub(super) is_first: bool,
    /// The second of two of which the first has a larger key: a binary search begins at that one, and never comes to this.
    pub(super) is_passed: bool,
    /// What the parent has as its first key.
    pub(super) low: Key,
    /// What the parent has as its highest key: of mappings alone.
    pub(super) high: Key,
}

/// What all trees need.
pub(super) struct Trees<'a> {
    pub(super) volume: &'a Volume<'a>,
    pub(super) groups: &'a [Headers],
    pub(super) claims: &'a Claims,
    pub(super) uses: &'a Uses,
    pub(super) suspect: &'a Suspect,
    pub(super) lsn: &'a LargestLsn,
    pub(super) results: &'a Results,
}

/// Bytes that a walk takes for so many blocks of a level: their places, the order in which they are read, and what they say of their
/// neighbours.
pub(crate) fn memory(blocks: u64) -> u64 {
    let each =
        2 * size_of::<Visit>() + size_of::<u32>() + size_of::<Span>() + 2 * size_of::<Node>();
    blocks * each as u64
}

/// What a worker has.
pub(super) struct Worker {
    pub(super) log: Log,
    nodes: Vec<(u32, Node)>,
}

impl Trees<'_> {
    /// Walks a tree in all groups.
    ///
    /// # Errors
    /// The check was cancelled, or there are no buffers.
    pub(super) fn walk(&self, tree: Tree, log: &mut Log) -> Result<(), Failure> {
        let roots = self.roots(tree, log);
        let mut level = roots.iter().map(|root| root.1).max().unwrap_or(0);
        let mut visits = Vec::new();
        while level > 0 {
            level -= 1;
            visits.extend(
                roots
                    .iter()
                    .filter(|(_, levels)| *levels == level + 1)
                    .map(|(visit, _)| *visit),
            );
            visits.sort_by_key(|visit: &Visit| visit.ag);
            let nodes = self.level(tree, level, &visits, log)?;
            neighbours::judge(self, tree, &visits, &nodes, log);
            if level == 0 {
                break;
            }
            visits = self.children(tree, &visits, nodes, log);
        }
        Ok(())
    }

    /// The usable roots, with their levels; their blocks are taken.
    fn roots(&self, tree: Tree, log: &mut Log) -> Vec<(Visit, u32)> {
        let mut roots = Vec::new();
        if !has_tree(self.volume, tree) {
            return roots;
        }
        for (ag, headers) in self.groups.iter().enumerate() {
            let ag = ag as u32;
            let Some((agbno, levels)) = headers.root(tree) else {
                self.distrust(tree);
                continue;
            };
            let usable = (1..=most_levels(self.volume, tree)).contains(&levels)
                && self.volume.geo.is_agblock(ag, agbno);
            let visit = Visit {
                ag,
                agbno,
                is_root: true,
                is_first: true,
                is_passed: false,
                low: [0; 3],
                high: [u64::MAX; 3],
            };
            if usable && self.take(tree, &visit, log) {
                roots.push((visit, levels));
            } else {
                self.distrust(tree);
            }
        }
        roots
    }

    /// Takes the block of a tree; whether it was free to take.
    fn take(&self, tree: Tree, visit: &Visit, log: &mut Log) -> bool {
        let mapped = Mapped {
            owner: Uses::owner(tree),
            flags: 0,
            offset: 0,
            advances: false,
        };
        let sole = self.claims.take(visit.ag, visit.agbno, 1, Some(&mapped));
        if sole {
            self.uses.tree_block(visit.ag, visit.agbno, tree);
        } else {
            log.add(self.finding(CLAIMED[tree as usize], visit));
            self.distrust(tree);
        }
        sole
    }

    /// Reads the blocks of a level.
    fn level(
        &self,
        tree: Tree,
        level: u32,
        visits: &[Visit],
        log: &mut Log,
    ) -> Result<Vec<Option<Node>>, Failure> {
        let geo = &self.volume.geo;
        let mut order: Vec<u32> = (0..visits.len() as u32).collect();
        order.sort_unstable_by_key(|at| {
            let visit = &visits[*at as usize];
            (visit.ag, visit.agbno)
        });
        let span = |at: u32| {
            let visit = &visits[at as usize];
            self.volume
                .span(at.into(), geo.fsblock(visit.ag, visit.agbno), 1)
        };
        let spans: Vec<Span> = order.into_iter().map(span).collect();
        let empty = log.fork();
        let workers = self.volume.sweeper().run(
            Crew::All,
            spans,
            || Worker {
                log: empty.fork(),
                nodes: Vec::new(),
            },
            |worker, piece| self.piece(tree, level, visits, worker, piece),
        )?;
        let mut nodes: Vec<Option<Node>> = (0..visits.len()).map(|_| None).collect();
        for worker in workers {
            log.merge(worker.log);
            for (at, node) in worker.nodes {
                nodes[at as usize] = Some(node);
            }
        }
        Ok(nodes)
    }

    fn piece(
        &self,
        tree: Tree,
        level: u32,
        visits: &[Visit],
        worker: &mut Worker,
        piece: &Piece<'_>,
    ) {
        let at = piece.tag as u32;
        let Some(visit) = visits.get(at as usize) else {
            return;
        };
        let zeros;
        let bytes = match &piece.content {
            Content::Data(bytes) => *bytes,
            Content::Hole(len) => {
                zeros = vec![0; *len as usize];
                &zeros[..]
            }
            Content::Failed(error) => {
                let finding = self.finding(&AGBT_READ, visit);
                worker.log.add(finding.note(error.to_string()));
                self.distrust(tree);
                return;
            }
        };
        if bytes.len() < self.volume.block_size() {
            return;
        }
        self.results.count_block(visit.ag, tree);
        if let Some(node) = block::judge(self, tree, level, visit, bytes, &mut worker.log) {
            worker.nodes.push((at, node));
        }
    }

    /// The blocks of the next level; they are taken.
    fn children(
        &self,
        tree: Tree,
        visits: &[Visit],
        nodes: Vec<Option<Node>>,
        log: &mut Log,
    ) -> Vec<Visit> {
        let mut next = Vec::new();
        for (visit, node) in visits.iter().zip(nodes) {
            for child in node.map(|node| node.children).unwrap_or_default() {
                if !self.volume.geo.is_agblock(visit.ag, child.agbno) {
                    let finding = self.finding(POINTER[tree as usize], visit);
                    log.add(finding.note(format!("pointer {}", child.agbno)));
                    self.distrust(tree);
                } else if self.take(tree, &child, log) {
                    next.push(child);
                }
            }
        }
        next
    }

    /// A finding about a block of a tree.
    pub(super) fn finding(
        &self,
        problem: &'static crate::frame::problem::Problem,
        visit: &Visit,
    ) -> Finding {
        let block = self.volume.geo.fsblock(visit.ag, visit.agbno);
        Finding::new(problem).group(visit.ag).block(block)
    }

    /// A tree is no longer a reference for others.
    pub(super) fn distrust(&self, tree: Tree) {
        match tree {
            Tree::Ino | Tree::Fino => self.suspect.inodes.store(true, Relaxed),
            Tree::Rmap => self.suspect.mappings.store(true, Relaxed),
            Tree::Refcount => self.suspect.counts.store(true, Relaxed),
            Tree::Bno | Tree::Cnt => {}
        }
    }
}
