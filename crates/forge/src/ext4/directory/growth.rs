//! Names are added and removed; blocks fill and split.

use ondisk::ext4::htree::IndexEntry;

use super::block::Block;
use super::index::{Index, Room, Way};
use super::inline::Inline;
use super::leaf::{FREE, Leaf, NAMES, Record, dots_len};
use super::{Full, Rules};
use crate::Error;

/// A directory that takes names one by one.
#[derive(Debug, Clone)]
pub struct Growth {
    rules: Rules,
    /// Bytes that each name's record needs, 0 once it is removed.
    needs: Vec<u16>,
    hashes: Vec<u32>,
    /// Names in the inode; there are no blocks then.
    inline: Option<Box<Inline>>,
    blocks: Vec<Block>,
    index: Option<Index>,
    /// Kept for its room: hash and place of what a split sorts.
    sorted: Vec<(u32, u32)>,
    /// Each split of a leaf, where that is wanted.
    splits: Option<Vec<Split>>,
    /// The time that splits get.
    time: u32,
}

/// A leaf was split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split {
    /// When: the number of the name that had no room.
    pub(super) time: u32,
    /// The hash of that name.
    pub(super) name: u32,
    /// The hash at which the new leaf begins, as the index has it.
    pub(super) first: u32,
}

/// A directory that is done growing; [`Shape::write`] makes its blocks.
#[derive(Debug, Clone)]
pub struct Shape {
    pub(super) rules: Rules,
    pub(super) inline: Option<Box<Inline>>,
    pub(super) blocks: Vec<Block>,
    pub(super) index: Option<Index>,
    /// The logical block of each node of the index.
    pub(super) nodes: Vec<u32>,
    used: u64,
}

impl Shape {
    /// Blocks; none where all names are in the inode.
    pub fn blocks(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Bytes of the directory (`i_size`).
    pub fn size(&self) -> u64 {
        match &self.inline {
            Some(inline) => inline.size().into(),
            None => self.blocks.len() as u64 * u64::from(self.rules.block_size),
        }
    }

    /// Levels of the index with the root, 0 without one.
    pub fn levels(&self) -> u8 {
        self.index.as_ref().map_or(0, |index| index.levels + 1)
    }

    /// Bytes that the entries need, and bytes of the leaves.
    pub fn fill(&self) -> (u64, u64) {
        let leaves = self
            .blocks
            .iter()
            .filter(|block| matches!(block, Block::Leaf(_)));
        (
            self.used,
            leaves.count() as u64 * u64::from(self.rules.leaf_room()),
        )
    }
}

impl Growth {
    /// An empty directory: one block with `.` and `..`, or none where it may begin in its inode.
    pub fn new(rules: Rules) -> Self {
        let inline = rules.inline.map(|more| Box::new(Inline::empty(more)));
        let dots = || Block::Leaf(Leaf::of_dots(rules.leaf_room(), rules.secret.is_some()));
        Self {
            rules,
            needs: Vec::new(),
            hashes: Vec::new(),
            blocks: match inline {
                Some(_) => Vec::new(),
                None => vec![dots()],
            },
            inline,
            index: None,
            sorted: Vec::new(),
            splits: None,
            time: 0,
        }
    }

    /// A growth that continues from some leaves of this one, `starts`, and notes its splits. `take`
    /// gets each of their names, which are numbered anew in this order; there will be about
    /// `names`.
    pub(super) fn part(
        &self,
        rules: Rules,
        starts: &[IndexEntry],
        names: usize,
        mut take: impl FnMut(u32),
    ) -> Self {
        let mut this = Self {
            rules,
            needs: Vec::with_capacity(names),
            hashes: Vec::with_capacity(names),
            inline: None,
            blocks: Vec::new(),
            index: None,
            sorted: Vec::new(),
            splits: Some(Vec::new()),
            time: 0,
        };
        let mut root = Vec::with_capacity(starts.len());
        for start in starts {
            let Some(Block::Leaf(leaf)) = self.blocks.get(start.block as usize) else {
                continue;
            };
            let mut leaf = leaf.clone();
            for record in leaf.records.iter_mut().filter(|record| record.id < NAMES) {
                take(record.id);
                let old = record.id as usize;
                record.id = this.needs.len() as u32;
                this.needs.push(self.needs[old]);
                this.hashes.push(self.hashes[old]);
            }
            root.push(IndexEntry {
                hash: start.hash,
                block: this.blocks.len() as u32,
            });
            this.blocks.push(Block::Leaf(leaf));
        }
        this.index = Some(Index {
            root,
            ..Index::default()
        });
        this
    }

