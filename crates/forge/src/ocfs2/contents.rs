//! A population as OCFS2 stores it: what each inode is, how much of it is in the inode, and what it needs beside it.

use std::collections::HashMap;

use ondisk::ocfs2::dinode::{inline_room, symlink_room};
use ondisk::ocfs2::extent::{block_room, inode_room};
use ondisk::ocfs2::index;

use super::directory::{self, Rules, Shape, Size};
use super::tree;
use super::volume::{Empty, directory_room};
use crate::Error;
use crate::population::{
    Blocks, Distribution, FileKind, History, ObjectId, Piece, Population, Profile, Recipe, Role,
    Slots,
};

/// The longest target of a symbolic link in Linux, bytes.
const LONGEST_TARGET: u64 = 4095;

/// What an inode is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Freed: the block has an old inode.
    Freed,
    /// A directory.
    Directory,
    /// Anything else.
    File(FileKind),
}

/// One inode.
#[derive(Debug, Clone, Copy)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts, each named"
)]
pub(super) struct Object {
    pub(super) kind: Kind,
    /// Names.
    pub(super) links: u32,
    /// User and group.
    pub(super) owner: u32,
    /// Clusters, free space after it and between its pieces included.
    pub(super) clusters: u64,
    /// Whether the contents are in the inode.
    pub(super) inline: bool,
    /// Whether the inode ends with extended attributes.
    pub(super) note: bool,
    /// Whether it has a block of extended attributes.
    pub(super) attributes: bool,
    /// Whether it is in pieces.
    pub(super) fragmented: bool,
    /// The size of a directory that has blocks.
    pub(super) directory: Option<Size>,
}

/// A run of clusters of a file, before it has a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// First cluster of the file.
    pub(super) cpos: u64,
    pub(super) clusters: u64,
    pub(super) unwritten: bool,
    /// Clusters that stay free after it.
    pub(super) gap: u64,
}

/// A population in one volume.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) population: Population,
    pub(super) rules: Rules,
    pub(super) block_size: usize,
    pub(super) cluster_blocks: u64,
    /// Bytes of inline attributes.
    pub(super) xattr_size: u16,
    inline_data: bool,
    /// Directories that have blocks.
    sizes: HashMap<u32, Size>,
}

impl Contents {
    /// A population in this volume; every directory is grown once for its size.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] for a profile that is not possible in it.
    pub(super) fn new(population: Population, empty: &Empty) -> Result<Self, Error> {
        possible(&population, empty)?;
        let features = empty.features;
        let block_size = empty.block_size();
        let trailer = features.indexed_dirs || features.metaecc;
        let rules = Rules {
            inline_room: if features.inline_data {
                inline_room(block_size, 0) as u32
            } else {
                0
            },
            block_room: directory_room(block_size, trailer) as u32,
            cluster_blocks: empty.volume.blocks_per_cluster() as u32,
            index: features
                .indexed_dirs
                .then_some((empty.dx_seed, empty.options.name_hash)),
            index_room: (index::root_room(block_size), index::leaf_room(block_size)),
        };
        let mut this = Self {
            rules,
            block_size,
            cluster_blocks: empty.volume.blocks_per_cluster(),
            xattr_size: empty.xattr_size,
            inline_data: features.inline_data,
            sizes: HashMap::new(),
            population,
        };
        this.measure()?;
        Ok(this)
    }

    /// Finds the size of every directory. Those of the same recipe are alike.
    fn measure(&mut self) -> Result<(), Error> {
        /// Recipes that are kept.
        const KEPT: usize = 1 << 16;
        let mut known: HashMap<Recipe, Option<Size>> = HashMap::new();
        for directory in 0..self.population.directories() {
            let slots = self.population.slots(directory);
            let history = self.population.history(directory, &slots);
            let size = if let Some(size) = known.get(&history.recipe) {
                *size
            } else {
                let size = self.shape_of(&slots, &history)?.size();
                if known.len() < KEPT {
                    known.insert(history.recipe, size);
                }
                size
            };
            if let Some(size) = size {
                self.sizes.insert(directory, size);
            }
        }
        Ok(())
    }

