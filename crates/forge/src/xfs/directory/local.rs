//! Directories in their inode, and in one block.

use super::area::Data;
use super::index::Leaf;
use super::{BLOCK_TAIL, DOT, DOT_DOT, Form, HASH_ENTRY, Place, Rules, Shape};

/// The hashes of `.` and `..` (`xfs_da_hashname`).
const HASH_DOT: u32 = 0x2e;
const HASH_DOT_DOT: u32 = 0x172e;

impl Shape {
    /// Bytes of a name's entry in a data block.
    pub(super) fn size(&self, rules: &Rules, id: u32) -> u32 {
        match id {
            DOT => rules.entry(1),
            DOT_DOT => rules.entry(2),
            id => rules.entry(
                self.names
                    .get(id as usize)
                    .map_or(0, |name| name.len.into()),
            ),
        }
    }

    /// Bytes of the names in an inode.
    fn local_bytes(&self, rules: &Rules, ids: impl Iterator<Item = u32>) -> u32 {
        let names = ids.map(|id| {
            let len = self
                .names
                .get(id as usize)
                .map_or(0, |name| name.len.into());
            rules.local_entry(len)
        });
        rules.local_header() + names.sum::<u32>()
    }

    /// Adds a name to a directory in its inode; `false` where it does not fit. Its offset is that in a block with the same names.
    pub(super) fn add_local(&mut self, rules: &Rules, id: u32) -> bool {
        let ids = self.local.iter().map(|entry| entry.0).chain([id]);
        if self.local_bytes(rules, ids) > rules.local_room || self.local.len() >= 255 {
            return false;
        }
        let size = self.size(rules, id);
        let mut end = rules.first();
        let mut at = None;
        for (nth, &(other, offset)) in self.local.iter().enumerate() {
            if at.is_none() && offset - end >= size {
                at = Some((nth, end));
            }
            end = offset + self.size(rules, other);
        }
        let (nth, offset) = at.unwrap_or((self.local.len(), end));
        let end = end.max(offset + size);
        let hashes = self.local.len() as u32 + 3;
        if end + hashes * HASH_ENTRY + BLOCK_TAIL > rules.block {
            return false;
        }
        self.local.insert(nth, (id, offset));
        true
    }

    /// Moves the names from the inode to a block.
    pub(super) fn leave_inode(&mut self, rules: &Rules) {
        let mut block = Data::new(rules.header, rules.block);
        let mut leaf = Leaf::default();
        for (id, hash) in [(DOT, HASH_DOT), (DOT_DOT, HASH_DOT_DOT)] {
            let size = self.size(rules, id);
            block.insert(id, size);
            leaf.insert(hash, id);
        }
        let local = std::mem::take(&mut self.local);
        let tail = (local.len() as u32 + 2) * HASH_ENTRY + BLOCK_TAIL;
        block.take_end(rules.block, tail);
        let mut at = rules.first();
        let end = rules.block - tail;
        block.free.clear();
        for (id, offset) in local {
            if offset > at {
                block.free.push((at, offset - at));
            }
            block.entries.push((offset, id));
            at = offset + self.size(rules, id);
            let name = &mut self.names[id as usize];
            name.pointer = rules.pointer(0, offset);
            leaf.insert(name.hash, id);
        }
        if end > at {
            block.free.push((at, end - at));
        }
        self.form = Form::Block;
        self.data = vec![Some(block)];
        self.leaves = vec![leaf];
        self.births = vec![Place::Data(0)];
    }

    /// Where the hash entries of a directory of one block begin.
    pub(in crate::xfs) fn block_end(&self, rules: &Rules) -> u32 {
        let entries = self.leaves.first().map_or(0, |leaf| leaf.entries.len());
        rules.block - BLOCK_TAIL - entries as u32 * HASH_ENTRY
    }

    /// Adds a name to a directory of one block; `false` where it does not fit.
    pub(super) fn add_to_block(&mut self, rules: &Rules, id: u32) -> bool {
        let size = self.size(rules, id);
        let end = self.block_end(rules);
        let (Some(Some(block)), Some(leaf)) = (self.data.first_mut(), self.leaves.first_mut())
        else {
            return false;
        };
        let grows = leaf.stale == 0;
        if grows && !block.take_end(end, HASH_ENTRY) {
            return false;
        }
        let Some(offset) = block.insert(id, size) else {
            if grows {
                block.release(end - HASH_ENTRY, HASH_ENTRY);
            }
            return false;
        };
        let name = &mut self.names[id as usize];
        name.pointer = rules.pointer(0, offset);
        leaf.insert(name.hash, id);
        true
    }

    /// Moves the hash entries to a leaf block of their own.
    pub(super) fn leave_block(&mut self, rules: &Rules) {
        let end = self.block_end(rules);
        if let Some(Some(block)) = self.data.first_mut() {
            block.release(end, rules.block - end);
        }
        self.form = Form::Leaf;
        self.births.push(Place::Leaf(0));
    }

    /// Takes the hash entries back into the only data block, where its end is free; `false` where it is not.
    pub(super) fn enter_block(&mut self, rules: &Rules) -> bool {
        let Some(leaf) = self.leaves.first_mut() else {
            return false;
        };
        let tail = leaf.live() as u32 * HASH_ENTRY + BLOCK_TAIL;
        let Some(Some(block)) = self.data.first_mut() else {
            return false;
        };
        if !block.take_end(rules.block, tail) {
            return false;
        }
        leaf.compact();
        leaf.number = 0;
        self.form = Form::Block;
        self.births = vec![Place::Data(0)];
        true
    }

    /// Takes the names of the only block back into the inode, where they fit; their offsets stay.
    pub(super) fn enter_inode(&mut self, rules: &Rules) {
        let Some(Some(block)) = self.data.first() else {
            return;
        };
        let mut names: Vec<(u32, u32)> = block
            .entries
            .iter()
            .filter(|entry| entry.1 != DOT && entry.1 != DOT_DOT)
            .map(|&(offset, id)| (id, offset))
            .collect();
        let bytes = self.local_bytes(rules, names.iter().map(|name| name.0));
        if bytes > rules.local_room || names.len() > 255 {
            return;
        }
        names.sort_unstable_by_key(|name| name.1);
        self.local = names;
        self.form = Form::Local;
        self.data.clear();
        self.leaves.clear();
        self.births.clear();
    }
}
