//! The shape of a directory that is grown once and used for every directory like it.
//!
//! Two directories with the same set of names and the same numbers of things grow alike: the hash's seed is the
//! filesystem's. A population of a hundred million files then grows some sets of names and not thirty thousand directories.
//! Where each directory is to have names of its own, each is grown twice: for its size, and when it is written.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use super::names::{Class, Names};
use super::random::{Key, chance};
use super::slots::{Role, Slots};
use crate::ext4::directory::{Full, Growth, Rules, Shape};

/// What decides how a directory grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Recipe {
    /// The set of names.
    pub(super) set: u64,
    pub(super) files: u32,
    pub(super) free: u32,
    pub(super) subdirectories: u32,
    /// Further names of files of another directory.
    pub(super) links: u32,
    /// Whether it holds `lost+found`.
    pub(super) root: bool,
}

/// What a name of a template stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    LostAndFound,
    /// By its number among the subdirectories.
    Subdirectory(u32),
    /// By its slot.
    File(u32),
    /// By its number.
    Link(u32),
    /// Nothing: the name was removed.
    Gone,
}

/// A [`Target`] in four bytes.
#[derive(Debug, Clone, Copy)]
struct Packed(u32);

impl Packed {
    const BITS: u32 = 29;

    fn new(target: Target) -> Self {
        let (kind, number) = match target {
            Target::LostAndFound => (0, 0),
            Target::Subdirectory(number) => (1, number),
            Target::File(slot) => (2, slot),
            Target::Link(number) => (3, number),
            Target::Gone => (4, 0),
        };
        Self(kind << Self::BITS | number)
    }

    fn target(self) -> Target {
        let number = self.0 & ((1 << Self::BITS) - 1);
        match self.0 >> Self::BITS {
            0 => Target::LostAndFound,
            1 => Target::Subdirectory(number),
            2 => Target::File(number),
            3 => Target::Link(number),
            _ => Target::Gone,
        }
    }
}

/// The name of `lost+found`.
pub(super) const LOST_AND_FOUND: &[u8] = b"lost+found";

/// A grown directory.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) shape: Shape,
    targets: Vec<Packed>,
}

impl Template {
    /// What a name, by its number, stands for.
    pub(super) fn target(&self, name: u32) -> Target {
        self.targets
            .get(name as usize)
            .map_or(Target::Gone, |packed| packed.target())
    }

    /// Every name that is there.
    pub(super) fn targets(&self) -> impl Iterator<Item = Target> {
        let targets = self.targets.iter().map(|packed| packed.target());
        targets.filter(|target| *target != Target::Gone)
    }

    fn bytes(&self) -> usize {
        self.targets.len() * 12 + self.shape.blocks() as usize * 64
    }
}

/// How directories grow.
#[derive(Debug)]
pub(super) struct Nursery {
    pub(super) rules: Rules,
    pub(super) names: Names,
    /// Draws whether a file's inode had an owner before.
    pub(super) reused: (Key, u64),
    /// Names removed for each file.
    pub(super) removed: f64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    templates: HashMap<Recipe, Arc<Template>>,
    /// In the order of their making.
    order: VecDeque<Recipe>,
    bytes: usize,
}

/// Bytes of templates that are kept.
const KEPT: usize = 48 << 20;

impl Nursery {
    pub(super) fn new(rules: Rules, names: Names, reused: (Key, u64), removed: f64) -> Self {
        Self {
            rules,
            names,
            reused,
            removed,
            kept: Mutex::default(),
        }
    }

