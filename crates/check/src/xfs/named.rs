//! Blocks that inodes name and that are judged after all inodes: of directories, attributes and quota files.
//!
//! Sixteen bytes for up to 64 blocks that follow each other. They are sorted by block and read in one ascending sweep. A sound filesystem
//! names no block twice; where damaged forks name more than there are, those of the largest forks are left out, before they are listed.

use std::sync::{Mutex, PoisonError};

use crate::frame::budget::Shares;

/// What a named block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Use {
    /// The data fork of a directory.
    Directory = 0,
    /// An attribute fork.
    Attribute = 1,
    /// A quota file.
    Quota = 2,
}

/// Bits of the offset within the fork.
const OFFSET_BITS: u32 = 29;
/// Bits of a block number, as extents have them.
const BLOCK_BITS: u32 = 52;
/// Blocks of a run at most.
pub(crate) const MOST: u64 = 64;

/// Named blocks that follow each other, in the fork and in the filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NamedRun {
    /// Block number, then two bits of the use, four of the fork's class of size, and six of the number of blocks less one: sorting is by
    /// block.
    at: u64,
    /// Rank and offset of the first.
    of: u64,
}

/// A fork whose blocks are named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fork {
    /// What it is.
    pub(crate) what: Use,
    /// The rank of the inode.
    pub(crate) rank: u64,
    /// Its class among [`Shares`].
    pub(crate) class: u8,
}

impl NamedRun {
    /// `count` blocks of a fork, 1 to [`MOST`], from `offset` on, which are at block `fsblock` of the filesystem. None where a number does
    /// not fit: offsets of directories and attributes are below 2^29 blocks.
    pub(crate) fn new(fork: Fork, fsblock: u64, offset: u64, count: u64) -> Option<NamedRun> {
        let more = count.checked_sub(1).filter(|more| *more < MOST)?;
        let fits = (fsblock + more) >> BLOCK_BITS == 0
            && (offset + more) >> OFFSET_BITS == 0
            && fork.rank >> (u64::BITS - OFFSET_BITS) == 0;
        fits.then_some(NamedRun {
            at: fsblock << 12 | (fork.what as u64) << 10 | u64::from(fork.class & 15) << 6 | more,
            of: fork.rank << OFFSET_BITS | offset,
        })
    }

    /// What it belongs to.
    pub(crate) fn what(self) -> Use {
        match self.at >> 10 & 3 {
            0 => Use::Directory,
            1 => Use::Attribute,
            _ => Use::Quota,
        }
    }

    /// The first block.
    pub(crate) fn fsblock(self) -> u64 {
        self.at >> 12
    }

    /// The number of blocks.
    pub(crate) fn count(self) -> u64 {
        (self.at & 63) + 1
    }

    /// The rank of the inode.
    pub(crate) fn rank(self) -> u64 {
        self.of >> OFFSET_BITS
    }

    /// The first block within the fork.
    pub(crate) fn offset(self) -> u64 {
        self.of & ((1 << OFFSET_BITS) - 1)
    }

    fn class(self) -> u8 {
        (self.at >> 6 & 15) as u8
    }

    /// Its blocks, each by itself.
    pub(crate) fn blocks(self) -> impl Iterator<Item = NamedRun> {
        (0..self.count()).map(move |nth| NamedRun {
            at: (self.at & !63) + (nth << 12),
            of: self.of + nth,
        })
    }
}

/// How much is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts {
    /// Runs.
    pub(crate) runs: u64,
    /// Runs that do not follow another one in the filesystem.
    pub(crate) apart: u64,
    /// Blocks of which something is kept when they are read: of trees of hashes, and of values.
    pub(crate) members: u64,
}

/// The blocks named so far.
#[derive(Debug)]
pub(crate) struct Named {
    runs: Mutex<Vec<NamedRun>>,
    shares: Shares,
}

