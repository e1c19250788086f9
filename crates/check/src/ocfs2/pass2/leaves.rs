//! The index of the directory at hand, kept for its names.
//!
//! libocfs2 reads root and leaf anew for each name, and goes through their entries from the first. Here the entries of a list are
//! sorted once by hash. Only where this gives one entry, which leads to the block with the name, is the answer taken from here: everything else is
//! looked up as libocfs2 does it.

use std::collections::HashMap;

use ondisk::ocfs2::DxRoot;
use ondisk::ocfs2::hash::NameHash;
use ondisk::ocfs2::index::{DxList, INLINE, LEAF_LIST, ROOT_LIST};

use crate::ocfs2::blocks::Block;
use crate::ocfs2::lookup;
use crate::ocfs2::volume::{Volume, from, value};

/// Lists that are kept.
const MOST: usize = 256;

/// Entries of a list: hash and block, ascending; none where the list cannot be used.
type Entries = Option<Vec<(NameHash, u64)>>;

/// The index of one directory.
#[derive(Default)]
pub(super) struct Leaves {
    /// Its root: number, and the block where it can be used.
    root: Option<(u64, Option<Block>)>,
    lists: HashMap<u64, Entries>,
}

impl Leaves {
    /// Whether the index with this root has one entry for the hash, which leads to this block.
    pub(super) fn leads(
        &mut self,
        volume: &Volume<'_>,
        root: u64,
        hash: NameHash,
        block: u64,
    ) -> bool {
        if self.root.as_ref().is_none_or(|kept| kept.0 != root) {
            self.root = Some((root, volume.index_root(root).ok()));
            self.lists.clear();
        }
        let Some((_, Some(bytes))) = &self.root else {
            return false;
        };
        let head: DxRoot = value(DxRoot::read(bytes));
        if head.dr_num_entries.get() == 0 {
            return false;
        }
        let inline = head.dr_flags & INLINE != 0;
        let list = if inline {
            root
        } else {
            match lookup::leaf_of(volume, bytes, hash) {
                Ok(leaf) => leaf,
                Err(_) => return false,
            }
        };
        if self.lists.len() >= MOST && !self.lists.contains_key(&list) {
            self.lists.clear();
        }
        let entries = self.lists.entry(list).or_insert_with(|| {
            if inline {
                return entries(from(bytes, ROOT_LIST));
            }
            let leaf = volume.index_leaf(list).ok()?;
            entries(from(&leaf, LEAF_LIST))
        });
        let Some(entries) = entries else {
            return false;
        };
        let at = entries.partition_point(|entry| entry.0 < hash);
        let mut same = entries[at..].iter().take_while(|entry| entry.0 == hash);
        same.next().is_some_and(|entry| entry.1 == block) && same.next().is_none()
    }
}

fn entries(bytes: &[u8]) -> Entries {
    let list = DxList::read(bytes).ok()?;
    let (count, used) = (list.head().de_count.get(), list.head().de_num_used.get());
    if count == 0 || used == 0 {
        return None;
    }
    let entries = list.first(used.into()).map(|entry| {
        let hash = NameHash {
            major: entry.dx_major_hash.get(),
            minor: entry.dx_minor_hash.get(),
        };
        (hash, entry.dx_dirent_blk.get())
    });
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable();
    Some(entries)
}
