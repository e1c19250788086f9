//! A population as XFS stores it: what each inode is, how much of it is in the inode, and the blocks that it takes.

use std::collections::HashMap;
use std::sync::Arc;

use ondisk::xfs::Geometry;
use ondisk::xfs::directory::{FREE_OFFSET, LEAF_OFFSET};
use ondisk::xfs::extent::MOST_BLOCKS;
use ondisk::xfs::remote;

use super::attributes;
use super::directory::{Form, Place, Rules, Shape};
use super::fork;
use super::volume::Empty;
use crate::Error;
use crate::population::{
    Blocks, FileKind, History, ObjectId, Piece, Population, Recipe, Role, Slots,
};

/// What an inode is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Freed.
    Freed,
    /// A directory.
    Directory,
    /// Anything else.
    File(FileKind),
}

/// One inode.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    pub(super) kind: Kind,
    /// Names.
    pub(super) links: u32,
    /// User and group.
    pub(super) owner: u32,
    /// Start of the attribute fork, units of 8 bytes; 0: there is none.
    pub(super) fork_offset: u8,
    /// Whether attributes are in the inode.
    pub(super) note: bool,
    /// Blocks of attributes: a leaf and what follows it; 0: there is no leaf.
    pub(super) attribute_blocks: u32,
    /// Whether the file is in pieces.
    pub(super) fragmented: bool,
    /// Blocks of the contents.
    pub(super) data: u64,
    /// Blocks that are set aside for a btree of the data fork.
    pub(super) tree: u32,
    /// All blocks, free ones between pieces and after the file included.
    pub(super) blocks: u64,
}

/// The blocks of a directory before they have places.
#[derive(Debug, Clone)]
pub(super) struct Size {
    /// In the order of their allocation.
    pub(super) births: Arc<[Place]>,
}

/// A population in one filesystem.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) population: Population,
    pub(super) geometry: Geometry,
    pub(super) rules: Rules,
}

impl Contents {
    /// A population in this filesystem.
    pub(super) fn new(population: Population, empty: &Empty) -> Self {
        let geometry = empty.geometry;
        let last = geometry.ino(geometry.ag_count, 0);
        let rules = Rules {
            local_room: geometry.literal_area() as u32,
            wide: last > 1 << 32,
            block: geometry.directory_block() as u32,
            header: if geometry.v5 { 64 } else { 16 },
            file_type: geometry.ftype,
        };
        Self {
            population,
            geometry,
            rules,
        }
    }

    /// A directory.
    pub(super) fn shape_of(&self, history: &History<'_>) -> Result<Shape, Error> {
        Shape::grow(&self.rules, self.population.names(), history)
    }

    /// The first block of the fork that a directory block takes.
    pub(super) fn offset(&self, place: Place) -> u64 {
        let log = self.geometry.block_log;
        let (start, number) = match place {
            Place::Data(number) => (0, number),
            Place::Leaf(number) => (LEAF_OFFSET, number),
            Place::Free(number) => (FREE_OFFSET, number),
        };
        (start >> log) + (u64::from(number) << self.geometry.dirblk_log)
    }

    /// Bytes of the data fork of an inode with this start of the attribute fork.
    pub(super) fn data_fork(&self, fork_offset: u8) -> usize {
        match fork_offset {
            0 => self.geometry.literal_area(),
            offset => usize::from(offset) * 8,
        }
    }

    /// Where attributes begin, as the kernel divides an inode (`xfs_default_attroffset`).
    fn fork_offset(&self, kind: FileKind) -> u8 {
        /// Bytes of the root of a btree with this many pointers.
        const fn root(pointers: usize) -> usize {
            4 + pointers * 16
        }
        match kind {
            FileKind::CharacterDevice
            | FileKind::BlockDevice
            | FileKind::Fifo
            | FileKind::Socket => 1,
            _ => {
                let literal = self.geometry.literal_area();
                let bytes = if self.geometry.inode_size == 256 {
                    literal - root(2)
                } else {
                    root(12)
                };
                (bytes / 8) as u8
            }
        }
    }

    /// What a slot of a directory has; none for no slot.
    pub(super) fn object(&self, slots: &Slots, id: ObjectId) -> Option<Object> {
        Some(match slots.role(id.slot) {
            Role::Directory => self.directory(id.directory),
            Role::File(file) => self.file(slots, id, file),
            Role::Free => Object {
                kind: Kind::Freed,
                links: 0,
                ..EMPTY
            },
            Role::Value(_) | Role::Nothing => return None,
        })
    }

    fn directory(&self, directory: u32) -> Object {
        Object {
            kind: Kind::Directory,
            links: 2 + self.population.children(directory).len() as u32,
            ..EMPTY
        }
    }