    /// Grows a directory.
    pub(super) fn shape_of(&self, slots: &Slots, history: &History<'_>) -> Result<Shape, Error> {
        Shape::grow(&self.rules, history, self.population.names(), slots.set)
    }

    /// What a slot of a directory holds; none for a slot that does not exist.
    pub(super) fn object(&self, slots: &Slots, id: ObjectId) -> Option<Object> {
        match slots.role(id.slot) {
            Role::Directory => Some(self.directory(id.directory)),
            Role::File(file) => Some(self.file(slots, id, file)),
            Role::Free => Some(Object {
                kind: Kind::Freed,
                ..EMPTY
            }),
            Role::Value(_) | Role::Nothing => None,
        }
    }

    /// A directory as an object.
    pub(super) fn directory(&self, directory: u32) -> Object {
        let size = self.sizes.get(&directory).copied();
        let subdirectories = self.population.children(directory).len() as u32;
        let clusters = size.map_or(0, |size| {
            u64::from(size.blocks).div_ceil(self.cluster_blocks) + u64::from(size.leaf_clusters)
        });
        Object {
            kind: Kind::Directory,
            links: 2 + subdirectories + u32::from(directory == 0),
            clusters,
            inline: size.is_none(),
            directory: size,
            ..EMPTY
        }
    }

    fn file(&self, slots: &Slots, id: ObjectId, file: u32) -> Object {
        let what = &self.population;
        let kind = what.file_kind(id);
        let note = what.has_note(id);
        let mut object = Object {
            kind: Kind::File(kind),
            links: 1 + what.further_names(id.directory, file, slots.files),
            owner: what.owner(id),
            note,
            attributes: what.has_attribute_block(id),
            ..EMPTY
        };
        let bytes = match kind {
            FileKind::Regular(size) => {
                let xattr = if note { self.xattr_size.into() } else { 0 };
                let room = inline_room(self.block_size, xattr) as u64;
                object.inline = self.inline_data && (1..=room).contains(&size);
                if object.inline { 0 } else { size }
            }
            // The target and its NUL.
            FileKind::Symlink(length) if length >= symlink_room(self.block_size) as u64 => {
                length + 1
            }
            _ => 0,
        };
        let blocks = bytes.div_ceil(self.block_size as u64);
        object.clusters = blocks.div_ceil(self.cluster_blocks);
        if matches!(kind, FileKind::Regular(_)) && object.clusters > 0 {
            if blocks > 1 && what.is_fragmented(id) {
                object.fragmented = true;
                object.clusters = self
                    .parts(id, &object)
                    .iter()
                    .map(|part| part.clusters + part.gap)
                    .sum();
            } else if what.has_gap(id) {
                object.clusters += u64::from(what.free_run(id, 0)).div_ceil(self.cluster_blocks);
            }
        }
        object
    }

