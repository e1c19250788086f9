//! A directory with more names than memory is given for.
//!
//! [`Growth`](super::Growth) keeps some thirty bytes for each name, which is nothing for three thousand and gigabytes for a
//! hundred million. But what happens in a leaf depends on the names of its own range of hashes alone; only the numbers of blocks, and
//! the nodes of the index, depend on when each leaf was split. So the first names are grown together until there
//! are some hundreds of leaves, and from there on the leaves are grown in [`Window`]s of a few million names each, one window
//! after the other. Each window goes through all names again and takes its own. What is kept of it is the list of its splits; all
//! lists together, in the order of time, are played into the index, and what comes out is block for block what would have grown in one piece (a
//! test compares the two).
//!
//! To write the blocks, the windows are grown a second time, and each leaf goes to the block that the index has for it.
//!
//! The price is time: as many passes over the names as there are windows, some 50 ns for each name. Rejected: names sorted by
//! hash in a file beside the image, which would be quicker and needs eight bytes for each on a disk that is about to be
//! filled.

use ondisk::ext4::directory::LONGEST_NAME;
use ondisk::ext4::htree::IndexEntry;

use super::growth::{Growth, Split};
use super::index::{Index, Room};
use super::write::{write_leaf, write_node, write_root};
use super::{Entry, Full, Identity, Rules};
use crate::Error;

/// What happens to a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A name is made; `tag` is what the teller knows it by.
    Name {
        /// Bytes of the name.
        len: u8,
        /// Its major hash.
        hash: u32,
        /// Kept with the name.
        tag: u32,
    },
    /// Removes all names for which [`Events::gone`] holds. At most once.
    Removal,
}

/// A sequence of events, the same each time it is replayed.
pub trait Events {
    /// Calls `each` for each event and returns its errors.
    ///
    /// # Errors
    ///
    /// Those of `each`.
    fn replay(&self, each: &mut dyn FnMut(Event) -> Result<(), Full>) -> Result<(), Full>;

    /// Whether the name of a tag is removed.
    fn gone(&self, tag: u32) -> bool;
}

/// Memory limits.
#[derive(Debug, Clone, Copy)]
pub struct Portions {
    /// Names that are grown together first, enough for an index.
    pub first: u32,
    /// Names of a window.
    pub window: u32,
}

impl Default for Portions {
    /// About 80 MiB.
    fn default() -> Self {
        Self {
            first: 1 << 17,
            window: 5 << 19,
        }
    }
}

/// A directory of which the index is known, and its leaves can be grown again in windows.
#[derive(Debug)]
pub struct Vast {
    rules: Rules,
    seed: Growth,
    /// What the seed's names are known by.
    tags: Vec<u32>,
    /// Names that the seed took; fewer than there are by now if some were removed.
    first: u32,
    /// The seed's leaves, by hash: where each begins, and its block in the seed.
    starts: Vec<IndexEntry>,
    windows: Vec<Window>,
    index: Index,
    /// The logical block of each node of the index.
    nodes: Vec<u32>,
    blocks: u32,
}

/// Leaves of the seed that are grown together.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// Places in [`Vast::starts`].
    from: usize,
    to: usize,
    /// Names that will be in it, those that will go among them.
    names: usize,
    /// How many leaves of the whole directory come before.
    before: usize,
}

/// A window that has been grown.
struct Grown {
    growth: Growth,
    tags: Vec<u32>,
}

impl Vast {
    /// Grows a directory that is to have an index.
    ///
    /// # Errors
    ///
    /// [`Full`] when the index or the largest size of a directory is reached.
    pub fn grow(rules: Rules, events: &dyn Events, portions: Portions) -> Result<Self, Full> {
        let mut this = Self::seed(rules, events, portions)?;
        let mut splits = Vec::new();
        let mut before = 0;
        for nth in 0..this.windows.len() {
            this.windows[nth].before = before;
            let window = this.windows[nth];
            let made = this.window(window, events)?.growth.into_splits();
            before += window.to - window.from + made.len();
            splits.extend(made);
        }
        splits.sort_unstable_by_key(|split| split.time);
        this.replay(&splits)?;
        Ok(this)
    }

    /// Blocks, at least 1.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Levels of the index with the root.
    pub fn levels(&self) -> u8 {
        self.index.levels + 1
    }

    /// Bytes of memory that it takes until it is written, about.
    pub fn bytes(&self) -> usize {
        self.blocks as usize * 16 + self.tags.len() * 32
    }

    /// Grows the first names, and counts where the others will be placed.
    fn seed(rules: Rules, events: &dyn Events, portions: Portions) -> Result<Self, Full> {
        let mut this = Self {
            rules,
            seed: Growth::new(rules),
            tags: Vec::new(),
            first: portions.first,
            starts: Vec::new(),
            windows: Vec::new(),
            index: Index::default(),
            nodes: Vec::new(),
            blocks: 0,
        };
        let mut counts: Vec<usize> = Vec::new();
        let mut made = 0;
        events.replay(&mut |event| {
            let Event::Name { len, hash, tag } = event else {
                if made < this.first {
                    let tags = &this.tags;
                    this.seed
                        .remove(|id| tags.get(id as usize).is_some_and(|tag| events.gone(*tag)));
                }
                return Ok(());
            };
            made += 1;
            if made <= this.first {
                this.seed.add(len, hash)?;
                this.tags.push(tag);
            }
            if made == this.first {
                this.starts = this.seed.leaves();
                counts.resize(this.starts.len(), 0);
            }
            if made > this.first
                && let Some(count) = counts.get_mut(this.leaf_of(hash))
            {
                *count += 1;
            }
            Ok(())
        })?;
        let Some(index) = this.seed.index().filter(|_| !this.starts.is_empty()) else {
            return Err(this.full(made));
        };
        this.index = index.clone();
        this.cut(&counts, portions.window as usize);
        Ok(this)
    }

