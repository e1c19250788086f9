//! Populations made from a profile and a seed.
//!
//! A [`Profile`] says how many files there are, how large, how they are called, what else there is, and what time did to
//! them. [`Generated`] makes a [`Population`] of it for one superblock: every answer is computed from the seed and the
//! two numbers that name an object, so nothing is kept for each file. What is kept: a byte for each directory (its
//! size, found when it is first asked for), and some dozens of MiB of grown directories.
//!
//! The same functions say afterwards what must be read back ([`Generated::list`], [`Generated::read`],
//! [`Generated::link`], [`Generated::attributes`]): a test mounts the filesystem and compares, and so may a user.
//!
//! Files lie in all directories but the root, in equal numbers or as drawn. Hard links of a directory lead to files of the
//! next one, so that a check must keep their counts over a distance.

mod attributes;
mod content;
mod counts;
mod distribution;
mod draws;
mod encrypted;
mod inline;
mod names;
mod object;
mod pieces;
mod possible;
mod profile;
mod random;
mod readback;
mod sizes;
mod slots;
mod template;
mod tree;

pub use distribution::Distribution;
pub use profile::{Ageing, Alphabet, Attributes, Directories, Kinds, NameRules, Profile};
pub use readback::{Listed, Named};

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ondisk::ext4::Superblock;
use ondisk::ext4::feature::{Compat, Incompat, RoCompat};
use ondisk::ext4::inode::InodeMut;

use self::counts::{Counts, MOST_NAMES, counts, most_names};
use self::draws::Draws;
use self::names::Names;
use self::random::{Key, Purpose, threshold};
use self::sizes::DirectorySizes;
use self::slots::{Slots, links_to};
use self::template::{Nursery, Recipe, Tale, Template};
use self::tree::Tree;
use super::Error;
use super::directory::{Full, Hashing, Rules};
use super::plan::{Blocks, Home, Object, ObjectId, Owed, Piece, Population};

/// A population of a profile, for one filesystem.
#[derive(Debug)]
pub struct Generated {
    profile: Profile,
    block_size: u32,
    /// Blocks of a cluster; 1 without bigalloc.
    cluster: u32,
    /// Whether `i_blocks` has 48 bits.
    huge_file: bool,
    /// Bytes behind an inode's fields, with the magic of the attributes.
    inode_room: usize,
    /// Whether files have extents, so that blocks may be unwritten.
    extents: bool,
    tree: Tree,
    directories: u32,
    counts: Counts,
    nursery: Nursery,
    sizes: DirectorySizes,
    /// A directory that could not hold its names. Sizes are asked for where no error can be said, so it is said when
    /// the directory is written.
    full: OnceLock<Full>,
    draws: Draws,
}

/// The rules by which directories of a filesystem grow.
///
/// # Errors
///
/// [`Error::Option`] for a hash that needs a key.
pub fn rules(sb: &Superblock) -> Result<Rules, Error> {
    let index = match sb.default_hash_version() {
        _ if !sb.has_compat(Compat::DIR_INDEX) => None,
        Some(version) if version.to_disk() < 6 => Some(Hashing {
            version,
            seed: sb.hash_seed(),
        }),
        _ => {
            return Err(Error::Option(
                "names cannot be hashed by SipHash, whose key only an encrypted directory has; take half_md4, tea or legacy"
                    .to_owned(),
            ));
        }
    };
    Ok(Rules {
        block_size: 1024 << sb.s_log_block_size.get().min(6),
        checksums: sb.has_ro_compat(RoCompat::METADATA_CSUM),
        index,
        most_levels: if sb.has_incompat(Incompat::LARGEDIR) {
            2
        } else {
            1
        },
        file_types: sb.has_incompat(Incompat::FILETYPE),
        inline: inline::room(sb),
        secret: None,
    })
}

/// Blocks of a cluster.
fn cluster(sb: &Superblock) -> u32 {
    let [block, cluster] = [&sb.s_log_block_size, &sb.s_log_cluster_size].map(|log| log.get());
    match cluster.checked_sub(block) {
        Some(log @ 1..=16) if sb.has_ro_compat(RoCompat::BIGALLOC) => 1 << log,
        _ => 1,
    }
}