    fn file(&self, slots: &Slots, id: ObjectId, file: u32) -> Object {
        let what = &self.population;
        if let Some(size) = what.plain_size() {
            let blocks = size.div_ceil(self.geometry.block_size.into());
            if blocks < MOST_BLOCKS {
                return Object {
                    kind: Kind::File(FileKind::Regular(size)),
                    links: 1,
                    data: blocks,
                    blocks,
                    ..EMPTY
                };
            }
        }
        let kind = what.file_kind(id);
        let mut object = Object {
            kind: Kind::File(kind),
            links: 1 + what.further_names(id.directory, file, slots.files),
            owner: what.owner(id),
            ..EMPTY
        };
        let leaf = what.has_attribute_block(id);
        object.note = what.has_note(id) && !leaf;
        if object.note || leaf {
            object.fork_offset = self.fork_offset(kind);
        }
        if leaf {
            let all = attributes::of_leaf(&self.geometry, what, id);
            object.attribute_blocks = 1 + all.iter().map(|one| one.blocks).sum::<u32>();
        }
        object.blocks = object.attribute_blocks.into();
        self.contents(id, kind, &mut object);
        object
    }

    /// The blocks of a file's contents.
    fn contents(&self, id: ObjectId, kind: FileKind, object: &mut Object) {
        let what = &self.population;
        match kind {
            FileKind::Symlink(length) if length > self.data_fork(object.fork_offset) as u64 => {
                object.data = remote::blocks(&self.geometry, length);
                object.blocks += object.data;
            }
            FileKind::Regular(size) => {
                object.data = size.div_ceil(self.geometry.block_size.into());
                let mut extents = object.data.div_ceil(MOST_BLOCKS);
                let mut space = object.data;
                if object.data > 1 && what.is_fragmented(id) {
                    object.fragmented = true;
                    let pieces = self.pieces(id, size);
                    object.data = pieces.iter().map(|piece| u64::from(piece.blocks)).sum();
                    let gaps: u64 = pieces.iter().map(|piece| u64::from(piece.gap)).sum();
                    space = object.data + gaps;
                    extents = pieces.len() as u64 + object.data / MOST_BLOCKS;
                } else if object.data > 0 && what.has_gap(id) {
                    space += u64::from(what.free_run(id, 0));
                }
                // Where an allocation group ends, an extent does.
                let group = u64::from(self.geometry.ag_blocks);
                let most = extents + 2 + 32 * object.data / group;
                let fork = self.data_fork(object.fork_offset);
                object.tree = fork::blocks(&self.geometry, fork, most) as u32;
                object.blocks += space + u64::from(object.tree);
            }
            _ => {}
        }
    }

    /// The pieces of a fragmented file.
    pub(super) fn pieces(&self, id: ObjectId, size: u64) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let of = Blocks {
            size: self.geometry.block_size,
            cluster: 1,
        };
        self.population.cut(id, size, of, &mut pieces);
        pieces
    }
}

const EMPTY: Object = Object {
    kind: Kind::Freed,
    links: 0,
    owner: 0,
    fork_offset: 0,
    note: false,
    attribute_blocks: 0,
    fragmented: false,
    data: 0,
    tree: 0,
    blocks: 0,
};

/// Directories by their recipes, so that those alike are grown once.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    known: HashMap<Recipe, Arc<Shape>>,
    kept: usize,
}

impl Shapes {
    /// Bytes of grown directories that are kept.
    const KEPT: usize = 16 << 20;

    /// A directory grown, or one like it.
    pub(super) fn get(&mut self, contents: &Contents, directory: u32) -> Result<Arc<Shape>, Error> {
        let slots = contents.population.slots(directory);
        let history = contents.population.history(directory, &slots);
        if let Some(shape) = self.known.get(&history.recipe) {
            return Ok(Arc::clone(shape));
        }
        let shape = Arc::new(contents.shape_of(&history)?);
        let memory = shape.memory();
        if contents.population.profile().names.sets > 0 && memory <= Self::KEPT {
            if self.kept + memory > Self::KEPT {
                self.known.clear();
                self.kept = 0;
            }
            self.kept += memory;
            self.known.insert(history.recipe, Arc::clone(&shape));
        }
        Ok(shape)
    }
}

/// The blocks of directories by their recipes.
#[derive(Debug, Default)]
pub(super) struct Births {
    known: HashMap<Recipe, Size>,
    kept: usize,
}

impl Births {
    /// Blocks that are remembered.
    const KEPT: usize = 1 << 21;

    /// The blocks of a directory.
    pub(super) fn get(&mut self, contents: &Contents, directory: u32) -> Result<Size, Error> {
        let slots = contents.population.slots(directory);
        let history = contents.population.history(directory, &slots);
        if let Some(size) = self.known.get(&history.recipe) {
            return Ok(size.clone());
        }
        let shape = contents.shape_of(&history)?;
        debug_assert!(shape.form != Form::Local || shape.births.is_empty());
        let size = Size {
            births: shape.births.into(),
        };
        let count = size.births.len() + 1;
        if contents.population.profile().names.sets > 0 && self.kept + count <= Self::KEPT {
            self.kept += count;
            self.known.insert(history.recipe, size.clone());
        }
        Ok(size)
    }
}