    /// Sets the time of the next splits.
    pub(super) fn at(&mut self, time: u32) {
        self.time = time;
    }

    /// The splits that were noted.
    pub(super) fn into_splits(self) -> Vec<Split> {
        self.splits.unwrap_or_default()
    }

    pub(super) fn index(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    /// The leaves by hash; none without an index.
    pub(super) fn leaves(&self) -> Vec<IndexEntry> {
        self.index.as_ref().map_or(Vec::new(), Index::leaves)
    }

    /// A leaf by its block.
    pub(super) fn leaf(&self, block: u32) -> Result<&Leaf, Error> {
        match self.blocks.get(block as usize) {
            Some(Block::Leaf(leaf)) => Ok(leaf),
            _ => Err(Error::Population(format!("block {block} is no leaf"))),
        }
    }

    /// Records of a leaf, by its block.
    pub(super) fn names_of(&self, block: u32) -> usize {
        self.leaf(block).map_or(0, |leaf| leaf.records.len())
    }

    /// Takes a name of `len` bytes (1 to 255) with its major hash, which only matters with an index. Names are numbered
    /// from 0 in this order.
    ///
    /// # Errors
    ///
    /// [`Full`] when the index or the largest size of a directory is reached.
    pub fn add(&mut self, len: u8, hash: u32) -> Result<u32, Full> {
        let id = self.needs.len() as u32;
        self.needs.push(self.rules.needed(len) as u16);
        self.hashes.push(hash);
        if self.index.is_some() {
            self.add_indexed(id)?;
        } else {
            self.add_listed(id)?;
        }
        Ok(id)
    }

    /// Takes names away again.
    pub fn remove(&mut self, gone: impl Fn(u32) -> bool) {
        if let Some(inline) = &mut self.inline {
            inline.remove(&gone, &mut self.needs);
        }
        for block in &mut self.blocks {
            if let Block::Leaf(leaf) = block {
                leaf.remove(&gone, &mut self.needs);
            }
        }
    }

    /// Ends the growth.
    pub fn finish(self) -> Shape {
        let dots = if self.index.is_some() || self.inline.is_some() {
            0
        } else {
            dots_len(self.rules.secret.is_some()).into()
        };
        let (_, nodes) = self.numbering();
        Shape {
            rules: self.rules,
            nodes,
            used: dots + self.needs.iter().copied().map(u64::from).sum::<u64>(),
            inline: self.inline,
            blocks: self.blocks,
            index: self.index,
        }
    }

    /// Blocks so far, and the logical block of each node of the index.
    pub(super) fn numbering(&self) -> (u32, Vec<u32>) {
        let mut nodes = vec![0; self.index.as_ref().map_or(0, |index| index.nodes.len())];
        for (nth, block) in self.blocks.iter().enumerate() {
            if let Block::Node(node) = block {
                nodes[*node as usize] = nth as u32;
            }
        }
        (self.blocks.len() as u32, nodes)
    }

    fn full(&self) -> Full {
        Full {
            names: self.needs.len() as u32 - 1,
            block_size: self.rules.block_size,
            levels: self.index.as_ref().map_or(0, |index| index.levels + 1),
        }
    }

    /// The number of a block that is to be added.
    fn next_block(&self) -> Result<u32, Full> {
        if self.blocks.len() as u64 >= self.rules.most_blocks() {
            return Err(self.full());
        }
        Ok(self.blocks.len() as u32)
    }

    fn put(&mut self, block: u32, id: u32) -> bool {
        match self.blocks.get_mut(block as usize) {
            Some(Block::Leaf(leaf)) => leaf.put(id, &self.needs),
            _ => false,
        }
    }

    /// The inode, or the first block with room; else a further one, or an index over the only one.
    fn add_listed(&mut self, id: u32) -> Result<(), Full> {
        if let Some(mut inline) = self.inline.take() {
            if inline.put(id, &self.needs) {
                self.inline = Some(inline);
                return Ok(());
            }
            let block = inline.into_block(self.rules.leaf_room(), &self.needs);
            self.blocks.push(Block::Leaf(block));
        }
        let need = u32::from(self.needs[id as usize]);
        let fits = |block: &Block| matches!(block, Block::Leaf(leaf) if leaf.room >= need);
        if let Some(block) = self.blocks.iter().position(fits) {
            self.put(block as u32, id);
            return Ok(());
        }
        if self.blocks.len() == 1 && self.rules.index.is_some() {
            self.begin_index()?;
            let way = Index::of_one(1).find(self.hashes[id as usize]);
            return self.split_and_put(&way, id);
        }
        let block = self.next_block()?;
        self.blocks
            .push(Block::Leaf(Leaf::empty(self.rules.leaf_room())));
        self.put(block, id);
        Ok(())
    }

    /// Moves what block 0 holds after `..` to block 1 and makes block 0 the root.
    fn begin_index(&mut self) -> Result<(), Full> {
        self.next_block()?;
        let Block::Leaf(mut leaf) = std::mem::replace(&mut self.blocks[0], Block::Root) else {
            return Err(self.full());
        };
        // `..` may have room after it where a name went; it stays with the first record.
        let moved: u32 = leaf.records.drain(..2).map(|record| record.len).sum();
        match leaf.records.last_mut() {
            Some(last) => last.len += moved,
            None => leaf.records.push(Record {
                id: FREE,
                len: moved,
            }),
        }
        leaf.measure(&self.needs);
        self.blocks.push(Block::Leaf(leaf));
        self.index = Some(Index::of_one(1));
        Ok(())
    }

    fn add_indexed(&mut self, id: u32) -> Result<(), Full> {
        let hash = self.hashes[id as usize];
        loop {
            let Some(index) = &mut self.index else {
                return Err(self.full());
            };
            let way = index.find(hash);
            let leaf = way.leaf;
            if self.put(leaf, id) {
                return Ok(());
            }
            let block = self.next_block()?;
            let room = match &mut self.index {
                Some(index) => index.make_room(&way, &self.rules),
                None => Room::Full,
            };
            match room {
                Room::There => return self.split_and_put(&way, id),
                Room::Made(node) => {
                    debug_assert_eq!(block as usize, self.blocks.len());
                    self.blocks.push(Block::Node(node));
                }
                Room::Full => return Err(self.full()),
            }
        }
    }

    /// Splits the leaf at the end of `way` and puts a name into the half it belongs to.
    fn split_and_put(&mut self, way: &Way, id: u32) -> Result<(), Full> {
        let made = self.next_block()?;
        let Some(Block::Leaf(leaf)) = self.blocks.get_mut(way.leaf as usize) else {
            return Err(self.full());
        };
        let room = self.rules.leaf_room();
        let from = leaf.sort(&self.hashes, self.rules.block_size, &mut self.sorted);
        let Some((lower, first)) = from
            .checked_sub(1)
            .and_then(|before| Some((self.sorted.get(before)?.0, self.sorted.get(from)?.0)))
        else {
            return Err(self.full());
        };
        let upper = leaf.split(&self.sorted[from..], &self.needs, room);
        self.blocks.push(Block::Leaf(upper));
        if let Some(index) = &mut self.index {
            // An odd hash means that names of this hash begin in the block before.
            let hash = first | u32::from(lower == first);
            index.insert(way, IndexEntry { hash, block: made });
            if let Some(splits) = &mut self.splits {
                splits.push(Split {
                    time: self.time,
                    name: self.hashes[id as usize],
                    first: hash,
                });
            }
        }
        let home = if self.hashes[id as usize] >= first {
            made
        } else {
            way.leaf
        };
        if self.put(home, id) {
            Ok(())
        } else {
            Err(self.full())
        }
    }
}