impl Generated {
    /// The population of a profile in a filesystem of which the superblock is ready.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] for a profile that is not possible, or not in such a filesystem.
    pub fn new(profile: Profile, sb: &Superblock) -> Result<Self, Error> {
        profile.check().map_err(Error::Option)?;
        let mut rules = rules(sb)?;
        if profile.names.encrypted {
            // The kernel keeps nothing of an encrypted file in its inode.
            rules.inline = None;
        }
        // Said before anything is kept for each directory.
        if profile.files > sb.s_inodes_count.get().into() {
            return Err(Error::Room {
                what: "inodes",
                need: profile.files,
                have: sb.s_inodes_count.get().into(),
                advice: "ask for more inodes, fewer bytes for each, or a larger image",
            });
        }
        let (counts, directories) = counts(&profile)?;
        let tree = if profile.directories.depth.is_empty() {
            Tree::flat(directories, profile.directories.fan_out)
        } else {
            Tree::weighted(directories, &profile.directories.depth)
        };
        let most = most_names(&profile, &counts).max(tree.widest().into());
        if most >= MOST_NAMES {
            return Err(Error::Option(format!(
                "a directory with {most} names, those that were removed counted, cannot be made: {MOST_NAMES} are possible; put fewer files into each"
            )));
        }
        let names = Names::new(
            profile.seed,
            profile.names.length.clone(),
            profile.names.alphabet,
            most as u32,
        );
        let reused = (
            Key::new(profile.seed, Purpose::Reused),
            threshold(profile.ageing.reused),
        );
        let removed = profile.ageing.removed_names;
        let mut nursery = Nursery::new(rules, names, reused, removed);
        match (profile.names.casefold, profile.names.encrypted) {
            (true, true) => nursery.secret = Some(Key::new(profile.seed, Purpose::HashKey)),
            (folded, _) => nursery.casefold = folded,
        }
        let mut draws = Draws::new(&profile);
        if let Some(more) = rules.inline {
            // Those in their inodes are finished one by one.
            draws.plain = draws.plain.filter(|file| !inline::fits(file.size, more));
        }
        let this = Self {
            draws,
            block_size: rules.block_size,
            cluster: cluster(sb),
            huge_file: sb.has_ro_compat(RoCompat::HUGE_FILE),
            inode_room: attributes::inode_room(sb),
            extents: sb.has_incompat(Incompat::EXTENTS),
            nursery,
            sizes: DirectorySizes::new(directories),
            full: OnceLock::new(),
            profile,
            tree,
            directories,
            counts,
        };
        this.possible(sb)?;
        Ok(this)
    }

    fn files(&self, directory: u32) -> u32 {
        self.counts.of(directory)
    }

    /// The set that a directory's names are of.
    fn set(&self, directory: u32) -> u64 {
        match self.profile.names.sets {
            0 => u64::from(directory) + (1 << 32),
            sets => random::below(self.draws.name_set.of(directory.into(), 0), sets.into()),
        }
    }

    fn slots_of(&self, directory: u32) -> Slots {
        let files = self.files(directory);
        let share = |ratio: f64| (f64::from(files) * ratio) as u32;
        let owners = share(self.profile.attributes.value).min(files);
        Slots {
            files,
            // Each stretch with a freed inode is a slot long at least.
            free: share(self.profile.ageing.freed),
            values: owners.div_ceil(self.profile.attributes.value_sharing),
            owners,
            set: self.set(directory),
            place: self.draws.freed,
        }
    }

    /// The directory whose files the links of this one lead to, and how many they are.
    fn links_from(&self, directory: u32) -> (u32, u32) {
        if directory == 0 || self.profile.kinds.hard_links <= 0.0 {
            return (directory, 0);
        }
        let next = if directory + 1 == self.directories {
            1
        } else {
            directory + 1
        };
        let links = f64::from(self.files(directory)) * self.profile.kinds.hard_links;
        // A file has at most 32000 names in ext2.
        let most = u64::from(self.files(next)) * 30_000;
        (next, (links as u64).min(most) as u32)
    }

    /// Names that a file has through links of other directories.
    fn further_names(&self, directory: u32, file: u32, files: u32) -> u32 {
        let before = if directory == 1 {
            self.directories - 1
        } else {
            directory - 1
        };
        let (_, links) = self.links_from(before);
        links_to(file, files, links)
    }

    fn tale<'a>(&'a self, directory: u32, slots: &'a Slots) -> Tale<'a> {
        Tale {
            nursery: &self.nursery,
            recipe: Recipe {
                set: slots.set,
                files: slots.files,
                free: slots.free,
                subdirectories: self.tree.children(directory).len() as u32,
                links: self.links_from(directory).1,
                root: directory == 0,
            },
            slots,
        }
    }

    fn template(&self, directory: u32) -> Result<Arc<Template>, Full> {
        let slots = self.slots_of(directory);
        let tale = self.tale(directory, &slots);
        self.nursery.template(tale)
    }
}

impl Population for Generated {
    fn directories(&self) -> u32 {
        self.directories
    }

    fn slots(&self, directory: u32) -> u32 {
        self.slots_of(directory).total()
    }

    fn object(&self, id: ObjectId) -> Object {
        self.object_of(&self.slots_of(id.directory), id)
    }

    fn visit(&self, directory: u32, slots: Range<u32>, each: &mut dyn FnMut(u32, &Object)) {
        let all = self.slots_of(directory);
        for slot in slots {
            each(slot, &self.object_of(&all, ObjectId { directory, slot }));
        }
    }

    fn alike(&self, directory: u32, slots: Range<u32>) -> Option<Object> {
        let all = self.slots_of(directory);
        let files = slots.start > 0 && slots.end <= 1 + all.files && all.free == 0;
        self.draws.plain.filter(|_| files)
    }

    fn pieces(&self, id: ObjectId, object: &Object, pieces: &mut Vec<Piece>) {
        self.cut(id, object.size, pieces);
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
