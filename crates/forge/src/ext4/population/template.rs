//! The shape of a directory that is grown once and used for every directory like it.
//!
//! Two directories with the same set of names and the same numbers of things grow alike: the hash's seed is the
//! filesystem's. A population of a hundred million files then grows some sets of names and not thirty thousand directories.
//! Where each directory is to have names of its own, each is grown twice: for its size, and when it is written. A directory of more
//! names than memory is meant for is grown in parts ([`Vast`]).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ondisk::ext4::inline::IN_BLOCK;

use super::names::{Class, Names};
use super::random::{Key, chance};
use super::slots::{Role, Slots};
use crate::ext4::directory::{Event, Full, Growth, Portions, Rules, Shape, Story, Vast};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packed(pub(super) u32);

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

    pub(super) fn target(self) -> Target {
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
pub(super) enum Template {
    /// With each name's place and target.
    Whole { shape: Shape, targets: Vec<Packed> },
    /// With the index alone; the leaves are grown again when they are written.
    Vast(Box<Vast>),
}

impl Template {
    pub(super) fn blocks(&self) -> u32 {
        match self {
            Self::Whole { shape, .. } => shape.blocks(),
            Self::Vast(vast) => vast.blocks(),
        }
    }

    /// Whether it has an index; of one without blocks, whether it has more than the 60 bytes that each has.
    pub(super) fn has_more(&self) -> bool {
        match self {
            Self::Whole { shape, .. } if shape.blocks() == 0 => shape.size() > IN_BLOCK as u64,
            Self::Whole { shape, .. } => shape.levels() > 0,
            Self::Vast(_) => true,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Whole { shape, targets } => targets.len() * 16 + shape.blocks() as usize * 64,
            Self::Vast(vast) => vast.bytes(),
        }
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
    /// Whether names below the root are hashed without regard to case.
    pub(super) casefold: bool,
    /// What the keys come from that hash names below the root, where these are encrypted and case-folded.
    pub(super) secret: Option<Key>,
    /// Held while a vast directory is grown: one at a time is what memory is for.
    pub(super) vast: Mutex<()>,
}

#[derive(Debug, Default)]
struct Kept {
    templates: HashMap<Recipe, Arc<Template>>,
    /// In the order of their making.
    order: VecDeque<Recipe>,
    bytes: usize,
}

/// Bytes of templates that are kept.
const KEPT: usize = 32 << 20;
/// Names of a directory from which on it is grown in parts.
pub(super) const VAST: u64 = 1 << 20;

impl Nursery {
    pub(super) fn new(rules: Rules, names: Names, reused: (Key, u64), removed: f64) -> Self {
        Self {
            rules,
            names,
            reused,
            removed,
            kept: Mutex::default(),
            casefold: false,
            secret: None,
            vast: Mutex::default(),
        }
    }

    /// The template of a recipe, grown if it is not at hand.
    pub(super) fn template(&self, tale: Tale<'_>) -> Result<Arc<Template>, Full> {
        let recipe = tale.recipe;
        if let Some(template) = self.at_hand(recipe) {
            return Ok(template);
        }
        if tale.names() <= VAST || self.rules.index.is_none() {
            return Ok(self.keep(recipe, tale.grow()?));
        }
        let _one = self.vast.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(template) = self.at_hand(recipe) {
            return Ok(template);
        }
        let vast = Vast::grow(tale.rules(), &tale, Portions::default())?;
        Ok(self.keep(recipe, Template::Vast(Box::new(vast))))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at_hand(&self, recipe: Recipe) -> Option<Arc<Template>> {
        self.kept().templates.get(&recipe).map(Arc::clone)
    }

    fn keep(&self, recipe: Recipe, template: Template) -> Arc<Template> {
        let template = Arc::new(template);
        let bytes = template.bytes();
        if bytes > KEPT {
            return template;
        }
        let mut kept = self.kept();
        let before = kept.templates.insert(recipe, Arc::clone(&template));
        if before.is_none() {
            kept.order.push_back(recipe);
            kept.bytes += bytes;
        }
        while kept.bytes > KEPT
            && let Some(oldest) = kept.order.pop_front()
        {
            let gone = kept.templates.remove(&oldest).map_or(0, |one| one.bytes());
            kept.bytes -= gone;
        }
        template
    }
}

/// What happens to the directories of a recipe.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tale<'a> {
    pub(super) nursery: &'a Nursery,
    pub(super) recipe: Recipe,
    pub(super) slots: &'a Slots,
}

/// A name that is made, or the one moment at which names go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Name(Class, u32, Target),
    Removal,
}

impl Tale<'_> {
    /// Names in all, those that go counted.
    pub(super) fn names(&self) -> u64 {
        let Recipe {
            files,
            free,
            subdirectories,
            links,
            ..
        } = self.recipe;
        let there = [files, free, subdirectories, links].map(u64::from);
        there.iter().sum::<u64>() + (f64::from(files) * self.nursery.removed) as u64
    }

    /// Every name that stays, in the order of their making.
    pub(super) fn targets(&self) -> Vec<Target> {
        let mut targets = Vec::new();
        let told = self.changes(&mut |change| {
            if let Change::Name(_, _, target) = change
                && target != Target::Gone
            {
                targets.push(target);
            }
            Ok(())
        });
        debug_assert!(told.is_ok());
        targets
    }

    fn changes(&self, each: &mut dyn FnMut(Change) -> Result<(), Full>) -> Result<(), Full> {
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

    /// Whether files may come after something else had gone.
    fn any_late(&self) -> bool {
        self.nursery.reused.1 > 0
    }

    /// Whether the file of a slot did.
    fn late(&self, slot: u32) -> bool {
        let (key, share) = self.nursery.reused;
        share > 0 && chance(key.of(self.recipe.set, slot.into()), share)
    }

    /// All that ever was before anything was deleted; says whether something is to go.
    fn first_round(&self, each: &mut dyn FnMut(Change) -> Result<(), Full>) -> Result<bool, Full> {
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
            let until = ((f64::from(file) + 1.0) * self.nursery.removed) as u32;
            while gone < until {
                any = true;
                each(Change::Name(Class::Gone, gone, Target::Gone))?;
                gone += 1;
            }
        }
        Ok(any)
    }

    /// The rules of this directory. Of a name nobody knows more than its ciphertext, so that is what the key hashes; directories of
    /// one set of names have one key, where the kernel has one for each, so that they grow alike.
    fn rules(&self) -> Rules {
        let mut rules = self.nursery.rules;
        if self.recipe.root {
            // mke2fs gives it a block, and lost+found as well.
            rules.inline = None;
        } else {
            let key = self.nursery.secret;
            rules.secret = key.map(|key| [0, 1].map(|nth| key.of(self.recipe.set, nth)));
        }
        rules
    }

    /// Grows it in one piece.
    fn grow(&self) -> Result<Template, Full> {
        let mut growth = Growth::new(self.rules());
        let mut targets: Vec<Packed> = Vec::new();
        self.tell(&mut |event| {
            match event {
                Event::Name { len, hash, tag } => {
                    growth.add(len, hash)?;
                    targets.push(Packed(tag));
                }
                Event::Removal => growth.remove(|name| {
                    targets
                        .get(name as usize)
                        .is_some_and(|packed| packed.target() == Target::Gone)
                }),
            }
            Ok(())
        })?;
        Ok(Template::Whole {
            shape: growth.finish(),
            targets,
        })
    }
}

impl Story for Tale<'_> {
    fn tell(&self, each: &mut dyn FnMut(Event) -> Result<(), Full>) -> Result<(), Full> {
        let names = &self.nursery.names;
        let rules = self.rules();
        let mut place = [0; 255];
        self.changes(&mut |change| {
            let (class, number, target) = match change {
                Change::Name(class, number, target) => (class, number, target),
                Change::Removal => return each(Event::Removal),
            };
            let len = if target == Target::LostAndFound {
                place[..LOST_AND_FOUND.len()].copy_from_slice(LOST_AND_FOUND);
                LOST_AND_FOUND.len() as u8
            } else {
                names.make(self.recipe.set, class, number, &mut place)
            };
            if self.nursery.casefold && !self.recipe.root {
                // Names are of ASCII then, and never written from here.
                place.make_ascii_lowercase();
            }
            let name = &place[..usize::from(len)];
            each(Event::Name {
                len,
                hash: rules.hash(name),
                tag: Packed::new(target).0,
            })
        })
    }

    fn gone(&self, tag: u32) -> bool {
        Packed(tag).target() == Target::Gone
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
