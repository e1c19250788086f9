//! Names come.

use ondisk::xfs::hash;

use super::area::Data;
use super::{Form, Name, Place, Rules, Shape};
use crate::population::Target;

impl Shape {
    pub(super) fn add(&mut self, rules: &Rules, bytes: &[u8], target: Target) {
        let id = self.names.len() as u32;
        self.names.push(Name {
            at: self.bytes.len() as u32,
            len: bytes.len() as u8,
            hash: hash::name(bytes),
            pointer: 0,
            target,
        });
        self.bytes.extend_from_slice(bytes);
        self.live += 1;
        if self.form == Form::Local {
            if self.add_local(rules, id) {
                return;
            }
            self.leave_inode(rules);
        }
        if self.form == Form::Block {
            if self.add_to_block(rules, id) {
                return;
            }
            self.leave_block(rules);
        }
        let size = self.size(rules, id);
        let found = self.first_with(size);
        if self.form == Form::Leaf && !self.fits_leaf(rules, found.is_none()) {
            self.leave_leaf();
        }
        let block = match found {
            Some(block) => block,
            None => self.new_data(rules),
        };
        let hash = self.put(rules, block, id, size);
        match self.form {
            Form::Node => self.insert_hash(rules, hash, id),
            _ => self.leaves[0].insert(hash, id),
        }
    }

    /// Whether the only leaf block has room for a further name, and a further data block where one is needed.
    fn fits_leaf(&mut self, rules: &Rules, new: bool) -> bool {
        let blocks = self.data.len() + usize::from(new && self.holes == 0);
        let leaf = &mut self.leaves[0];
        let grows = usize::from(leaf.stale == 0);
        if rules.fits_leaf(leaf.entries.len() + grows, blocks) {
            return true;
        }
        leaf.compact();
        rules.fits_leaf(leaf.entries.len() + 1, blocks)
    }

    /// The leaf block becomes one of a tree, and the table of free space a block of its own.
    fn leave_leaf(&mut self) {
        self.form = Form::Node;
        self.births.push(Place::Free(0));
        self.free_blocks = 1;
    }

    /// The first data block with room for an entry of this size.
    fn first_with(&mut self, size: u32) -> Option<u32> {
        let class = (size / 8) as usize;
        let from = self.from[class] as usize;
        let blocks = self.data.iter().skip(from);
        let found = blocks
            .zip(from as u32..)
            .find(|(block, _)| block.as_ref().is_some_and(|block| block.best() >= size))
            .map(|(_, nth)| nth);
        self.from[class] = found.unwrap_or(self.data.len() as u32);
        found
    }

    /// A new data block, at the first place without one.
    fn new_data(&mut self, rules: &Rules) -> u32 {
        let empty = Data::new(rules.header, rules.block);
        let hole = if self.holes > 0 {
            self.data.iter().position(Option::is_none)
        } else {
            None
        };
        let nth = hole.unwrap_or(self.data.len());
        match hole {
            Some(hole) => {
                self.data[hole] = Some(empty);
                self.holes -= 1;
            }
            None => self.data.push(Some(empty)),
        }
        let nth = nth as u32;
        self.births.push(Place::Data(nth));
        for from in &mut self.from {
            *from = (*from).min(nth);
        }
        if self.form == Form::Node {
            self.cover(rules);
        }
        nth
    }

    /// Adds blocks to the free index until it covers all data blocks.
    pub(super) fn cover(&mut self, rules: &Rules) {
        while (self.free_blocks as usize) * rules.free_room() < self.data.len() {
            self.births.push(Place::Free(self.free_blocks));
            self.free_blocks += 1;
        }
    }

    /// Puts an entry into a data block that has room; returns the hash of its name.
    fn put(&mut self, rules: &Rules, block: u32, id: u32, size: u32) -> u32 {
        let data = self.data.get_mut(block as usize).and_then(Option::as_mut);
        let offset = data.and_then(|data| data.insert(id, size)).unwrap_or(0);
        let name = &mut self.names[id as usize];
        name.pointer = rules.pointer(block, offset);
        name.hash
    }

    /// Orders the entries, and builds what depends on all names.
    pub(super) fn finish(&mut self, rules: &Rules) {
        for data in self.data.iter_mut().flatten() {
            data.entries.sort_unstable();
        }
        if self.form == Form::Node {
            self.build_nodes(rules);
        }
    }
}
