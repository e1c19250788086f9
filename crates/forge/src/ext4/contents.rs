//! A population as ext4 stores it.
//!
//! [`Contents`] implements [`Objects`] for the layout: sizes of directories, which need the hash
//! and the block size; what is inline in its inode; encrypted names and targets; blocks of
//! attributes. What exists is the [`Population`]'s to decide; here is only how ext2, ext3 and ext4
//! store it. What is kept: a byte for each directory (its size, found when it is first asked for),
//! and some dozens of MiB of grown directories.
//!
//! The same functions say afterwards what must be read back ([`Population::list`], [`Contents::read`], [`Population::link_target`],
//! [`Contents::attributes`]): a test mounts the filesystem and compares, and so may a user.

mod attributes;
mod blocks;
mod directory_cache;
mod directory_sizes;
mod encrypted;
mod format;
mod inline;
mod object;
mod possible;
mod readback;
mod xattr_area;

pub use format::rules;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ondisk::ext4::Superblock;
use ondisk::ext4::inode::InodeMut;

use self::directory_cache::{DirectoryCache, Grown, Template};
use self::directory_sizes::DirectorySizes;
use self::format::Format;
use super::directory::Full;
use super::plan::{Blocks, Home, Kind, Object, ObjectId, Objects, Owed, Piece};
use crate::Error;
use crate::population::{Population, Slots};

/// A population in one ext2, ext3 or ext4.
#[derive(Debug)]
pub struct Contents {
    population: Population,
    format: Format,
    cache: DirectoryCache,
    sizes: DirectorySizes,
    /// Every file, where all of them are alike.
    plain: Option<Object>,
    /// A directory that could not hold its names. Sizes are asked for where no error can be returned, so it is returned when
    /// the directory is written.
    full: OnceLock<Full>,
}

impl Contents {
    /// A population in a filesystem with this superblock.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] for one that is not possible in such a filesystem, [`Error::Room`] when there are too few inodes.
    pub fn new(population: Population, sb: &Superblock) -> Result<Self, Error> {
        let profile = population.profile();
        let mut rules = rules(sb)?;
        let mut format = Format::of(sb);
        if profile.names.encrypted {
            // The kernel keeps nothing of an encrypted file in its inode.
            (rules.inline, format.inline) = (None, None);
        }
        // Before anything is allocated for each directory.
        if profile.files > sb.s_inodes_count.get().into() {
            return Err(Error::Room {
                what: "inodes",
                need: profile.files,
                have: sb.s_inodes_count.get().into(),
                advice: "ask for more inodes, fewer bytes for each, or a larger image",
            });
        }
        let this = Self {
            plain: plain(&population, &format),
            cache: DirectoryCache::new(rules, &population),
            sizes: DirectorySizes::new(population.directories()),
            full: OnceLock::new(),
            format,
            population,
        };
        this.possible(sb)?;
        Ok(this)
    }

    /// What exists.
    pub fn population(&self) -> &Population {
        &self.population
    }

    fn grown<'a>(&'a self, directory: u32, slots: &'a Slots) -> Grown<'a> {
        Grown {
            cache: &self.cache,
            names: self.population.names(),
            history: self.population.history(directory, slots),
        }
    }

    fn template(&self, directory: u32) -> Result<Arc<Template>, Full> {
        let slots = self.population.slots(directory);
        self.cache.template(self.grown(directory, &slots))
    }
}

/// Every file, where all are regular files of one size with nothing else to distinguish them and none is in its inode: what most
/// of a large population is.
fn plain(population: &Population, format: &Format) -> Option<Object> {
    let size = population.plain_size()?;
    // Those in their inodes are finished one by one.
    if format.inline.is_some_and(|more| inline::fits(size, more)) {
        return None;
    }
    Some(Object {
        kind: Kind::File,
        size,
        links: 1,
        permissions: 0o644,
        content: population.profile().contents && size > 0,
        ..Object::default()
    })
}

impl Objects for Contents {
    fn directories(&self) -> u32 {
        self.population.directories()
    }

    fn slots(&self, directory: u32) -> u32 {
        self.population.slots(directory).total()
    }

    fn object(&self, id: ObjectId) -> Object {
        self.object_of(&self.population.slots(id.directory), id)
    }

    fn visit(&self, directory: u32, slots: Range<u32>, each: &mut dyn FnMut(u32, &Object)) {
        let all = self.population.slots(directory);
        for slot in slots {
            each(slot, &self.object_of(&all, ObjectId { directory, slot }));
        }
    }

    fn alike(&self, directory: u32, slots: Range<u32>) -> Option<Object> {
        let all = self.population.slots(directory);
        let files = slots.start > 0 && slots.end <= 1 + all.files && all.free == 0;
        self.plain.filter(|_| files)
    }

    fn pieces(&self, id: ObjectId, object: &Object, pieces: &mut Vec<Piece>) {
        self.population
            .cut(id, object.size, self.format.blocks, pieces);
    }

    fn finish_inode(
        &self,
        id: ObjectId,
        home: &Home<'_>,
        inode: &mut InodeMut<'_>,
    ) -> Result<(), Error> {
        self.finish(id, home, inode)
    }

    fn xattr_block(
        &self,
        id: ObjectId,
        home: &Home<'_>,
        at: u64,
        block: &mut [u8],
    ) -> Result<(), Error> {
        self.attribute_block(id, home, at, block)
    }

    fn owed(&self, id: ObjectId) -> Owed {
        self.owed_for_values(id)
    }

    fn content(&self, id: ObjectId, home: &Home<'_>, blocks: &mut dyn Blocks) -> Result<(), Error> {
        self.write_content(id, home, blocks)
    }
}
