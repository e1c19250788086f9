//! The directories of an ageing: which there are, inside which, with how many files.

use crate::fill::count::Counts;
use crate::fill::names::mix;
use crate::fill::place::subdirectory;

/// No directory.
const NONE: u32 = u32::MAX;

/// Numbers from a seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws(u64);

impl Draws {
    pub(super) const fn new(seed: u64) -> Draws {
        Draws(mix(seed ^ 0x6167_6569))
    }

    /// A number below `n`, which is not 0. Uneven by less than n / 2^64.
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(1);
        ((u128::from(mix(self.0)) * n as u128) >> 64) as usize
    }
}

#[derive(Debug)]
struct Directory {
    /// The directory it is in; `NONE` for those that a fill makes.
    parent: u32,
    /// Of a filled one its base and its number there; of an added one 0 and its number.
    base: u32,
    number: u32,
    files: u64,
    /// Its place in `alive`.
    at: u32,
    children: Vec<u32>,
}

/// All directories. 56 bytes each; those that are gone are not forgotten, for their numbers.
#[derive(Debug, Default)]
pub(super) struct Accounting {
    prefixes: Vec<String>,
    directories: u32,
    all: Vec<Directory>,
    alive: Vec<u32>,
    /// For each base and number the directory that a fill has made.
    filled: Vec<u32>,
    files: u64,
    added: u32,
}

/// A directory that is to be removed with everything in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Victim {
    /// Relative to the root.
    pub(super) path: String,
    /// What goes with it, itself counted.
    pub(super) counts: Counts,
}

impl Accounting {
    /// `prefixes` are the bases relative to the root, ended by `/` unless empty; each has up to
    /// `directories` filled ones.
    pub(super) fn new(prefixes: Vec<String>, directories: u32) -> Accounting {
        Accounting {
            filled: vec![NONE; prefixes.len() * directories as usize],
            prefixes,
            directories,
            ..Accounting::default()
        }
    }

