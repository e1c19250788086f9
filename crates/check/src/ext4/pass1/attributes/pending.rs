//! What can be judged only by a block, kept until all inodes have been seen and then read in order.

use ondisk::ext4::Inode;
use ondisk::ext4::inode::flag;

/// An attribute block, and who uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    pub(super) block: u64,
    /// The lowest inode that does.
    pub(super) ino: u32,
    /// How many do.
    pub(super) users: u32,
}

/// A link whose target lies in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) block: u64,
    pub(super) ino: u32,
    pub(super) size: u32,
    /// `i_flags`.
    pub(super) flags: u32,
}

/// The root of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Root {
    pub(super) block: u64,
    pub(super) size: u64,
    pub(super) ino: u32,
    /// `i_blocks_lo`.
    pub(super) sectors: u32,
    /// Whether names are both encrypted and folded: hashes then lie beside them.
    pub(super) hashes_beside_names: bool,
}

impl Root {
    pub(super) fn new(block: u64, ino: u32, inode: &Inode<'_>) -> Root {
        Root {
            block,
            size: inode.size(),
            ino,
            sectors: inode.raw().i_blocks_lo.get(),
            hashes_beside_names: inode.has_flags(flag::ENCRYPT | flag::CASEFOLD),
        }
    }
}

/// What one worker leaves.
#[derive(Debug, Default)]
pub(super) struct Pending {
    uses: Vec<Use>,
    pub(super) targets: Vec<Target>,
    pub(super) roots: Vec<Root>,
    /// Number of uses after which blocks that several inodes share are joined again.
    limit: usize,
}

/// Uses that are not worth joining.
const FEW: usize = 1 << 16;

impl Pending {
    /// An inode uses an attribute block.
    pub(super) fn uses(&mut self, block: u64, ino: u32) {
        self.uses.push(Use {
            block,
            ino,
            users: 1,
        });
        if self.uses.len() >= self.limit.max(FEW) {
            self.join();
            // What is left are different blocks; twice as many may come before it is worth looking again.
            self.limit = self.uses.len() * 2;
        }
    }

    fn join(&mut self) {
        self.uses.sort_unstable();
        self.uses.dedup_by(|next, first| {
            let same = next.block == first.block;
            if same {
                first.users = first.users.saturating_add(next.users);
            }
            same
        });
    }

    /// Takes what another has left.
    pub(super) fn append(&mut self, mut other: Pending) {
        self.uses.append(&mut other.uses);
        self.targets.append(&mut other.targets);
        self.roots.append(&mut other.roots);
    }

    /// The attribute blocks, ascending, each once.
    pub(super) fn take_uses(&mut self) -> Vec<Use> {
        self.join();
        std::mem::take(&mut self.uses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_of_a_block_are_counted_across_workers() {
        let mut all = Pending::default();
        for worker in 0..3 {
            let mut own = Pending::default();
            for nth in 0..(FEW as u32 * 2) {
                own.uses(u64::from(nth % 10), 1000 + nth * 3 + worker);
            }
            assert!(own.uses.len() <= FEW);
            all.append(own);
        }
        let uses = all.take_uses();
        assert_eq!(uses.len(), 10);
        assert_eq!(
            uses.iter().map(|one| one.users).sum::<u32>(),
            FEW as u32 * 6
        );
        assert_eq!((uses[0].block, uses[0].ino), (0, 1000));
        assert_eq!((uses[9].block, uses[9].ino), (9, 1027));
    }
}
