//! How much a run will write and hold, before it writes anything.
//!
//! Worked out from the sets and the sequence, file contents only: the filesystem's own rounding to
//! blocks (half a block for each of up to half a million files) and its metadata come on top.

use std::collections::HashMap;

use super::dataset::{Dataset, FileSet};
use super::sequence::{Action, Plan, State, Step};
use crate::Error;
use params::{Parameters, TreeSpec};

/// Space and files that a run needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes of files written in total.
    pub written: u64,
    /// Most bytes of files that are on the filesystem at once.
    pub peak: u64,
    /// Most files that are there at once.
    pub peak_files: u64,
}

/// Bytes and files, with signs.
#[derive(Clone, Copy, Default)]
struct Amount {
    bytes: i64,
    files: i64,
}

impl Amount {
    fn of(set: &FileSet) -> Amount {
        Amount {
            bytes: set.bytes() as i64,
            files: set.len() as i64,
        }
    }

    fn add(&mut self, other: Amount, sign: i64) {
        self.bytes += sign * other.bytes;
        self.files += sign * other.files;
    }
}

/// Works the footprint of a run out. Touches nothing but the data sets, when they are files.
///
/// # Errors
/// As [`super::run`] before it begins: a bad option, a data set that cannot be read.
pub fn footprint(options: &TreeSpec) -> Result<Footprint, Error> {
    options.validate()?;
    let data = match &options.sources {
        Some(folder) => Dataset::read(folder, options.scale)?,
        None => Dataset::generated(options.scale, options.dataset_seed),
    };
    let plan = Plan {
        initial: options.initial,
        runs: options.runs,
        makej: options.makej,
        compat: options.compat,
        shuffle: data.shuffle,
    };
    Ok(of_steps(&data, &plan.steps()))
}

fn of_steps(data: &Dataset, steps: &[Step]) -> Footprint {
    let changes = Changes::new(data);
    let native = [&data.unpatched, &data.patch, &data.compile_patched];
    let mut footprint = Footprint {
        written: native.iter().map(|set| set.bytes()).sum(),
        ..Footprint::default()
    };
    let mut trees: HashMap<&str, Amount> = HashMap::new();
    let mut whole = Amount::default();
    for step in steps {
        let tree = trees.entry(&step.tree).or_default();
        let before = *tree;
        footprint.written += changes.apply(step, tree);
        whole.add(*tree, 1);
        whole.add(before, -1);
        footprint.peak = footprint.peak.max(whole.bytes.max(0) as u64);
        footprint.peak_files = footprint.peak_files.max(whole.files.max(0) as u64);
    }
    footprint
}

/// What each set adds to a tree.
struct Changes {
    fresh: Amount,
    patch: Amount,
    compile: Amount,
    compile_patched: Amount,
    /// What P replaces in U, and C in UC.
    replaced: Amount,
    replaced_compiled: Amount,
}

impl Changes {
    fn new(data: &Dataset) -> Changes {
        let overlap = |base: &FileSet, delta: &FileSet| {
            let sizes: HashMap<&[u8], u64> = base.iter().collect();
            let mut both = Amount::default();
            for size in delta.iter().filter_map(|(path, _)| sizes.get(path)) {
                both.add(
                    Amount {
                        bytes: *size as i64,
                        files: 1,
                    },
                    1,
                );
            }
            both
        };
        Changes {
            fresh: Amount::of(&data.unpatched),
            patch: Amount::of(&data.patch),
            compile: Amount::of(&data.compile),
            compile_patched: Amount::of(&data.compile_patched),
            replaced: overlap(&data.unpatched, &data.patch),
            replaced_compiled: overlap(&data.compile, &data.compile_patched),
        }
    }

    /// Applies a step to a tree; returns the bytes it writes.
    fn apply(&self, step: &Step, tree: &mut Amount) -> u64 {
        let fresh = step.from == Some(State::Unpatched);
        let (added, removed) = match step.action {
            Action::InitialCreate | Action::Create => (self.fresh, Amount::default()),
            Action::Patch { .. } if fresh => (self.patch, self.replaced),
            Action::Patch { .. } => (self.compile_patched, self.replaced_compiled),
            Action::Compile if fresh => (self.compile, Amount::default()),
            Action::Compile => (self.compile_patched, Amount::default()),
            Action::Clean if step.from == Some(State::UnpatchedCompiled) => {
                (Amount::default(), self.compile)
            }
            Action::Clean => (Amount::default(), self.compile_patched),
            Action::Delete => (Amount::default(), *tree),
            Action::Read | Action::Stat => (Amount::default(), Amount::default()),
        };
        tree.add(added, 1);
        tree.add(removed, -1);
        added.bytes as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published footprint of -i 10 -r 30: about 9.2 GiB written, peak about 5.0 GiB.
    #[test]
    fn the_originals_run_has_its_published_footprint() {
        let options = TreeSpec {
            initial: 10,
            runs: 30,
            ..TreeSpec::new("/nowhere")
        };
        let footprint = footprint(&options).unwrap();
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        let (written, peak) = (gib(footprint.written), gib(footprint.peak));
        assert!((9.0..10.5).contains(&written), "{written} GiB written");
        assert!((4.8..5.2).contains(&peak), "{peak} GiB at its peak");
        assert!(
            (280_000..320_000).contains(&footprint.peak_files),
            "{footprint:?}"
        );
    }

    #[test]
    fn a_scale_shrinks_the_footprint_and_a_bad_option_has_none() {
        let options = TreeSpec {
            scale: 0.01,
            initial: 3,
            runs: 0,
            ..TreeSpec::new("/nowhere")
        };
        let small = footprint(&options).unwrap();
        assert_eq!(small.peak_files, 3 * 213);
        assert!(
            footprint(&TreeSpec {
                scale: 2.0,
                ..options
            })
            .is_err()
        );
    }
}