    /// The runs of clusters of an object that has clusters, ascending.
    pub(super) fn parts(&self, id: ObjectId, object: &Object) -> Vec<Part> {
        if !object.fragmented {
            let clusters = self.data_clusters(object);
            return vec![Part {
                cpos: 0,
                clusters,
                unwritten: false,
                gap: object.clusters - clusters,
            }];
        }
        let Kind::File(FileKind::Regular(size)) = object.kind else {
            return Vec::new();
        };
        let mut pieces: Vec<Piece> = Vec::new();
        let of = Blocks {
            size: self.block_size as u32,
            cluster: self.cluster_blocks as u32,
        };
        self.population.cut(id, size, of, &mut pieces);
        let mut cpos = 0;
        let mut parts = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let clusters = |blocks: u32| u64::from(blocks).div_ceil(self.cluster_blocks);
            cpos += clusters(piece.hole);
            let part = Part {
                cpos,
                clusters: clusters(piece.blocks),
                unwritten: piece.unwritten,
                gap: clusters(piece.gap),
            };
            cpos += part.clusters;
            parts.push(part);
        }
        parts
    }

    /// Clusters of an object in one piece that its contents fill; the leaves of a directory's index come after them.
    pub(super) fn data_clusters(&self, object: &Object) -> u64 {
        let bytes = match object.kind {
            Kind::File(FileKind::Regular(size)) => size,
            Kind::File(FileKind::Symlink(length)) => length + 1,
            _ => {
                let leaves = object.directory.map_or(0, |size| size.leaf_clusters);
                return object.clusters - u64::from(leaves);
            }
        };
        bytes
            .div_ceil(self.block_size as u64)
            .div_ceil(self.cluster_blocks)
    }

    /// Blocks that an object with this number of extents takes from the allocator of extent blocks.
    pub(super) fn extent_blocks(&self, object: &Object, extents: u64) -> u32 {
        let per_block = block_room(self.block_size) as u64;
        let mut blocks = u32::from(object.attributes);
        blocks += tree::blocks(extents, self.inode_room(object) as u64, per_block);
        if let Some(size) = object.directory.filter(|size| size.indexed) {
            let root = index::root_room(self.block_size) as u64;
            blocks += 1 + tree::blocks(size.leaf_clusters.into(), root, per_block);
        }
        blocks
    }

    /// Records of the extent list in an object's inode.
    pub(super) fn inode_room(&self, object: &Object) -> usize {
        let xattr = if object.note {
            self.xattr_size.into()
        } else {
            0
        };
        inode_room(self.block_size, xattr)
    }
}

const EMPTY: Object = Object {
    kind: Kind::Freed,
    links: 0,
    owner: 0,
    clusters: 0,
    inline: false,
    note: false,
    attributes: false,
    fragmented: false,
    directory: None,
};

/// Whether the volume has what the profile needs.
fn possible(population: &Population, empty: &Empty) -> Result<(), Error> {
    let Profile {
        attributes,
        ageing,
        names,
        kinds,
        ..
    } = population.profile();
    let features = empty.features;
    let keys = [
        (
            population.profile().projects > 0,
            "projects",
            "OCFS2 has no project quotas",
        ),
        (names.casefold, "names.casefold", "OCFS2 does not fold case"),
        (names.encrypted, "names.encrypted", "OCFS2 does not encrypt"),
        (
            attributes.value > 0.0,
            "attributes.value",
            "OCFS2 has no values in inodes of their own",
        ),
        (
            attributes.block_sharing > 1,
            "attributes.block_sharing",
            "OCFS2 does not share blocks of attributes",
        ),
        (
            attributes.inode + attributes.block > 0.0 && !features.xattr,
            "[attributes]",
            "it needs the feature xattr",
        ),
        (
            ageing.holes > 0.0 && !features.sparse,
            "ageing.holes",
            "it needs the feature sparse",
        ),
        (
            ageing.unwritten > 0.0 && !features.unwritten,
            "ageing.unwritten",
            "it needs the feature unwritten",
        ),
    ];
    if let Some((_, key, why)) = keys.into_iter().find(|(wrong, ..)| *wrong) {
        return Err(Error::Option(format!(
            "{key}: not possible in this volume: {why}"
        )));
    }
    let longest = kinds
        .target_length
        .as_ref()
        .map_or(0, Distribution::greatest);
    if kinds.symlinks > 0.0 && longest > LONGEST_TARGET {
        return Err(Error::Option(format!(
            "kinds.target_length: not possible in this volume: targets have {LONGEST_TARGET} bytes at most"
        )));
    }
    for directory in [0, population.largest_directory()] {
        let slots = population.slots(directory);
        let names = population.history(directory, &slots).names();
        if names > directory::MOST_NAMES {
            return Err(Error::Option(format!(
                "a directory with {names} names, those that were removed counted, cannot be made: {} are possible; put fewer into each",
                directory::MOST_NAMES
            )));
        }
    }
    let blocks = empty.volume.blocks();
    if population.profile().files > blocks {
        return Err(Error::Room {
            what: "blocks",
            need: population.profile().files,
            have: blocks,
            advice: "each file takes a block for its inode; ask for a larger image",
        });
    }
    Ok(())
}