    /// The leaf of the seed that a hash belongs to.
    fn leaf_of(&self, hash: u32) -> usize {
        let after = self.starts.partition_point(|leaf| leaf.hash <= hash);
        after.saturating_sub(1)
    }

    /// Makes windows of as many leaves as have `most` names together.
    fn cut(&mut self, counts: &[usize], most: usize) {
        for (nth, start) in self.starts.iter().enumerate() {
            let names = counts[nth] + self.seed.names_of(start.block);
            match self.windows.last_mut() {
                Some(window) if window.names + names <= most => {
                    window.names += names;
                    window.to = nth + 1;
                }
                _ => self.windows.push(Window {
                    from: nth,
                    to: nth + 1,
                    names,
                    before: 0,
                }),
            }
        }
    }

    /// Grows the leaves of a window to their end.
    fn window(&self, window: Window, events: &dyn Events) -> Result<Grown, Full> {
        let mut grown = self.begin(window);
        let low = self.starts[window.from].hash;
        let high = self.starts.get(window.to).map(|leaf| leaf.hash);
        let mut made = 0;
        events.replay(&mut |event| {
            match event {
                Event::Name { len, hash, tag } => {
                    made += 1;
                    // The first window also has everything below its first leaf.
                    let here =
                        (window.from == 0 || hash >= low) && high.is_none_or(|high| hash < high);
                    if made > self.first && here {
                        grown.tags.push(tag);
                        grown.growth.at(made);
                        grown.growth.add(len, hash).map_err(|_| self.full(made))?;
                    }
                }
                Event::Removal if made >= self.first => {
                    let tags = &grown.tags;
                    grown
                        .growth
                        .remove(|id| tags.get(id as usize).is_some_and(|tag| events.gone(*tag)));
                }
                Event::Removal => {}
            }
            Ok(())
        })?;
        Ok(grown)
    }

    /// The window's leaves as the seed left them.
    fn begin(&self, window: Window) -> Grown {
        let mut tags = Vec::with_capacity(window.names);
        // An index of as many levels as it takes: it is never written.
        let rules = Rules {
            most_levels: 3,
            ..self.rules
        };
        let starts = &self.starts[window.from..window.to];
        let growth = self.seed.part(rules, starts, window.names, |id| {
            tags.push(self.tags.get(id as usize).copied().unwrap_or(0));
        });
        Grown { growth, tags }
    }

    /// Replays the splits of all windows in the index, which numbers every block.
    fn replay(&mut self, splits: &[Split]) -> Result<(), Full> {
        (self.blocks, self.nodes) = self.seed.numbering();
        for split in splits {
            loop {
                if u64::from(self.blocks) >= self.rules.most_blocks() {
                    return Err(self.full(split.time));
                }
                let way = self.index.find(split.name);
                match self.index.make_room(&way, &self.rules) {
                    Room::There => {
                        let block = self.blocks;
                        let hash = split.first;
                        self.index.insert(&way, IndexEntry { hash, block });
                        self.blocks += 1;
                        break;
                    }
                    Room::Made(_) => {
                        self.nodes.push(self.blocks);
                        self.blocks += 1;
                    }
                    Room::Full => return Err(self.full(split.time)),
                }
            }
        }
        Ok(())
    }

    fn full(&self, made: u32) -> Full {
        Full {
            names: made.saturating_sub(1),
            block_size: self.rules.block_size,
            levels: self.index.levels + 1,
        }
    }

    /// Passes every block to `out` with its number, unordered. `entry` writes the name of a tag
    /// and returns its target.
    ///
    /// # Errors
    ///
    /// Those of `out`, and [`Error::Population`] if the events differ from the first time.
    pub fn write(
        &self,
        events: &dyn Events,
        own: Identity,
        entry: impl Fn(u32, &mut [u8; LONGEST_NAME]) -> Entry,
        mut out: impl FnMut(u32, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut bytes = vec![0; self.rules.block_size as usize];
        write_root(&self.rules, &self.index, &self.nodes, &mut bytes, own)?;
        out(0, &bytes)?;
        for (node, block) in self.index.nodes.iter().zip(&self.nodes) {
            write_node(node, &self.nodes, &mut bytes, own)?;
            out(*block, &bytes)?;
        }
        let homes = self.index.leaves();
        for window in &self.windows {
            let grown = self
                .window(*window, events)
                .map_err(|full| Error::Option(full.to_string()))?;
            let leaves = grown.growth.leaves();
            let homes = homes.get(window.before..).unwrap_or_default();
            let mut pairs: Vec<(u32, u32)> = homes
                .iter()
                .zip(&leaves)
                .map(|(home, leaf)| (home.block, leaf.block))
                .collect();
            pairs.sort_unstable();
            if pairs.len() != leaves.len() {
                return Err(Error::Population(
                    "a directory has other names now than when it was asked first".to_owned(),
                ));
            }
            for (home, leaf) in pairs {
                let leaf = grown.growth.leaf(leaf)?;
                write_leaf(&self.rules, leaf, &mut bytes, own, &|id, place| {
                    entry(grown.tags.get(id as usize).copied().unwrap_or(0), place)
                })?;
                out(home, &bytes)?;
            }
        }
        Ok(())
    }
}
