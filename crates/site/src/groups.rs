//! Which comparisons a site has without being asked: each state of a study's system with the state before it.
//!
//! A state is a kernel, a commit and a machine. Runs of one state are repetitions of each other, so they are one side.

use crate::hash::Hash;
use crate::library::{Known, Library};

/// Most comparisons of a study; the newest stay.
pub(crate) const MOST: usize = 50;

/// A comparison to make.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// What it compares, by which its address stays the same when runs are added.
    pub key: String,
    /// The study; empty where a user named the sides.
    pub study: String,
    /// The sides' names, base first.
    pub names: [String; 2],
    /// The sides' runs, oldest first.
    pub runs: [Vec<Known>; 2],
}

/// A state of a study's system.
struct Group<'a> {
    key: [&'a str; 3],
    runs: Vec<&'a Known>,
}

impl Pair {
    /// The hash in its address.
    pub(crate) fn hash(&self) -> Hash {
        Hash::of(&self.key)
    }
}

/// The comparisons of all studies, newest first.
pub(crate) fn pairs(library: &Library) -> Vec<Pair> {
    studies(library)
        .into_iter()
        .flat_map(|study| of_study(library, study))
        .collect()
}

/// The studies with a whole run, by name.
pub(crate) fn studies(library: &Library) -> Vec<&str> {
    let whole = library
        .runs
        .iter()
        .filter(|known| known.facts.state == crate::facts::State::Whole);
    let mut names: Vec<&str> = whole.map(|known| known.facts.study.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn of_study(library: &Library, study: &str) -> Vec<Pair> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    // The library has the newest first.
    let mut runs: Vec<&Known> = library.whole_of(study).collect();
    runs.reverse();
    for known in runs {
        let facts = &known.facts;
        let key = [&facts.kernel, &facts.commit, &facts.machine].map(String::as_str);
        match groups.iter_mut().find(|group| group.key == key) {
            Some(group) => group.runs.push(known),
            None => groups.push(Group {
                key,
                runs: vec![known],
            }),
        }
    }
    let pairs = groups.windows(2).rev().take(MOST);
    pairs
        .map(|pair| Pair {
            key: [&[study][..], &pair[0].key, &pair[1].key]
                .concat()
                .join("\n"),
            study: study.to_owned(),
            names: names([&pair[0], &pair[1]]),
            runs: [0, 1].map(|at| pair[at].runs.iter().map(|known| (*known).clone()).collect()),
        })
        .collect()
}

/// The sides by what differs between them: `kernel 6.12.1`.
fn names(groups: [&Group<'_>; 2]) -> [String; 2] {
    let [a, b] = groups.map(|group| group.key);
    [0, 1].map(|side| {
        let words = ["kernel", "commit", "machine"].into_iter().enumerate();
        let parts = words.filter(|(at, _)| a[*at] != b[*at]).map(|(at, word)| {
            let value = match groups[side].key[at] {
                "" => "unknown".into(),
                value => words::cut(value, 60),
            };
            format!("{word} {value}")
        });
        parts.collect::<Vec<_>>().join(", ")
    })
}
