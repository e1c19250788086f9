//! Whose are blocks that were claimed twice? Looked up when it is asked.

use crate::xfs::phase2::{Use, records};
use crate::xfs::state::State;
use crate::xfs::volume::Volume;

/// Who had blocks before a file claimed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// They are free.
    Free,
    /// Metadata.
    Meta(Use),
    /// An inode chunk.
    Chunk,
    /// Another file.
    File,
}

impl Before {
    /// In words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Before::Free => "free blocks",
            Before::Meta(what) => what.words(),
            Before::Chunk => "inodes",
            Before::File => "another file",
        }
    }
}

/// Free extents of the groups that were asked for.
#[derive(Debug)]
pub(super) struct Owners {
    free: Vec<Option<Vec<(u32, u32)>>>,
}

impl Owners {
    pub(super) fn new(groups: u32) -> Owners {
        Owners {
            free: vec![None; groups as usize],
        }
    }

    /// Who had at least one of these blocks.
    pub(super) fn before(
        &mut self,
        volume: &Volume<'_>,
        state: &State,
        ag: u32,
        start: u32,
        length: u32,
    ) -> Before {
        if let Some(used) = state.uses.first(ag, start, length) {
            // Blocks of the free list are free for xfs_repair.
            return match used {
                Use::FreeList => Before::Free,
                what => Before::Meta(what),
            };
        }
        let end = u64::from(start) + u64::from(length);
        let inopb_log = volume.geo.inopb_log;
        let inodes = u64::from(start) << inopb_log..end << inopb_log;
        if self.is_free(volume, state, ag, start, length) {
            Before::Free
        } else if state.chunks.has_any(ag, inodes) {
            Before::Chunk
        } else {
            Before::File
        }
    }

    /// Whether at least one of these blocks is free by the btree.
    pub(super) fn is_free(
        &mut self,
        volume: &Volume<'_>,
        state: &State,
        ag: u32,
        start: u32,
        length: u32,
    ) -> bool {
        let (Some(slot), Some(headers)) = (
            self.free.get_mut(ag as usize),
            state.groups.get(ag as usize),
        ) else {
            return false;
        };
        let free = slot.get_or_insert_with(|| records::free(volume, headers, ag));
        overlaps(free, start, length)
    }
}

/// Whether one of the extents, which ascend, has one of these blocks.
fn overlaps(extents: &[(u32, u32)], start: u32, length: u32) -> bool {
    let end = u64::from(start) + u64::from(length);
    let at = extents.partition_point(|extent| u64::from(extent.0) < end);
    at.checked_sub(1).is_some_and(|at| {
        let (first, count) = extents[at];
        u64::from(first) + u64::from(count) > start.into()
    })
}