    /// The template of a recipe, grown if it is not at hand.
    pub(super) fn template(&self, recipe: Recipe, slots: &Slots) -> Result<Arc<Template>, Full> {
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(template) = kept().templates.get(&recipe) {
            return Ok(Arc::clone(template));
        }
        let template = Arc::new(self.grow(recipe, slots)?);
        let bytes = template.bytes();
        if bytes <= KEPT {
            let mut kept = kept();
            if kept
                .templates
                .insert(recipe, Arc::clone(&template))
                .is_none()
            {
                kept.order.push_back(recipe);
                kept.bytes += bytes;
            }
            while kept.bytes > KEPT
                && let Some(oldest) = kept.order.pop_front()
            {
                let gone = kept.templates.remove(&oldest).map_or(0, |one| one.bytes());
                kept.bytes -= gone;
            }
        }
        Ok(template)
    }

    fn grow(&self, recipe: Recipe, slots: &Slots) -> Result<Template, Full> {
        let mut young = Young {
            nursery: self,
            set: recipe.set,
            growth: Growth::new(self.rules),
            targets: Vec::new(),
            place: [0; 255],
        };
        if recipe.root {
            let hash = young.hash(LOST_AND_FOUND);
            young.take(LOST_AND_FOUND.len() as u8, hash, Target::LostAndFound)?;
        }
        for number in 0..recipe.subdirectories {
            young.make(Class::Subdirectory, number, Target::Subdirectory(number))?;
        }
        let late = self.first_round(&mut young, recipe, slots)?;
        if young
            .targets
            .iter()
            .any(|packed| packed.target() == Target::Gone)
        {
            let targets = &young.targets;
            young.growth.remove(|name| {
                targets
                    .get(name as usize)
                    .is_some_and(|packed| packed.target() == Target::Gone)
            });
        }
        for slot in late {
            young.make(Class::File, slot, Target::File(slot))?;
        }
        for number in 0..recipe.links {
            young.make(Class::Link, number, Target::Link(number))?;
        }
        Ok(Template {
            shape: young.growth.finish(),
            targets: young.targets,
        })
    }

    /// All that ever was before anything was deleted; gives the slots of files that came afterwards.
    fn first_round(
        &self,
        young: &mut Young<'_>,
        recipe: Recipe,
        slots: &Slots,
    ) -> Result<Vec<u32>, Full> {
        let mut late = Vec::new();
        let mut gone = 0;
        let (key, share) = self.reused;
        for slot in 1..=recipe.files + recipe.free {
            let Role::File(file) = slots.role(slot) else {
                young.make(Class::GoneInode, slot, Target::Gone)?;
                continue;
            };
            if share > 0 && chance(key.of(recipe.set, slot.into()), share) {
                young.make(Class::GoneInode, slot, Target::Gone)?;
                late.push(slot);
            } else {
                young.make(Class::File, slot, Target::File(slot))?;
            }
            let until = ((f64::from(file) + 1.0) * self.removed) as u32;
            while gone < until {
                young.make(Class::Gone, gone, Target::Gone)?;
                gone += 1;
            }
        }
        Ok(late)
    }
}

/// A directory while it grows.
struct Young<'a> {
    nursery: &'a Nursery,
    set: u64,
    growth: Growth,
    targets: Vec<Packed>,
    /// Where names are made.
    place: [u8; 255],
}

impl Young<'_> {
    fn make(&mut self, class: Class, number: u32, target: Target) -> Result<(), Full> {
        let len = self
            .nursery
            .names
            .make(self.set, class, number, &mut self.place);
        let hash = self.hash(&self.place[..len.into()]);
        self.take(len, hash, target)
    }

    fn hash(&self, name: &[u8]) -> u32 {
        self.nursery
            .rules
            .index
            .map_or(0, |hashing| hashing.of(name))
    }

    fn take(&mut self, len: u8, hash: u32, target: Target) -> Result<(), Full> {
        self.growth.add(len, hash)?;
        self.targets.push(Packed::new(target));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_target_is_the_same() {
        for target in [
            Target::LostAndFound,
            Target::Subdirectory(7),
            Target::File((1 << 29) - 1),
            Target::Link(0),
            Target::Gone,
        ] {
            assert_eq!(Packed::new(target).target(), target);
        }
    }
}
