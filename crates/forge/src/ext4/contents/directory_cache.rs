//! Directories grown once and used for every directory like them.
//!
//! Two directories with the same history ([`Recipe`]) grow alike: the hash's seed is the filesystem's. A population of a hundred
//! million files then grows some sets of names and not thirty thousand directories. Where each directory has names of its own,
//! each is grown twice: for its size, and when it is written. A directory with more names than memory is meant for is grown in
//! parts ([`Vast`]).

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ondisk::ext4::inline::IN_BLOCK;

use crate::ext4::directory::{Event, Events, Full, Growth, Portions, Rules, Shape, Vast};
use crate::population::{Change, History, Key, Names, Population, Purpose, Recipe, Target};

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

/// The rules of growth, and the directories that were grown last.
#[derive(Debug)]
pub(super) struct DirectoryCache {
    pub(super) rules: Rules,
    kept: Mutex<Kept>,
    /// Whether names below the root are hashed without regard to case.
    casefold: bool,
    /// Where the keys come from that hash names below the root, when these are encrypted and case-folded.
    secret: Option<Key>,
    /// Held while a vast directory is grown: memory is for one at a time.
    pub(super) vast: Mutex<()>,
}

#[derive(Debug, Default)]
struct Kept {
    templates: HashMap<Recipe, Arc<Template>>,
    /// In the order of their creation.
    order: VecDeque<Recipe>,
    bytes: usize,
}

/// Bytes of templates that are kept.
const KEPT: usize = 32 << 20;
/// Names of a directory from which on it is grown in parts.
pub(super) const VAST: u64 = 1 << 20;

impl DirectoryCache {
    pub(super) fn new(rules: Rules, population: &Population) -> Self {
        let names = &population.profile().names;
        let (casefold, secret) = match (names.casefold, names.encrypted) {
            (true, true) => (false, Some(population.key(Purpose::HashKey))),
            (folded, _) => (folded, None),
        };
        Self {
            rules,
            kept: Mutex::default(),
            casefold,
            secret,
            vast: Mutex::default(),
        }
    }

    /// The template of a recipe, grown if it is not at hand.
    pub(super) fn template(&self, grown: Grown<'_>) -> Result<Arc<Template>, Full> {
        let recipe = grown.history.recipe;
        if let Some(template) = self.at_hand(recipe) {
            return Ok(template);
        }
        if grown.history.names() <= VAST || self.rules.index.is_none() {
            return Ok(self.keep(recipe, grown.grow()?));
        }
        let _one = self.vast.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(template) = self.at_hand(recipe) {
            return Ok(template);
        }
        let vast = Vast::grow(grown.rules(), &grown, Portions::default())?;
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

/// A directory to be grown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grown<'a> {
    pub(super) cache: &'a DirectoryCache,
    pub(super) names: &'a Names,
    pub(super) history: History<'a>,
}

impl Grown<'_> {
    /// The rules of this directory. Without the key only the ciphertext of a name is known, so the ciphertext is hashed. Directories of
    /// one set of names share one key, where the kernel has one for each, so that they grow alike.
    fn rules(&self) -> Rules {
        let mut rules = self.cache.rules;
        if self.history.recipe.root {
            // mke2fs gives it a block, and lost+found as well.
            rules.inline = None;
        } else {
            let key = self.cache.secret;
            rules.secret = key.map(|key| [0, 1].map(|nth| key.of(self.history.recipe.set, nth)));
        }
        rules
    }

    /// Grows it in one piece.
    fn grow(&self) -> Result<Template, Full> {
        let mut growth = Growth::new(self.rules());
        let mut targets: Vec<Packed> = Vec::new();
        self.replay(&mut |event| {
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

impl Events for Grown<'_> {
    fn replay(&self, each: &mut dyn FnMut(Event) -> Result<(), Full>) -> Result<(), Full> {
        let rules = self.rules();
        let recipe = self.history.recipe;
        let mut place = [0; 255];
        self.history.changes(&mut |change| {
            let Change::Name(_, _, target) = change else {
                return each(Event::Removal);
            };
            let len = change.name(self.names, recipe.set, &mut place);
            if self.cache.casefold && !recipe.root {
                // These names are ASCII, and are never written from here.
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