impl Named {
    /// No names, of a filesystem with this many blocks.
    pub(crate) fn new(blocks: u64) -> Named {
        Named {
            runs: Mutex::default(),
            shares: Shares::new(blocks),
        }
    }

    /// Whether a fork that maps this many blocks may have them listed, and its class: to be asked before.
    pub(crate) fn admit(&self, blocks: u64) -> (bool, u8) {
        (self.shares.admit(blocks), Shares::class(blocks))
    }

    /// Whether forks of a class are listed.
    pub(crate) fn has(&self, class: u8) -> bool {
        self.shares.has(class)
    }

    /// Forks whose blocks were left out.
    pub(crate) fn left_out(&self) -> u64 {
        self.shares.left_out()
    }

    /// All blocks are named: the runs are sorted.
    pub(crate) fn seal(&self) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.sort_unstable();
        runs.shrink_to_fit();
    }

    /// What there is, after [`Named::seal`]; directories have their first leaf at block `leaf`.
    pub(crate) fn amounts(&self, leaf: u64) -> Amounts {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut amounts = Amounts {
            runs: runs.len() as u64,
            ..Amounts::default()
        };
        let mut end = None;
        for run in runs.iter() {
            amounts.apart += u64::from(end != Some(run.fsblock()));
            end = Some(run.fsblock() + run.count());
            amounts.members += match run.what() {
                Use::Directory if run.offset() >= leaf => run.count(),
                // The first block of most is their only one, and the root of the others.
                Use::Attribute => run.count() - u64::from(run.offset() == 0),
                _ => 0,
            };
        }
        amounts
    }

    /// Takes the runs that a worker has collected, and empties its list. Those of forks that are left out meanwhile are dropped.
    pub(crate) fn add(&self, list: &mut Vec<NamedRun>) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.append(list);
        if self.left_out() > 0 {
            let before = runs.len();
            runs.retain(|run| self.has(run.class()));
            if runs.len() < before / 2 {
                runs.shrink_to_fit();
            }
        }
    }

    /// All of them by block, after [`Named::seal`]; none are left.
    pub(crate) fn take(&self) -> Vec<NamedRun> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_its_blocks() {
        let fork = Fork {
            what: Use::Attribute,
            rank: 77,
            class: 5,
        };
        let run = NamedRun::new(fork, (1 << 52) - 3, 9, 3).unwrap();
        let blocks: Vec<_> = run
            .blocks()
            .map(|one| (one.fsblock(), one.offset(), one.count()))
            .collect();
        let first = (1 << 52) - 3;
        assert_eq!(
            blocks,
            [(first, 9, 1), (first + 1, 10, 1), (first + 2, 11, 1)]
        );
        assert_eq!(
            (run.what(), run.rank(), run.class()),
            (Use::Attribute, 77, 5)
        );
        assert!(NamedRun::new(fork, (1 << 52) - 2, 9, 3).is_none());
        assert!(NamedRun::new(fork, 1, (1 << 29) - 2, 3).is_none());
        assert!(NamedRun::new(fork, 1, 1, 0).is_none() && NamedRun::new(fork, 1, 1, 65).is_none());
    }

    #[test]
    fn forks_that_name_more_than_there_is_are_dropped_whole() {
        let named = Named::new(100);
        let list = |blocks: u64, rank: u64| {
            let (admitted, class) = named.admit(blocks);
            let fork = Fork {
                what: Use::Directory,
                rank,
                class,
            };
            let runs = (0..blocks).step_by(64).filter(|_| admitted);
            let run = |at: u64| NamedRun::new(fork, 10 + at, at, (blocks - at).min(64));
            named.add(&mut runs.filter_map(run).collect());
        };
        list(3, 1);
        list(70, 2);
        list(80, 3);
        list(4000, 4);
        named.seal();
        let ranks: Vec<u64> = named.take().iter().map(|run| run.rank()).collect();
        assert_eq!((ranks, named.left_out()), (vec![1], 3));
    }
}
