//! The blocks of directories, and directories in their inodes.

use ondisk::xfs::directory::{self as format, BlockHeader, FreeHead, NULL_BEST, file_type};
use ondisk::xfs::{checksum, da, shortform};

use super::da_header;
use super::group::Writer;
use super::inode::mode_of;
use crate::Error;
use crate::population::{ObjectId, Target};
use crate::xfs::attributes::Address;
use crate::xfs::contents::Kind;
use crate::xfs::directory::{DOT, DOT_DOT, Data, Form, Leaf, Place, Shape};

/// A directory that is being written.
#[derive(Clone, Copy)]
struct Of<'a> {
    directory: u32,
    ino: u64,
    shape: &'a Shape,
}

impl Writer<'_> {
    /// The bytes of a directory in its inode.
    pub(super) fn local_directory(&self, directory: u32, shape: &Shape) -> Vec<u8> {
        let contents = self.shared.contents;
        let parent = contents.population.parent(directory);
        let parent = self.shared.plan.inode(ObjectId::directory(parent));
        let entries: Vec<(&[u8], u16, u8, u64)> = shape
            .local
            .iter()
            .filter_map(|&(id, offset)| {
                let (name, target) = shape.name(id)?;
                let (ino, kind) = self.target(directory, target);
                Some((name, offset as u16, kind, ino))
            })
            .collect();
        shortform::Directory::write(contents.rules.file_type, parent, &entries)
    }

    /// The inode of a name, and the type of its entry.
    fn target(&self, directory: u32, target: Target) -> (u64, u8) {
        let population = &self.shared.contents.population;
        let plan = self.shared.plan;
        let file = |id: ObjectId| {
            let kind = Kind::File(population.file_kind(id));
            (plan.inode(id), file_type::of_mode(mode_of(kind)))
        };
        match target {
            Target::Subdirectory(nth) => {
                let child = population.children(directory).start + nth;
                let ino = plan.inode(ObjectId::directory(child));
                (ino, file_type::DIRECTORY)
            }
            Target::File(slot) => file(ObjectId { directory, slot }),
            Target::Link(nth) => file(population.link(directory, nth)),
            Target::LostAndFound | Target::Gone => (0, 0),
        }
    }

    /// Writes all blocks of a directory.
    pub(super) fn directory_blocks(
        &mut self,
        directory: u32,
        ino: u64,
        shape: &Shape,
        places: &[(Place, u32)],
    ) -> Result<(), Error> {
        let empty = self.shared.empty;
        let geometry = &empty.geometry;
        let of = Of {
            directory,
            ino,
            shape,
        };
        let mut block = std::mem::take(&mut self.bytes);
        // Leaves and nodes by their numbers.
        let mut parts: Vec<(u32, Part)> = Vec::new();
        if shape.form == Form::Node {
            parts = self.tree_parts(shape);
        }
        for &(place, at) in places {
            block.clear();
            block.resize(geometry.directory_block(), 0);
            let address = Address {
                owner: ino,
                daddr: geometry.daddr(geometry.fsblock(self.ag, at)),
            };
            match place {
                Place::Data(nth) => self.data_block(&mut block, &of, nth, address)?,
                Place::Free(nth) => self.free_block(&mut block, shape, nth, address)?,
                Place::Leaf(_) if shape.form == Form::Leaf => {
                    self.only_leaf(&mut block, shape, address)?;
                }
                Place::Leaf(nth) => {
                    let found = parts.binary_search_by_key(&nth, |part| part.0).ok();
                    let part = found.map(|at| &parts[at].1).ok_or_else(|| {
                        Error::Population(format!("directory {directory} has no leaf block {nth}"))
                    })?;
                    self.tree_block(&mut block, shape, part, address)?;
                }
            }
            self.put_near(at, &block)?;
        }
        self.bytes = block;
        Ok(())
    }

    /// Writes the head of a data or free block, but for its checksum.
    fn block_head(&self, block: &mut [u8], magic: u32, address: Address) -> Result<(), Error> {
        let geometry = &self.shared.empty.geometry;
        if geometry.v5 {
            *BlockHeader::read_mut(block)? = BlockHeader {
                magic: magic.into(),
                crc: [0; 4],
                blkno: address.daddr.into(),
                lsn: 0.into(),
                uuid: geometry.uuid,
                owner: address.owner.into(),
            };
        } else {
            block[..4].copy_from_slice(&magic.to_be_bytes());
        }
        Ok(())
    }

    fn seal_block(&self, block: &mut [u8]) {
        if self.shared.empty.geometry.v5 {
            checksum::seal(block, checksum::DIRECTORY);
        }
    }

    fn data_block(
        &self,
        block: &mut [u8],
        of: &Of<'_>,
        nth: u32,
        address: Address,
    ) -> Result<(), Error> {
        let contents = self.shared.contents;
        let v5 = contents.geometry.v5;
        let shape = of.shape;
        let Some(Some(data)) = shape.data.get(nth as usize) else {
            return Err(Error::Population(format!(
                "directory {} has no block {nth}",
                of.directory
            )));
        };
        let whole = shape.form == Form::Block;
        let magic = match (whole, v5) {
            (true, true) => format::BLOCK3,
            (true, false) => format::BLOCK,
            (false, true) => format::DATA3,
            (false, false) => format::DATA,
        };
        self.block_head(block, magic, address)?;
        let best = data.best_three();
        let best = best.map(|(offset, length)| (offset as u16, length as u16));
        format::set_best_free(v5, block, best);
        self.entries(block, of, data)?;
        if whole && let Some(leaf) = shape.leaves.first() {
            let mut at = shape.block_end(&contents.rules) as usize;
            for &(hash, id) in &leaf.entries {
                let pointer = shape.pointer(&contents.rules, id);
                block[at..at + 4].copy_from_slice(&hash.to_be_bytes());
                block[at + 4..at + 8].copy_from_slice(&pointer.to_be_bytes());
                at += 8;
            }
            let count = leaf.entries.len() as u32;
            block[at..at + 4].copy_from_slice(&count.to_be_bytes());
            block[at + 4..at + 8].copy_from_slice(&leaf.stale.to_be_bytes());
        }
        self.seal_block(block);
        Ok(())
    }

    /// Writes the entries and free areas of a data block.
    fn entries(&self, block: &mut [u8], of: &Of<'_>, data: &Data) -> Result<(), Error> {
        let contents = self.shared.contents;
        let population = &contents.population;
        for &(offset, id) in &data.entries {
            let (name, (ino, kind)): (&[u8], (u64, u8)) = match id {
                DOT => (b".", (of.ino, file_type::DIRECTORY)),
                DOT_DOT => {
                    let parent = population.parent(of.directory);
                    let parent = self.shared.plan.inode(ObjectId::directory(parent));
                    (b"..", (parent, file_type::DIRECTORY))
                }
                id => {
                    let found = of.shape.name(id);
                    let (name, target) = found.ok_or_else(|| {
                        Error::Population(format!("directory {} has no name {id}", of.directory))
                    })?;
                    (name, self.target(of.directory, target))
                }
            };
            let at = offset as usize;
            if !format::put_entry(contents.rules.file_type, block, at, ino, name, kind) {
                return Err(Error::Population(format!(
                    "a name does not fit its block in directory {}",
                    of.directory
                )));
            }
        }
        for &(offset, len) in &data.free {
            if !format::put_free(block, offset as usize, len as usize) {
                return Err(Error::Population(format!(
                    "a free area does not fit its block in directory {}",
                    of.directory
                )));
            }
        }
        Ok(())
    }

    /// The largest free area of a data block, as an index of free space has it.
    fn best(shape: &Shape, nth: usize) -> u16 {
        let data = shape.data.get(nth).and_then(Option::as_ref);
        data.map_or(NULL_BEST, |data| data.best() as u16)
    }

    /// The leaf block of a directory without a tree.
    fn only_leaf(&self, block: &mut [u8], shape: &Shape, address: Address) -> Result<(), Error> {
        let v5 = self.shared.contents.geometry.v5;
        if let Some(leaf) = shape.leaves.first() {
            self.hashes(block, shape, leaf);
        }
        let count = shape.data.len();
        let end = block.len();
        block[end - 4..].copy_from_slice(&(count as u32).to_be_bytes());
        let from = end - 4 - 2 * count;
        for nth in 0..count {
            let at = from + 2 * nth;
            block[at..at + 2].copy_from_slice(&Self::best(shape, nth).to_be_bytes());
        }
        let magic = if v5 { da::LEAF1_3 } else { da::LEAF1 };
        da_header(&self.shared.empty.geometry, block, address, magic)
    }

    fn hashes(&self, block: &mut [u8], shape: &Shape, leaf: &Leaf) {
        let contents = self.shared.contents;
        let v5 = contents.geometry.v5;
        da::set_count(v5, block, leaf.entries.len() as u16, leaf.stale as u16);
        for (at, &(hash, id)) in leaf.entries.iter().enumerate() {
            let pointer = shape.pointer(&contents.rules, id);
            da::set_entry(v5, block, at, hash, pointer);
        }
    }

    /// A block of the free index.
    fn free_block(
        &self,
        block: &mut [u8],
        shape: &Shape,
        nth: u32,
        address: Address,
    ) -> Result<(), Error> {
        let contents = self.shared.contents;
        let v5 = contents.geometry.v5;
        let room = contents.rules.free_room();
        let first = nth as usize * room;
        let count = shape.data.len().saturating_sub(first).min(room);
        let magic = if v5 { format::FREE3 } else { format::FREE };
        self.block_head(block, magic, address)?;
        let mut used = 0;
        for at in 0..count {
            let best = Self::best(shape, first + at);
            used += u32::from(best != NULL_BEST);
            let place = format::free_header(v5) + 2 * at;
            block[place..place + 2].copy_from_slice(&best.to_be_bytes());
        }
        let head = FreeHead {
            firstdb: first as u32,
            nvalid: count as u32,
            nused: used,
        };
        head.write(v5, block);
        self.seal_block(block);
        Ok(())
    }

    /// Leaves and nodes of a tree by their numbers, ascending.
    fn tree_parts(&self, shape: &Shape) -> Vec<(u32, Part)> {
        let block = |number: u32| self.shared.contents.offset(Place::Leaf(number)) as u32;
        let mut parts = Vec::new();
        let mut below: Vec<(u32, u32)> = Vec::new();
        let numbers: Vec<u32> = shape.leaves.iter().map(|leaf| leaf.number).collect();
        let sides = |numbers: &[u32], nth: usize| Sides {
            back: nth.checked_sub(1).map_or(0, |nth| block(numbers[nth])),
            forw: numbers.get(nth + 1).map_or(0, |number| block(*number)),
        };
        for (nth, leaf) in shape.leaves.iter().enumerate() {
            parts.push((leaf.number, Part::Leaf(nth, sides(&numbers, nth))));
            below.push((leaf.last_hash(), block(leaf.number)));
        }
        for (level, nodes) in (1..).zip(&shape.levels) {
            let numbers: Vec<u32> = nodes.iter().map(|node| node.0).collect();
            let mut above = Vec::with_capacity(nodes.len());
            for (nth, &(number, first)) in nodes.iter().enumerate() {
                let end = nodes.get(nth + 1).map_or(below.len(), |next| next.1);
                let children = below[first..end].to_vec();
                let last = children.last().map_or(0, |child| child.0);
                above.push((last, block(number)));
                parts.push((number, Part::Node(level, children, sides(&numbers, nth))));
            }
            below = above;
        }
        parts.sort_by_key(|part| part.0);
        parts
    }

    fn tree_block(
        &self,
        block: &mut [u8],
        shape: &Shape,
        part: &Part,
        address: Address,
    ) -> Result<(), Error> {
        let geometry = &self.shared.empty.geometry;
        let v5 = geometry.v5;
        let (sides, magic) = match part {
            Part::Leaf(nth, sides) => {
                if let Some(leaf) = shape.leaves.get(*nth) {
                    self.hashes(block, shape, leaf);
                }
                (sides, if v5 { da::LEAFN_3 } else { da::LEAFN })
            }
            Part::Node(level, children, sides) => {
                da::set_count(v5, block, children.len() as u16, *level);
                for (at, &(hash, child)) in children.iter().enumerate() {
                    da::set_entry(v5, block, at, hash, child);
                }
                (sides, if v5 { da::NODE3 } else { da::NODE })
            }
        };
        block[..4].copy_from_slice(&sides.forw.to_be_bytes());
        block[4..8].copy_from_slice(&sides.back.to_be_bytes());
        da_header(geometry, block, address, magic)
    }
}

/// The neighbours of a block of a tree; 0: none.
struct Sides {
    back: u32,
    forw: u32,
}

/// A block of a tree.
enum Part {
    /// A leaf by its number in the order of hashes.
    Leaf(usize, Sides),
    /// A node: its level, and last hash and block of each child.
    Node(u16, Vec<(u32, u32)>, Sides),
}
