//! mdtest: ranks that create, stat, read and remove many small files and directories, in one tree or in a tree each.
//!
//! Kept exactly as mdtest has it: names, the tree and how items are dealt out over it, the order of the phases, whose items a rank stats,
//! reads and removes under a shift, and both of mdtest's rates: of an iteration, N times the slowest rank's, and of its table, all items
//! over the longest time, in which the barrier after the work is included.
//!
//! Where we leave mdtest, and why:
//! * The rate that counts is that of an iteration. mdtest prints the other in its table and does not say so (hpc/ior#300, #336): both are
//!   here, by their names.
//! * A tree that is there already is refused. mdtest goes on in it, and its creates then fail or become opens.
//! * After each phase that changes the filesystem comes a syncfs on each node: clock (c). There is no clock (b), since no call makes a
//!   directory of other ranks safe.

mod rank;
mod tree;

use std::path::Path;

pub use params::MetadataSpec;
pub use params::metadata::{Items, Step};

use crate::group::{Group, run_as_threads};
use crate::{Error, Observer, Outcome, Workload};
use params::Parameters;

impl Workload for MetadataSpec {
    fn kind(&self) -> &'static str {
        Self::KIND
    }

    fn dirs(&self) -> Vec<&Path> {
        vec![&self.dir]
    }

    /// Runs it with threads as ranks.
    fn run(&self, observer: &dyn Observer) -> Result<Outcome, Error> {
        self.validate()?;
        crate::shared::refuse_threads(self.ranks)?;
        tree::refuse_existing(self)?;
        let ran = run_as_threads(self.ranks, observer, &|group, observer| {
            run_rank(self, group, observer)
        });
        if ran.is_err() {
            remove_leftovers(self);
        }
        ran
    }
}

/// Runs the part of one rank: at rank 0 the outcome of all, elsewhere none.
///
/// # Errors
/// Parameters that cannot be used, and everything that stops this rank.
pub fn run_rank(
    spec: &MetadataSpec,
    group: &dyn Group,
    observer: &dyn Observer,
) -> Result<Option<Outcome>, Error> {
    rank::run(spec, group, observer)
}

/// Removes what a run that failed has left. To be called when no rank is at work any more.
pub fn remove_leftovers(spec: &MetadataSpec) {
    if !spec.steps.contains(&Step::Create) {
        return;
    }
    let root = tree::root(spec);
    if let Err(error) = std::fs::remove_dir_all(&root)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!("{}: cannot be removed: {error}", root.display());
    }
}

#[cfg(test)]
mod tests;