    /// Files and directories that exist; base directories are not counted.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            files: self.files,
            directories: self.alive.len() as u64,
        }
    }

    /// A fill has put files into directory `number` of a base, and made it if it was not there.
    pub(super) fn fill(&mut self, base: u32, number: u32, files: u64) {
        let slot = (base * self.directories + number) as usize;
        if self.filled[slot] == NONE {
            self.filled[slot] = self.enter(NONE, base, number);
        }
        let id = self.filled[slot];
        self.all[id as usize].files += files;
        self.files += files;
    }

    fn enter(&mut self, parent: u32, base: u32, number: u32) -> u32 {
        let id = self.all.len() as u32;
        self.all.push(Directory {
            parent,
            base,
            number,
            files: 0,
            at: self.alive.len() as u32,
            children: Vec::new(),
        });
        self.alive.push(id);
        id
    }

    /// Chooses a directory, and strikes it and all inside it out. `None` when there is none.
    pub(super) fn strike(&mut self, draws: &mut Draws) -> Option<Victim> {
        if self.alive.is_empty() {
            return None;
        }
        let id = self.alive[draws.below(self.alive.len())];
        let path = self.path(id);
        let parent = self.all[id as usize].parent;
        if parent == NONE {
            let gone = &self.all[id as usize];
            let slot = (gone.base * self.directories + gone.number) as usize;
            self.filled[slot] = NONE;
        } else {
            self.all[parent as usize].children.retain(|c| *c != id);
        }
        let mut counts = Counts::default();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let gone = &mut self.all[id as usize];
            counts.files += gone.files;
            counts.directories += 1;
            open.append(&mut gone.children);
            let at = gone.at;
            self.alive.swap_remove(at as usize);
            if let Some(moved) = self.alive.get(at as usize) {
                self.all[*moved as usize].at = at;
            }
        }
        self.files -= counts.files;
        Some(Victim { path, counts })
    }

    /// Chooses `count` different directories, as many as there are at most, and enters one new one
    /// inside each. Their paths relative to the root; [`Accounting::stock`] puts files into them.
    pub(super) fn add(&mut self, count: u32, draws: &mut Draws) -> Vec<(u32, String)> {
        let mut parents = self.alive.clone();
        let count = parents.len().min(count as usize);
        for i in 0..count {
            let j = i + draws.below(parents.len() - i);
            parents.swap(i, j);
        }
        parents.truncate(count);
        let enter = |parent| {
            self.added += 1;
            let id = self.enter(parent, 0, self.added - 1);
            self.all[parent as usize].children.push(id);
            (id, self.path(id))
        };
        parents.into_iter().map(enter).collect()
    }

    /// An added directory has got files.
    pub(super) fn stock(&mut self, id: u32, files: u64) {
        self.all[id as usize].files += files;
        self.files += files;
    }

    /// The number of files of each directory that exists.
    pub(super) fn each(&self) -> impl Iterator<Item = u64> {
        let alive = self.alive.iter();
        alive.map(|id| self.all[*id as usize].files)
    }

    fn path(&self, id: u32) -> String {
        let directory = &self.all[id as usize];
        if directory.parent == NONE {
            let prefix = &self.prefixes[directory.base as usize];
            return prefix.to_owned() + &subdirectory(directory.number);
        }
        // As deep as there have been rounds.
        format!("{}/a{:x}", self.path(directory.parent), directory.number)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    /// The same by paths alone.
    #[derive(Default)]
    struct Model(BTreeMap<String, u64>);

    impl Model {
        fn remove(&mut self, path: &str) -> Counts {
            let inside = format!("{path}/");
            let mut gone = Counts::default();
            self.0.retain(|p, files| {
                let goes = p == path || p.starts_with(&inside);
                if goes {
                    gone.add(Counts {
                        files: *files,
                        directories: 1,
                    });
                }
                !goes
            });
            gone
        }
    }

    proptest! {
        #[test]
        fn books_are_those_of_a_model_of_paths(
            seed in any::<u64>(),
            directories in 2_u32..20,
            two in any::<bool>(),
            steps in 1_u32..8,
            rounds in 1_u32..6,
        ) {
            let prefixes = if two { vec!["p0/".into(), "p1/".into()] } else { vec![String::new()] };
            let mut accounting = Accounting::new(prefixes.clone(), directories);
            let (mut model, mut draws) = (Model::default(), Draws::new(seed));
            for round in 1..=rounds {
                for (base, prefix) in (0..).zip(&prefixes) {
                    for number in 0..directories {
                        accounting.fill(base, number, 3);
                        *model.0.entry(format!("{prefix}{number:02x}")).or_default() += 3;
                    }
                }
                for _ in 0..steps * round {
                    let Some(victim) = accounting.strike(&mut draws) else { break };
                    prop_assert!(model.0.contains_key(&victim.path));
                    prop_assert_eq!(model.remove(&victim.path), victim.counts);
                }
                let there = model.0.len();
                let added = accounting.add(steps * round, &mut draws);
                prop_assert_eq!(added.len(), there.min((steps * round) as usize));
                let mut parents = BTreeSet::new();
                for (id, path) in added {
                    let (parent, _) = path.rsplit_once('/').unwrap();
                    prop_assert!(model.0.contains_key(parent) && parents.insert(parent.to_owned()));
                    accounting.stock(id, 2);
                    prop_assert!(model.0.insert(path, 2).is_none());
                }
                let counts = accounting.counts();
                prop_assert_eq!(counts.directories, model.0.len() as u64);
                prop_assert_eq!(counts.files, model.0.values().sum::<u64>());
            }
        }
    }

    #[test]
    fn choices_follow_from_the_seed_and_reach_everything() {
        let chosen = |seed| {
            let mut accounting = Accounting::new(vec![String::new()], 16);
            (0..16).for_each(|n| accounting.fill(0, n, 1));
            let mut draws = Draws::new(seed);
            let paths = (0..16).map(|_| accounting.strike(&mut draws).unwrap().path);
            let paths: Vec<String> = paths.collect();
            assert!(accounting.strike(&mut draws).is_none());
            paths
        };
        assert_eq!(chosen(1), chosen(1));
        assert_ne!(chosen(1), chosen(2));
        let all: BTreeSet<String> = chosen(3).into_iter().collect();
        assert_eq!(all.len(), 16);
    }
}
