//! The names of a directory in the order in which they were made, and the one moment at which some of them were removed.
//!
//! Two directories with the same [`Recipe`] have the same history: the same names, made in the same order. A format may
//! therefore build a directory once and use its shape for every directory like it.

use super::names::{Class, Names};
use super::random::chance;
use super::slots::{Role, Slots};
use super::{Key, Population};

/// What decides the names of a directory and their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Recipe {
    /// The set of names.
    pub(crate) set: u64,
    /// Files, each with a name.
    pub(crate) files: u32,
    /// Inodes that were freed; their names were removed.
    pub(crate) free: u32,
    pub(crate) subdirectories: u32,
    /// Further names of files of another directory.
    pub(crate) links: u32,
    /// Whether it holds `lost+found`.
    pub(crate) root: bool,
}

/// The target of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    LostAndFound,
    /// By its number among the subdirectories.
    Subdirectory(u32),
    /// By its slot.
    File(u32),
    /// By its number among the hard links.
    Link(u32),
    /// Nothing: the name was removed.
    Gone,
}

/// The name of `lost+found`.
pub(crate) const LOST_AND_FOUND: &[u8] = b"lost+found";

/// A step of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// A name is made.
    Name(Class, u32, Target),
    /// All names whose target is [`Target::Gone`] are removed.
    Removal,
}

impl Change {
    /// Writes the name of a step to `place` and returns its length; 0 for a removal.
    pub(crate) fn name(self, names: &Names, set: u64, place: &mut [u8; 255]) -> u8 {
        match self {
            Self::Removal => 0,
            Self::Name(_, _, Target::LostAndFound) => {
                place[..LOST_AND_FOUND.len()].copy_from_slice(LOST_AND_FOUND);
                LOST_AND_FOUND.len() as u8
            }
            Self::Name(class, number, _) => names.make(set, class, number, place),
        }
    }
}

/// The history of one directory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History<'a> {
    pub(crate) recipe: Recipe,
    slots: &'a Slots,
    /// Draws whether a file's inode had another owner before.
    reused: (Key, u64),
    /// Names removed for each file.
    removed: f64,
}

impl Population {
    /// The history of a directory, whose slots are given.
    pub(crate) fn history<'a>(&self, directory: u32, slots: &'a Slots) -> History<'a> {
        History {
            recipe: Recipe {
                set: slots.set,
                files: slots.files,
                free: slots.free,
                subdirectories: self.children(directory).len() as u32,
                links: self.links_from(directory).1,
                root: directory == 0,
            },
            slots,
            reused: self.keys.reused,
            removed: self.profile.ageing.removed_names,
        }
    }
}

impl History<'_> {
    /// Names in all, removed ones included.
    pub(crate) fn names(&self) -> u64 {
        let Recipe {
            files,
            free,
            subdirectories,
            links,
            ..
        } = self.recipe;
        let made = [files, free, subdirectories, links].map(u64::from);
        made.iter().sum::<u64>() + (f64::from(files) * self.removed) as u64
    }

    /// Calls `each` for each step.
    ///
    /// # Errors
    ///
    /// The first error of `each`.
    pub(crate) fn changes<E>(
        &self,
        each: &mut dyn FnMut(Change) -> Result<(), E>,
    ) -> Result<(), E> {
        let recipe = self.recipe;
        if recipe.root {
            // Its name is its own, whatever the number.
            each(Change::Name(Class::Subdirectory, 0, Target::LostAndFound))?;
        }
        for number in 0..recipe.subdirectories {
            let target = Target::Subdirectory(number);
            each(Change::Name(Class::Subdirectory, number, target))?;
        }
        if self.first_round(each)? {
            each(Change::Removal)?;
        }
        for slot in 1..=recipe.files + recipe.free {
            if !self.any_late() {
                break;
            }
            if let Role::File(_) = self.slots.role(slot)
                && self.late(slot)
            {
                each(Change::Name(Class::File, slot, Target::File(slot)))?;
            }
        }
        for number in 0..recipe.links {
            each(Change::Name(Class::Link, number, Target::Link(number)))?;
        }
        Ok(())
    }

    /// Whether files may have been made after the removal.
    fn any_late(&self) -> bool {
        self.reused.1 > 0
    }

    /// Whether the file of a slot was.
    fn late(&self, slot: u32) -> bool {
        let (key, share) = self.reused;
        share > 0 && chance(key.of(self.recipe.set, slot.into()), share)
    }

    /// Every name made before the removal; returns whether any of them is to be removed.
    fn first_round<E>(&self, each: &mut dyn FnMut(Change) -> Result<(), E>) -> Result<bool, E> {
        let mut gone = 0;
        let mut any = false;
        for slot in 1..=self.recipe.files + self.recipe.free {
            let Role::File(file) = self.slots.role(slot) else {
                any = true;
                each(Change::Name(Class::GoneInode, slot, Target::Gone))?;
                continue;
            };
            if self.late(slot) {
                any = true;
                each(Change::Name(Class::GoneInode, slot, Target::Gone))?;
            } else {
                each(Change::Name(Class::File, slot, Target::File(slot)))?;
            }
            let until = ((f64::from(file) + 1.0) * self.removed) as u32;
            while gone < until {
                any = true;
                each(Change::Name(Class::Gone, gone, Target::Gone))?;
                gone += 1;
            }
        }
        Ok(any)
    }
}
