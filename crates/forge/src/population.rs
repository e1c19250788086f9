//! What exists in a forged filesystem, whatever its format.
//!
//! A [`Profile`] has the numbers: how many files there are, how large, how they are named, which
//! other kinds of inode exist, and how the filesystem aged. A [`Population`] answers questions
//! about it: which files a directory has, what each is called, how large it is, where its pieces
//! begin. It knows nothing of inode numbers, blocks or structures; a format (`ext4`) places what
//! exists and writes it.
//!
//! Every answer is a pure function of the seed and the two numbers that name an object (its directory and its slot there). Nothing is
//! kept for each file, several threads may ask at once, and a hundred million files cost no more memory than a hundred.
//! The price is that a population has no state.
//!
//! Directories are numbered level by level; 0 is the root. Within a directory, slot 0 is the directory itself, and the others are
//! what it holds apart from subdirectories, which have numbers of their own. Files are in all directories but the root, in equal numbers or as
//! drawn. Hard links of a directory lead to files of the next one, so that a checker must keep their counts until it reaches them.

mod attributes;
mod contents;
mod counts;
mod distribution;
mod files;
mod history;
mod keys;
mod listing;
mod names;
mod pieces;
mod profile;
mod random;
mod slots;
mod tree;

pub use distribution::Distribution;
pub use files::FileKind;
pub use listing::{Listed, Named};
pub use pieces::Piece;
pub use profile::{Ageing, Alphabet, Attributes, Directories, Kinds, NameRules, Profile};

pub(crate) use attributes::{NOTE, Namespace};
pub(crate) use contents::clear_holes;
pub(crate) use history::{Change, History, LOST_AND_FOUND, Recipe, Target};
pub(crate) use names::{Class, Names};
pub(crate) use pieces::Blocks;
pub(crate) use random::{Key, Purpose, scramble};
pub(crate) use slots::{Role, Slots};

use self::counts::{Counts, MOST_NAMES, counts, most_names};
use self::keys::Keys;
use self::tree::Tree;
use crate::Error;

/// Names one object of a population.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The directory it belongs to; 0 is the root.
    pub directory: u32,
    /// Its slot there; 0 is the directory itself.
    pub slot: u32,
}

impl ObjectId {
    /// A directory as an object.
    pub fn directory(directory: u32) -> Self {
        Self { directory, slot: 0 }
    }
}

/// What exists, as a profile and its seed decide.
#[derive(Debug)]
pub struct Population {
    profile: Profile,
    tree: Tree,
    directories: u32,
    counts: Counts,
    names: Names,
    keys: Keys,
}

impl Population {
    /// The population of a profile.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] for a profile that is not possible in any filesystem.
    pub fn new(profile: Profile) -> Result<Self, Error> {
        profile.check().map_err(Error::Option)?;
        let (counts, directories) = counts(&profile)?;
        let tree = if profile.directories.depth.is_empty() {
            Tree::flat(directories, profile.directories.fan_out)
        } else {
            Tree::weighted(directories, &profile.directories.depth)
        };
        let most = most_names(&profile, &counts).max(tree.widest().into());
        if most >= MOST_NAMES {
            return Err(Error::Option(format!(
                "a directory with {most} names, removed ones included, cannot be made: {MOST_NAMES} are possible; put fewer files into each"
            )));
        }
        let names = Names::new(
            profile.seed,
            profile.names.length.clone(),
            profile.names.alphabet,
            most as u32,
        );
        Ok(Self {
            keys: Keys::new(&profile),
            profile,
            tree,
            directories,
            counts,
            names,
        })
    }

    /// The profile it was made of.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Directories, the root included.
    pub fn directories(&self) -> u32 {
        self.directories
    }

    /// The parent of a directory; the root's is the root.
    pub fn parent(&self, directory: u32) -> u32 {
        self.tree.parent(directory)
    }

    /// The numbers of the subdirectories of a directory.
    pub fn children(&self, directory: u32) -> std::ops::Range<u32> {
        self.tree.children(directory)
    }

    /// Inodes of a directory that are not directories.
    pub fn files(&self, directory: u32) -> u32 {
        self.counts.of(directory)
    }

    /// A directory with as many files as any.
    pub(crate) fn largest_directory(&self) -> u32 {
        self.counts.largest()
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// The set of names that a directory has.
    fn set(&self, directory: u32) -> u64 {
        match self.profile.names.sets {
            0 => u64::from(directory) + (1 << 32),
            sets => random::below(self.keys.name_set.of(directory.into(), 0), sets.into()),
        }
    }

    pub(crate) fn slots(&self, directory: u32) -> Slots {
        let files = self.files(directory);
        let share = |ratio: f64| (f64::from(files) * ratio) as u32;
        let owners = share(self.profile.attributes.value).min(files);
        Slots {
            files,
            // Each stretch with a freed inode has at least one slot.
            free: share(self.profile.ageing.freed),
            values: owners.div_ceil(self.profile.attributes.value_sharing),
            owners,
            set: self.set(directory),
            place: self.keys.freed,
        }
    }

    /// The directory that the hard links of this one lead to, and how many they are.
    pub(crate) fn links_from(&self, directory: u32) -> (u32, u32) {
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

    /// Names that a file has in other directories.
    pub(crate) fn further_names(&self, directory: u32, file: u32, files: u32) -> u32 {
        let before = if directory == 1 {
            self.directories - 1
        } else {
            directory - 1
        };
        let (_, links) = self.links_from(before);
        slots::links_to(file, files, links)
    }

    /// The file that hard link number `nth` of a directory leads to.
    pub(crate) fn link(&self, directory: u32, nth: u32) -> ObjectId {
        let (next, links) = self.links_from(directory);
        let slots = self.slots(next);
        ObjectId {
            directory: next,
            slot: slots.of_file(slots::link_target(nth, slots.files, links)),
        }
    }

    /// A value of 64 bits that belongs to an object and a purpose of the format's own.
    pub(crate) fn key(&self, purpose: Purpose) -> Key {
        Key::new(self.profile.seed, purpose)
    }
}
