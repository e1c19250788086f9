//! The walk over the extents of an inode, as libocfs2 does it for whatever wants to read a file.
//!
//! Pass 1 judges extent trees by a walk of its own first; this one is what fails where they cannot be used.

use ondisk::ocfs2::dinode::{BODY, dynamic, flag};
use ondisk::ocfs2::extent::{BLOCK_LIST, ExtentHead};
use ondisk::ocfs2::{ExtentBlock, ExtentList, ExtentRecord};

use super::refused::Refused;
use super::volume::{Volume, from, head, value};

/// Levels that are followed; deeper trees are damage, as no volume needs more than five.
const LEVELS: u16 = 32;

/// `OCFS2_MAX_PATH_DEPTH`: libocfs2 looks for no leaf in a tree of this many levels.
const MOST_LEVELS: u16 = 5;

/// What a visitor wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next record.
    Continue,
    /// No more.
    Stop,
}

struct Walk<'a, 'v> {
    volume: &'a Volume<'v>,
    visit: &'a mut dyn FnMut(&ExtentRecord) -> Next,
    last_leaf: u64,
    last_cpos: u32,
}

/// Visits the extents of an inode.
///
/// # Errors
/// Why they cannot all be visited.
pub(crate) fn extents(
    volume: &Volume<'_>,
    inode: &[u8],
    visit: &mut dyn FnMut(&ExtentRecord) -> Next,
) -> Result<(), Refused> {
    let dinode = head(inode);
    let unlisted = flag::SUPER_BLOCK | flag::LOCAL_ALLOC | flag::CHAIN;
    let flags = dinode.i_flags.get();
    if flags & flag::VALID == 0 || flags & unlisted != 0 || dinode.has_dynamic(dynamic::INLINE_DATA)
    {
        return Err(Refused::Corrupt);
    }
    let mut walk = Walk {
        volume,
        visit,
        last_leaf: 0,
        last_cpos: 0,
    };
    if walk.list(from(inode, BODY), None, 0)? == Next::Stop {
        return Ok(());
    }
    if dinode.i_last_eb_blk.get() != walk.last_leaf {
        return Err(Refused::Write);
    }
    Ok(())
}

/// The first block of a file, which must be the first of its first extent.
///
/// # Errors
/// Why it has none.
pub(crate) fn first_block(volume: &Volume<'_>, inode: &[u8]) -> Result<u64, Refused> {
    let mut first = None;
    extents(volume, inode, &mut |record| {
        first = (record.e_cpos.get() == 0).then_some(record.e_blkno.get());
        Next::Stop
    })?;
    first.ok_or(Refused::Record)
}

/// Visits the extents of a list that is not in an inode.
///
/// # Errors
/// As [`extents`].
pub(crate) fn list(
    volume: &Volume<'_>,
    bytes: &[u8],
    last_leaf: u64,
    visit: &mut dyn FnMut(&ExtentRecord) -> Next,
) -> Result<(), Refused> {
    let mut walk = Walk {
        volume,
        visit,
        last_leaf: 0,
        last_cpos: 0,
    };
    if walk.list(bytes, None, 0)? == Next::Stop {
        return Ok(());
    }
    if last_leaf != walk.last_leaf {
        return Err(Refused::Write);
    }
    Ok(())
}

impl Walk<'_, '_> {
    /// A list; `depth` is what its parent expects, none for a root, and `level` the number of blocks above it.
    fn list(&mut self, bytes: &[u8], depth: Option<u16>, level: u16) -> Result<Next, Refused> {
        let Ok(list) = ExtentList::read(bytes) else {
            return Ok(Next::Continue);
        };
        let own = list.head().l_tree_depth.get();
        if depth.is_some_and(|depth| depth != own) || level > LEVELS {
            return Err(Refused::Corrupt);
        }
        for (at, record) in list.used().enumerate() {
            if own == 0 {
                if at == 0 && record.leaf_clusters() == 0 {
                    continue;
                }
                if (self.visit)(record) == Next::Stop {
                    return Ok(Next::Stop);
                }
                continue;
            }
            if self.below(record, own - 1, level + 1)? == Next::Stop {
                return Ok(Next::Stop);
            }
            if record.int_clusters() != 0 && record.e_cpos.get() >= self.last_cpos {
                if own == 1 {
                    self.last_leaf = record.e_blkno.get();
                }
                self.last_cpos = record.e_cpos.get();
            }
        }
        Ok(Next::Continue)
    }

    fn below(&mut self, record: &ExtentRecord, depth: u16, level: u16) -> Result<Next, Refused> {
        let number = record.e_blkno.get();
        if number == 0 {
            return Ok(Next::Continue);
        }
        let block = self.volume.extent_block(number)?;
        let eb: ExtentBlock = value(ExtentBlock::read(&block));
        let list: ExtentHead = value(ExtentHead::read(from(&block, BLOCK_LIST)));
        if list.l_next_free_rec.get() > list.l_count.get() || eb.h_blkno.get() != number {
            return Err(Refused::Corrupt);
        }
        self.list(from(&block, BLOCK_LIST), Some(depth), level)
    }
}

/// The leaf record whose `e_cpos` is the last not above `key`, in a list that may have levels; none without one.
///
/// # Errors
/// A block on the way cannot be used.
pub(crate) fn find(
    volume: &Volume<'_>,
    root: &[u8],
    key: u32,
) -> Result<Option<ExtentRecord>, Refused> {
    let mut bytes: Vec<u8> = root.to_vec();
    let head: ExtentHead = value(ExtentHead::read(root));
    if head.l_tree_depth.get() >= MOST_LEVELS {
        return Err(Refused::Depth);
    }
    for _ in 0..=LEVELS {
        let Ok(list) = ExtentList::read(&bytes) else {
            return Ok(None);
        };
        let depth = list.head().l_tree_depth.get();
        let found = list
            .used()
            .filter(|record| record.e_cpos.get() <= key)
            .last()
            .copied();
        if depth == 0 {
            return Ok(found);
        }
        let Some(found) = found else {
            return Err(Refused::Corrupt);
        };
        let block = volume.extent_block(found.e_blkno.get())?;
        let below: ExtentHead = value(ExtentHead::read(from(&block, BLOCK_LIST)));
        if below.l_tree_depth.get() >= depth || below.l_next_free_rec.get() > below.l_count.get() {
            return Err(Refused::Corrupt);
        }
        bytes = from(&block, BLOCK_LIST).to_vec();
    }
    Err(Refused::Corrupt)
}
